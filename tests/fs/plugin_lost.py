#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree goes and comes again: what kubelet and the plugin knew stays. Who reads our words ends and starts the daemon."""
import os
import socket

from plugin_lib import (ARGV, DIR, DISK, DISK_NAME, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, Waiting, get, ok,
                        put, wait_file)
from peer import Kubelet, refused

POD = "default/vm-1/compute"


def daemon(order):
    said = len(p.said())
    print(order, "the daemon", flush=True)
    if order == "stop":
        k.wait("the news", lambda: TREE + "/" in p.said()[said:])
    else:
        k.wait("the tree", lambda: os.path.exists(TREE + "/version"))


def offered(health):
    return [k.wait_health(NIC_NAME, {NIC: health}), k.wait_health(DISK_NAME, {DISK: health})]


def is_back():
    wait_file(NIC, "allocated_to", POD)
    k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
    return offered("Healthy")


def refuses():
    said = refused("FAILED_PRECONDITION", k.allocate, DISK_NAME, DISK)
    assert said == "nothing can be given to a pod while the tree is not mounted", said


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
k.start()
ARGV += ["--deadline", "1000"]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(os.environ["D"] + "/notify")
manager.settimeout(40)
os.environ["NOTIFY_SOCKET"] = os.environ["D"] + "/notify"
p = Plugin()
assert manager.recv(100) == b"READY=1"
del os.environ["NOTIFY_SOCKET"]
put(NIC, "claim", "alice")
put(DISK, "claim", "alice")
before = offered("Healthy")
k.allocate(NIC_NAME, NIC)
k.pods = [("default", "vm-1", "compute", NIC_NAME, [NIC])]
assert is_back() == before

# For a short time: what is to be given waits, and to kubelet all is as it was, also to one that comes only now.
daemon("stop")
k.stop()
k.start()
before = offered("Healthy")
waiting = Waiting(k.allocate, DISK_NAME, DISK)
assert waiting.is_alive(), waiting.said
daemon("start")
assert waiting.end() == "yes", waiting.said
assert get(DISK, "allocated_to") == "pending"
assert is_back() == before
for endpoint in before:
    sick = [devices for _, devices in endpoint.lists if any(d.health != "Healthy" for d in devices.values())]
    assert not sick, sick
put(DISK, "allocated_to", "none")
ok("for a short time without the tree kubelet hears nothing of it")

# For a long one: nothing can be given away, and kubelet knows. The servers stay.
assert p.end() == 0, "status of a clean end"
ARGV[-1] = "0.05"
k.reset()
p.start()
before = is_back()
daemon("stop")
assert offered("Unhealthy") == before
refuses()
daemon("start")
assert is_back() == before and not any(endpoint.ended for endpoint in before)
ok("for a long time without the tree all is unhealthy, and with it all is well")

# Where it does not come at all, what waits for us is not held up for ever.
assert p.end() == 0, "status of a clean end"
assert manager.recv(100) == b"STOPPING=1"
os.environ["NOTIFY_SOCKET"] = os.environ["D"] + "/notify"
ARGV += ["--tree", os.environ["D"] + "/none"]
p.start()
assert manager.recv(100) == b"READY=1"
assert p.end() == 0, "status of a clean end"
k.stop()
