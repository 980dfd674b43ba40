// SPDX-License-Identifier: GPL-2.0-or-later

// Command kubelet measures a device plugin from kubelet's side, with kubelet's own messages and gRPC library.
// usage: kubelet KUBELET-DIR TREE claim|allocate|again ROUNDS DEVICE
//
//	kubelet KUBELET-DIR TREE lists|stay DEVICES
//
// claim: DEVICE of the tree is claimed and released; how long after the write returned the list came that has
// it well, or has it no more. allocate: the round trip of Allocate of DEVICE, which was free for a
// while, and of a call that does nothing. again: of Allocate, one behind another. lists: until so many devices are
// well, of how many resources and how large the largest message was. stay: the same, and listens until it is killed.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	patience = 60 * time.Second
	apart    = 250 * time.Millisecond // a pod's end and the next one's Allocate, at least
	warm     = 30 * time.Millisecond  // of that, so that no processor sleeps: a node that starts a pod is at work
	inRow    = 6                      // calls that do nothing, which take as long as an Allocate
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
	return v
}

type endpoint struct {
	client dp.DevicePluginClient
	well   map[string]bool
	came   time.Time // its last list
}

type kubelet struct {
	dp.UnimplementedRegistrationServer
	dir, tree string

	mu        sync.Mutex // guards what follows
	news      sync.Cond
	endpoints map[string]*endpoint
	largest   int
}

func start(dir, tree string) *kubelet {
	k := &kubelet{dir: filepath.Join(dir, "device-plugins"), tree: tree, endpoints: map[string]*endpoint{}}
	k.news.L = &k.mu
	path := filepath.Join(k.dir, "kubelet.sock")
	os.Remove(path)
	server := grpc.NewServer()
	dp.RegisterRegistrationServer(server, k)
	go server.Serve(must(net.Listen("unix", path)))
	go func() { // who waits looks at the clock now and then
		for range time.Tick(time.Second) {
			k.news.Broadcast()
		}
	}()
	return k
}

