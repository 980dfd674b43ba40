#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What surrounds the plugin is not as it should be: users, sockets, a kubelet that says nothing."""
import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

import grpc

from plugin_lib import (ARGV, DIR, DISK, DISK_NAME, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, get, ok, put, sim,
                        wait_file)
from peer import Kubelet, raw

NOBODY = 65534
HERE = os.getcwd()
PLUGINS = DIR + "/device-plugins"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def wait(what, true, seconds=10):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "in vain: " + what
        time.sleep(0.01)


def ours():
    return sorted(n for n in os.listdir(PLUGINS) if n.startswith("pcidevfs-"))


def as_nobody(call):
    """As another user, in a directory that is open to all; the socket remembers who it was."""
    os.chdir(PLUGINS)
    os.seteuid(NOBODY)
    try:
        return call()
    finally:
        os.seteuid(0)
        os.chdir(HERE)


def bind(path):
    s = socket.socket(socket.AF_UNIX)
    if os.path.lexists(path):
        os.unlink(path)
    s.bind(path)
    return s


# A path that is too long for a socket is told, not cut.
long = subprocess.run([*ARGV, "--kubelet", "/tmp/" + "x" * 240], stderr=subprocess.PIPE, text=True, timeout=10)
assert long.returncode == 1 and "the path is too long" in long.stderr, long

# kubelet's socket is there before it listens, and nothing tells when it does: tried again and again.
os.makedirs(PLUGINS)
early = bind(PLUGINS + "/kubelet.sock")
os.umask(0)
p = Plugin()
put(NIC, "claim", "alice")
wait("its socket", ours)
time.sleep(0.2)
early.listen(8)
early.settimeout(10)
first = early.accept()[0]
first.settimeout(5)
assert first.recv(4096).startswith(PREFACE)
ok("registers with a socket that had refused")

# That kubelet says nothing, ever. It holds up nobody, and not our end.
start = time.monotonic()
assert p.end() == 0 and not ours(), ours()
ok("ended %.0f ms after it was told, with a Register outstanding" % ((time.monotonic() - start) * 1e3))
first.close()
early.close()

# A kubelet of another user is none.
with open("/proc/self/uid_map") as f:
    alone = int(f.read().split()[2]) <= NOBODY
if alone:
    ok("left out: a kubelet of another user, for there is none in this namespace")
else:
    os.chmod(PLUGINS, 0o777)
    os.unlink(PLUGINS + "/kubelet.sock")
    p.start()
    alien = as_nobody(lambda: bind("kubelet.sock"))
    as_nobody(lambda: alien.listen(8))
    wait("the refusal", lambda: "belongs to uid %d: only root may be kubelet" % NOBODY in p.said())
    alien.close()
    os.unlink(PLUGINS + "/kubelet.sock")
    # And no other user is kubelet's client, even where a mistake lets him connect.
    wait("its socket", ours)
    path = os.path.join(PLUGINS, ours()[0])
    assert os.stat(path).st_mode & 0o777 == 0o600, "umask 0 shows in the mode of its socket"
    os.chmod(path, 0o666)
    assert as_nobody(lambda: raw(os.path.basename(path), PREFACE)) == b""
    wait("the refusal", lambda: "a connection belongs to uid %d:" % NOBODY in p.said())
    assert raw(path, PREFACE + b"\0\0\0\4\0\0\0\0\0") != b"", "root is refused as well"
    ok("only root is kubelet")
    assert p.end() == 0

# Killed again and again it leaves no sockets of former lives.
p.start()
k = Kubelet(DIR)
k.start()
for _ in range(3):
    nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
    p.end(9)
    k.wait("end", lambda: nic.ended)
    k.reset()
    p.start()
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Healthy"})
assert len(ours()) == len(k.endpoints), (ours(), k.endpoints)

# What it may once start inherits no descriptor.
fds = "/proc/%d/fdinfo" % p.process.pid
for fd in os.listdir(fds):
    try:
        with open(os.path.join(fds, fd)) as f:
            flags = [line.split()[1] for line in f if line.startswith("flags:")][0]
    except FileNotFoundError:  # closed meanwhile
        continue
    assert int(fd) < 3 or int(flags, 8) & os.O_CLOEXEC, "descriptor %s is left open by exec" % fd

