// SPDX-License-Identifier: MIT

// Command peer is a kubelet as far as device plugins see one, made of kubelet's own messages and gRPC
// library, and tries on a plugin what the genuine kubelet never does.
// usage: peer KUBELET-DIR TREE PID
// It serves KUBELET-DIR/device-plugins/kubelet.sock; the plugin, process PID, offers what is claimed in TREE.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// ground is what a case works on.
type ground struct {
	dir, tree string
	pid       int
	kubelet   *kubelet
}

type test struct {
	name string
	run  func(*ground)
}

// Cases fail by panic; errFailed tells what they say from a fault of this program.
type errFailed struct{ error }

func check(ok bool, format string, args ...any) {
	if !ok {
		panic(errFailed{fmt.Errorf(format, args...)})
	}
}

func must[T any](v T, err error) T {
	check(err == nil, "%v", err)
	return v
}

func eventually(what string, true func() bool) {
	end := time.Now().Add(80 * time.Second)
	for !true() {
		check(time.Now().Before(end), "in vain: %s", what)
		time.Sleep(10 * time.Millisecond)
	}
}

func short() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 40*time.Second)
}

func (g *ground) put(device, file, value string) {
	path := filepath.Join(g.tree, "devices", device, file)
	f := must(os.OpenFile(path, os.O_WRONLY, 0))
	_, err := f.WriteString(value + "\n")
	f.Close()
	check(err == nil, "%s: %v", path, err)
}

func (g *ground) get(device, file string) string {
	text := must(os.ReadFile(filepath.Join(g.tree, "devices", device, file)))
	return strings.TrimSuffix(string(text), "\n")
}

// resident is what the plugin has in memory, in KiB.
func (g *ground) resident() (kib int) {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", g.pid))))
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib = must(strconv.Atoi(strings.Fields(rest)[0]))
		}
	}
	return kib
}

func (g *ground) descriptors() int {
	return len(must(os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.pid))))
}

func (g *ground) try(t test) (err error) {
	defer func() {
		p := recover()
		var failed errFailed
		if e, ok := p.(error); ok && errors.As(e, &failed) {
			err = failed.error
		} else if p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	t.run(g)
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: peer KUBELET-DIR TREE PID")
		os.Exit(2)
	}
	g := &ground{dir: filepath.Join(os.Args[1], "device-plugins"), tree: os.Args[2], pid: must(strconv.Atoi(os.Args[3]))}
	passed, failed := 0, 0
	for _, t := range append(append(kubeletCases, callCases...), rawCases...) {
		if err := g.try(t); err != nil {
			failed++
			fmt.Printf("not ok - %s: %v\n", t.name, err)
		} else {
			passed++
			fmt.Printf("ok - %s\n", t.name)
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
