#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kubelet gives a group to two pods before it tells of either: no container of them starts."""
import os
import time

from plugin_lib import ARGV, DIR, MATE, MATE_NAME, NIC, NIC_NAME, TREE, Plugin, Waiting, get, ok, put, wait_file
from peer import Kubelet, dp, refused


def start(name, dev):
    return k.endpoints[name].call("PreStartContainer", dp.PreStartContainerRequest(devices_ids=[dev]),
                                  dp.PreStartContainerResponse)


os.makedirs(DIR + "/pods")
k = Kubelet(DIR)
put(NIC, "claim", "alice")  # and with it its mate
k.start()
ARGV += ["--deadline", "3"]  # 6 s for a start, on a busy machine too
p = Plugin()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Healthy"})

# As long as kubelet tells of neither they might be one pod's: a start waits for its word, and is refused without.
k.may_list.clear()
k.allocate(NIC_NAME, NIC)
k.allocate(MATE_NAME, MATE)
said = refused("FAILED_PRECONDITION", start, MATE_NAME, MATE)
assert "kubelet has not reported its pod yet; %s of its IOMMU group 14 is pending" % NIC in said, said
ok(said)
waiting = Waiting(start, MATE_NAME, MATE)
assert waiting.is_alive(), "started before kubelet told whose it is"
A, B = ("default", "a", "c", NIC_NAME, [NIC]), ("default", "b", "c", MATE_NAME, [MATE])
k.pods = [A, ("default", "a", "d", MATE_NAME, [MATE])]
k.may_list.set()
assert waiting.end() == "yes", waiting.said
assert get(NIC, "allocated_to") == "default/a/c" and get(MATE, "allocated_to") == "default/a/d"
start(NIC_NAME, NIC)
ok("a start waits until kubelet has told that both are one pod's")
k.lists()
wait_file(NIC, "allocated_to", "none")
wait_file(MATE, "allocated_to", "none")
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.wait_health(MATE_NAME, {MATE: "Healthy"})

# Two pods.
k.allocate(NIC_NAME, NIC)
k.allocate(MATE_NAME, MATE)
k.lists(A, B)
wait_file(NIC, "allocated_to", "default/a/c")
wait_file(MATE, "allocated_to", "default/b/c")
k.wait_health(NIC_NAME, {NIC: "Unhealthy"})  # the plugin has heard of both, of which one might have started else
k.wait_health(MATE_NAME, {MATE: "Unhealthy"})
said = refused("FAILED_PRECONDITION", start, MATE_NAME, MATE)
assert "allocated to default/b/c while %s in the same IOMMU group 14 is allocated to default/a/c" % NIC in said, said
ok(said)
assert "%s is unhealthy: allocated to default/b/c" % MATE in p.said(), p.said()
assert get(MATE, "state") == "unhealthy" and get(MATE, "reason") in said, get(MATE, "reason")
with open("%s/resources/%s/healthy" % (TREE, MATE_NAME)) as f:
    assert f.read() == "0\n"
with open("%s/resources/%s/allocated" % (TREE, MATE_NAME)) as f:
    assert f.read() == "1\n"

# One of them is deleted: the other one starts.
k.pods = [A]
waiting = Waiting(start, NIC_NAME, NIC)
k.lists(A)
wait_file(MATE, "allocated_to", "none")
assert waiting.end() == "yes", waiting.said
k.wait_health(NIC_NAME, {NIC: "Healthy"})
start(NIC_NAME, NIC)
refused("FAILED_PRECONDITION", k.allocate, MATE_NAME, MATE)

# It ends while a start waits.
k.lists()
wait_file(NIC, "allocated_to", "none")
k.wait_health(MATE_NAME, {MATE: "Healthy"})
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.may_list.clear()
k.allocate(NIC_NAME, NIC)
k.allocate(MATE_NAME, MATE)
waiting = Waiting(start, NIC_NAME, NIC)
begin = time.monotonic()
assert p.end() == 0, "status of a clean end"
assert time.monotonic() - begin < 4, "%.1f s to end" % (time.monotonic() - begin)
assert "pcidevfs-plugin ends" in waiting.end(), waiting.said
k.may_list.set()
k.stop()
