// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func refused(code codes.Code, err error) {
	check(status.Code(err) == code, "%v instead of %v", err, code)
}

func request(ids ...string) *dp.AllocateRequest {
	return &dp.AllocateRequest{ContainerRequests: []*dp.ContainerAllocateRequest{{DevicesIds: ids}}}
}

func (g *ground) allocate(r *dp.AllocateRequest, options ...grpc.CallOption) (*dp.AllocateResponse, error) {
	ctx, cancel := short()
	defer cancel()
	return g.nic().client.Allocate(ctx, r, options...)
}

func (g *ground) invoke(method string) error {
	ctx, cancel := short()
	defer cancel()
	return g.nic().conn.Invoke(ctx, method, &dp.Empty{}, &dp.Empty{})
}

func manyIDs(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%04x:00:00.0", i))
	}
	return ids
}

var callCases = []test{
	{"what nobody knows is unimplemented", func(g *ground) {
		for _, method := range []string{"/v1beta1.DevicePlugin/Deallocate", "/v1beta1.DevicePlugin/", "/v1.Nobody/Knows",
			"/v1beta1.Registration/Register", "/", "/v1beta1.DevicePlugin/allocate"} {
			refused(codes.Unimplemented, g.invoke(method))
		}
	}},
	{"an authority that is a socket's path is accepted", func(g *ground) {
		e := g.nic()
		for _, name := range []string{e.socket, "", "[::]:1"} {
			conn := dial(e.socket, grpc.WithAuthority(name))
			ctx, cancel := short()
			must(dp.NewDevicePluginClient(conn).GetDevicePluginOptions(ctx, &dp.Empty{}))
			cancel()
			conn.Close()
		}
	}},
	{"ids that are not ours, and none", func(g *ground) {
		for _, id := range []string{"0000:ff:00.0", disk, "", "..", "/", strings.Repeat("x", 70000), "0000:05:02.0\n", "%s%n"} {
			_, err := g.allocate(request(id))
			refused(codes.FailedPrecondition, err)
		}
		for _, r := range []*dp.AllocateRequest{{}, request(), request(nic, nic),
			{ContainerRequests: []*dp.ContainerAllocateRequest{{}, {DevicesIds: []string{nic}}}}} {
			_, err := g.allocate(r)
			refused(codes.InvalidArgument, err)
		}
		check(g.get(nic, "allocated_to") == "none", "allocated_to is %s", g.get(nic, "allocated_to"))
	}},
	{"requests too large, and as large as may be", func(g *ground) {
		_, err := g.allocate(request(manyIDs(100000)...))
		refused(codes.ResourceExhausted, err)
		_, err = g.allocate(request(strings.Repeat("x", 5<<20)))
		refused(codes.ResourceExhausted, err)
		_, err = g.allocate(request(manyIDs(60000)...))
		refused(codes.InvalidArgument, err)
		_, err = g.allocate(request(manyIDs(4096)...))
		refused(codes.FailedPrecondition, err)
		ctx, cancel := short()
		defer cancel()
		_, err = g.nic().client.GetPreferredAllocation(ctx, &dp.PreferredAllocationRequest{
			ContainerRequests: []*dp.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: manyIDs(60000), AllocationSize: 1 << 30}}})
		refused(codes.InvalidArgument, err)
	}},
	{"a compressed message is refused, however large it would get", func(g *ground) {
		_, err := g.allocate(request(nic), grpc.UseCompressor(gzip.Name))
		refused(codes.Unimplemented, err)
		before := g.resident()
		_, err = g.allocate(request(strings.Repeat("x", 256<<20)), grpc.UseCompressor(gzip.Name))
		check(status.Code(err) == codes.Unimplemented || status.Code(err) == codes.ResourceExhausted, "%v", err)
		check(g.resident() < before+8<<10, "%d KiB have become %d", before, g.resident())
	}},
	{"200 calls side by side on one connection", func(g *ground) {
		side(200, func(i int) {
			_, err := g.allocate(request(fmt.Sprintf("no-%d", i)))
			refused(codes.FailedPrecondition, err)
		})
	}},
	{"100 connections side by side", func(g *ground) {
		e := g.nic()
		side(100, func(int) {
			conn := dial(e.socket)
			defer conn.Close()
			ctx, cancel := short()
			defer cancel()
			must(dp.NewDevicePluginClient(conn).GetDevicePluginOptions(ctx, &dp.Empty{}))
		})
	}},
	{"of many who listen some are refused, and kubelet is not among them", func(g *ground) {
		e := g.nic()
		conn := dial(e.socket)
		ctx, cancel := context.WithCancel(context.Background())
		first := make(chan error, 40)
		for range cap(first) {
			stream, err := dp.NewDevicePluginClient(conn).ListAndWatch(ctx, &dp.Empty{})
			go func() {
				if err == nil {
					_, err = stream.Recv()
				}
				first <- err
			}()
		}
		no := 0
		for range cap(first) {
			if err := <-first; err != nil {
				refused(codes.FailedPrecondition, err)
				no++
			}
		}
		check(no > 0 && no < cap(first), "%d of %d are refused", no, cap(first))
		g.alive()
		cancel()
		conn.Close()
	}},
	{"a caller who gives up before the answer", func(g *ground) {
		for range 50 {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Microsecond)
			g.nic().client.Allocate(ctx, request("nobody"))
			cancel()
		}
		g.alive()
	}},
	{"an allocation is answered as KubeVirt reads it", func(g *ground) {
		r, err := g.allocate(request(nic))
		check(err == nil && len(r.ContainerResponses) == 1, "%v, %v", r, err)
		c := r.ContainerResponses[0]
		check(len(c.Envs) == 1 && c.Envs["PCI_RESOURCE_INTEL_COM_82540EM_GIGABIT_ETHERNET_CONTROLLER"] == nic, "%v", c.Envs)
		check(len(c.CdiDevices) == 1 && c.CdiDevices[0].Name == "pcidevfs/device="+nic, "%v", c.CdiDevices)
		check(g.get(nic, "allocated_to") == "pending", "allocated_to is %s", g.get(nic, "allocated_to"))
	}},
}

// side runs f n times at once; the first failure is the case's.
func side(n int, f func(int)) {
	var wait sync.WaitGroup
	failures := make(chan any, n)
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() {
				if p := recover(); p != nil {
					failures <- p
				}
			}()
			f(i)
		}()
	}
	wait.Wait()
	close(failures)
	if p, some := <-failures; some {
		panic(p)
	}
}
