# SPDX-License-Identifier: GPL-2.0-or-later
"""k8s.py WHAT AUDIT [ARGUMENT]...: how long pcidevfs-sync takes, by the audit log of the API server on this machine's
clock. Prints KEY=VALUE, times in ms as p50,p99; what never came within 5 s is inf.

start AUDIT BEGAN COUNT        until COUNT PCIDevices have a status; BEGAN in seconds since 1970
rest AUDIT SECONDS             requests that began in that time, of the sync user
hotplug AUDIT ROUNDS NAME -- UNPLUG... -- PLUG...
claims AUDIT ROUNDS NAME ADDRESS TREE SYSFS
vfs AUDIT ROUNDS NAME ADDRESS TREE SYSFS
many AUDIT COUNT ROUNDS NAME ADDRESS TREE    from the POST of a claim to the tree, among COUNT that mean no device
"""
import base64
import ctypes
import datetime
import http.client
import json
import os
import select
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

LIMIT = 5.0
SYNC = "pcidevfs-sync:node1"


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


class Server:
    """The API server, for the user of $KUBECONFIG; a kubectl would take as long as what is measured."""

    def __init__(self):
        said = subprocess.run(["kubectl", "config", "view", "--raw", "--minify", "-o", "json"], check=True, capture_output=True).stdout
        config = json.loads(said)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        tls = ssl.create_default_context(cafile=self.file(cluster, "certificate-authority"))
        if "token" not in user:
            tls.load_cert_chain(self.file(user, "client-certificate"), self.file(user, "client-key"))
        self.headers = {"Authorization": "Bearer " + user["token"]} if "token" in user else {}
        self.http = http.client.HTTPSConnection(urllib.parse.urlparse(cluster["server"]).netloc, context=tls)

    @staticmethod
    def file(part, name):
        if name in part:
            return part[name]
        with tempfile.NamedTemporaryFile(delete=False, dir=os.environ["D"]) as f:
            f.write(base64.b64decode(part[name + "-data"]))
        return f.name

    def ask(self, method, path, body=None, kind="application/json"):
        self.http.request(method, "/apis/devices.harvesterhci.io/v1beta1/" + path, body and json.dumps(body),
                          {"Content-Type": kind, **self.headers})
        answer = self.http.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise OSError(f"{method} {path}: {text}")


def write(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(value)


def settle(audit, touched):
    time.sleep(0.5)
    audit.end()
    touched.drain()


def claim_of(name, address):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": name},
            "spec": {"address": address, "nodeName": "node1", "userName": "alice"}}


def claims(audit, rounds, name, address, tree, sysfs):
    file = f"{tree}/devices/{address}/claim"
    touched = Touched(f"{sysfs}/bus/pci/devices/{address}/driver_override")
    server = Server()
    claim = claim_of(name, address)
    times = {"step": [], "released": [], "deleted": [], "kernel": [], "echo": []}

    for _ in range(int(rounds)):
        settle(audit, touched)
        server.ask("POST", "pcideviceclaims", claim)
        step = touched.moment()
        made = audit.find(lambda e: of(e, "create", "pcideviceclaims", name, by="user"))
        times["step"].append(step - moment(made, "stageTimestamp"))
        reads(file, "alice")
        settle(audit, touched)
        server.ask("DELETE", "pcideviceclaims/" + name)
        released = reads(file, "none")
        gone = audit.find(lambda e: of(e, "delete", "pcideviceclaims", name, by="user"))
        times["released"].append(released - moment(gone, "requestReceivedTimestamp"))
        times["deleted"].append(moment(gone, "stageTimestamp") - moment(gone, "requestReceivedTimestamp"))
        settle(audit, touched)
        for value, verb in ("bob", "create"), ("none", "delete"):
            began = time.time()
            write(file, value)
            ended = time.time()
            if value == "none":
                times["kernel"].append(ended - began)
            sent = audit.find(lambda e: of(e, verb, "pcideviceclaims", name))
            times["echo"].append(moment(sent, "requestReceivedTimestamp") - ended)
            settle(audit, touched)
    kernel = sorted(times["kernel"])[len(times["kernel"]) // 2]
    times["released"] = [t - kernel for t in times["released"]]
    for key, value in times.items():
        tell(key, value)


def vfs(audit, rounds, name, address, tree, sysfs):
    file, device = f"{tree}/devices/{address}/sriov_numvfs", f"{sysfs}/bus/pci/devices/{address}"
    touched = Touched(f"{device}/sriov_drivers_autoprobe", f"{device}/sriov_numvfs")
    server = Server()
    times = {"step": [], "echo": []}

    for _ in range(int(rounds)):
        settle(audit, touched)
        server.ask("PATCH", "sriovnetworkdevices/" + name, {"spec": {"numVFs": 2}}, "application/merge-patch+json")
        step = touched.moment()
        made = audit.find(lambda e: of(e, "patch", "sriovnetworkdevices", name, by="user"))
        times["step"].append(step - moment(made, "stageTimestamp"))
        reads(file, "2")
        settle(audit, touched)
        write(file, "0")
        ended = time.time()
        sent = audit.find(lambda e: of(e, "patch", "sriovnetworkdevices", name) and e["requestURI"].endswith("pcidevfs-spec"))
        times["echo"].append(moment(sent, "requestReceivedTimestamp") - ended)
    for key, value in times.items():
        tell(key, value)


def many(_audit, count, rounds, name, address, tree):
    def make(first):
        server = Server()
        for n in range(first, int(count), 16):
            foreign = f"{0x1000 + n // 256:04x}:{n % 256:02x}:00.0"
            server.ask("POST", "pcideviceclaims", claim_of("node1-" + foreign.replace(":", "").replace(".", ""), foreign))

    makers = [threading.Thread(target=make, args=(n,)) for n in range(16)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    time.sleep(10)
    server, file, times = Server(), f"{tree}/devices/{address}/claim", []
    for _ in range(int(rounds)):
        began = time.time()
        server.ask("POST", "pcideviceclaims", claim_of(name, address))
        times.append(reads(file, "alice") - began)
        server.ask("DELETE", "pcideviceclaims/" + name)
        reads(file, "none")
        time.sleep(1)
    tell("many", times)


WHAT = {f.__name__: f for f in (start, rest, hotplug, claims, vfs, many)}
WHAT[sys.argv[1]](Audit(sys.argv[2]), *sys.argv[3:])
