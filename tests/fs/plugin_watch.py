#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tells the plugin of kubelet's socket is lost."""
import os
import signal
import time

from plugin_lib import DIR, NIC, NIC_NAME, Plugin, ok, put
from peer import Kubelet

PLUGINS = DIR + "/device-plugins"


def flood():
    """More than the kernel keeps for one who does not read."""
    with open("/proc/sys/fs/inotify/max_queued_events") as f:
        n = int(f.read())
    for _ in range(n // 2 + 1):
        os.close(os.open(PLUGINS + "/x", os.O_CREAT))
        os.unlink(PLUGINS + "/x")


put(NIC, "claim", "alice")
k = Kubelet(DIR)
p = Plugin()
while not [n for n in os.listdir(PLUGINS) if n.startswith("pcidevfs-")]:
    assert p.process.poll() is None
    time.sleep(0.01)
time.sleep(1)  # until nothing else makes it look
os.kill(p.process.pid, signal.SIGSTOP)
flood()
k.start()
os.kill(p.process.pid, signal.SIGCONT)
k.wait_health(NIC_NAME, {NIC: "Healthy"})
assert p.end() == 0, "status of a clean end"
k.stop()
ok("registered, though the news of the socket was lost")
