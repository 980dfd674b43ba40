// SPDX-License-Identifier: MIT

// Command restarts is a kubelet that starts anew again and again, as far as device plugins see one, and tells
// how soon they are back: from its socket's coming to Register, and to a list whose devices are all healthy.
// usage: restarts KUBELET-DIR TIMES RESOURCES DEVICES [PLUGIN ARGUMENT...] | KUBELET-DIR plugin RESOURCES
// The plugin has as many resources, and in them as many healthy devices. One that is named is started, killed
// and started again after the 50 ms that systemd takes for that (30 to 100), and kubelet lives on. What FIRST
// names, one a line, is also timed alone: those that have pods. As "plugin" it is the other side of that: a peer.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	patience  = 10 * time.Second
	unitPause = 50 * time.Millisecond
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "restarts:", err)
		os.Exit(1)
	}
	return v
}

type registration struct {
	name string
	at   time.Duration
}

// kubelet is one life of it.
type kubelet struct {
	dp.UnimplementedRegistrationServer
	dir    string
	born   time.Time
	server *grpc.Server
	change chan struct{}

	mu         sync.Mutex // guards what follows
	registered []registration
	healthy    map[string]int // by resource
	conns      []*grpc.ClientConn
}

// start removes every socket and makes its own, as kubelet does.
func start(dir string) *kubelet {
	k := &kubelet{dir: dir, server: grpc.NewServer(), change: make(chan struct{}, 1), healthy: map[string]int{}}
	dp.RegisterRegistrationServer(k.server, k)
	for _, socket := range must(filepath.Glob(dir + "/*.sock")) {
		os.Remove(socket)
	}
	k.born = time.Now()
	go k.server.Serve(must(net.Listen("unix", dir+"/kubelet.sock")))
	return k
}

func (k *kubelet) stop() {
	k.server.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.conns {
		conn.Close()
	}
}

// told counts what has come.
func (k *kubelet) told(count func()) {
	k.mu.Lock()
	count()
	k.mu.Unlock()
	select {
	case k.change <- struct{}{}:
	default:
	}
}

// Register asks back before it answers, as kubelet does.
func (k *kubelet) Register(ctx context.Context, r *dp.RegisterRequest) (*dp.Empty, error) {
	k.told(func() { k.registered = append(k.registered, registration{r.ResourceName, time.Since(k.born)}) })
	conn, err := grpc.NewClient("unix:"+filepath.Join(k.dir, r.Endpoint), grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	k.told(func() { k.conns = append(k.conns, conn) })
	client := dp.NewDevicePluginClient(conn)
	if _, err := client.GetDevicePluginOptions(ctx, &dp.Empty{}); err != nil {
		return nil, err
	}
	go k.follow(r.ResourceName, client)
	return &dp.Empty{}, nil
}

func (k *kubelet) follow(name string, client dp.DevicePluginClient) {
	stream, err := client.ListAndWatch(context.Background(), &dp.Empty{})
	for err == nil {
		var list *dp.ListAndWatchResponse
		if list, err = stream.Recv(); err != nil {
			k.told(func() { delete(k.healthy, name) })
			return
		}
		n := 0
		for _, d := range list.Devices {
			if d.Health == dp.Healthy {
				n++
			}
		}
		k.told(func() { k.healthy[name] = n })
	}
}

// wait is until all of them are there: how long after since, and how many are not.
func (k *kubelet) wait(since time.Time, resources, devices int) (listed time.Duration, lost int) {
	late := time.After(patience)
	for {
		k.mu.Lock()
		n, have := len(k.healthy), 0
		for _, d := range k.healthy {
			have += d
		}
		k.mu.Unlock()
		if n >= resources && have >= devices {
			return time.Since(since), 0
		}
		select {
		case <-k.change:
		case <-late:
			return patience, devices - have
		}
	}
}

// last is when the last of them came first; ok: all did. No names: all are meant.
func (k *kubelet) last(names []string, n int) (at time.Duration, ok bool) {
	first := map[string]time.Duration{}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.registered {
		if _, again := first[r.name]; !again && (names == nil || slices.Contains(names, r.name)) {
			first[r.name] = r.at
			at = max(at, r.at)
		}
	}
	return at, len(first) >= n
}

func percentile(v []time.Duration, p int) float64 {
	slices.Sort(v)
	return float64(v[(len(v)-1)*p/100].Microseconds()) / 1000
}

func launch(plugin []string) *exec.Cmd {
	c := exec.Command(plugin[0], plugin[1:]...)
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(0, c.Start())
	return c
}

// kills is of the plugin: from its end to the last list.
func kills(dir string, plugin []string, times, resources, devices int) {
	var listed []time.Duration
	lost := 0
	c := launch(plugin)
	k := start(dir)
	k.wait(k.born, resources, devices)
	for range times {
		since := time.Now()
		c.Process.Kill()
		c.Wait()
		time.Sleep(unitPause)
		c = launch(plugin)
		all, missing := k.wait(since, resources, devices)
		listed = append(listed, all)
		lost += missing
		time.Sleep(200 * time.Millisecond)
	}
	c.Process.Kill()
	c.Wait()
	fmt.Printf("times=%d lost=%d listed_p50_ms=%.1f listed_max_ms=%.1f\n", times, lost, percentile(listed, 50),
		percentile(listed, 100))
}

func main() {
	if len(os.Args) < 4 || (len(os.Args) < 5 && os.Args[2] != "plugin") {
		fmt.Fprintln(os.Stderr, "usage: restarts KUBELET-DIR TIMES RESOURCES DEVICES [PLUGIN ARGUMENT...] | KUBELET-DIR plugin RESOURCES")
		os.Exit(2)
	}
	runtime.LockOSThread() // a child ends with the thread that started it
	dir := filepath.Join(os.Args[1], "device-plugins")
	if os.Args[2] == "plugin" {
		imitate(dir, must(strconv.Atoi(os.Args[3])))
	}
	times, resources, devices := must(strconv.Atoi(os.Args[2])), must(strconv.Atoi(os.Args[3])), must(strconv.Atoi(os.Args[4]))
	if len(os.Args) > 5 {
		kills(dir, os.Args[5:], times, resources, devices)
		return
	}
	var registered, listed, hurried []time.Duration
	first := strings.Fields(os.Getenv("FIRST"))
	lost := 0
	for range times {
		k := start(dir)
		all, missing := k.wait(k.born, resources, devices)
		listed = append(listed, all)
		lost += missing
		k.stop()
		if at, ok := k.last(nil, resources); ok {
			registered = append(registered, at)
		}
		if at, ok := k.last(first, len(first)); ok && len(first) > 0 {
			hurried = append(hurried, at)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if len(registered) != times || (len(first) > 0 && len(hurried) != times) {
		must(0, fmt.Errorf("not all was registered in %s: %d times of %d", dir, len(registered), times))
	}
	if len(first) > 0 {
		fmt.Printf("first_p50_ms=%.1f first_max_ms=%.1f\n", percentile(hurried, 50), percentile(hurried, 100))
	}
	fmt.Printf("times=%d lost=%d registered_p50_ms=%.1f registered_max_ms=%.1f listed_p50_ms=%.1f listed_max_ms=%.1f\n",
		times, lost, percentile(registered, 50), percentile(registered, 100), percentile(listed, 50), percentile(listed, 100))
}
