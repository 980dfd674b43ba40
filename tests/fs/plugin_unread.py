#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A VF is asked for while the tree is away, and the daemon that starts does not know it at once."""
import os

from plugin_lib import ARGV, DIR, TREE, Plugin, Waiting, get, ok, wait_file
from peer import Kubelet

VF, NAME = "0000:02:10.1", "intel.com/82599_ETHERNET_CONTROLLER_VIRTUAL_FUNCTION"

os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
k.start()
ARGV += ["--deadline", "10"]
p = Plugin()
k.wait_health(NAME, {VF: "Healthy"})
said = len(p.said())
print("stop the daemon", flush=True)
k.wait("the news", lambda: TREE + "/" in p.said()[said:])
waiting = Waiting(k.allocate, NAME, VF)
assert waiting.is_alive(), waiting.said
print("start the daemon", flush=True)
assert waiting.end() == "yes", waiting.said
assert get(VF, "allocated_to") == "pending"
wait_file(VF, "claim", "alice")
ok("a VF whose PF's serial number is read late")
p.end()
k.stop()
