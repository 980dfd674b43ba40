#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What kubelet told before an Allocate must not be written over it."""
import json
import os
import subprocess
import threading
import time

from plugin_lib import DIR, DISK, DISK_NAME, NIC, NIC_NAME, TREE, Plugin, get, giving, ok, put, tree_hangs, wait_file
from peer import Kubelet, dp

CHECKPOINT_FILE = DIR + "/device-plugins/kubelet_internal_checkpoint"
VM_1, VM_2 = ("default", "vm-1", "c", NIC_NAME, [NIC]), ("default", "vm-2", "c", DISK_NAME, [DISK])


def stays(value):
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        assert get(NIC, "allocated_to") == value, get(NIC, "allocated_to")
        time.sleep(0.01)


def keep():
    """On disk kubelet has a pod that was given NIC."""
    with open(CHECKPOINT_FILE, "w") as f:
        json.dump({"Data": {"PodDeviceEntries": [{"PodUID": "vm", "ContainerName": "c", "ResourceName": NIC_NAME,
                                                  "DeviceIDs": {"-1": [NIC]}}]}, "Checksum": 0}, f)
    os.mkdir(DIR + "/pods/vm")


class Second:
    """Only the first question is answered at once."""

    def __init__(self):
        self.may = threading.Semaphore(1)

    def wait(self, seconds):
        self.may.acquire(timeout=seconds)


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
p = Plugin()
put(NIC, "claim", "alice")
put(DISK, "claim", "alice")
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.pods = [VM_1, VM_2]
k.asks()
wait_file(NIC, "allocated_to", "default/vm-1/c")
wait_file(DISK, "allocated_to", "default/vm-2/c")

# A list that was asked for before the Allocate and comes after it tells of the pod before.
k.may_list.clear()
k.asks()
k.pods = []
k.allocate(NIC_NAME, NIC)
assert get(NIC, "allocated_to") == "pending"
k.may_list.set()
stays("pending")
k.pods = [VM_1, VM_2]
wait_file(NIC, "allocated_to", "default/vm-1/c")
ok("a list of before an Allocate is not judged after it")

# The pods are gone, and the tree takes its time. Before it has heard, kubelet gives one device to the next pod.
# While something is still to be written kubelet is not asked: what was told above must be done.
time.sleep(0.2)
k.asks()
time.sleep(0.2)
with tree_hangs():
    k.pods = []
    k.asks()
    time.sleep(0.2)
    given = giving(k, NIC_NAME, NIC)
given.join()
wait_file(DISK, "allocated_to", "none")
stays("pending")
k.pods = [("default", "vm-3", "c", NIC_NAME, ["x", NIC]), VM_1]  # of what is named twice the first counts
wait_file(NIC, "allocated_to", "default/vm-3/c")
ok("an end that was not yet written is not written over the next pod")

# A kubelet that has listed a pod knows that it is over, before it has tidied up.
keep()
k.pods = []
k.asks()
wait_file(NIC, "allocated_to", "none")
k.pods = [VM_1]
k.asks()
wait_file(NIC, "allocated_to", "default/vm-1/c")
# One that has not, may not have met it yet: what it keeps on disk counts.
k.stop()
k.pods = []
k.start()
k.asks()
k.asks()  # what it told the first time is written by then
assert get(NIC, "allocated_to") == "default/vm-1/c", get(NIC, "allocated_to")
os.rmdir(DIR + "/pods/vm")
wait_file(NIC, "allocated_to", "none")
ok("a pod is over when kubelet lists it no more, and no sooner")

# Where nothing tells of it, neither a directory nor the tree, kubelet is asked all the same: every ten seconds.
k.pods = [VM_1]
k.asks()
wait_file(NIC, "allocated_to", "default/vm-1/c")
k.asks()
time.sleep(1)  # what that was news for is asked by then
k.pods = []
wait_file(NIC, "allocated_to", "none")
ok("kubelet is asked for what is allocated, without news as well")

# What was read there for an answer that never came does not count for another kubelet's.
k.pods = [VM_1]
k.asks()
wait_file(NIC, "allocated_to", "default/vm-1/c")
k.stop()
k.pods = []
os.unlink(CHECKPOINT_FILE)
second = k.may_list = Second()
before = k.listed
k.start()
k.wait("the second question", lambda: k.listed > before + 1)
keep()
k.stop()
second.may.release()
k.may_list = threading.Event()
k.may_list.set()
k.start()
k.asks()
k.asks()
assert get(NIC, "allocated_to") == "default/vm-1/c", get(NIC, "allocated_to")
os.rmdir(DIR + "/pods/vm")
wait_file(NIC, "allocated_to", "none")
ok("a checkpoint is read anew for each answer")

# The disk on which kubelet keeps it hangs, here because the tree does whose file lies there: nobody else waits.
k.pods = [VM_1]
k.asks()
wait_file(NIC, "allocated_to", "default/vm-1/c")
k.asks()  # that is written, or it would wait for the tree
k.stop()
k.pods = []
subprocess.run(["mount", "--bind", TREE + "/version", CHECKPOINT_FILE], check=True)
with tree_hangs():
    before = k.listed
    k.start()
    nic = k.wait_health(NIC_NAME, {NIC: "Healthy"})
    k.wait("the question", lambda: k.listed > before)  # and no other, as long as it hangs
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        nic.call("GetDevicePluginOptions", dp.Empty(), dp.DevicePluginOptions)
        time.sleep(0.01)
wait_said = "kubelet's checkpoint has an unknown format; devices that kubelet does not list stay with their pods"
k.wait("the sentence", lambda: wait_said in p.said())
subprocess.run(["umount", CHECKPOINT_FILE], check=True)
assert get(NIC, "allocated_to") == "default/vm-1/c"
os.unlink(CHECKPOINT_FILE)
k.asks()
wait_file(NIC, "allocated_to", "none")
ok("a checkpoint that cannot be read holds nobody up, and nothing is taken from a pod for it")

assert p.end() == 0, "status of a clean end"
k.stop()
