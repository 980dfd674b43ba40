#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""vGPUs of one GPU before a kubelet: another type is another resource, and what ends is in none."""
import errno
import os
import threading

from plugin_lib import DIR, TREE, Plugin, Waiting, get, ok, put, sim, wait_file
from peer import Kubelet, refused

GPU, WORLD = "0000:01:00.0", os.environ["WORLD"]
Q, B = "nvidia.com/NVIDIA_LAB-2Q", "nvidia.com/NVIDIA_LAB-2B"  # of one size: a card has one at a time
VARIABLE = {"vfio": "PCI_RESOURCE_", "mdev": "MDEV_PCI_RESOURCE_"}[WORLD] + "NVIDIA_COM_NVIDIA_LAB-"


def name_of(dev):
    """As kubelet knows it."""
    return get(dev, "mdev_uuid") if WORLD == "mdev" else dev


def healthy(*devs):
    return {ids[d]: "Healthy" for d in devs}


def becomes(dev, kind):
    put(dev, "profile", "NVIDIA LAB-" + kind)


def driver_takes(ms):
    """So long for each change of a type."""
    with open(os.environ["S"] + "/sys/module/labgpu/parameters/delay_ms", "w") as f:
        f.write(str(ms))


def by_hand(dev, kind):
    """Others make it this type, or none. Written to the VF that makes no event: something else does."""
    at = "%s/sys/bus/pci/devices/%s/" % (os.environ["S"], dev)
    if WORLD == "vfio":
        file, value = "nvidia/current_vgpu_type", kind or "0"
    elif kind:
        file, value = "mdev_supported_types/nvidia-%s/create" % kind, ids[dev]
    else:
        file, value = ids[dev] + "/remove", "1"
    with open(at + file, "w") as f:
        f.write(value)
    sim("uevent", "change", "bus/pci/devices/" + dev)


def usable(resource, dev):
    """kubelet gets it by this name, nobody takes it away meanwhile, and a pod that ends gives it back."""
    said = k.allocate(resource, ids[dev]).container_responses[0]
    assert dict(said.envs) == {VARIABLE + resource[-2:]: ids[dev]}, said
    nodes = get(dev, "nodes").split()
    assert [d.container_path for d in said.devices] == nodes and len(nodes) == 2, said
    assert [d.name for d in said.cdi_devices] == ["pcidevfs/device=" + ids[dev]], said
    for name, value, where in ("profile", "none", dev), ("profile", "NVIDIA LAB-2B", dev), ("enabled", "0", GPU):
        if get(dev, "profile") != value:
            busy(where, name, value)
    k.lists(("default", "vm", "c", resource, [ids[dev]]))
    wait_file(dev, "allocated_to", "default/vm/c")
    k.lists()
    wait_file(dev, "allocated_to", "none")


def busy(dev, name, value):
    try:
        put(dev, name, value)
    except OSError as e:
        assert e.errno == errno.EBUSY, e
        said = get(dev, "last_error")
        assert "is allocated to a pod that is not known yet" in said, said
        return
    raise AssertionError("%s of %s became %s" % (name, dev, value))


def offers(q, b):
    """kubelet knows these, by one name each, and gets them by no other."""
    k.wait_health(Q, healthy(*q))
    k.wait_health(B, healthy(*b))
    for name, others in (Q, b), (B, q):
        for dev in others:
            refused("FAILED_PRECONDITION", k.allocate, name, ids[dev])
            assert get(dev, "allocated_to") == "none"


def registrations(name):
    return [n for _, n in k.registered].count(name)


def have_ended(*names):
    for name in names:
        k.wait("the end of " + name, lambda: k.endpoints[name].ended)


put(GPU, "enabled", "1")
vfs = [os.path.basename(os.readlink("%s/devices/%s/virtfn%d" % (TREE, GPU, i))) for i in range(3)]
one, two, three = vfs
for vf in one, two, three:
    becomes(vf, "2Q")
ids = {vf: name_of(vf) for vf in (one, two, three)}
os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
every = []  # endpoint, however it ended
k.before_watch = every.append
k.start()
p = Plugin()
k.wait_health(Q, healthy(one, two, three))
usable(Q, one)
assert {n for _, n in k.registered} == {Q}, k.registered  # the GPU and what is no vGPU are nobody's
ok("three of " + Q)

