#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kubelet gives a device to the next pod before the plugin has heard that the tree names the one before."""
import os
import subprocess
import threading

from plugin_lib import DIR, NIC, NIC_NAME, TREE, Plugin, get, ok, put, wait_file
from peer import Kubelet

EVENTS = TREE + "/events_pipe"
FIFO = os.environ["D"] + "/events"


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

relay.open.clear()
put(NIC, "allocated_to", "default/vm-1/c")
k.allocate(NIC_NAME, NIC)
assert get(NIC, "allocated_to") == "pending"
k.lists(("default", "vm-2", "c", NIC_NAME, [NIC]))
wait_file(NIC, "allocated_to", "default/vm-2/c")
relay.open.set()
k.lists()
wait_file(NIC, "allocated_to", "none")
ok("the pod before is over by kubelet's word, though its name was not heard of")

assert p.end() == 0, "status of a clean end"
k.stop()
subprocess.run(["umount", EVENTS], check=True)
