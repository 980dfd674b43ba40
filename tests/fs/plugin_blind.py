#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel gives the plugin no watch of any directory of kubelet's."""
import os
import time

from plugin_lib import ARGV, DIR, NIC, NIC_NAME, Plugin, ok, put, wait_file
from peer import Kubelet

PLUGINS = DIR + "/device-plugins"

put(NIC, "claim", "alice")
# In a user namespace of its own, whose limit is nobody else's.
k = Kubelet(DIR)
ARGV[:] = [
    "setpriv", "--groups", "4711", "unshare", "--user", "--map-root-user", "sh", "-c",
    'echo 0 >/proc/sys/user/max_inotify_watches && exec "$@"', "sh", *ARGV]
p = Plugin()
k.wait("the sentence", lambda: PLUGINS + " cannot be watched: No space left on device; looked at" in p.said())
time.sleep(0.5)
for _ in range(2):
    k.start()
    k.wait_health(NIC_NAME, {NIC: "Healthy"})
    k.stop()
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
os.makedirs(DIR + "/pods/vm")
k.pods = [("default", "vm", "c", NIC_NAME, [NIC])]
wait_file(NIC, "allocated_to", "default/vm/c", 20)
blind = ["%s%s cannot be watched" % (DIR, name) for name in ("", "/device-plugins", "/pod-resources", "/pods")]
k.wait("the last sentence", lambda: blind[-1] in p.said())
assert p.end() == 0, "status of a clean end"
assert [p.said().count(why) for why in blind] == [1, 1, 1, 1], p.said()
k.stop()
ok("registered without a watch")
