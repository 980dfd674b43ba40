#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tells the plugin of kubelet's socket is lost, or comes from the root of all directories."""
import os
import shutil
import signal
import subprocess
import time

from plugin_lib import ARGV, DIR, NIC, NIC_NAME, Plugin, ok, put
from peer import Kubelet

PLUGINS = DIR + "/device-plugins"
ROOT = os.environ["D"] + "/root"


def flood():
    """More than the kernel keeps for one who does not read."""
    with open("/proc/sys/fs/inotify/max_queued_events") as f:
        n = int(f.read())
    for _ in range(n // 2 + 1):
        os.close(os.open(PLUGINS + "/x", os.O_CREAT))
        os.unlink(PLUGINS + "/x")


def make_root():
    """A root of the plugin's own, to which a directory may be added."""
    os.mkdir(ROOT)
    subprocess.run(["mount", "-t", "tmpfs", "root", ROOT], check=True)
    for name in os.listdir("/"):
        at = "%s/%s" % (ROOT, name)
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), at)
        elif os.path.isdir("/" + name):
            os.mkdir(at)
            subprocess.run(["mount", "--rbind", "/" + name, at], check=True)


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

make_root()
ARGV[:] = ["chroot", ROOT, os.path.abspath(ARGV[0]), *[arg.replace(DIR, "/kubelet") for arg in ARGV[1:]]]
k = Kubelet(ROOT + "/kubelet")
p = Plugin()
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
k.stop()
while os.path.exists(ROOT + "/kubelet"):  # a socket may just be made in it
    shutil.rmtree(ROOT + "/kubelet", ignore_errors=True)
k = Kubelet(ROOT + "/kubelet")
k.start()
k.wait_health(NIC_NAME, {NIC: "Healthy"})
assert p.end() == 0, "status of a clean end"
k.stop()
subprocess.run(["umount", "-l", ROOT], check=True)
ok("registered in a directory that was made anew below the root")
