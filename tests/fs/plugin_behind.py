#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kubelet gives a device to the next pod before the plugin has heard that the tree names the one before."""
import os
import subprocess
import threading
import time

from plugin_lib import DIR, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, get, ok, put, sim, wait_file
from peer import Kubelet, refused

EVENTS = TREE + "/events_pipe"
FIFO = os.environ["D"] + "/events"
GROUP = "14"  # of NIC


class Relay(threading.Thread):
    """What the tree tells goes through a pipe in which it can be held up."""

    def __init__(self):
        super().__init__(daemon=True)
        self.open = threading.Event()
        self.open.set()
        self.tree = os.open(EVENTS, os.O_RDONLY)
        os.mkfifo(FIFO)
        self.pipe = os.open(FIFO, os.O_RDWR)
        subprocess.run(["mount", "--bind", FIFO, EVENTS], check=True)
        self.start()

    def run(self):
        while True:
            data = os.read(self.tree, 65536)
            self.open.wait()
            os.write(self.pipe, data)


os.makedirs(DIR + "/pods")
relay = Relay()
k = Kubelet(DIR)
p = Plugin()
k.start()
put(NIC, "claim", "alice")
k.wait_health(NIC_NAME, {NIC: "Healthy"})  # so it hears through the pipe


def given_behind(holder):
    """Allocates what the tree says is with holder, before the plugin has heard of that, and then it hears."""
    relay.open.clear()
    put(NIC, "allocated_to", holder)
    news = threading.Timer(0.15, relay.open.set)
    news.start()
    try:
        k.allocate(NIC_NAME, NIC)
    finally:
        news.join()


given_behind("default/vm-1/c")
assert get(NIC, "allocated_to") == "pending"
k.lists(("default", "vm-2", "c", NIC_NAME, [NIC]))
wait_file(NIC, "allocated_to", "default/vm-2/c")
k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
k.lists()
wait_file(NIC, "allocated_to", "none")
k.wait_health(MATE_NAME, {MATE: "Healthy"})  # so that is heard
ok("the pod before is over by kubelet's word, though its name was not heard of")

# Of a resource claim kubelet's device manager knows nothing.
said = refused("FAILED_PRECONDITION", given_behind, "claim:7")
assert "is allocated to claim:7" in said or "it is with a resource claim" in said, said
assert get(NIC, "allocated_to") == "claim:7"
put(NIC, "allocated_to", "none")
k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok("what a resource claim has stays with it")

# Where no news comes the tree's word stands.
relay.open.clear()
sim("hold", GROUP, "4711", "qemu")
assert "4711" in get(NIC, "holders")
said = refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC)
assert "held by qemu (pid 4711)" in said, said
assert get(NIC, "allocated_to") == "none"
sim("release", GROUP)
assert get(NIC, "holders") == "none"
relay.open.set()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
ok(said)

# The plugin ends while one waits for news.
relay.open.clear()
put(NIC, "allocated_to", "default/vm-1/c")
waiting = threading.Thread(target=lambda: refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC))
waiting.start()
time.sleep(0.2)
assert p.end() == 0, "status of a clean end"
waiting.join()
k.stop()
relay.open.set()
subprocess.run(["umount", EVENTS], check=True)
