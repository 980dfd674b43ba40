# SPDX-License-Identifier: GPL-2.0-or-later
"""sync_hostile.py PORTFILE: an API server that answers badly, in one way after another, in the file
named by PORTFILE.mode: html, half, huge, denied, silent, inside."""
import http.server
import json
import socketserver
import sys


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, code, body, length=None, kind="application/json"):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass
        self.close_connection = True

    def answer(self):
        with open(sys.argv[1] + ".mode", encoding="utf-8") as f:
            mode = f.read().strip()
        with open(sys.argv[1] + ".asked", "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path}\n")
        size = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(size)
        if self.path.startswith("/api/v1/nodes/"):
            self.send(404, b'{"kind":"Status","status":"Failure","code":404,"message":"no such node"}')
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
        elif mode == "inside":
            self.send(200, b'{"kind":"Status","status":"Failure","code":500,"message":"etcd is on fire"}')

    do_GET = do_POST = do_PATCH = do_DELETE = answer


server = Server(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w", encoding="utf-8") as port:
    port.write(str(server.server_address[1]))
server.serve_forever()
