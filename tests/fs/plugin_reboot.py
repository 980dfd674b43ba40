#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""plugin_reboot.py first|again|moved TREE KUBELET-DIR PLUGIN-ARGV...: a boot, from the plugin's start on."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../k8s"))
from peer import Kubelet, dp, refused  # noqa: E402

STAGE, TREE, DIR, ARGV = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
NIC, MATE = "0000:05:02.0", "0000:05:01.0"
NIC_NAME, MATE_NAME = "intel.com/82540EM_GIGABIT_ETHERNET_CONTROLLER", "unknown.com/11e8"
POD = "default/vm-1/compute"
CHECKPOINT = DIR + "/device-plugins/kubelet_internal_checkpoint"
PODS = [("default", "vm-1", "compute", name, [i]) for name, i in ((NIC_NAME, NIC), (MATE_NAME, MATE))]


def read(name):
    with open(TREE + "/" + name) as f:
        return f.read()


def rename(name):
    with open(TREE + "/devices/%s/resource_name" % NIC, "w") as f:
        f.write(name + "\n")


def allocated(dev):
    return read("devices/%s/allocated_to" % dev).strip()


def prestart(dev, name):
    k.endpoints[name].call("PreStartContainer", dp.PreStartContainerRequest(devices_ids=[dev]),
                           dp.PreStartContainerResponse)


def named():
    """kubelet lists the pod: what it has of a group is written as one, so that no half is another's for a moment."""
    k.wait("names", lambda: allocated(NIC) == allocated(MATE) == POD)
    acts = {line.split("generation=")[1].split()[0] for line in read("events").splitlines()
            if "allocated_to=" + POD in line and "allocated_to" in line.split("changed=")[-1].split()[0]}
    assert len(acts) == 1, read("events")


with open(os.environ["D"] + "/plugin.err", "a+") as log:
    begin = log.tell()
    plugin = subprocess.Popen(ARGV, stderr=log)
    end = time.monotonic() + 10
    while log.seek(begin) == begin and log.read().count(" is offered\n") < 3:
        assert time.monotonic() < end
        time.sleep(0.01)
k = Kubelet(DIR)
k.start()
k.wait("registrations", lambda: len(k.registered) == 3)
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Healthy"})
if STAGE == "first":
    k.allocate(NIC_NAME, NIC)
    k.allocate(MATE_NAME, MATE)
    time.sleep(0.3)  # a list that was asked for between the two tells of the first alone
    k.pods = PODS
    prestart(NIC, NIC_NAME)
    prestart(MATE, MATE_NAME)
    named()
    # What kubelet has over a reboot, and a name that is not to count before its pod is over.
    os.makedirs(DIR + "/pods/u1")
    with open(CHECKPOINT, "w") as f:
        json.dump({"Data": {"PodDeviceEntries": [
            {"PodUID": "u1", "ContainerName": "compute", "ResourceName": NIC_NAME, "DeviceIDs": {"-1": [NIC]},
             "AllocResp": ""}], "RegisteredDevices": {}}, "Checksum": 1}, f)
    rename("example.com/renamed")
else:
    # Until kubelet has told of pods, a pod has it: whose is not known. The former one's end may not be on the disk.
    assert allocated(NIC) == "pending" or STAGE == "moved"
    # Those whose pods wait are known by what is kept.
    assert set(k.asked[:2]) == {NIC_NAME, MATE_NAME}, k.asked
if STAGE == "again":
    time.sleep(0.3)  # it has asked which pods there are, and there were none
    k.pods = PODS
    prestart(NIC, NIC_NAME)
    prestart(MATE, MATE_NAME)
    named()
    assert "example.com/renamed" not in k.endpoints, "offered by a name that no pod has it by"
    # The pod is over: now it counts.
    os.rmdir(DIR + "/pods/u1")
    os.unlink(CHECKPOINT)
    k.pods = []
    os.makedirs(DIR + "/pods/u2")
    k.wait_health("example.com/renamed", {NIC: "Healthy"}, 15)
    k.wait_health(NIC_NAME, {}, 5)
    rename("none")
    k.wait_health(NIC_NAME, {NIC: "Healthy"}, 10)
if STAGE == "moved":
    k.pods = PODS
    for dev, name in ((NIC, NIC_NAME), (MATE, MATE_NAME)):
        said = refused("FAILED_PRECONDITION", prestart, dev, name)
        assert "was given to its pod as /dev/vfio/vfio /dev/vfio/14 before a reboot and is " \
            "/dev/vfio/vfio /dev/vfio/94 now; delete the pod" in said, said
    # The next pod gets the nodes of now.
    k.pods = []
    a = k.allocate(NIC_NAME, NIC).container_responses[0]
    assert [d.container_path for d in a.devices] == ["/dev/vfio/vfio", "/dev/vfio/94"], a
    k.allocate(MATE_NAME, MATE)
    k.pods = PODS
    prestart(NIC, NIC_NAME)
    prestart(MATE, MATE_NAME)
plugin.kill()
plugin.wait(10)
k.stop()
