#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""plugin.py TREE KUBELET-DIR PLUGIN-ARGV...: the plugin before a kubelet that can be broken."""
import fcntl
import json
import os
import signal
import subprocess
import time

from plugin_lib import (ARGV, DIR, DISK, DISK_NAME, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, get, ok, put, sim,
                        wait_file)
from peer import Kubelet, dp, raw, refused

# Whoever can open kubelet's directory can lock it; that is no reason not to start.
theirs = os.open(DIR, os.O_RDONLY)
fcntl.flock(theirs, fcntl.LOCK_EX)
k = Kubelet(DIR)
p = Plugin()
put(NIC, "claim", "alice")
time.sleep(0.3)
assert not k.registered and p.process.poll() is None

# kubelet absent at the start; then there, with everything it knew wiped.
k.start()
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Healthy"})
assert nic.options.pre_start_required and nic.options.get_preferred_allocation_available
assert not nic.now()[NIC].HasField("topology"), "numa_node -1 is no node"
ok("registered %.0f ms after kubelet began to listen" % ((k.registered[-1][0] - k.started) * 1e3))

# A claim is heard at once; so is a release, and the resource goes.
start = time.monotonic()
put(DISK, "claim", "alice")
returned = time.monotonic()
disk = k.wait_health(DISK_NAME, {DISK: "Healthy"})
ok("claim returned after %.1f ms, list %.1f ms later" % ((returned - start) * 1e3,
                                                      (disk.lists[-1][0] - returned) * 1e3))


def anew():
    """Seconds from the end of the resource's stream to its next registration."""
    put(DISK, "claim", "none")
    old = k.wait_health(DISK_NAME, {})
    k.wait("end of the stream", lambda: old.ended)
    assert not os.path.exists(os.path.join(k.plugins, old.endpoint)), "its socket is left"
    put(DISK, "claim", "alice")
    k.wait_health(DISK_NAME, {DISK: "Healthy"})
    return k.registered[-1][0] - old.ended


# kubelet would take the end of the one for that of the other. It may have been late to see the end.
assert any(anew() > 0.03 for _ in range(3)), "registered while kubelet is at the end of the former stream"

# What is asked wrongly is answered, and nothing else suffers.
refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, "0000:09:00.0")
refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, DISK)
refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, "x" * 100000)
refused("INVALID_ARGUMENT", k.allocate, NIC_NAME)
refused("INVALID_ARGUMENT", k.allocate, NIC_NAME, NIC, NIC)
refused("INVALID_ARGUMENT", nic.call, "Allocate", b"", dp.AllocateResponse)
refused("INVALID_ARGUMENT", nic.call, "Allocate", b"\xff\xff\xff garbage", dp.AllocateResponse)
refused("INVALID_ARGUMENT", nic.call, "PreStartContainer", b"\x0a\xff", dp.Empty)
refused("INVALID_ARGUMENT", nic.call, "GetPreferredAllocation", b"\x0a\x80", dp.Empty)
refused("RESOURCE_EXHAUSTED", nic.call, "Allocate", b"\x0a" * (2 << 20), dp.AllocateResponse)
refused("UNIMPLEMENTED", nic.call, "Deallocate", b"", dp.Empty)
for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 4096, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", os.urandom(4096)):
    raw(os.path.join(k.plugins, nic.endpoint), data)
assert get(NIC, "allocated_to") == "none"

# Allocate: the variable by KubeVirt's rule, the nodes, the CDI name; the tree knows before kubelet does.
a = k.allocate(NIC_NAME, NIC).container_responses
assert len(a) == 1
assert dict(a[0].envs) == {"PCI_RESOURCE_INTEL_COM_82540EM_GIGABIT_ETHERNET_CONTROLLER": NIC}, a[0].envs
nodes = [(d.container_path, d.host_path, d.permissions) for d in a[0].devices]
dev = os.environ["S"] + "/dev"
assert nodes == [("/dev/vfio/vfio", dev + "/vfio/vfio", "mrw"), ("/dev/vfio/14", dev + "/vfio/14", "mrw")], nodes
assert [c.name for c in a[0].cdi_devices] == ["pcidevfs/device=" + NIC]
assert get(NIC, "allocated_to") == "pending" and get(NIC, "state") == "allocated"
assert nic.health() == {NIC: "Healthy"}, "what is allocated counts"

# kubelet tells which pod: the tree names it, refuses the release, and its mate is nobody else's.
k.pods = [("default", "vm-1", "compute", NIC_NAME, [NIC])]
wait_file(NIC, "allocated_to", "default/vm-1/compute")
k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
assert "allocated to default/vm-1/compute" in refused("FAILED_PRECONDITION", k.allocate, MATE_NAME, MATE)
try:
    put(NIC, "claim", "none")
    raise AssertionError("released")
except OSError as e:
    assert e.strerror == "Device or resource busy"
assert "allocated to default/vm-1/compute" in get(NIC, "last_error")
nic.call("PreStartContainer", dp.PreStartContainerRequest(devices_ids=[NIC]), dp.PreStartContainerResponse)

# Killed in the middle: everything is as it was, and soon.
p.end(9)
k.wait("end", lambda: nic.ended)
k.reset()
start = time.monotonic()
p.start()
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok("killed with -9: Healthy again after %.0f ms" % ((nic.lists[-1][0] - start) * 1e3))
assert get(NIC, "allocated_to") == "default/vm-1/compute"

