# SPDX-License-Identifier: GPL-2.0-or-later
"""The API server for tests, as the user of a kubeconfig in JSON, by certificate or token."""
import base64
import http.client
import json
import ssl
import tempfile

GROUP = "/apis/devices.harvesterhci.io/v1beta1/"


class Api:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            config = json.load(f)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host = cluster["server"].removeprefix("https://")
        pem = {key: base64.b64decode(text) for key, text in (*cluster.items(), *user.items()) if key.endswith("-data")}
        self.tls = ssl.create_default_context(cadata=pem["certificate-authority-data"].decode())
        self.headers = {"Authorization": "Bearer " + user["token"]} if "token" in user else {}
        with tempfile.NamedTemporaryFile() as both:
            if not self.headers:
                both.write(pem["client-certificate-data"] + pem["client-key-data"])
                both.flush()
                self.tls.load_cert_chain(both.name)
        self.connection = None

    def ask(self, method, path, body=None):
        """The status and the object; None: nobody knows whether it was done. A path that begins with / is that of any resource."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPSConnection(self.host, context=self.tls, timeout=20)
            kind = {"PATCH": "application/merge-patch+json"}.get(method, "application/json")
            headers = {"Content-Type": kind, **self.headers}
            path = path if path[0] == "/" else GROUP + path
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.connection = None
            return None, {}
