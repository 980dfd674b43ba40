#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A device that no longer answers is unhealthy for kubelet too, and healthy again by itself."""
import time

from plugin_lib import DIR, NIC, NIC_NAME, Plugin, ok, put, sim
from peer import Kubelet, refused

k = Kubelet(DIR)
p = Plugin()
put(NIC, "claim", "alice")
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
start = time.monotonic()
sim("mute", NIC, "1")
k.wait_health(NIC_NAME, {NIC: "Unhealthy"})
ok("unhealthy %.1f s after its config space read ff" % (time.monotonic() - start))
refused("FAILED_PRECONDITION", k.allocate, NIC_NAME, NIC)
start = time.monotonic()
sim("mute", NIC, "0")
k.wait_health(NIC_NAME, {NIC: "Healthy"}, 10)
ok("healthy %.1f s after it answered" % (time.monotonic() - start))
k.allocate(NIC_NAME, NIC)
assert p.end() == 0
