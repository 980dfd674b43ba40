#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""USB devices before a kubelet: pooled and single, whose the nodes are, and a device that is plugged in again."""
import errno
import os

from plugin_lib import DIR, TREE, Plugin, get, ok, put, sim, wait_file
from peer import Kubelet, dp, refused

A, B, C = "../usb/1-1", "../usb/1-2", "../usb/2-2"
POOL, STICK, SINGLE = "kubevirt.io/usb-0627-0001", "kubevirt.io/usb-46f4-0001", "kubevirt.io/2-2"
DEV = os.environ["S"] + "/dev"


def port(dev):
    return os.path.basename(dev)


def numbers(dev):
    """As KubeVirt takes them."""
    return "%d:%d" % (int(get(dev, "busnum")), int(get(dev, "devnum")))


def owner(dev):
    st = os.stat("%s/bus/usb/%03d/%03d" % (DEV, int(get(dev, "busnum")), int(get(dev, "devnum"))))
    return st.st_uid, st.st_gid


def given(name, *devs):
    """kubelet gets these for one container, and the tree knows before it does."""
    a = k.allocate(name, *[port(d) for d in reversed(devs)]).container_responses
    variable = "USB_RESOURCE_" + name.replace("/", "_").replace(".", "_").upper()
    assert len(a) == 1 and dict(a[0].envs) == {variable: ",".join(numbers(d) for d in devs)}, a
    nodes = [(d.container_path, d.host_path, d.permissions) for d in a[0].devices]
    assert nodes == [(get(d, "nodes"), DEV + get(d, "nodes")[4:], "mrw") for d in devs], nodes
    assert [c.name for c in a[0].cdi_devices] == ["pcidevfs/device=" + port(d) for d in devs], a
    for d in devs:
        assert get(d, "allocated_to") == "pending" and owner(d) == (107, 107), (d, owner(d))


def prestart(name, dev):
    k.endpoints[name].call("PreStartContainer", dp.PreStartContainerRequest(devices_ids=[port(dev)]), dp.Empty)


def pod(name, *devs, vm="vm"):
    return ("default", vm, "compute", name, [port(d) for d in devs])


def is_free(*devs):
    for d in devs:
        wait_file(d, "allocated_to", "none")
        assert owner(d) == (0, 0), (d, owner(d))


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
k.start()
p = Plugin()
sim("plug", "1-2", "from", "1-1")
at = "devices/pci0000:00/0000:00:13.0/0000:03:00.0/usb1/1-2"
sim("set", at + "/serial", "LABUSB3")
sim("uevent", "change", at, "DEVTYPE=usb_device")
k.wait("the copy", lambda: os.path.exists("%s/devices/%s/claim" % (TREE, B)))
wait_file(B, "serial", "LABUSB3")
for dev in A, B, C:
    put(dev, "claim", "alice")
    wait_file(dev, "state", "claimed")
both = k.wait_health(POOL, {"1-1": "Healthy", "1-2": "Healthy"})
k.wait_health(STICK, {"2-2": "Healthy"})
given(POOL, A, B)
k.lists(pod(POOL, A, B))
for dev in A, B:
    wait_file(dev, "allocated_to", "default/vm/compute")
    prestart(POOL, dev)
    assert owner(dev) == (107, 107)
try:
    put(A, "claim", "none")
    raise AssertionError("released under its pod")
except OSError as e:
    assert e.errno == errno.EBUSY and "allocated to default/vm/compute" in get(A, "last_error"), e
assert both.health() == {"1-1": "Healthy", "1-2": "Healthy"}
k.lists()
is_free(A, B)
ok("two of a pool")

# With a name of its own.
put(C, "pooled", "0")
assert get(C, "resource_name") == SINGLE
k.wait_health(SINGLE, {"2-2": "Healthy"})
given(SINGLE, C)
k.lists(pod(SINGLE, C))
wait_file(C, "allocated_to", "default/vm/compute")
k.lists()
is_free(C)
ok("a single one")

# Pulled out while a pod has it, and put back: nobody's, until the pod is over.
given(POOL, A)
VM = pod(POOL, A)
k.lists(VM)
wait_file(A, "allocated_to", "default/vm/compute")
before, lists = get(A, "nodes"), len(both.lists)
sim("unplug", "1-1")
k.wait_health(POOL, {"1-2": "Healthy"})
sim("plug", "1-1")
k.wait_health(POOL, {"1-1": "Unhealthy", "1-2": "Healthy"})
wait_file(A, "allocated_to", "default/vm/compute")
told = [devices["1-1"].health for _, devices in both.lists[lists:] if "1-1" in devices]
assert set(told) == {"Unhealthy"}, told  # not even while its claim is restored
lost = "its pod was given %s, and it was plugged in again as %s" % (before, get(A, "nodes"))
assert get(A, "state") == "unhealthy" and get(A, "reason").startswith(lost), get(A, "reason")
assert owner(A) == (0, 0), "the new node is its former pod's"
for call in (prestart, POOL, A), (k.allocate, POOL, "1-1"):
    said = refused("FAILED_PRECONDITION", *call)
    assert "1-1 cannot be given to a pod: " + lost in said, said
ok(said)
# The plugin and the daemon go on from there.
p.end(9)
k.reset()
p.start()
k.wait_health(POOL, {"1-1": "Unhealthy", "1-2": "Healthy"})
k.wait("the reason", lambda: lost in p.said())
assert owner(A) == (0, 0)
k.lists()
is_free(A)
k.wait_health(POOL, {"1-1": "Healthy", "1-2": "Healthy"})
given(POOL, A)
k.lists(pod(POOL, A, vm="next"))
wait_file(A, "allocated_to", "default/next/compute")
prestart(POOL, A)

k.lists()
is_free(A)
ok("pulled out and put back")

assert p.end() == 0, "status of a clean end"
k.stop()
