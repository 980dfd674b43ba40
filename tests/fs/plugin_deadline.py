#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Others take longer than they may: what was waited for is done again, or ends with a sentence."""
import os
import time

from plugin_lib import ARGV, DIR, DISK, DISK_NAME, NIC, NIC_NAME, TREE, Plugin, get, giving, ok, put, tree_hangs, wait_file
from peer import Kubelet, dp, refused


def again(factor):
    """Another plugin, with other deadlines."""
    assert p.end() == 0, "status of a clean end"
    ARGV[-1] = factor
    k.reset()
    p.start()


def writes():
    """What was written to the allocated_to of NIC, in that order."""
    with open(TREE + "/log") as f:
        return [line.split("value=")[1].split()[0] for line in f if "id=%s file=allocated_to " % NIC in line]


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
k.start()
ARGV += ["--deadline", "0.05"]
p = Plugin()
put(NIC, "claim", "alice")
put(DISK, "claim", "alice")
nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
disk = k.wait_health(DISK_NAME, {DISK: "Healthy"})

# An act hangs: the pod is refused, others are answered meanwhile.
# Nobody but the plugin knows that.
k.may_list.clear()
with tree_hangs():
    said = refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC)
    assert "did not record the allocation within 0.1 s; check that it is running" in said, said
    disk.call("GetDevicePluginOptions", dp.Empty(), dp.DevicePluginOptions)
# What is taken down after all is no pod's: it is taken back, though kubelet does not tell.
k.wait("the end", lambda: writes() == ["pending", "none"])
k.may_list.set()
assert nic.health() == {NIC: "Healthy"} and not nic.ended
ok("an Allocate that hangs is refused, and nothing is left of it")

# Nor is anything taken back from the pod that got it meanwhile.
again("1")
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.may_list.clear()
with tree_hangs():
    refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC)
    given = giving(k, NIC_NAME, NIC)
given.join()
wait_file(NIC, "allocated_to", "pending")
time.sleep(0.3)
assert get(NIC, "allocated_to") == "pending", writes()
put(NIC, "allocated_to", "none")
k.may_list.set()
ok("what was taken down too late is taken back from nobody else")

# kubelet has longer than that to name a pod.
again("1000")
k.wait_health(NIC_NAME, {NIC: "Healthy"})
put(NIC, "allocated_to", "pending")
before = k.listed
k.wait("three answers", lambda: k.listed > before + 3)
assert get(NIC, "allocated_to") == "pending"
ok("what is pending has its time")

# It does not answer which pods there are: asked again.
k.may_list.clear()
again("0.05")
before = k.listed
k.wait("another question", lambda: k.listed > before + 2)
assert "kubelet does not list its pods: Deadline Exceeded" in p.said(), p.said()
k.pods = [("default", "vm-1", "compute", NIC_NAME, [NIC])]
k.may_list.set()
wait_file(NIC, "allocated_to", "default/vm-1/compute")
ok("a question that kubelet does not answer is asked again")

# It does not answer a Register: told again, over another socket.
k.may_register.clear()
again("0.05")
told = len(k.asked)
k.wait("another Register", lambda: k.asked[told:].count(NIC_NAME) > 1)
k.wait("the sentence", lambda: "does not accept %s: Deadline Exceeded; asked again" % NIC_NAME in p.said())
k.may_register.set()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok("a Register that kubelet does not answer is sent again")

# Those that pods wait for are told first, and alone: the others when these are heard, or after some time.
again("1000")
k.wait("all three", lambda: len(k.endpoints) == 3)  # a Register under way would count below
k.stop()
k.may_register.clear()
k.asked = []
k.start()
k.wait("the first Register", lambda: k.asked)
time.sleep(0.2)
assert k.asked == [NIC_NAME], k.asked
k.may_register.set()
k.wait("all three", lambda: len(k.endpoints) == 3)
k.stop()
again("20")
k.may_register.clear()
k.asked = []
k.start()
k.wait("all others", lambda: DISK_NAME in k.asked)
assert k.asked[0] == NIC_NAME, k.asked
k.may_register.set()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(DISK_NAME, {DISK: "Healthy"})
ok("what pods wait for is registered first")

# It says yes and does not listen: told again, by a name that it does not know yet.
k.deaf = {NIC_NAME}
again("0.05")
sockets = set()


def another():
    if NIC_NAME in k.endpoints:
        sockets.add(k.endpoints[NIC_NAME].endpoint)
    return len(sockets) > 2


k.wait("two Registers more", another)
k.deaf = set()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok("a kubelet that does not listen is told again")

assert p.end() == 0, "status of a clean end"
k.stop()
