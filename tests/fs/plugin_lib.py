#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SCRIPT TREE KUBELET-DIR PLUGIN-ARGV...: what the scripts share that put the plugin before a kubelet."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../k8s"))

TREE, DIR, ARGV = sys.argv[1], sys.argv[2], sys.argv[3:]
BUSY = 8  # as in the shell's wait_for
NIC, MATE, DISK = "0000:05:02.0", "0000:05:01.0", "0000:06:00.0"
NIC_NAME = "intel.com/82540EM_GIGABIT_ETHERNET_CONTROLLER"
MATE_NAME = "unknown.com/11e8"
DISK_NAME = "samsung.com/NVME_SSD_CONTROLLER_SM981_PM981_PM983"


def put(dev, name, value):
    with open("%s/devices/%s/%s" % (TREE, dev, name), "w") as f:
        f.write(value + "\n")


def get(dev, name):
    with open("%s/devices/%s/%s" % (TREE, dev, name)) as f:
        return f.read().rstrip("\n")


def wait_file(dev, name, value, seconds=5):
    end = time.monotonic() + seconds * BUSY
    while get(dev, name) != value:
        assert time.monotonic() < end, "%s of %s is %s, not %s" % (name, dev, get(dev, name), value)
        time.sleep(0.01)


@contextlib.contextmanager
def tree_hangs():
    """Meanwhile the tree answers nothing."""
    serving = int(os.environ["SERVING"])
    with open("/proc/%d/stat" % serving) as f:
        holder = int(f.read().rsplit(")", 1)[1].split()[1])
    os.kill(holder, signal.SIGSTOP)  # which would end one that hangs
    os.kill(serving, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(serving, signal.SIGCONT)
        os.kill(holder, signal.SIGCONT)


def giving(kubelet, resource, dev):
    """The thread in which kubelet is asking for it. Returns once it has had the time to send that."""
    given = threading.Thread(target=kubelet.allocate, args=(resource, dev))
    given.start()
    time.sleep(0.2)
    return given


class Waiting(threading.Thread):
    """A call to the plugin that is not answered at once."""

    def __init__(self, *call):
        super().__init__()
        self.call, self.said = call, None
        self.start()
        time.sleep(0.2)

    def run(self):
        try:
            self.call[0](*self.call[1:])
            self.said = "yes"
        except grpc.RpcError as e:
            self.said = "%s: %s" % (e.code().name, e.details())

    def end(self):
        self.join(60)
        return self.said


def sim(*args):
    subprocess.run([os.environ["SIM"], "--control", os.environ["S"], *args], check=True)


class Plugin:
    def __init__(self):
        self.log = open(os.environ["D"] + "/plugin.err", "a+")
        self.start()

    def start(self):
        self.process = subprocess.Popen(ARGV, stdout=subprocess.DEVNULL, stderr=self.log)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(10)

    def said(self):
        with open(self.log.name) as f:
            return f.read()


def ok(what):
    print("#", what, flush=True)
