#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What kubelet told before an Allocate must not be written over it."""
import json
import os
import signal
import threading
import time

from plugin_lib import DIR, DISK, DISK_NAME, NIC, NIC_NAME, Plugin, get, ok, put, wait_file
from peer import Kubelet

SERVING = int(os.environ["SERVING"])
VM_1, VM_2 = ("default", "vm-1", "c", NIC_NAME, [NIC]), ("default", "vm-2", "c", DISK_NAME, [DISK])


def stays(value):
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        assert get(NIC, "allocated_to") == value, get(NIC, "allocated_to")
        time.sleep(0.01)


def asked():
    """The plugin is asking which pods there are."""
    before = k.listed
    os.makedirs("%s/pods/u%d" % (DIR, before))
    k.wait("the question", lambda: k.listed > before)


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
p = Plugin()
put(NIC, "claim", "alice")
put(DISK, "claim", "alice")
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.pods = [VM_1, VM_2]
asked()
wait_file(NIC, "allocated_to", "default/vm-1/c")
wait_file(DISK, "allocated_to", "default/vm-2/c")

# A list that was asked for before the Allocate and comes after it tells of the pod before.
k.may_list.clear()
asked()
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
asked()
time.sleep(0.2)
os.kill(SERVING, signal.SIGSTOP)
try:
    k.pods = []
    asked()
    time.sleep(0.2)
    given = threading.Thread(target=k.allocate, args=(NIC_NAME, NIC))
    given.start()
    time.sleep(0.2)
finally:
    os.kill(SERVING, signal.SIGCONT)
given.join()
wait_file(DISK, "allocated_to", "none")
stays("pending")
k.pods = [("default", "vm-3", "c", NIC_NAME, ["x", NIC]), VM_1]  # of what is named twice the first counts
wait_file(NIC, "allocated_to", "default/vm-3/c")
ok("an end that was not yet written is not written over the next pod")

# A kubelet that has listed a pod knows that it is over, before it has tidied up.
CHECKPOINT = {"Data": {"PodDeviceEntries": [{"PodUID": "vm", "ContainerName": "c", "ResourceName": NIC_NAME,
                                             "DeviceIDs": {"-1": [NIC]}}]}, "Checksum": 0}
with open(k.plugins + "/kubelet_internal_checkpoint", "w") as f:
    json.dump(CHECKPOINT, f)
os.mkdir(DIR + "/pods/vm")
k.pods = []
asked()
wait_file(NIC, "allocated_to", "none")
k.pods = [VM_1]
asked()
wait_file(NIC, "allocated_to", "default/vm-1/c")
# One that has not, may not have met it yet: what it keeps on disk counts.
k.stop()
k.pods = []
k.start()
asked()
asked()  # what it told the first time is written by then
assert get(NIC, "allocated_to") == "default/vm-1/c", get(NIC, "allocated_to")
os.rmdir(DIR + "/pods/vm")
wait_file(NIC, "allocated_to", "none")
ok("a pod is over when kubelet lists it no more, and no sooner")

assert p.end() == 0, "status of a clean end"
k.stop()
