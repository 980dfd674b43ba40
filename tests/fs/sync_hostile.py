# SPDX-License-Identifier: GPL-2.0-or-later
"""sync_hostile.py PORTFILE [CERT KEY]: an API server that answers badly, in the way that PORTFILE.mode names: html, half,
huge, deep, denied, inside; or well, over an empty cluster: good; token (401, but for the one in PORTFILE.token);
gone, gone-inside (a watch is told 410, once, inside one that goes on); busy (429, once); bare (lists with items that
are no objects); lost (a write meets 404); refused (those of Nodes and of whole PCIDevices meet 403); foreign
(VlanConfigs meet 403); coming (pods meet 403, once; then there is one of Harvester's controller, and that takes a
second); barred (pods meet 403); deaf (a Node's meets
429, once, then 200, and changes nothing); events (the first Event meets 500); large (400 objects of 60 KB); endless (a
list that always goes on); unwilling NAME (the status
of that object is refused); late NAME (the first write of that object is answered a second later than the watch tells that
somebody took its labels); flood N (as good, and N claims of this node that mean no device);
labels (as good, and the core Node node1 is as it is written, each write by pcidevfs-sync a line of PORTFILE.node; those with
the text in PORTFILE.hold are carried out once it is gone, those with the text in PORTFILE.refuse meet 403, PORTFILE.conflict 409; labels alone:
the cluster has none of Harvester's kinds). What it was asked stands in PORTFILE.asked, with the time in ms, the credential, and an Event's
reason. With CERT and KEY it speaks TLS; it takes the port that PORTFILE already names; it listens at $ADDRESS."""
import http.server
import json
import os
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse


CLAIMS = "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims"
NODE = "/api/v1/nodes/node1"
objects = {NODE: {"metadata": {"name": "node1", "uid": "u", "resourceVersion": "1"}}}
news = []  # events of watches: path, event
lock = threading.Lock()
told = set()
version = 1  # of the cluster: each change has the next one