# Another type is another resource; the one that is there already hears of it by its stream.
becomes(one, "2B")
offers((two, three), (one,))
becomes(two, "2B")
offers((three,), (one, two))
assert name_of(one) == ids[one] and name_of(two) == ids[two]
usable(B, two)
usable(Q, three)
becomes(two, "2Q")
offers((two, three), (one,))
usable(Q, two)
assert registrations(Q) == registrations(B) == 1, k.registered
ok("a type changes, and with it the list")

# kubelet asks for it while its type changes: by the old name it is nobody's.
driver_takes(2000)
change = threading.Thread(target=becomes, args=(two, "2B"))
change.start()
wait_file(two, "state", "busy")
asked = Waiting(k.allocate, Q, ids[two])
change.join()
driver_takes(0)
said = asked.end()
assert said.startswith("FAILED_PRECONDITION"), said
offers((three,), (one, two))
ok(said)

# The last of its type goes to the other, the resource ends, and comes again with a new plugin.
becomes(three, "2B")
k.wait_health(B, healthy(one, two, three))
have_ended(Q)
p.end(9)
k.reset()
becomes(three, "2Q")
p.start()
offers((three,), (one, two))
ok("another type while there is no plugin")

# What ends is in no list, and back in its former one with the id that it had.
put(two, "profile", "none")
offers((three,), (one,))
refused("FAILED_PRECONDITION", k.allocate, B, ids[two])
put(two, "enabled", "1")
offers((three,), (one, two))
assert name_of(two) == ids[two]
usable(B, two)
put(three, "enabled", "0")
have_ended(Q)
k.wait_health(B, healthy(one, two))
becomes(three, "2Q")
offers((three,), (one, two))

# The whole GPU: nothing is left, and all comes back as it was.
put(two, "pooled", "0")
own = get(two, "resource_name")
k.wait_health(own, healthy(two))
put(GPU, "enabled", "0")
have_ended(Q, B, own)
assert not os.path.exists(os.environ["D"] + "/cdi/pcidevfs.json")
put(GPU, "enabled", "1")
for name, dev in (Q, three), (B, one), (own, two):
    k.wait_health(name, healthy(dev))
    assert name_of(dev) == ids[dev]
usable(Q, three)
usable(B, one)
put(two, "pooled", "1")
have_ended(own)
offers((three,), (one, two))
usable(B, two)
ok("the GPU disabled and enabled")

# What others take away is still its pod's, by the id that it had, and nobody else's.
for dev in one, three:
    k.allocate(B if dev is one else Q, ids[dev])
VM = ("default", "vm", "c", B, [ids[one]])
k.lists(VM, ("default", "other", "c", Q, [ids[three]]))
wait_file(one, "allocated_to", "default/vm/c")
by_hand(one, None)
k.wait_health(B, {ids[one]: "Unhealthy", ids[two]: "Healthy"})
k.lists(VM)
wait_file(three, "allocated_to", "none")
assert get(one, "allocated_to") == "default/vm/c", get(one, "allocated_to")
by_hand(one, "742")
k.wait_health(B, healthy(one, two))
k.lists()
wait_file(one, "allocated_to", "none")
usable(B, one)

# A plugin that comes while one is away does not know by what kubelet is to know it: by nothing, until it is back.
p.end(9)
by_hand(one, None)
wait_file(one, "state", "unhealthy")
k.reset()
p.start()
k.wait_health(B, healthy(two))
refused("FAILED_PRECONDITION", k.allocate, B, ids[one])
refused("FAILED_PRECONDITION", k.allocate, B, one)
k.wait("the reason", lambda: "it is not a vGPU now" in open(os.environ["D"] + "/plugin.err").read())
by_hand(one, "742")
k.wait_health(B, healthy(one, two))
usable(B, one)
ok("away while there is no plugin")

assert p.end() == 0, "status of a clean end"
k.stop()
# kubelet was never told of another name.
told = {i for e in every for _, devices in e.lists for i in devices}
assert told == set(ids.values()), told
