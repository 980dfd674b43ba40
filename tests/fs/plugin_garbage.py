#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What sits on kubelet's sockets speaks no gRPC, hangs up in the middle, or answers what cannot be read."""
import os
import socket
import struct
import threading
import time

from plugin_lib import BUSY, DIR, DISK, DISK_NAME, NIC, NIC_NAME, TREE, Plugin, get, ok, put, wait_file
from peer import Kubelet, pr

PODS, REGISTER = DIR + "/pod-resources/kubelet.sock", DIR + "/device-plugins/kubelet.sock"
POD = ("default", "vm-1", "compute", NIC_NAME, [NIC])
DATA, HEADERS, SETTINGS = 0, 1, 4
LIMIT = 16 << 20  # of a message (rpc_channel.c)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


OPENING = frame(SETTINGS, 0, 0) + frame(SETTINGS, 1, 0)
STARTED = frame(HEADERS, 4, 1, b"\x88\x0f\x10\x10application/grpc")  # :status 200, content-type
HALF = frame(DATA, 0, 1, b"\0\0\0\4\0half of it")
WHOLE = frame(DATA, 0, 1, b"\0\0\0\0\0")  # a message, and be it an empty list


class Impostor:
    """Listens in kubelet's place; `play` has each connection."""

    def __init__(self, path, play):
        self.play, self.asked = play, 0
        if os.path.lexists(path):
            os.unlink(path)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            self.asked += 1
            threading.Thread(target=self.meet, args=(connection,), daemon=True).start()

    def meet(self, connection):
        try:
            with connection:
                connection.settimeout(20)
                self.play(connection)
        except OSError:
            pass

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def request(connection):
    """Once it is here."""
    seen = b""
    while b"localhost" not in seen:  # of its headers
        more = connection.recv(4096)
        if not more:
            raise OSError("it hung up")
        seen += more


def no_http(connection):
    connection.sendall(b"220 mail.example.com ESMTP\r\n" + bytes(range(256)) * 16)
    while connection.recv(4096):
        pass


def hang_up(connection):
    connection.sendall(OPENING)
    request(connection)


def half(connection):
    connection.sendall(OPENING)
    request(connection)
    connection.sendall(STARTED + HALF)


def no_status(connection):
    connection.sendall(OPENING)
    request(connection)
    connection.sendall(STARTED + WHOLE)


class Nonsense(Kubelet):
    """Is a kubelet but for what it says of pods."""
    says = None

    def list_pods(self, data, context):
        answer = Kubelet.list_pods(self, data, context)
        return answer if self.says is None else self.says


def wait(what, true, seconds=10):
    end = time.monotonic() + seconds * BUSY
    while not true():
        assert p.process.poll() is None, "the plugin has died"
        assert time.monotonic() < end, "in vain: %s\n%s" % (what, p.said())
        time.sleep(0.01)


def descriptors():
    return len(os.listdir("/proc/%d/fd" % p.process.pid))


class Episode:
    """In which kubelet is none: what is said of it is said once, and nothing is forgotten."""

    def __enter__(self):
        self.said = len(p.said())
        return self

    def says(self, sentence):
        wait(sentence, lambda: sentence in p.said()[self.said:])

    def __exit__(self, kind, *_):
        if kind:
            return
        assert p.process.poll() is None, "the plugin has died"
        lines = p.said()[self.said:].splitlines()
        assert len(lines) == len(set(lines)), lines
        with open(TREE + "/log") as f:
            ended = [line for line in f if NIC in line and "file=allocated_to value=none" in line]
        assert get(NIC, "allocated_to") == "default/vm-1/compute" and not ended, ended
        ok("; ".join(line.partition(": ")[2] for line in lines))


def goes_on():
    """Kubelet is good again: a pod comes, and ends."""
    k.wait_health(NIC_NAME, {NIC: "Healthy"}, 10)
    k.wait_health(DISK_NAME, {DISK: "Healthy"}, 10)
    k.allocate(DISK_NAME, DISK)
    k.lists(POD, ("default", "vm-2", "compute", DISK_NAME, [DISK]))
    wait_file(DISK, "allocated_to", "default/vm-2/compute", 15)
    k.lists(POD)
    wait_file(DISK, "allocated_to", "none", 15)
    assert get(NIC, "allocated_to") == "default/vm-1/compute"


os.makedirs(DIR + "/pods")
k = Nonsense(DIR)
k.start()
p = Plugin()
put(NIC, "claim", "alice")
put(DISK, "claim", "alice")
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.allocate(NIC_NAME, NIC)
k.lists(POD)
wait_file(NIC, "allocated_to", "default/vm-1/compute")
goes_on()
before = descriptors()

# Where it is asked for pods.
for play in (no_http, hang_up, half, no_status):
    with Episode() as e:
        there = Impostor(PODS, play)
        k.news()
        e.says("kubelet does not list its pods: ")
        asked = there.asked
        wait("other questions", lambda: there.asked > asked + 1)
    there.end()
    k.stop()
    k.start()
    goes_on()

# Where it registers.
for play in (no_http, hang_up, half, no_status):
    k.stop()
    with Episode() as e:
        there = Impostor(REGISTER, play)
        e.says("kubelet cannot be reached: ")
        asked = there.asked
        wait("other tries", lambda: there.asked > asked + 1)
    there.end()
    k.start()
    goes_on()

# gRPC, but what it carries cannot be read, or is too much.
good = pr.ListPodResourcesResponse()
good.pod_resources.add(name="vm-3", namespace="default").containers.add(name="compute")
good = good.SerializeToString()
UNREADABLE = "kubelet's list of pods cannot be read"
for says, sentence in ((os.urandom(4096) + b"\xff" * 64, UNREADABLE), (good[:-3], UNREADABLE),
                       (b"\x0a\xff\xff\xff\xff\x0f", UNREADABLE),
                       (b"\0" * (LIMIT + 1), "kubelet does not list its pods: ")):
    with Episode() as e:
        k.says = says
        k.news()
        e.says(sentence)
        asked = k.listed
        k.wait("other questions", lambda: k.listed > asked + 3)
    k.says = None
    goes_on()

wait("the end of its connections", lambda: descriptors() <= before)
assert p.end() == 0, "status of a clean end"
k.stop()