# A kubelet that does not tell which pod it was: allocated all the same, and named when it tells.
silent = bind(DIR + "/pod-resources/kubelet.sock")
silent.listen(8)
k.allocate(NIC_NAME, NIC)
assert get(NIC, "allocated_to") == "pending"
k.pods = [("default", "vm-1", "compute", NIC_NAME, [NIC])]
put(DISK, "claim", "alice")
k.wait_health(DISK_NAME, {DISK: "Healthy"})
silent.close()
k.stop()
k.start()
wait_file(NIC, "allocated_to", "default/vm-1/compute", 20)

# A pod's directory that comes, if it is the first ever; a claim that comes back, or a record that somebody took away:
# kubelet is asked soon, not at the next look of all ten seconds. A busy machine may be as late as that, but not always.
def soon(what, change, true):
    for _ in range(5):
        k.asks(10)
        wait_file(NIC, "allocated_to", "default/vm-1/compute")
        time.sleep(0.5)  # what had followed of it is over
        start = time.monotonic()
        change()
        wait(what, true, 80)
        if time.monotonic() - start < 4:
            return
    raise AssertionError(what + ": only at the next look")


def first_pod():
    shutil.rmtree(DIR + "/pods")
    time.sleep(0.5)
    first_pod.before = k.listed
    os.makedirs(DIR + "/pods/first")


def named():
    return get(NIC, "allocated_to") == "default/vm-1/compute"


def claim_anew():
    while get(NIC, "claim") != "none":
        put(NIC, "allocated_to", "none")
        with contextlib.suppress(OSError):  # the record is back already
            put(NIC, "claim", "none")
    put(NIC, "claim", "bob")


soon("a look for the first pod", first_pod, lambda: k.listed > first_pod.before)
soon("the record", lambda: put(NIC, "allocated_to", "none"), named)
soon("the claim's", claim_anew, named)

# Somebody looks on, from before kubelet listens: he is not taken for it. It forgets us, and hears of us again.
LOOK_ON = """
import grpc, sys
from grpc import insecure_channel
lists = insecure_channel("unix:" + sys.argv[1], options=[("grpc.default_authority", "localhost")]) \\
    .unary_stream("/v1beta1.DevicePlugin/ListAndWatch")(b"")
for _ in lists:
    print("a list", flush=True)
"""
onlooker = None


