#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel with VFIO device nodes: what pods are given of them."""
import os

from plugin_lib import DIR, DISK, DISK_NAME, MATE, NIC, NIC_NAME, Plugin, get, put
from peer import Kubelet

DEV = os.environ["S"] + "/dev"


def given(name, dev):
    """What a container runtime is to look up, which it refuses when it is not there."""
    nodes = k.allocate(name, dev).container_responses[0].devices
    for d in nodes:
        assert os.path.exists(d.host_path), d.host_path
        assert d.host_path == DEV + d.container_path[len("/dev"):], d
    return [d.container_path for d in nodes]


k = Kubelet(DIR)
p = Plugin()
put(NIC, "claim", "alice")
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})

# The cdevs of the group's members, and what VMMs open along with a cdev.
nodes = given(NIC_NAME, NIC)
assert set(nodes) == {"/dev/vfio/vfio", "/dev/vfio/14", "/dev/vfio/devices/vfio0", "/dev/vfio/devices/vfio1",
                      "/dev/iommu"}, nodes
assert set(nodes) == set(get(NIC, "nodes").split("\n") + get(MATE, "nodes").split("\n"))

# Without /dev/iommu nobody is told of it.
os.unlink(DEV + "/iommu")
put(DISK, "claim", "alice")
k.wait_health(DISK_NAME, {DISK: "Healthy"})
nodes = given(DISK_NAME, DISK)
assert "/dev/vfio/devices/vfio2" in nodes and "/dev/iommu" not in nodes, nodes

assert p.end() == 0
k.stop()