# kubelet starts again: all are registered anew, capacity as before.
# Until it has heard from all its sources it lists no pods; what it keeps on disk says that they run on.
os.makedirs(DIR + "/pods/u1", exist_ok=True)
with open(k.plugins + "/kubelet_internal_checkpoint", "w") as f:
    json.dump({"Data": {"PodDeviceEntries": [{"PodUID": "u1", "ContainerName": "compute", "ResourceName": NIC_NAME,
                                              "DeviceIDs": {"-1": [NIC]}}]}, "Checksum": 0}, f)
k.stop()
pods, k.pods = k.pods, []
k.start()
k.wait("registrations", lambda: len(k.registered) == 3)
time.sleep(0.7)
assert get(NIC, "allocated_to") == "default/vm-1/compute", get(NIC, "allocated_to")
with open(TREE + "/log") as f:
    assert "file=allocated_to value=none" not in f.read()
k.pods = pods
time.sleep(0.3)
ok("kubelet started again: all registered after %.0f ms" % ((k.registered[-1][0] - k.started) * 1e3))
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(DISK_NAME, {DISK: "Healthy"})

# A stream that ends, and nobody said why.
nic.stream.cancel()
k.wait("a new registration", lambda: len(k.registered) > 3)
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})

# The pod is gone, what it ran is not.
sim("hold", "14", "4711", "qemu-system-x86")
k.pods = []
os.rmdir(DIR + "/pods/u1")
wait_file(NIC, "allocated_to", "none", 15)
k.wait_health(NIC_NAME, {NIC: "Unhealthy"})
assert "by a process, see holders" in get(NIC, "reason"), get(NIC, "reason")
assert "4711" in get(NIC, "holders"), get(NIC, "holders")
assert "by a process" in refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC)
sim("release", "14")
k.wait_health(NIC_NAME, {NIC: "Healthy"}, 15)
k.wait_health(MATE_NAME, {MATE: "Healthy"})

# Of the longest names that Kubernetes allows as of others: the tree names the pod, its mate is nobody else's.
longest = ("n" * 63, "p" * 253, "c" * 63)
k.allocate(NIC_NAME, NIC)
k.pods = [(*longest, NIC_NAME, [NIC])]
os.mkdir(DIR + "/pods/u2")
wait_file(NIC, "allocated_to", "/".join(longest), 15)
k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
assert "is allocated to " + "/".join(longest) in refused("FAILED_PRECONDITION", k.allocate, MATE_NAME, MATE)
k.pods = []
os.rmdir(DIR + "/pods/u2")
wait_file(NIC, "allocated_to", "none", 15)
k.wait_health(MATE_NAME, {MATE: "Healthy"})

# Nor is one of a name that none has; it is said once, however often kubelet lists it.
k.pods = [("default", "no name", "c", NIC_NAME, [NIC])]
for i in range(3):
    before = k.listed
    os.mkdir(DIR + "/pods/odd%d" % i)
    k.wait("the question", lambda: k.listed > before)
k.wait("the sentence", lambda: "kubelet lists 1 devices with invalid names of pods" in p.said())
time.sleep(0.2)
assert p.said().count("with invalid names of pods") == 1, p.said()
k.pods = []
k.wait_health(NIC_NAME, {NIC: "Healthy"})

# Who looks after the tree's health sees that somebody offers the devices.
with open(TREE + "/health") as f:
    assert "client=pcidevfs-plugin" in f.read()

# A name that kubelet refuses is told once, and asked again; the others go on.
k.refused = {"example.com/odd": "nobody likes odd"}
put(DISK, "resource_name", "example.com/odd")
k.wait_health(DISK_NAME, {})
k.wait("other tries", lambda: k.asked.count("example.com/odd") > 2)
assert p.said().count("kubelet does not accept example.com/odd: nobody likes odd; asked again") == 1, p.said()
k.refused = {}
k.wait_health("example.com/odd", {DISK: "Healthy"})

# Preferred: what must be, then the rest.
r = dp.PreferredAllocationRequest()
r.container_requests.add(available_deviceIDs=[DISK], must_include_deviceIDs=[], allocation_size=1)
odd = k.endpoints["example.com/odd"]
got = odd.call("GetPreferredAllocation", r, dp.PreferredAllocationResponse)
assert [list(c.deviceIDs) for c in got.container_responses] == [[DISK]]
# One that has gone is no reason to say nothing of the others.
r.container_requests[0].available_deviceIDs.append("0000:7f:00.0")
got = odd.call("GetPreferredAllocation", r, dp.PreferredAllocationResponse)
assert [list(c.deviceIDs) for c in got.container_responses] == [[DISK]]
r.container_requests[0].allocation_size = 2
refused("INVALID_ARGUMENT", odd.call, "GetPreferredAllocation", r, dp.PreferredAllocationResponse)

# Another one of us. Its lock is nobody else's.
assert os.stat(DIR + "/pcidevfs-plugin.lock").st_mode & 0o777 == 0o600
os.close(theirs)
second = subprocess.run(ARGV, stderr=subprocess.PIPE, text=True, timeout=10)
assert second.returncode == 1 and "another pcidevfs-plugin serves" in second.stderr, second
# Whom a service manager would start again without a pause makes one, and ends when told to.
managed = dict(os.environ, NOTIFY_SOCKET=os.environ["D"] + "/notify")
start = time.monotonic()
subprocess.run(ARGV, stderr=subprocess.DEVNULL, env=managed)
assert time.monotonic() - start >= 1, "a start that fails makes no pause"

# A hang-up ends nobody. The device is pulled out under it.
p.process.send_signal(signal.SIGHUP)
sim("unplug", DISK)
k.wait_health("example.com/odd", {})

assert p.end() == 0, "status of a clean end"
assert not [n for n in os.listdir(k.plugins) if n.startswith("pcidevfs-")], os.listdir(k.plugins)
k.stop()
