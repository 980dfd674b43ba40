// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// resource is one of a plugin's that does nothing but register: what kubelet's own library takes for that.
type resource struct {
	dp.UnimplementedDevicePluginServer
	name   string
	server *grpc.Server
}

func (*resource) GetDevicePluginOptions(context.Context, *dp.Empty) (*dp.DevicePluginOptions, error) {
	return &dp.DevicePluginOptions{}, nil
}

func (r *resource) ListAndWatch(_ *dp.Empty, stream dp.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&dp.ListAndWatchResponse{Devices: []*dp.Device{{ID: "0", Health: dp.Healthy}}}); err != nil {
		return err
	}
	<-stream.Context().Done()
	go r.server.Stop()
	return nil
}

// tell is once for a kubelet, which has removed the socket.
func (r *resource) tell(dir, socket string, kubelet dp.RegistrationClient) {
	listener := must(net.Listen("unix", filepath.Join(dir, socket)))
	r.server = grpc.NewServer()
	dp.RegisterDevicePluginServer(r.server, r)
	go r.server.Serve(listener)
	if _, err := kubelet.Register(context.Background(),
		&dp.RegisterRequest{Version: dp.Version, Endpoint: socket, ResourceName: r.name}); err != nil {
		r.server.Stop() // a kubelet that ends in the middle is none of ours
	}
}

// imitate tells every kubelet that comes of all its resources, side by side.
func imitate(dir string, resources int) {
	var known time.Time
	path := filepath.Join(dir, "kubelet.sock")
	for life := 0; ; time.Sleep(time.Millisecond) {
		info, err := os.Lstat(path)
		if err != nil || info.ModTime() == known {
			continue
		}
		known = info.ModTime()
		life++
		conn := must(grpc.NewClient("unix:"+path, grpc.WithAuthority("localhost"),
			grpc.WithTransportCredentials(insecure.NewCredentials())))
		for i := range resources {
			r := &resource{name: fmt.Sprintf("peer.com/RESOURCE_%d", i)}
			go r.tell(dir, fmt.Sprintf("peer-%d-%d.sock", life, i), dp.NewRegistrationClient(conn))
		}
	}
}
