#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin over a tree that is laid out as files, so that thousands of devices change as they are told."""
import json
import os
import time

from plugin_lib import ARGV, DIR, TREE, Plugin
from peer import Kubelet

DEVICES, NAMES = 4096, 200
generation = 1


class Dev:
    def __init__(self, i):
        self.id = "%04x:00:%02x.%d" % (i // 256, i // 8 % 32, i % 8)
        self.name = "bench.com/R%d" % (i % NAMES)
        self.group = i // 2  # each with its neighbour, which has another name
        self.claim, self.allocated = "bench", "none"

    def line(self):
        state = "claimed" if self.allocated == "none" else "allocated"
        return ('%s numa_node=-1 resource_name=%s claim=%s iommu_group=%d nodes="/dev/vfio/vfio /dev/vfio/%d" '
                'allocated_to=%s state=%s reason="for the test"\n'
                % (self.id, self.name, self.claim, self.group, self.group, self.allocated, state))


def write_inventory(devs):
    with open(TREE + "/inventory.new", "w") as f:
        f.write("pcidevfs-inventory 1 generation=%d boot=test devices=%d\n" % (generation, len(devs)))
        f.writelines(d.line() for d in devs)
    os.rename(TREE + "/inventory.new", TREE + "/inventory")


def tell(action, line="\n"):
    global generation
    generation += 1
    os.write(events, b"seq=%d generation=%d action=%s " % (generation, generation, action) + line.encode())


def expected(devs):
    """What kubelet must know in the end: a function is well unless its neighbour is with a pod."""
    taken = {d.group: d for d in devs if d.allocated != "none"}
    lists = {}
    for d in devs:
        if d.claim != "none":
            well = taken.get(d.group, d) is d
            lists.setdefault(d.name, {})[d.id] = "Healthy" if well else "Unhealthy"
    return lists


def known():
    return {e.name: e.health() for e in k.endpoints.values() if not e.ended and e.now()}


def check(what, devs, seconds=60):
    want, begin = expected(devs), time.monotonic()
    with k.cond:
        if not k.cond.wait_for(lambda: known() == want, seconds):
            got = known()
            wrong = [n for n in set(want) | set(got) if want.get(n) != got.get(n)]
            raise AssertionError("%s: %d lists are wrong: %s: %s, not %s" % (
                what, len(wrong), wrong[0], got.get(wrong[0]), want.get(wrong[0])))
    print("# %s: %d devices of %d names after %.2f s" % (
        what, sum(map(len, want.values())), len(want), time.monotonic() - begin), flush=True)


def resident():
    with open("/proc/%d/status" % p.process.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


os.mkdir(TREE)
devices = [Dev(i) for i in range(DEVICES)]
write_inventory(devices)
open(TREE + "/ctl", "w").close()
os.mkfifo(TREE + "/events_pipe")
events = os.open(TREE + "/events_pipe", os.O_RDWR)
k = Kubelet(DIR)
k.start()
p = Plugin()
check("at the start", devices)

# What a kubelet took of memory that has gone is given back.
then, end = resident(), time.monotonic() + 30
k.stop()
while resident() > then - 2048 and "san/" not in ARGV[0]:  # what a sanitizer does with memory is its own affair
    assert time.monotonic() < end, "%d KiB, then %d KiB" % (then, resident())
    time.sleep(0.1)
k.start()
check("before the next kubelet", devices)

for i, dev in enumerate(devices):
    if i % NAMES < NAMES // 2:
        dev.name = "bench.com/N%d" % (i % NAMES)
        tell(b"change", dev.line())
check("half of the names are others", devices)

for dev in devices[::8]:
    dev.allocated = "default/vm/compute"
    tell(b"change", dev.line())
check("every eighth is with a pod", devices)

for dev in devices[::8]:
    dev.allocated = "none"
    tell(b"change", dev.line())
for dev in devices[1::2]:
    dev.claim = "none"
    tell(b"change", dev.line())
for dev in devices[2::4]:
    tell(b"remove", dev.id + "\n")
left = devices[::4]
check("one of four is left", left)

generation += 1
write_inventory(devices[::2])
tell(b"lost")
check("events were lost: the inventory counts", devices[::2])


def spec():
    with open(os.environ["D"] + "/cdi/pcidevfs.json") as f:
        return [d["name"] for d in json.load(f)["devices"]]


end = time.monotonic() + 10
while spec() != sorted(d.id for d in devices[::2]):  # it is written after the lists were sent
    assert time.monotonic() < end, "the CDI spec has %d devices" % len(spec())
    time.sleep(0.01)
k.stop()
assert p.end() == 0
