#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of plain files, with devices of two sorts under one name, and an Allocate of both."""
import os

from plugin_lib import ARGV, DIR, NIC, Plugin, ok
from peer import Kubelet, refused

TREE = os.environ["D"] + "/plain"
NAME, MDEV = "b.com/R", "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"


def line(dev, group):
    return ('%s numa_node=-1 resource_name=%s claim=alice iommu_group=%d nodes="/dev/vfio/vfio /dev/vfio/%d" '
            'state=claimed reason=why allocated_to=none\n' % (dev, NAME, group, group))


def written():
    with open(TREE + "/ctl") as f:
        return [w for w in f.read().split("\n") if "allocated_to" in w]


os.mkdir(TREE)
os.mkfifo(TREE + "/events_pipe")
events = os.open(TREE + "/events_pipe", os.O_RDWR)
with open(TREE + "/ctl", "w"):
    pass
with open(TREE + "/inventory", "w") as out:
    out.write("pcidevfs-inventory 1 generation=7 boot=x devices=2\n" + line(NIC, 14) + line("mdev/" + MDEV, 15))
ARGV += ["--tree", TREE]
k = Kubelet(DIR)
k.start()
p = Plugin()
k.wait_health(NAME, {NIC: "Healthy", MDEV: "Healthy"})

# It is found out when the answer is made, and nobody but the plugin knows that no pod has them.
k.may_list.clear()
said = refused("INVALID_ARGUMENT", k.allocate, NAME, NIC, MDEV)
assert "has devices of two kinds" in said, said
both = ["%s/allocated_to %%s" % NIC, "mdev/%s/allocated_to %%s" % MDEV]
k.wait("the end", lambda: written() == [w % "pending" for w in both] + [w % "none" for w in both])
k.may_list.set()
ok(said)

assert p.end() == 0, "status of a clean end"
k.stop()
