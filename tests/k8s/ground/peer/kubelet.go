// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	nic      = "0000:05:02.0"
	nicName  = "intel.com/82540EM_GIGABIT_ETHERNET_CONTROLLER"
	disk     = "0000:06:00.0"
	diskName = "samsung.com/NVME_SSD_CONTROLLER_SM981_PM981_PM983"
)

// endpoint is a resource as it was registered, and its last list.
type endpoint struct {
	socket  string
	conn    *grpc.ClientConn
	client  dp.DevicePluginClient
	options *dp.DevicePluginOptions
	list    map[string]string // id: health
	ended   bool
}

type kubelet struct {
	dp.UnimplementedRegistrationServer
	dir    string
	server *grpc.Server

	mu        sync.Mutex // guards what follows
	endpoints map[string]*endpoint
	mute      map[string]bool // their Register is never answered
	waiting   map[string]bool // and has come
}

func dial(socket string, options ...grpc.DialOption) *grpc.ClientConn {
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost")}, options...)
	return must(grpc.NewClient("unix:"+socket, options...))
}

func startKubelet(dir string, mute ...string) *kubelet {
	k := &kubelet{dir: dir, server: grpc.NewServer(), endpoints: map[string]*endpoint{}, mute: map[string]bool{},
		waiting: map[string]bool{}}
	for _, name := range mute {
		k.mute[name] = true
	}
	for _, socket := range must(filepath.Glob(dir + "/*.sock")) {
		os.Remove(socket)
	}
	dp.RegisterRegistrationServer(k.server, k)
	listener := must(net.Listen("unix", dir+"/kubelet.sock"))
	go k.server.Serve(listener)
	return k
}

func (k *kubelet) stop() {
	k.server.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.endpoints {
		e.conn.Close()
	}
}

// Register asks back before it answers, as kubelet does.
func (k *kubelet) Register(ctx context.Context, r *dp.RegisterRequest) (*dp.Empty, error) {
	if r.Version != dp.Version || strings.Contains(r.Endpoint, "/") {
		return nil, fmt.Errorf("bad request: %v", r)
	}
	k.mu.Lock()
	mute := k.mute[r.ResourceName]
	k.waiting[r.ResourceName] = true
	k.mu.Unlock()
	if mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	socket := filepath.Join(k.dir, r.Endpoint)
	e := &endpoint{socket: socket, conn: dial(socket)}
	e.client = dp.NewDevicePluginClient(e.conn)
	var err error
	if e.options, err = e.client.GetDevicePluginOptions(ctx, &dp.Empty{}); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.endpoints[r.ResourceName] = e
	k.mu.Unlock()
	go k.follow(e)
	return &dp.Empty{}, nil
}

func (k *kubelet) follow(e *endpoint) {
	stream, err := e.client.ListAndWatch(context.Background(), &dp.Empty{})
	for err == nil {
		var m *dp.ListAndWatchResponse
		if m, err = stream.Recv(); err == nil {
			list := map[string]string{}
			for _, d := range m.Devices {
				list[d.ID] = d.Health
			}
			k.mu.Lock()
			e.list = list
			k.mu.Unlock()
		}
	}
	k.mu.Lock()
	e.ended = true
	k.mu.Unlock()
}

func (k *kubelet) has(name string) *endpoint {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.endpoints[name]
}

// wait is until the resource's list is the wanted one.
func (k *kubelet) wait(name string, want map[string]string) (e *endpoint) {
	eventually(fmt.Sprintf("%s with %v", name, want), func() bool {
		e = k.has(name)
		k.mu.Lock()
		defer k.mu.Unlock()
		return e != nil && !e.ended && maps.Equal(e.list, want)
	})
	return e
}

func healthy(ids ...string) map[string]string {
	list := map[string]string{}
	for _, id := range ids {
		list[id] = dp.Healthy
	}
	return list
}

// nic is the endpoint that most cases ask, well and listening.
func (g *ground) nic() *endpoint { return g.kubelet.wait(nicName, healthy(nic)) }

// alive is what each case that does harm must leave.
func (g *ground) alive() {
	ctx, cancel := short()
	defer cancel()
	e := g.nic()
	must(e.client.GetDevicePluginOptions(ctx, &dp.Empty{}))
	conn := dial(e.socket)
	defer conn.Close()
	must(dp.NewDevicePluginClient(conn).GetDevicePluginOptions(ctx, &dp.Empty{}))
}

var kubeletCases = []test{
	{"a Register that is never answered holds up no other", func(g *ground) {
		g.put(nic, "claim", "alice")
		g.put(disk, "claim", "alice")
		k := startKubelet(g.dir, nicName)
		k.wait(diskName, healthy(disk))
		eventually("the other's Register", func() bool { k.mu.Lock(); defer k.mu.Unlock(); return k.waiting[nicName] })
		g.put(disk, "claim", "none")
		eventually("the end of the other's socket", func() bool {
			_, err := os.Stat(k.has(diskName).socket)
			return err != nil
		})
		k.stop()
	}},
	{"a kubelet that listens and says nothing holds up no caller", func(g *ground) {
		os.Remove(g.dir + "/kubelet.sock")
		listener := must(net.Listen("unix", g.dir+"/kubelet.sock"))
		defer listener.Close()
		quiet := must(listener.Accept())
		defer quiet.Close()
		ctx, cancel := short()
		defer cancel()
		for _, socket := range must(filepath.Glob(g.dir + "/pcidevfs-*.sock")) {
			conn := dial(socket)
			must(dp.NewDevicePluginClient(conn).GetDevicePluginOptions(ctx, &dp.Empty{}))
			conn.Close()
		}
	}},
	{"kubelet asks back inside Register", func(g *ground) {
		g.kubelet = startKubelet(g.dir)
		e := g.nic()
		check(e.options.PreStartRequired && e.options.GetPreferredAllocationAvailable, "options: %v", e.options)
	}},
	{"a resource comes and goes", func(g *ground) {
		g.put(disk, "claim", "alice")
		e := g.kubelet.wait(diskName, healthy(disk))
		g.put(disk, "claim", "none")
		eventually("the end of its stream", func() bool { g.kubelet.mu.Lock(); defer g.kubelet.mu.Unlock(); return e.ended })
		_, err := os.Stat(e.socket)
		check(os.IsNotExist(err), "its socket is left: %v", err)
	}},
}