def merge(o, patch):
    for key, value in patch.items():
        if value is None:
            o.pop(key, None)
        else:
            o[key] = merge(o.get(key, {}), value) if isinstance(value, dict) else value
    return o


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):  # a client that does not like our certificate
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, code, body, length=None, kind="application/json", more=()):
        self.send_response(code)
        for name, value in more:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass
        self.close_connection = True

    def mode(self):
        return self.mode_of()[0]

    def mode_of(self):
        with open(sys.argv[1] + ".mode", encoding="utf-8") as f:
            return f.read().split() or [""]

    def names(self, mode):  # is it that mode, about this path?
        word, *name = self.mode_of()
        return word == mode and self.path.split("?")[0].split("/")[-2 if "/status" in self.path else -1] == name[0]

    def refuse(self, code, why, more=()):
        status = {"kind": "Status", "status": "Failure", "code": code, "message": why}
        self.send(code, json.dumps(status).encode(), more=more)

    def once(self, mode):  # the first time of this path in this mode
        key = mode + self.path.split("?")[0]
        if self.mode() != mode or key in told:
            return False
        told.add(key)
        return True

    def watch(self):  # until the mode is another one
        mode = self.met
        since = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("resourceVersion", [""])[0]
        with lock:  # what came after the list that it follows
            since = int(since) if since.isdigit() else version
            seen = sum(int(event["object"]["metadata"]["resourceVersion"]) <= since for _, event in news)
        if self.once("gone"):
            self.refuse(410, "too old")
            return
        self.send_response(200)
        self.end_headers()
        if self.once("gone-inside"):
            gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
            self.wfile.write(json.dumps(gone).encode())
        self.wfile.flush()
        while self.mode() == mode:
            for place, event in news[seen:]:
                if place == self.path.split("?")[0]:
                    self.wfile.write(json.dumps(event).encode())
            seen = len(news)
            time.sleep(0.05)
        self.close_connection = True

    def well(self):
        if self.mode() == "coming" and "&resourceVersion=" not in self.path and ("/pods?" in self.path or "/pcidevices?" in self.path):
            time.sleep(1)
        token = ""
        if os.path.exists(sys.argv[1] + ".token"):
            with open(sys.argv[1] + ".token", encoding="utf-8") as f:
                token = f.read().strip()
        if self.mode() == "token" and self.headers.get("Authorization") != "Bearer " + token:
            self.refuse(401, "Unauthorized")
        elif "watch=1" not in self.path and self.once("busy"):
            self.refuse(429, "please wait", [("Retry-After", "2")])
        elif "sendInitialEvents" in self.path:
            self.refuse(422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
        elif "watch=1" in self.path:
            self.watch()
        elif self.command == "GET" and self.path == NODE:
            self.send(200, json.dumps(objects[NODE]).encode())
        elif self.command == "GET":
            place = self.path.split("?")[0] + "/"
            if self.mode() == "flood" and self.path.startswith(CLAIMS) and "flood" not in told:
                told.add("flood")
                self.flood(int(self.mode_of()[1]))
            items = [o for path, o in objects.items() if path.startswith(place)]
            if self.mode() == "bare":
                items += [{"spec": {"nodeName": "node1"}}, {"metadata": []}, {"metadata": {"name": 7}}, [], None]
            if self.mode() == "endless" and "/pcidevices?" in self.path:
                self.send(200, b'{"metadata":{"resourceVersion":"1","continue":"on"},"items":[]}')
                return
            if self.mode() == "large" and "/pcidevices?" in self.path:
                self.page([{"metadata": {"name": f"node1-{i}", "labels": {"nodename": "other"}}, "spec": {"x": "x" * 60000}}
                           for i in range(400)])
                return
            if self.mode() == "flood":
                self.page(items)
                return
            self.send(200, json.dumps({"metadata": {"resourceVersion": str(version)}, "items": items}).encode())
        elif self.mode() == "lost":
            self.refuse(404, "not found")
        elif self.mode() == "refused" and ("/nodes/" in self.path or "/pcidevices/" in self.path and "/status" not in self.path):
            self.refuse(403, self.path.split("/")[4] + " is forbidden")
        elif self.mode() == "deaf" and "/nodes/" in self.path:
            if "deaf" not in told:
                told.add("deaf")
                self.refuse(429, "please wait", [("Retry-After", "1")])
            else:
                self.send(200, json.dumps({"metadata": {"name": self.path.split("/")[5].split("?")[0], "resourceVersion": "1"}}).encode())
        elif self.mode() == "events" and self.path.endswith("/events") and "events" not in told:
            told.add("events")
            self.refuse(500, "not now")
        elif "/status" in self.path and self.names("unwilling"):
            self.refuse(422, "the status is not taken")
        elif self.command == "PATCH":
            self.apply(self.path.split("?")[0].removesuffix("/status"))
        elif self.command == "POST":
            self.apply(self.path.split("?")[0] + "/" + json.loads(self.body)["metadata"]["name"])
        elif self.command == "DELETE" and objects.pop(self.path, None):
            self.send(200, json.dumps({"kind": "Status", "status": "Success", "details": {"uid": self.path}}).encode())
        else:
            self.refuse(403, "this cluster deletes only what it made")

    def is_of(self, what):  # does the body have the text in that file?
        try:
            with open(sys.argv[1] + "." + what, encoding="utf-8") as f:
                return f.read().strip() in self.body.decode()
        except FileNotFoundError:
            return False

    def flood(self, count):
        for i in range(count):  # some are named as functions are that this node does not have
            name, address = (f"node1-0f{i:07x}", f"000f:{i >> 16:02x}:{i >> 4 & 31:02x}.{i & 7}") if i % 2 else (f"x{i}", "none")
            objects[CLAIMS + "/" + name] = {"metadata": {"name": name, "uid": name, "resourceVersion": "1"},
                                            "spec": {"address": address, "nodeName": "node1", "userName": "mallory"}}

    def page(self, items):
        query = dict(part.split("=") for part in self.path.split("?")[1].split("&") if "=" in part)
        begin = int(query.get("continue", "").replace("%3", "") or 0)
        end = begin + int(query["limit"])
        more = {"continue": str(end)} if end < len(items) else {}
        self.send(200, json.dumps({"metadata": {"resourceVersion": str(version), **more}, "items": items[begin:end]}).encode())

    def apply(self, place):
        global version
        if place == NODE and self.headers.get("User-Agent", "").startswith("pcidevfs-sync/"):
            with open(sys.argv[1] + ".node", "a", encoding="utf-8") as f:
                f.write(self.body.decode() + "\n")
            while self.is_of("hold"):
                time.sleep(0.02)
            if self.is_of("refuse"):
                self.refuse(403, "nodes is forbidden")
                return
            if self.is_of("conflict"):
                self.refuse(409, "the object has been modified")
                return
        with lock:
            o = objects.setdefault(place, {})
            for part, value in json.loads(self.body).items():
                o[part] = merge(o.get(part, {}), value) if place == NODE else {**o.get(part, {}), **value} if isinstance(value, dict) else value
            o["metadata"]["uid"] = "u" if place == NODE else place
            version += 1
            o["metadata"]["resourceVersion"] = str(version)
            answer = json.dumps(o).encode()
            late = "/status" not in self.path and self.names("late") and self.once("late")
            if late:
                version += 1
                o["metadata"]["resourceVersion"] = str(version)
                o["metadata"]["labels"] = {}
            if late or not self.headers.get("User-Agent", "").startswith("pcidevfs-sync/"):
                news.append((place.rpartition("/")[0], {"type": "MODIFIED", "object": json.loads(json.dumps(o))}))
        if late:
            time.sleep(1)
        self.send(200, answer)

    def answer(self):
        mode = self.met = self.mode()
        size = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(size)
        reason = json.loads(self.body).get("reason", "") if self.command == "POST" else ""
        with open(sys.argv[1] + ".asked", "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path} {int(time.monotonic() * 1000)} {self.headers.get('Authorization', '')} {reason}\n")
        if reason and mode == "labels":
            with open(sys.argv[1] + ".events", "a", encoding="utf-8") as f:
                f.write(reason + " " + json.loads(self.body)["message"] + "\n")
        if self.path.startswith("/api/v1/nodes/") and mode != "labels":
            self.send(200, b'{"metadata":{"name":"node1","uid":"u"}}')
        elif mode == "html":
            self.send(200, b"<html><title>Sign in</title></html>", kind="text/html")
        elif mode == "half":
            self.send(200, b'{"kind":"PCIDeviceList","items":[', 500)
        elif mode == "huge":
            claim = {"metadata": {"name": "node1-x", "resourceVersion": "1"},
                     "spec": {"address": "/" * (1 << 20), "nodeName": "node1", "userName": "x" * (1 << 20)}}
            self.send(200, json.dumps({"metadata": {"resourceVersion": "1"}, "items": [claim] * 20}).encode())
        elif mode == "deep":
            self.send(200, b'{"items":' + b"[" * 100000)
        elif mode == "denied":
            self.send(403, b'{"kind":"Status","status":"Failure","code":403,"message":"pcidevices is forbidden"}')
        elif mode == "foreign" and "/vlanconfigs" in self.path:
            self.refuse(403, "vlanconfigs is forbidden")
        elif "/pods?" in self.path and (mode == "barred" or self.once("coming")):
            objects["/api/v1/namespaces/harvester-system/pods/former"] = {
                "metadata": {"name": "former", "labels": {"app.kubernetes.io/name": "harvester-pcidevices-controller"}, "resourceVersion": "1"},
                "spec": {"nodeName": "node1"}, "status": {"phase": "Running"}}
            self.refuse(403, "pods is forbidden")
        elif self.path.startswith("/apis/devices.harvesterhci.io/") and self.mode_of() == ["labels", "alone"]:
            self.refuse(404, "the server could not find the requested resource")
        elif mode == "inside":
            self.send(200, b'{"kind":"Status","status":"Failure","code":500,"message":"etcd is on fire"}')
        else:
            self.well()

    do_GET = do_POST = do_PATCH = do_DELETE = answer


port = 0
if os.path.exists(sys.argv[1]):
    with open(sys.argv[1], encoding="utf-8") as named:
        port = int(named.read())
server = Server((os.environ.get("ADDRESS", "127.0.0.1"), port), Handler)
if len(sys.argv) > 2:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = tls.wrap_socket(server.socket, server_side=True)
with open(sys.argv[1], "w", encoding="utf-8") as named:
    named.write(str(server.server_address[1]))
with open(sys.argv[1] + ".up", "w", encoding="utf-8"):
    pass
server.serve_forever()
