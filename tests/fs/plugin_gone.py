#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pod has of an IOMMU group keeps the rest from others: also unplugged, and when nobody knows yet whose it is."""
import os

from plugin_lib import DIR, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, ok, put, sim, wait_file
from peer import Kubelet, refused

POD = ("default", "vm-1", "compute", NIC_NAME, [NIC])

os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
k.start()
put(NIC, "claim", "alice")  # and with it its mate

# As after a reboot: the tree has kept that it was allocated, and not to whom.
put(NIC, "allocated_to", "pending")
p = Plugin()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
said = refused("FAILED_PRECONDITION", k.allocate, MATE_NAME, MATE)
assert "in its IOMMU group 14 %s is allocated, and kubelet has not reported the pod yet" % NIC in said, said
k.lists(POD)
wait_file(NIC, "allocated_to", "default/vm-1/compute")
ok(said)

sim("unplug", NIC)
k.wait("the end of it", lambda: not os.path.exists("%s/devices/%s" % (TREE, NIC)))
k.wait_health(NIC_NAME, {})
before = k.listed
k.lists(POD)
k.wait("two lists", lambda: k.listed > before + 1)
said = refused("FAILED_PRECONDITION", k.allocate, MATE_NAME, MATE)
assert "its IOMMU group 14 is allocated to default/vm-1/compute" in said, said
k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
ok("a function that is unplugged stays with its pod")

k.lists()
k.wait_health(MATE_NAME, {MATE: "Healthy"})
k.allocate(MATE_NAME, MATE)
ok("until kubelet lists it no more")
assert p.end() == 0, "status of a clean end"
k.stop()
