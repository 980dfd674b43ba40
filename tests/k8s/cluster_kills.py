# SPDX-License-Identifier: GPL-2.0-or-later
"""cluster_kills.py KUBECONFIG TOKEN DIR -- ROLE...: pcidevfs-sync --cluster, whose command ROLE is, is killed at its first request,
before and after the server has done it, then at its second one, and so on, while a claim comes or goes. Each time a new one has
to bring the list in order: nothing is lost, nothing doubled, and what others wrote stays."""
import http.client
import http.server
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time

from api import Api

PATIENCE = 60  # seconds, on a busy machine
WATCHES = 12
CR = "/apis/kubevirt.io/v1/namespaces/kills/kubevirts"
FOREIGN = [{"pciVendorSelector": "10DE:1EB8", "resourceName": "x.io/T4"}] * 2


class Proxy(http.server.BaseHTTPRequestHandler):
    """Adds the token, which the role sends to nobody without TLS, and kills the role at one request."""
    protocol_version = "HTTP/1.1"
    lock, count, kill_at, after, role, kills = threading.Lock(), 0, 0, False, None, []
    method, of_method = None, 0  # None: any
    host = token = tls = None

    def log_message(self, *_args):
        pass

    def kill(self):
        Proxy.kills.append(f"{self.command} {self.path.split('?')[0]}")
        Proxy.role.kill()
        Proxy.role.wait()
        self.close_connection = True

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with Proxy.lock:
            Proxy.count += 1
            Proxy.of_method += Proxy.method in (None, self.command)
            mine = Proxy.of_method == Proxy.kill_at and Proxy.method in (None, self.command)
        if mine and not Proxy.after:
            self.kill()
            return
        server = http.client.HTTPSConnection(Proxy.host, context=Proxy.tls)
        headers = {"Authorization": "Bearer " + Proxy.token, "Content-Type": self.headers.get("Content-Type", "")}
        server.request(self.command, self.path, body, headers)
        answer = server.getresponse()
        if mine:
            self.kill()
            return
        self.close_connection = True
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while data := answer.read1(65536):
                self.wfile.write(data)
        except OSError:
            pass

    do_GET = do_POST = do_PATCH = forward


def wait_for(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"FAILED: {what}; killed at {Proxy.kills}")
        time.sleep(0.02)


class World:
    def __init__(self, api, command):
        self.api, self.command, self.claimed = api, command, False

    def make(self, path, **body):
        status, answer = self.api.ask("POST", path, body)
        if status not in (201, 409):
            sys.exit(f"FAILED: {path}: {status} {answer}")

    def prepare(self):
        group = "devices.harvesterhci.io/v1beta1"
        self.make("/api/v1/namespaces", metadata={"name": "kills"})
        lists = {"pciHostDevices": FOREIGN}
        self.make(CR, apiVersion="kubevirt.io/v1", kind="KubeVirt", metadata={"name": "kubevirt"},
                  spec={"configuration": {"permittedHostDevices": lists}})
        for n, address in ((1, "0000:01:00.0"), (2, "0000:02:00.0")):
            name = "n1-" + address.replace(":", "").replace(".", "")
            self.make("pcidevices", apiVersion=group, kind="PCIDevice", metadata={"name": name}, spec={})
            status = {"vendorId": "8086", "deviceId": f"000{n}", "resourceName": f"intel.com/D{n}"}
            if self.api.ask("PATCH", f"pcidevices/{name}/status", {"status": status})[0] != 200:
                sys.exit(f"FAILED: {name} has no status")
        self.claim(1, True)

    def claim(self, n, there):
        address, name = f"0000:0{n}:00.0", f"n1-00000{n}000"
        if there:
            self.make("pcideviceclaims", apiVersion="devices.harvesterhci.io/v1beta1", kind="PCIDeviceClaim",
                      metadata={"name": name}, spec={"address": address, "nodeName": "n1", "userName": "alice"})
        else:
            self.api.ask("DELETE", f"pcideviceclaims/{name}")

    def right(self):
        """Is the list just what it has to be? What is of others is so at any time."""
        o = self.api.ask("GET", CR + "/kubevirt")[1]
        entries = o.get("spec", {}).get("configuration", {}).get("permittedHostDevices", {}).get("pciHostDevices", [])
        if [e for e in entries if not e.get("externalResourceProvider")] != FOREIGN:
            sys.exit(f"FAILED: entries of others changed: {entries}; killed at {Proxy.kills}")
        names = ["intel.com/D1"] + ["intel.com/D2"] * self.claimed
        ledger = json.loads(o["metadata"].get("annotations", {}).get("pcidevfs/permitted-host-devices", "{}"))
        ours = [e["resourceName"] for e in entries if e.get("externalResourceProvider")]
        return sorted(ours) == names and ledger == {"pciHostDevices": names}

    def start(self, kill_at, after, method=None):
        Proxy.count, Proxy.of_method, Proxy.kill_at, Proxy.after, Proxy.method = 0, 0, kill_at, after, method
        Proxy.role = subprocess.Popen(self.command)

    def turn(self, at, after, method=None):
        """Returns whether it made so many requests."""
        self.claimed = not self.claimed
        self.start(at, after, method)
        self.claim(2, self.claimed)
        wait_for("neither killed nor done", lambda: Proxy.role.poll() is not None or self.right())
        time.sleep(0.3)
        killed = self.end() == -signal.SIGKILL
        if killed:
            self.start(0, False)
            wait_for("a new one does not bring it in order", lambda: Proxy.count >= WATCHES and self.right())
            if self.end() != 0:
                sys.exit("FAILED: it does not end by itself")
        if not self.right():
            sys.exit("FAILED: it is not in order")
        return killed

    def end(self):
        Proxy.role.terminate()
        return Proxy.role.wait()


def main():
    config, token, directory, _dashes, *command = sys.argv[1:]
    api = Api(config)
    Proxy.host, Proxy.token = api.host, token
    Proxy.tls = ssl.create_default_context()
    Proxy.tls.check_hostname, Proxy.tls.verify_mode = False, ssl.CERT_NONE
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = os.path.join(directory, "proxied")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}],
                   "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}]}, f)
    world = World(api, command + ["--kubeconfig", path])
    world.prepare()
    for after in (False, True):
        at = 1
        while world.turn(at, after):
            at += 1
        # Requests side by side come in another order each time, and the one that counts most may never have been the last.
        patched = world.turn(1, after, "PATCH")
        print(f"killed at each of {at - 1} requests, {'after' if after else 'before'} the server did it")
        if at <= WATCHES or not patched:
            sys.exit(f"FAILED: it was killed at {Proxy.kills} only")
        Proxy.kills.clear()


main()
