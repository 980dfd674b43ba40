#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing is allocated, as far as the plugin has heard, and what would tell it otherwise fails once or comes late."""
import os
import threading
import time

from plugin_lib import ARGV, DIR, DISK, DISK_NAME, Plugin, get, ok, put, sim, wait_file
from peer import Kubelet

VM = ("default", "vm", "c", DISK_NAME, [DISK])

os.makedirs(DIR + "/pods")
put(DISK, "claim", "alice")
ARGV += ["--deadline", "0.05"]
k = Kubelet(DIR)


def over():
    """The pod is, and so are the plugin and its kubelet."""
    assert p.end() == 0, "status of a clean end"
    k.stop()
    put(DISK, "allocated_to", "none")


# The first question is not answered in time.
k.pods = [VM]
k.may_list.clear()
k.start()
p = Plugin()
k.wait("the sentence", lambda: "kubelet does not list its pods: Deadline Exceeded" in p.said())
k.wait("more questions", lambda: k.listed > 3)
assert p.said().count("kubelet does not list its pods") == 1, p.said()
k.may_list.set()
wait_file(DISK, "allocated_to", "default/vm/c")
over()
ok("asked again when kubelet did not answer, and the log has it once")

# It is answered while an act has the device.
ARGV[-1] = "1"
sim("slow", "bus/pci/devices/%s/reset" % DISK, "5000")
reset = threading.Thread(target=put, args=(DISK, "reset", "alice"))
reset.start()
wait_file(DISK, "state", "busy")
k.start()
p.start()
k.wait("the refusal", lambda: "%s/allocated_to default/vm/c: " % DISK in p.said())
assert get(DISK, "state") == "busy"
wait_file(DISK, "allocated_to", "default/vm/c")
reset.join()
assert p.said().count("%s/allocated_to default/vm/c: " % DISK) == 1, p.said()
over()
ok("what could not be written is written when it can be")

# A kubelet that has just started knows nothing of its pods yet, and no directory comes when it does.
k.pods = []
before = k.listed
k.start()
p.start()
k.wait_health(DISK_NAME, {DISK: "Healthy"})
k.wait("the question", lambda: k.listed > before)
time.sleep(1)
k.pods = [VM]
wait_file(DISK, "allocated_to", "default/vm/c", 20)
over()
ok("a new kubelet is asked again for a while")
