#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kubelet gives a device to the next pod before the plugin has heard that the tree names the one before."""
import os
import threading

from plugin_lib import (ARGV, DIR, DISK, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, Waiting, get, ok, put, sim,
                        wait_file)
from peer import Kubelet, refused

EVENTS = TREE + "/events_pipe"
MIRROR = os.environ["D"] + "/mirror"  # the tree as the plugin sees it
FIFO = MIRROR + "/events_pipe"
GROUP = "14"  # of NIC
ALL = ""  # every line tells of it


class Relay(threading.Thread):
    """What the tree tells goes through a pipe in which it can be held up, from the line on that tells of `held`."""

    def __init__(self):
        super().__init__(daemon=True)
        self.held = None
        self.cond = threading.Condition()
        self.tree = open(EVENTS, "rb", 65536)
        os.mkdir(MIRROR)
        for name in os.listdir(TREE):
            if name != "events_pipe":
                os.symlink(TREE + "/" + name, MIRROR + "/" + name)
        os.mkfifo(FIFO)
        self.pipe = os.open(FIFO, os.O_RDWR)
        self.start()

    def run(self):
        for line in self.tree:
            with self.cond:
                self.cond.wait_for(lambda: self.held is None or self.held not in line.decode())
            os.write(self.pipe, line)

    def hold(self, what):
        with self.cond:
            self.held = what
            self.cond.notify()

    def open(self):
        self.hold(None)


os.makedirs(DIR + "/pods")
relay = Relay()
k = Kubelet(DIR)
ARGV[ARGV.index(TREE)] = MIRROR
ARGV += ["--deadline", "8"]  # news may take 4 s, on a busy machine too
p = Plugin()
k.start()
put(NIC, "claim", "alice")
k.wait_health(NIC_NAME, {NIC: "Healthy"})  # so it hears through the pipe


def refusal():
    """The last one of what the plugin wanted written."""
    with open(TREE + "/log") as f:
        return [line for line in f if "file=ctl" in line and "result=EBUSY" in line][-1:]


def ahead(*devs):
    """An Allocate that the tree has refused: it waits for news."""
    before = refusal()
    waiting = Waiting(k.allocate, NIC_NAME, *devs)
    k.wait("a refusal", lambda: refusal() != before)
    return waiting


def given_behind(holder):
    """Allocates what the tree says is with holder, before the plugin has heard of that, and then it hears."""
    relay.hold(ALL)
    put(NIC, "allocated_to", holder)
    waiting = ahead(NIC)
    relay.open()
    return waiting.end()


def over(*devs):
    """The next pod has had them, and it is heard that this is over."""
    k.lists(("default", "vm-2", "c", NIC_NAME, list(devs)))
    for dev in devs:
        wait_file(dev, "allocated_to", "default/vm-2/c")
    if MATE not in devs:
        k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
    k.lists()
    for dev in devs:
        wait_file(dev, "allocated_to", "none")
    if MATE not in devs:
        k.wait_health(MATE_NAME, {MATE: "Healthy"})


said = given_behind("default/vm-1/c")
assert said == "yes", said
assert get(NIC, "allocated_to") == "pending"
over(NIC)
ok("the pod before is over by kubelet's word, though its name was not heard of")

# Of a resource claim kubelet's device manager knows nothing.
said = given_behind("claim:7")
assert said.startswith("FAILED_PRECONDITION"), said
assert "is allocated to claim:7" in said or "it is allocated to a resource claim" in said, said
assert get(NIC, "allocated_to") == "claim:7"
k.wait_health(NIC_NAME, {NIC: "Unhealthy"})
put(NIC, "allocated_to", "none")
k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok("what a resource claim has stays with it")

# Where no news comes the tree's word stands.
relay.hold(ALL)
sim("hold", GROUP, "4711", "qemu")
assert "4711" in get(NIC, "holders")
said = refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC)
assert "held by qemu (pid 4711)" in said, said
assert get(NIC, "allocated_to") == "none"
relay.open()
k.wait_health(NIC_NAME, {NIC: "Unhealthy"})
sim("release", GROUP)
assert get(NIC, "holders") == "none"
k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok(said)


def told_of(waiting, dev):
    """Of what is held up it hears now, and gives all."""
    relay.open()
    said = waiting.end()
    assert said == "yes", said
    assert get(NIC, "allocated_to") == "pending" and get(dev, "allocated_to") == "pending"
    over(NIC, dev)


def given_behind_both(dev):
    """Of the pod that has both it hears later: of the first one's name, for now."""
    relay.hold(ALL)
    put(NIC, "allocated_to", "default/vm-1/c")
    put(dev, "allocated_to", "default/vm-1/c")
    waiting = ahead(NIC, dev)
    relay.hold(dev)
    return waiting


def given_half_behind(holder):
    """It has heard of NIC's pod, and ended that, and has yet to hear who has the other one."""
    k.lists(("default", "vm-1", "c", NIC_NAME, [NIC]))
    wait_file(NIC, "allocated_to", "default/vm-1/c")
    k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
    relay.hold(ALL)
    put(DISK, "allocated_to", holder)
    k.pods = []
    waiting = ahead(NIC, DISK)
    assert get(NIC, "allocated_to") == "none"
    return waiting


# Two devices of one name, in one IOMMU group: while it has heard of one alone, that one's pod is in the other's way.
put(MATE, "resource_name", NIC_NAME)
k.wait_health(NIC_NAME, {NIC: "Healthy", MATE: "Healthy"})
waiting = given_behind_both(MATE)
k.wait_health(NIC_NAME, {NIC: "Healthy", MATE: "Unhealthy"})
told_of(waiting, MATE)
put(MATE, "resource_name", "none")
k.wait_health(MATE_NAME, {MATE: "Healthy"})
ok("half a group's name that was heard of does not count against the other half")

# In two.
put(DISK, "resource_name", NIC_NAME)
put(DISK, "claim", "alice")
k.wait_health(NIC_NAME, {NIC: "Healthy", DISK: "Healthy"})
waiting = given_behind_both(DISK)
wait_file(NIC, "allocated_to", "none")
told_of(waiting, DISK)
ok("what was heard of first was ended, and the rest when that was")

waiting = given_half_behind("claim:7")
relay.open()
said = waiting.end()
assert said.startswith("FAILED_PRECONDITION"), said
assert "is allocated to claim:7" in said or "it is allocated to a resource claim" in said, said
assert get(NIC, "allocated_to") == "none" and get(DISK, "allocated_to") == "claim:7"
k.wait_health(NIC_NAME, {NIC: "Healthy", DISK: "Unhealthy"})
put(DISK, "allocated_to", "none")
k.wait_health(NIC_NAME, {NIC: "Healthy", DISK: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Healthy"})
told_of(given_half_behind("default/vm-1/c"), DISK)
ok("a name that was ended at once does not count against one that was not heard of")

# The plugin ends while one waits for news.
relay.hold(ALL)
put(NIC, "allocated_to", "default/vm-1/c")
waiting = ahead(NIC)
assert waiting.is_alive(), waiting.said
assert p.end() == 0, "status of a clean end"
assert "pcidevfs-plugin ends" in waiting.end(), waiting.said
k.stop()
relay.open()
