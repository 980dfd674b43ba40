// SPDX-License-Identifier: GPL-2.0-or-later

// Command nodes stands in for a cluster's worth of agents as Harvester's former controller is one: each lists and watches all
// kinds of all nodes, over a connection of its own, and looks at its own node's functions again and again: a list of them, a
// GET and a PUT of the status of each, at most 5 requests a second, then a pause of 30 s. Answers are not kept.
// usage: nodes SERVER CA CERTIFICATE KEY COUNT
//
// Standard input says: start (all of them), restart N (one), scan (all look from now on), end. Each is answered by a line: the
// seconds until all lists had come and all watches were open, and the MiB of these lists, unpacked.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	group = "/apis/devices.harvesterhci.io/v1beta1/"
	pause = 30 * time.Second
	gap   = 200 * time.Millisecond
)

// The second time for its webhook. Kinds of KubeVirt and VlanConfigs are not in the cluster.
var watched = []string{
	group + "pcidevices", group + "pcideviceclaims", group + "sriovnetworkdevices", group + "sriovgpudevices",
	group + "vgpudevices", group + "migconfigurations", group + "usbdevices", group + "usbdeviceclaims", group + "nodes",
	"/api/v1/pods", "/api/v1/nodes", "/api/v1/secrets",
	group + "nodes", group + "pcidevices", group + "pcideviceclaims", group + "vgpudevices", group + "usbdevices",
	group + "usbdeviceclaims",
}

var (
	server   string
	unpacked atomic.Int64
	version  = regexp.MustCompile(`"metadata":\{[^{}]*"resourceVersion":"([0-9]+)"[^{}]*\}(,"items"|\})`)
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodes:", err)
		os.Exit(1)
	}
	return v
}

type agent struct {
	node string
	http *http.Client
	end  context.CancelFunc
}

func (a *agent) ask(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	request := must(http.NewRequestWithContext(ctx, method, server+path, bytes.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept-Encoding", "gzip") // as Go's client does by itself
	answer, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusTooManyRequests {
		answer.Body.Close()
		time.Sleep(time.Second)
		return a.ask(ctx, method, path, body)
	}
	if answer.StatusCode >= 300 {
		answer.Body.Close()
		return nil, fmt.Errorf("%s %s: %s", method, path, answer.Status)
	}
	if answer.Header.Get("Content-Encoding") != "gzip" {
		return answer.Body, nil
	}
	return gzip.NewReader(answer.Body)
}

func (a *agent) read(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	answer, err := a.ask(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	unpacked.Add(int64(len(text)))
	return text, err
}

// It returns when the watch is open, which goes on until ctx is done.
func (a *agent) follow(ctx context.Context, path string) error {
	list, err := a.read(ctx, "GET", path+"?resourceVersion=0", nil)
	for ; err != nil && ctx.Err() == nil; list, err = a.read(ctx, "GET", path+"?resourceVersion=0", nil) {
		fmt.Fprintln(os.Stderr, "nodes: a list again:", err) // it took the server more than a minute
		time.Sleep(time.Second)
	}
	ends := list[:min(len(list), 500)] // its own version: in front of a core kind's items, behind a custom one's
	if strings.HasPrefix(path, group) {
		ends = list[max(0, len(list)-500):]
	}
	at := version.FindSubmatch(ends)
	watch, err := a.ask(ctx, "GET", path+"?watch=1&allowWatchBookmarks=true&timeoutSeconds=3600&resourceVersion="+string(at[1]), nil)
	if err == nil {
		go io.Copy(io.Discard, watch)
	}
	return err
}

func (a *agent) scan(ctx context.Context) error {
	list, err := a.read(ctx, "GET", group+"pcidevices?labelSelector=nodename%3D"+a.node, nil)
	if err != nil {
		return err
	}
	var own struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	must(0, json.Unmarshal(list, &own))
	for _, item := range own.Items {
		path := group + "pcidevices/" + item.Metadata.Name
		time.Sleep(gap)
		object, err := a.read(ctx, "GET", path, nil)
		if err != nil {
			return err
		}
		time.Sleep(gap)
		if _, err = a.read(ctx, "PUT", path+"/status", object); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) look() {
	for {
		if err := a.scan(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "nodes:", err)
		}
		time.Sleep(pause)
	}
}

func (a *agent) start(tls *tls.Config) error {
	ctx, end := context.WithCancel(context.Background())
	a.end = end
	a.http = &http.Client{Transport: &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true, IdleConnTimeout: time.Second}}
	for _, path := range watched {
		if err := a.follow(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) stop() {
	if a.end != nil {
		a.end()
		a.http.CloseIdleConnections()
	}
}

func main() {
	server = os.Args[1]
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must(os.ReadFile(os.Args[2])))
	pair := must(tls.LoadX509KeyPair(os.Args[3], os.Args[4]))
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
	agents := make([]agent, must(strconv.Atoi(os.Args[5])))
	for i := range agents {
		agents[i].node = fmt.Sprintf("node%d", i+1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		began := time.Now()
		unpacked.Store(0)
		some := agents
		switch words[0] {
		case "end":
			return
		case "scan":
			for i := range agents {
				go agents[i].look()
			}
			some = nil
		case "restart":
			n := must(strconv.Atoi(words[1]))
			some = agents[n-1 : n]
		}
		var all sync.WaitGroup
		for i := range some {
			all.Add(1)
			go func(a *agent) {
				defer all.Done()
				a.stop()
				must(0, a.start(config))
			}(&some[i])
		}
		all.Wait()
		fmt.Printf("%.1f %.1f\n", time.Since(began).Seconds(), float64(unpacked.Load())/(1<<20))
	}
}