def look_on(endpoint):
    global onlooker
    if endpoint.name == NIC_NAME:
        onlooker = subprocess.Popen([sys.executable, "-c", LOOK_ON, os.path.join(PLUGINS, endpoint.endpoint)],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert onlooker.stdout.readline() == "a list\n"


k.before_watch = look_on
k.stop()
k.start()
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"}, 10)
k.before_watch = lambda endpoint: None
nic.stream.cancel()
k.wait("another registration", lambda: k.endpoints[NIC_NAME] is not nic)
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
assert onlooker.poll() is None, "the onlooker was cut off"
onlooker.kill()
onlooker.wait()
time.sleep(0.3)
assert k.endpoints[NIC_NAME] is nic and not nic.ended, "registered again because an onlooker went"
ok("an onlooker is not taken for kubelet")

# It takes each list and hangs up: it is not told again without a pause, and the log has it once.
def hang_up(endpoint):
    def after_list():
        k.wait("a list", lambda: endpoint.now() is not None)
        endpoint.stream.cancel()
    threading.Thread(target=after_list, daemon=True).start()


k.before_watch = hang_up
k.stop()
k.start()
time.sleep(3)
asked = len(k.registered)
names = len(k.endpoints)
assert names <= asked <= 7 * names, "%d times in three seconds, of %d names" % (asked, names)
wait("a word on it", lambda: "kubelet listened to %s for " % NIC_NAME in p.said())
k.before_watch = lambda endpoint: None
k.wait("another registration", lambda: len(k.registered) >= asked + names)
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
time.sleep(1.2)
nic.stream.cancel()
start = time.monotonic()
k.wait("another registration", lambda: k.endpoints[NIC_NAME] is not nic)
assert time.monotonic() - start < 3, "it had listened for long, and was told again only after a pause"
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
assert p.said().count("kubelet listened to ") <= 2 * names
ok("%d registrations with a kubelet that takes a list and hangs up" % asked)

# Out of descriptors: who connects waits, the plugin does not spin, and says why once.
def cpu():
    with open("/proc/%d/stat" % p.process.pid) as f:
        used = f.read().rsplit(")", 1)[1].split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


limit = resource.prlimit(p.process.pid, resource.RLIMIT_NOFILE)
room = max(int(fd) for fd in os.listdir("/proc/%d/fd" % p.process.pid)) + 5
resource.prlimit(p.process.pid, resource.RLIMIT_NOFILE, (room, limit[1]))
path = os.path.join(PLUGINS, nic.endpoint)
waiting = [socket.socket(socket.AF_UNIX) for _ in range(16)]
for s in waiting:
    s.connect(path)
why = "kubelet's connection to %s is not accepted: Too many open files" % NIC_NAME
wait("why", lambda: why in p.said())
used = cpu()
time.sleep(2)
used = cpu() - used
assert used < 0.5, "%.2f s of CPU in 2 s" % used
assert p.said().count(why) == 1
resource.prlimit(p.process.pid, resource.RLIMIT_NOFILE, limit)
late = waiting[-1]
late.settimeout(10)
late.sendall(PREFACE + b"\0\0\0\4\0\0\0\0\0")
assert late.recv(4096), "who waited is not served"
for s in waiting:
    s.close()
ok("%.2f s of CPU in 2 s without descriptors" % used)

# Pods wait for one resource that it cannot be reached for: the others are not told never.
assert get(NIC, "allocated_to") != "none"
k.refused = {NIC_NAME: "dial back failed"}
k.refused_as = grpc.StatusCode.UNAVAILABLE
k.stop()
k.start()
k.wait_health(DISK_NAME, {DISK: "Healthy"}, 10)

# A kubelet that cannot be reached for one resource is not asked for all of them without a pause; and nothing is left
# of the streams that it had.
k.refused = {DISK_NAME: "dial back failed"}
k.refused_as = grpc.StatusCode.UNAVAILABLE
k.stop()
k.start()
time.sleep(2)
asked = len(k.asked)
time.sleep(2)
assert len(k.asked) - asked <= 60, "%d times in two seconds" % (len(k.asked) - asked)
wait("the sentence", lambda: "kubelet cannot be reached: dial back failed" in p.said(), 80)
k.refused = {}
k.wait_health(DISK_NAME, {DISK: "Healthy"}, 10)
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"}, 10)

# Its directory is removed under our sockets and made again, and what is above it.
for what in (PLUGINS, DIR):
    k.stop()
    while os.path.exists(what):  # a socket may just be made in it
        shutil.rmtree(what, ignore_errors=True)
    time.sleep(0.1)
    os.makedirs(DIR + "/pods", exist_ok=True)
    os.makedirs(DIR + "/pod-resources", exist_ok=True)
    os.makedirs(PLUGINS)
    time.sleep(0.1)
    k.start()
    k.wait_health(NIC_NAME, {NIC: "Healthy"}, 10)
    k.wait_health(DISK_NAME, {DISK: "Healthy"}, 10)
ok("registered in a directory that was made anew")

# KubeVirt takes no domain above ffff, as VMD has them: not offered, and the log says why.
FAR = "10000:e1:00.0"
sim("plug", FAR, "from", DISK)
wait("it", lambda: os.path.isdir("%s/devices/%s" % (TREE, FAR)))
put(FAR, "claim", "alice")
wait("why", lambda: "%s is not offered: KubeVirt does not accept PCI domains above ffff" % FAR in p.said())
k.wait_health(DISK_NAME, {DISK: "Healthy"})
assert get(FAR, "reason") == "claimed by alice; it is not offered to kubelet: KubeVirt does not accept PCI domains above ffff"
with open("%s/resources/%s/capacity" % (TREE, DISK_NAME)) as f:
    assert f.read() == "1\n"
put(FAR, "claim", "none")

assert p.end() == 0, "status of a clean end"
lines = [line for line in p.said().splitlines() if not line.startswith("pcidevfs-plugin: ")]
assert not lines, lines
k.stop()
