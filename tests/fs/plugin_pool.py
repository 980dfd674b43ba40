#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices of one name come, go and come again, get a name of their own and give it back, on several NUMA nodes."""
import os

from plugin_lib import DIR, TREE, Plugin, get, ok, put, sim, wait_file
from peer import Kubelet, dp, refused

PF = "0000:02:00.1"


def registrations(name):
    return [n for _, n in k.registered].count(name)


def healthy(*devs):
    return dict.fromkeys(devs, "Healthy")


def has_let_go(name):
    k.wait("the end of " + name, lambda: k.endpoints[name].ended)


def variables(name, dev):
    return dict(k.allocate(name, dev).container_responses[0].envs)


def variable(name):
    return "PCI_RESOURCE_" + name.upper().replace("/", "_").replace(".", "_")


def nodes_are(name, expected):
    """{device: NUMA nodes}, None where no topology is told: node 0 is no field on the wire, so its message is."""
    def now():
        return {i: [n.ID for n in d.topology.nodes] if d.HasField("topology") else None
                for i, d in k.endpoints[name].now().items()}
    try:
        k.wait("the nodes", lambda: now() == expected)
    except AssertionError:
        raise AssertionError("%s, not %s" % (now(), expected)) from None


put(PF, "sriov_numvfs", "3")
A, B, C = (os.path.basename(os.readlink("%s/devices/%s/virtfn%d" % (TREE, PF, i))) for i in range(3))
POOL = get(A, "resource_name")
OWN = POOL.split("/")[0] + "/" + B.replace(":", "_").replace(".", "_")
assert get(B, "resource_name") == get(C, "resource_name") == POOL
os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
p = Plugin()
put(B, "pooled", "0")
for dev in (A, B, C):
    put(dev, "claim", "alice")

# A name of its own, from before kubelet listened.
k.start()
k.wait_health(POOL, healthy(A, C))
k.wait_health(OWN, healthy(B))
assert OWN == "intel.com/" + B.replace(":", "_").replace(".", "_"), OWN
assert variables(OWN, B) == {variable(OWN): B}
k.lists(("default", "own", "compute", OWN, [B]))
wait_file(B, "allocated_to", "default/own/compute")
k.lists()
wait_file(B, "allocated_to", "none")
ok("registered as " + OWN)

# Into the pool and out of it while kubelet listens: the pool is not registered anew, its stream tells.
pool = k.endpoints[POOL]
for turn in range(2):
    put(B, "pooled", "1")
    k.wait_health(POOL, healthy(A, B, C))
    k.wait_health(OWN, {})
    has_let_go(OWN)
    assert PF in refused("FAILED_PRECONDITION", k.allocate, POOL, B, PF)  # both or neither
    assert get(B, "allocated_to") == "none"
    put(B, "pooled", "0")
    k.wait_health(POOL, healthy(A, C))
    k.wait_health(OWN, healthy(B))
    refused("FAILED_PRECONDITION", k.allocate, POOL, B)
    assert registrations(OWN) == 2 + turn, k.registered
put(B, "pooled", "1")
k.wait_health(POOL, healthy(A, B, C))
has_let_go(OWN)
assert variables(POOL, B) == {variable(POOL): B}
k.lists(("default", "pooled", "compute", POOL, [B]))
wait_file(B, "allocated_to", "default/pooled/compute")

# Released while the others stay, one of them with a pod, and claimed again: as if it had never been away.
for dev in (A, C, A):
    put(dev, "claim", "none")
    k.wait_health(POOL, healthy(*({A, B, C} - {dev})))
    refused("FAILED_PRECONDITION", k.allocate, POOL, dev)
    put(dev, "claim", "bob")
    k.wait_health(POOL, healthy(A, B, C))
    assert variables(POOL, dev) == {variable(POOL): dev}
    pool.call("PreStartContainer", dp.PreStartContainerRequest(devices_ids=[dev]), dp.PreStartContainerResponse)
    k.lists(("default", "pooled", "compute", POOL, [B]), ("default", "again", "compute", POOL, [dev]))
    wait_file(dev, "allocated_to", "default/again/compute")
    assert pool.health() == healthy(A, B, C)
    k.lists(("default", "pooled", "compute", POOL, [B]))
    wait_file(dev, "allocated_to", "none")
# So is the one that has been with a pod, when that has ended.
k.lists()
wait_file(B, "allocated_to", "none")
put(B, "claim", "none")
k.wait_health(POOL, healthy(A, C))
put(B, "claim", "bob")
k.wait_health(POOL, healthy(A, B, C))
assert variables(POOL, B) == {variable(POOL): B}
assert k.endpoints[POOL] is pool and not pool.ended and registrations(POOL) == 1, k.registered
ok("%d lists of %s, registered once" % (len(pool.lists), POOL))

# Node 0 is a node, no node is none; and it is what the machine says now.
nodes_are(POOL, {A: None, B: None, C: None})
for dev, node in ((A, 0), (B, 1)):
    sim("set", "bus/pci/devices/%s/numa_node" % dev, str(node))
    sim("uevent", "change", "bus/pci/devices/" + dev)
nodes_are(POOL, {A: [0], B: [1], C: None})
put(A, "claim", "none")
nodes_are(POOL, {B: [1], C: None})
put(A, "claim", "alice")
nodes_are(POOL, {A: [0], B: [1], C: None})
sim("set", "bus/pci/devices/%s/numa_node" % A, "-1")
sim("uevent", "change", "bus/pci/devices/" + A)
nodes_are(POOL, {A: None, B: [1], C: None})
assert k.endpoints[POOL] is pool and not pool.ended and registrations(POOL) == 1, k.registered

assert p.end() == 0, "status of a clean end"
k.stop()
