#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A device gets another name: its pod goes on with it by the former one, and nobody else gets it by that."""
import os

from plugin_lib import DIR, DISK, DISK_NAME, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, get, ok, put, wait_file
from peer import Kubelet, dp, refused

NEW_NAME = "example.com/new"


def start(name):
    return k.endpoints[name].call("PreStartContainer", dp.PreStartContainerRequest(devices_ids=[DISK]),
                                  dp.PreStartContainerResponse)


def pendings():
    with open(TREE + "/log") as f:
        return f.read().count("file=allocated_to value=pending")


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
put(DISK, "claim", "alice")
k.start()
p = Plugin()
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.allocate(DISK_NAME, DISK)
k.lists(("default", "vm-1", "compute", DISK_NAME, [DISK]))
wait_file(DISK, "allocated_to", "default/vm-1/compute")

# Renamed while a pod has it. That pod's container may start again; the next pod is told which name to ask for, though
# kubelet gives it the device as soon as the first has ended, and nothing is written down for it.
put(DISK, "resource_name", NEW_NAME)
put(NIC, "claim", "alice")
k.wait_health(NIC_NAME, {NIC: "Healthy"})  # so it has heard of the name, too
start(DISK_NAME)
given = pendings()
k.pods = []
said = refused("FAILED_PRECONDITION", k.allocate, DISK_NAME, DISK)
assert "%s is called %s now, and %s only for the pod" % (DISK, NEW_NAME, DISK_NAME) in said, said
assert get(DISK, "allocated_to") == "default/vm-1/compute" and pendings() == given
ok(said)
k.lists()
wait_file(DISK, "allocated_to", "none")
k.wait_health(NEW_NAME, {DISK: "Healthy"})
k.wait_health(DISK_NAME, {})
k.allocate(NEW_NAME, DISK)
k.lists(("default", "vm-2", "compute", NEW_NAME, [DISK]))
wait_file(DISK, "allocated_to", "default/vm-2/compute")

# Renamed after the pod's end: the former name is forgotten for good, not only while this plugin runs.
k.lists()
wait_file(DISK, "allocated_to", "none")
assert get(DISK, "allocated_as") == "none"
put(DISK, "resource_name", "none")
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.wait_health(NEW_NAME, {})
assert get(DISK, "allocated_as") == "none"
p.end(9)
k.reset()
p.start()
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.wait("the others", lambda: len(k.endpoints) > 2)
names = {name for _, name in k.registered}
assert names == {DISK_NAME, NIC_NAME, MATE_NAME}, names
ok("a plugin that starts offers no former name")

# Another plugin's name for what a pod has, which kubelet tells later: nothing is written for it, and it is told.
for name, health in ((DISK_NAME, "Healthy"), ("other.com/x", "Unhealthy"), (DISK_NAME, "Healthy")):
    k.lists(("default", "vm-3", "compute", name, [DISK]))
    wait_file(DISK, "allocated_to", "default/vm-3/compute")
    k.wait_health(DISK_NAME, {DISK: health})
assert "it is allocated to default/vm-3/compute under another name than %s: other.com/x" % DISK_NAME in p.said(), p.said()
ok("what follows from kubelet's list alone is told at once")

assert p.end() == 0, "status of a clean end"
k.stop()
