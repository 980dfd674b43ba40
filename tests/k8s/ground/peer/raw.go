// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
	dp "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// raw is a connection on which anything can be said.
type raw struct {
	net.Conn
	*http2.Framer
}

func (g *ground) raw() raw {
	c := must(net.Dial("unix", g.nic().socket))
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.AllowIllegalWrites = true
	return raw{c, f}
}

// hello is what begins every connection; window is how much of each stream may come.
func (r raw) hello(window uint32) raw {
	io.WriteString(r.Conn, http2.ClientPreface)
	r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	return r
}

func headers(method string, more ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	fields := append([]string{":method", "POST", ":scheme", "http", ":path", "/v1beta1.DevicePlugin/" + method,
		":authority", "localhost", "content-type", "application/grpc", "te", "trailers"}, more...)
	for i := 0; i < len(fields); i += 2 {
		e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

func (r raw) begin(stream uint32, method string, more ...string) {
	r.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers(method, more...), EndHeaders: true})
}

// message is a gRPC message, said to have n bytes.
func message(flag byte, n uint32, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, n), body...)
}

// ended reads until the stream has an end, and returns its grpc-status; "reset" or "closed" are ends too.
func (r raw) ended(stream uint32) string {
	r.SetReadDeadline(time.Now().Add(40 * time.Second))
	for {
		frame, err := r.ReadFrame()
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			panic(errFailed{fmt.Errorf("stream %d does not end", stream)})
		} else if err != nil {
			return "closed"
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				if f.StreamID == stream && field.Name == "grpc-status" {
					return field.Value
				}
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return "reset"
			}
		case *http2.GoAwayFrame:
			return "closed"
		}
	}
}

func frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) func(raw) {
	return func(r raw) { r.hello(65535).WriteRawFrame(kind, flags, stream, payload) }
}

func bytesOf(parts ...string) func(raw) {
	return func(r raw) {
		for _, part := range parts {
			io.WriteString(r.Conn, part)
		}
	}
}

func noise(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return string(b)
}

