#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of plain files and pipes: a look at holders takes until somebody opens the pipe's other end."""
import os
import time

from plugin_lib import ARGV, DIR, DISK, DISK_NAME, NIC, NIC_NAME, Plugin, ok
from peer import Kubelet

TREE = os.environ["D"] + "/plain"
HOLDERS = "%s/devices/%s/holders" % (TREE, NIC)


def line(dev, name, group, state, allocated="none"):
    return ('%s numa_node=-1 resource_name=%s claim=alice iommu_group=%d nodes="/dev/vfio/vfio /dev/vfio/%d" '
            'state=%s reason=why allocated_to=%s\n' % (dev, name, group, group, state, allocated))


def written():
    with open(TREE + "/ctl") as f:
        return "\n" + f.read()


def end_look():
    """Whether one was on its way."""
    try:
        os.close(os.open(HOLDERS, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


os.makedirs(DIR + "/pods")
os.makedirs(os.path.dirname(HOLDERS))
os.mkfifo(HOLDERS)
os.symlink(NIC, "%s/devices/%s" % (TREE, DISK))
os.mkfifo(TREE + "/events_pipe")
events = os.open(TREE + "/events_pipe", os.O_RDWR)
with open(TREE + "/ctl", "w"):
    pass
with open(TREE + "/inventory", "w") as out:
    out.write("pcidevfs-inventory 1 generation=7 boot=x devices=2\n")
    out.write(line(NIC, NIC_NAME, 14, "claimed"))
    out.write(line(DISK, DISK_NAME, 15, "held"))
ARGV += ["--tree", TREE]
k = Kubelet(DIR)
k.start()
p = Plugin()
k.wait_health(NIC_NAME, {NIC: "Healthy"})

# A device is held: each question makes the tree look. While it does, it is not told to look twenty times more.
for _ in range(20):
    k.asks()
looks = 0
for _ in range(40):
    looks += end_look()
    time.sleep(0.05)
assert 0 < looks < 10, looks
ok("%d looks after 20 questions" % looks)

# An Allocate waits for no look.
k.asks()
start = time.monotonic()
k.allocate(NIC_NAME, NIC)
ok("Allocate took %.0f ms beside a look" % ((time.monotonic() - start) * 1e3))
assert "\n%s/allocated_to pending\n" % NIC in written(), written()

# What a pod had is free once the tree has looked who holds it.
os.write(events, ("seq=1 generation=8 action=change changed=state " +
                  line(NIC, NIC_NAME, 14, "allocated", "default/vm-1/c")).encode())
k.pods = [("default", "vm-1", "c", NIC_NAME, [NIC])]
k.asks()
time.sleep(0.1)
k.pods = []
k.asks()
time.sleep(0.3)
assert "allocated_to none" not in written(), written()
end = time.monotonic() + 80
while "\n%s/allocated_to none\n" % NIC not in written():
    assert time.monotonic() < end, written()
    end_look()
    time.sleep(0.02)
ok("an end waits for a look")

while p.process.poll() is None:
    p.process.terminate()
    end_look()
    time.sleep(0.05)
k.stop()