func (k *kubelet) Register(_ context.Context, r *dp.RegisterRequest) (*dp.Empty, error) {
	conn, err := grpc.NewClient("unix:"+filepath.Join(k.dir, r.Endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"))
	if err != nil {
		return nil, err
	}
	go k.follow(r.ResourceName, conn)
	return &dp.Empty{}, nil
}

func (k *kubelet) follow(name string, conn *grpc.ClientConn) {
	defer conn.Close()
	e := &endpoint{client: dp.NewDevicePluginClient(conn)}
	stream, err := e.client.ListAndWatch(context.Background(), &dp.Empty{})
	for err == nil {
		var m *dp.ListAndWatchResponse
		if m, err = stream.Recv(); err == nil {
			k.take(name, e, m, time.Now())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.endpoints[name] == e {
		delete(k.endpoints, name)
	}
	k.news.Broadcast()
}

func (k *kubelet) take(name string, e *endpoint, m *dp.ListAndWatchResponse, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.came, e.well = now, map[string]bool{}
	for _, d := range m.Devices {
		e.well[d.ID] = d.Health == dp.Healthy
	}
	k.endpoints[name] = e
	k.largest = max(k.largest, proto.Size(m))
	k.news.Broadcast()
}

// wait is with the lock held, until it is true.
func (k *kubelet) wait(what string, true func() bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for end := time.Now().Add(patience); !true(); k.news.Wait() {
		if time.Now().After(end) {
			must(0, fmt.Errorf("in vain: %s", what))
		}
	}
}

// has is with the lock held: who offers the device, well.
func (k *kubelet) has(device string) *endpoint {
	for _, e := range k.endpoints {
		if e.well[device] {
			return e
		}
	}
	return nil
}

// put returns when it began: who writes waits from then on.
func (k *kubelet) put(device, file, value string) time.Time {
	begin := time.Now()
	f := must(os.OpenFile(filepath.Join(k.tree, "devices", device, file), os.O_WRONLY, 0))
	must(f.WriteString(value + "\n"))
	f.Close()
	return begin
}

func percentiles(name string, v []time.Duration) {
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	ms := func(p int) float64 { return v[min(len(v)*p/100, len(v)-1)].Seconds() * 1e3 }
	fmt.Printf("%s p50_ms=%.3f p99_ms=%.3f max_ms=%.3f\n", name, ms(50), ms(99), ms(100))
}

func (k *kubelet) claim(rounds int, device string) {
	var claims, releases []time.Duration
	for range rounds {
		var e *endpoint
		asked := k.put(device, "claim", "bench")
		k.wait(device+" is offered", func() bool { e = k.has(device); return e != nil })
		claims = append(claims, e.came.Sub(asked))
		asked = k.put(device, "claim", "none")
		k.wait(device+" is gone", func() bool { _, there := e.well[device]; return !there })
		releases = append(releases, e.came.Sub(asked))
		if len(e.well) == 0 { // the last of its resource: until that is gone too
			k.wait("the end", func() bool { return !k.listens(e) })
			time.Sleep(apart) // a name that comes back at once waits until kubelet has ended the former
		}
	}
	percentiles("claim", claims)
	percentiles("release", releases)
}

func (k *kubelet) listens(e *endpoint) bool {
	for _, other := range k.endpoints {
		if e == other {
			return true
		}
	}
	return false
}

// allocate calls `after` between a pod's end and the next one's Allocate.
func (k *kubelet) allocate(name string, rounds int, device string, after func(*endpoint)) {
	var e *endpoint
	var took []time.Duration
	request := &dp.AllocateRequest{ContainerRequests: []*dp.ContainerAllocateRequest{{DevicesIds: []string{device}}}}
	k.wait(device+" is offered", func() bool { e = k.has(device); return e != nil })
	for range rounds {
		begin := time.Now()
		must(e.client.Allocate(context.Background(), request))
		took = append(took, time.Since(begin))
		k.put(device, "allocated_to", "none")
		after(e)
	}
	percentiles(name, took)
}

func (k *kubelet) allocateApart(rounds int, device string) {
	var nothing, rows []time.Duration
	k.allocate("allocate", rounds, device, func(e *endpoint) {
		time.Sleep(apart - warm)
		for slept := time.Now(); time.Since(slept) < warm; {
			row := time.Now()
			for range inRow {
				begin := time.Now()
				must(e.client.GetDevicePluginOptions(context.Background(), &dp.Empty{}))
				nothing = append(nothing, time.Since(begin))
			}
			rows = append(rows, time.Since(row))
		}
	})
	percentiles("nothing", nothing)
	percentiles("row", rows)
}

// allocateAgain waits until it was looked who holds the device after its pod's end.
func (k *kubelet) allocateAgain(rounds int, device string) {
	k.allocate("again", rounds, device, func(*endpoint) {
		must(os.ReadFile(filepath.Join(k.tree, "devices", device, "holders")))
	})
}

func (k *kubelet) lists(devices int) {
	well := func() (n int) {
		for _, e := range k.endpoints {
			for _, yes := range e.well {
				if yes {
					n++
				}
			}
		}
		return n
	}
	begin := time.Now()
	k.wait(fmt.Sprintf("%d devices", devices), func() bool { return well() == devices })
	fmt.Printf("lists resources=%d largest=%d ms=%.1f\n", len(k.endpoints), k.largest, time.Since(begin).Seconds()*1e3)
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: kubelet KUBELET-DIR TREE claim|allocate|again ROUNDS DEVICE | lists|stay DEVICES")
		os.Exit(2)
	}
	k := start(os.Args[1], os.Args[2])
	n := must(strconv.Atoi(os.Args[4]))
	switch os.Args[3] {
	case "claim":
		k.claim(n, os.Args[5])
	case "allocate":
		k.allocateApart(n, os.Args[5])
	case "again":
		k.allocateAgain(n, os.Args[5])
	case "lists":
		k.lists(n)
	case "stay":
		k.lists(n)
		select {}
	}
}