// Said in turn, each on a connection of its own that is left open until all have been.
var rubbish = []struct {
	name string
	say  func(raw)
}{
	{"nothing", bytesOf()},
	{"HTTP/1.1", bytesOf("GET / HTTP/1.1\r\n\r\n")},
	{"TLS", bytesOf("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", noise(500))},
	{"noise", bytesOf(noise(70000))},
	{"zeros", bytesOf(string(make([]byte, 70000)))},
	{"half a preface", bytesOf(http2.ClientPreface[:12])},
	{"noise after the preface", bytesOf(http2.ClientPreface, noise(70000))},
	{"half a frame", bytesOf(http2.ClientPreface, "\x00\x00\x20\x04")},
	{"a frame of 16 MiB", bytesOf(http2.ClientPreface, "\xff\xff\xff\x00\x00\x00\x00\x00\x01", noise(1000))},
	{"settings of five bytes", frame(http2.FrameSettings, 0, 0, 0, 1, 2, 3, 4)},
	{"settings of a stream", frame(http2.FrameSettings, 0, 1)},
	{"a window beyond all", frame(http2.FrameSettings, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff)},
	{"data of no stream", frame(http2.FrameData, 0, 0, 'x')},
	{"data of a stream that nobody began", frame(http2.FrameData, 0, 99, 'x')},
	{"headers that are none", frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
	{"headers of an even stream", frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 2, headers("Allocate")...)},
	{"headers without end", frame(http2.FrameHeaders, 0, 1, headers("Allocate")...)},
	{"padding larger than its frame", frame(http2.FrameHeaders, http2.FlagHeadersPadded, 1, 0xff, 0)},
	{"a continuation of nothing", frame(http2.FrameContinuation, 0, 1, 'x')},
	{"a window that does not grow", frame(http2.FrameWindowUpdate, 0, 0, 0, 0, 0, 0)},
	{"a push", frame(http2.FramePushPromise, 0, 1, 0, 0, 0, 2)},
	{"a frame of no kind", frame(200, 0xff, 7, 1, 2, 3)},
	{"an early farewell", frame(http2.FrameGoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
	{"5000 pings", func(r raw) {
		r.hello(65535)
		for range 5000 {
			if r.WritePing(false, [8]byte{}) != nil {
				return
			}
		}
	}},
	{"2000 calls, each taken back", func(r raw) {
		r.hello(65535)
		for i := range uint32(2000) {
			r.begin(2*i+1, "Allocate")
			if r.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				return
			}
		}
	}},
	{"200 calls without a message", func(r raw) {
		r.hello(65535)
		for i := range uint32(200) {
			r.begin(2*i+1, "Allocate")
		}
	}},
	{"endless headers", func(r raw) {
		r.hello(65535)
		r.WriteRawFrame(http2.FrameHeaders, 0, 1, headers("Allocate"))
		for range 200 {
			if r.WriteContinuation(1, false, headers("Allocate", "x", noise(8000))) != nil {
				return
			}
		}
	}},
}

func (g *ground) sayRubbish() {
	fds := g.descriptors()
	var open []raw
	for _, r := range rubbish {
		c := g.raw()
		c.SetWriteDeadline(time.Now().Add(2 * time.Second))
		r.say(c)
		open = append(open, c)
		g.alive()
	}
	for _, c := range open {
		c.Close()
	}
	eventually("its descriptors again", func() bool { return g.descriptors() <= fds })
}

// What is sent of a request, and then nothing more; its end is an answer, never silence.
var halves = []struct {
	name  string
	bytes []byte
}{
	{"no message", nil},
	{"half a prefix", []byte{0, 0}},
	{"a message of 100 bytes that has 3", message(0, 100, []byte("abc"))},
	{"a message of 4 GiB", message(0, 0xffffffff, []byte("abc"))},
	{"a message that is said to be compressed", message(1, 3, []byte("abc"))},
	{"a flag that nobody knows", message(0xfe, 3, []byte("abc"))},
	{"no protobuf", message(0, 3, []byte("\xff\xff\xff"))},
	{"a field without its end", message(0, 3, []byte("\x0a\x7fx"))},
}

// openWatch begins a ListAndWatch of which no byte may come.
func (g *ground) openWatch() raw {
	r := g.raw().hello(0)
	r.begin(1, "ListAndWatch")
	r.WriteData(1, true, message(0, 0, nil))
	return r
}

var rawCases = []test{
	{"rubbish is nobody else's trouble", func(g *ground) {
		kib := g.resident()
		for range 6 {
			g.sayRubbish()
		}
		// What 2000 calls take at once stays with the allocator (15 MiB were seen); were each kept it would be 90.
		check(g.resident() < kib+48<<10, "%d KiB have become %d", kib, g.resident())
	}},
	{"half a request is refused, not waited for", func(g *ground) {
		for _, method := range []string{"Allocate", "PreStartContainer"} {
			for _, h := range halves {
				r := g.raw().hello(65535)
				r.begin(1, method)
				r.WriteData(1, true, h.bytes)
				check(r.ended(1) != "0", "%s: %s: accepted", method, h.name)
				r.Close()
			}
		}
		g.alive()
	}},
	{"half a request whose end does not come", func(g *ground) {
		fds := g.descriptors()
		for _, h := range halves {
			r := g.raw().hello(65535)
			r.begin(1, "Allocate")
			r.WriteData(1, false, h.bytes)
			defer r.Close()
			g.alive()
		}
		check(g.descriptors() <= fds+2*len(halves), "%d descriptors have become %d", fds, g.descriptors())
	}},
	{"an encoding that nobody knows", func(g *ground) {
		r := g.raw().hello(65535)
		defer r.Close()
		r.begin(1, "Allocate", "grpc-encoding", "brotli")
		r.WriteData(1, true, message(1, 3, []byte("abc")))
		check(r.ended(1) != "0", "accepted")
		g.alive()
	}},
	{"who listens and does not read costs nothing, and gets what is newest", func(g *ground) {
		g.put(nic, "allocated_to", "none")
		g.nic()
		r := g.openWatch()
		defer r.Close()
		kib := g.resident()
		g.put(disk, "claim", "alice")
		for range 20 {
			g.put(disk, "resource_name", nicName)
			g.put(disk, "resource_name", "none")
		}
		g.kubelet.wait(diskName, healthy(disk))
		g.nic()
		g.alive()
		check(g.resident() < kib+4<<10, "%d KiB have become %d", kib, g.resident())

		r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		lists := r.lists()
		check(len(lists) > 0 && len(lists) <= 3, "%d lists were kept", len(lists))
		last := lists[len(lists)-1]
		check(len(last.Devices) == 1 && last.Devices[0].ID == nic, "the last is %v", last)
	}},
}

// lists reads what a stream has to say until it is silent.
func (r raw) lists() (all []*dp.ListAndWatchResponse) {
	var data []byte
	r.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		frame, err := r.ReadFrame()
		if err != nil {
			break
		}
		r.SetReadDeadline(time.Now().Add(2 * time.Second))
		if d, ok := frame.(*http2.DataFrame); ok {
			data = append(data, d.Data()...)
		}
	}
	for len(data) >= 5 {
		n := 5 + int(binary.BigEndian.Uint32(data[1:]))
		check(n <= len(data), "half a list came")
		m := &dp.ListAndWatchResponse{}
		check(proto.Unmarshal(data[5:n], m) == nil, "a list that cannot be read")
		all = append(all, m)
		data = data[n:]
	}
	return all
}
