# SPDX-License-Identifier: GPL-2.0-or-later
"""k8s.py WHAT AUDIT [ARGUMENT]...: how long pcidevfs-sync takes, by the audit log of the API server on this machine's
clock. Prints KEY=VALUE, times in ms as p50,p99; what never came within 5 s is inf.

start AUDIT BEGAN COUNT        until COUNT PCIDevices have a status; BEGAN in seconds since 1970
rest AUDIT SECONDS             requests that began in that time, of the sync user
hotplug AUDIT ROUNDS NAME -- UNPLUG... -- PLUG...
claims AUDIT ROUNDS NAME ADDRESS TREE SYSFS
"""
import ctypes
import datetime
import json
import os
import select
import subprocess
import sys
import time

LIMIT = 5.0
SYNC = "system:serviceaccount:pcidevfs:pcidevfs-sync"


class Audit:
    """Reads the log as it grows."""

    def __init__(self, path):
        self.file = open(path, encoding="utf-8")
        self.rest = ""

    def end(self):
        self.rest = ""
        self.file.seek(0, os.SEEK_END)

    def more(self):
        for chunk in iter(self.file.readline, ""):
            self.rest += chunk
            if not self.rest.endswith("\n"):
                continue
            line, self.rest = self.rest, ""
            yield json.loads(line[line.index("{"):])

    def find(self, wanted, limit=LIMIT):
        end = time.time() + limit
        while time.time() < end:
            for event in self.more():
                if wanted(event):
                    return event
            time.sleep(0.002)
        return None


def moment(event, key):
    return datetime.datetime.fromisoformat(event[key].replace("Z", "+00:00")).timestamp() if event else float("inf")


def of(event, verb, kind, name, part=None, by=SYNC):
    ref = event.get("objectRef") or {}
    return (event["verb"] == verb and ref.get("resource") == kind and ref.get("subresource") == part
            and (ref.get("name") == name or name is None) and (event["user"]["username"] == SYNC) == (by == SYNC)
            and event["stage"] == "ResponseComplete" and event["responseStatus"]["code"] < 300)


def tell(key, seconds):
    seconds = sorted(seconds)
    at = [seconds[int(q * (len(seconds) - 1) + 0.5)] * 1000 for q in (0.5, 0.99)]
    print(f"{key}=" + ",".join(f"{v:.1f}" for v in at))


def start(audit, began, count):
    named, last = set(), float("inf")
    end = time.time() + 60
    while len(named) < int(count) and time.time() < end:
        event = audit.find(lambda e: of(e, "patch", "pcidevices", None, "status"))
        if event:
            named.add(event["objectRef"]["name"])
            last = moment(event, "stageTimestamp")
    print(f"start={(last - float(began)) * 1000 if len(named) == int(count) else float('inf'):.0f}")


def rest(audit, seconds):
    audit.end()
    time.sleep(float(seconds))
    print("requests=" + str(len({e["auditID"] for e in audit.more() if e["user"]["username"] == SYNC})))


def hotplug(audit, rounds, name, *words):
    cut = words.index("--", 1)
    unplug, plug = words[1:cut], words[cut + 1:]
    times = {"gone": [], "made": [], "whole": []}
    for _ in range(int(rounds)):
        audit.end()
        began = time.time()
        subprocess.run(unplug, check=True)
        gone = audit.find(lambda e: of(e, "delete", "pcidevices", name))
        times["gone"].append(moment(gone, "stageTimestamp") - began)
        time.sleep(0.2)
        audit.end()
        began = time.time()
        subprocess.run(plug, check=True)
        made = audit.find(lambda e: of(e, "patch", "pcidevices", name))
        times["made"].append(moment(made, "stageTimestamp") - began)
        whole = audit.find(lambda e: of(e, "patch", "pcidevices", name, "status"))
        times["whole"].append(moment(whole, "stageTimestamp") - began)
        time.sleep(0.2)
    for key, value in times.items():
        tell(key, value)


class Touched:
    """Tells when the first of the files is next written, by inotify."""

    def __init__(self, *paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        for path in paths:
            if libc.inotify_add_watch(self.fd, path.encode(), 2) < 0:  # IN_MODIFY
                raise OSError(ctypes.get_errno(), path)

    def drain(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except BlockingIOError:
            pass

    def moment(self):
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return time.time() if poll.poll(LIMIT * 1000) else float("inf")


def reads(path, value):
    """When the file reads so; woken by the tree."""
    end = time.time() + LIMIT
    poll = select.poll()
    with open(path, encoding="ascii") as f:
        poll.register(f, select.POLLPRI)
        while time.time() < end:
            f.seek(0)
            if f.read().strip() == value:
                return time.time()
            poll.poll(1000)
    return float("inf")


def kubectl(*words, text=None):
    subprocess.run(["kubectl", *words], input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def claims(audit, rounds, name, address, tree, sysfs):
    file = f"{tree}/devices/{address}/claim"
    touched = Touched(f"{sysfs}/bus/pci/devices/{address}/driver_override")
    claim = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": name},
             "spec": {"address": address, "nodeName": "node1", "userName": "alice"}}
    times = {"step": [], "released": [], "deleted": [], "kernel": [], "echo": []}

    def settle():
        time.sleep(0.3)
        audit.end()
        touched.drain()

    for _ in range(int(rounds)):
        settle()
        kubectl("create", "-f", "-", text=json.dumps(claim))
        step = touched.moment()
        made = audit.find(lambda e: of(e, "create", "pcideviceclaims", name, by="user"))
        times["step"].append(step - moment(made, "stageTimestamp"))
        reads(file, "alice")
        settle()
        kubectl("delete", "pcideviceclaim", name, "--wait=false")
        released = reads(file, "none")
        gone = audit.find(lambda e: of(e, "delete", "pcideviceclaims", name, by="user"))
        times["released"].append(released - moment(gone, "requestReceivedTimestamp"))
        times["deleted"].append(moment(gone, "stageTimestamp") - moment(gone, "requestReceivedTimestamp"))
        settle()
        for value, verb in ("bob", "create"), ("none", "delete"):
            began = time.time()
            with open(file, "w", encoding="ascii") as f:
                f.write(value)
            ended = time.time()
            if value == "none":
                times["kernel"].append(ended - began)
            sent = audit.find(lambda e: of(e, verb, "pcideviceclaims", name))
            times["echo"].append(moment(sent, "requestReceivedTimestamp") - ended)
            settle()
    kernel = sorted(times["kernel"])[len(times["kernel"]) // 2]
    times["released"] = [t - kernel for t in times["released"]]
    for key, value in times.items():
        tell(key, value)


WHAT = {f.__name__: f for f in (start, rest, hotplug, claims)}
WHAT[sys.argv[1]](Audit(sys.argv[2]), *sys.argv[3:])
