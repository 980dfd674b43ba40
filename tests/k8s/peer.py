#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A kubelet as far as device plugins see one, to be broken at will; and a client of their servers.

Stands beside the genuine kubelet of tests/k8s/ground: what that one never does (refuse a name, send
garbage, hang up in the middle) is done here. Messages are those of plugin/*.proto, compiled by protoc.
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

import grpc

OPTIONS = [("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1)]


def compile_protos(source):
    out = tempfile.mkdtemp(prefix="proto.", dir=os.environ.get("D"))
    subprocess.run(["protoc", "-I", source, "--python_out=" + out, "deviceplugin.proto",
                    "podresources.proto"], check=True)
    sys.path.insert(0, out)


compile_protos(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plugin"))
import deviceplugin_pb2 as dp  # noqa: E402
import podresources_pb2 as pr  # noqa: E402

PLUGIN = "/v1beta1.DevicePlugin/"
BUSY = 8  # times as long as on an idle machine, before it is a failure: this ends what hangs and times nothing


class Endpoint:
    """One registered resource: its channel, and the lists it has sent."""

    def __init__(self, kubelet, request):
        self.kubelet = kubelet
        self.name = request.resource_name
        self.endpoint = request.endpoint
        self.channel = grpc.insecure_channel("unix:" + os.path.join(kubelet.plugins, request.endpoint),
                                             options=OPTIONS)
        self.lists = []
        self.ended = False
        self.options = self.call("GetDevicePluginOptions", dp.Empty(), dp.DevicePluginOptions)
        self.stream = None

    def call(self, method, request, answer, timeout=5 * BUSY):
        data = request if isinstance(request, bytes) else request.SerializeToString()
        stub = self.channel.unary_unary(PLUGIN + method)
        return answer.FromString(stub(data, timeout=timeout))

    def watch(self):
        self.stream = self.channel.unary_stream(PLUGIN + "ListAndWatch")(b"")
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            for data in self.stream:
                devices = dp.ListAndWatchResponse.FromString(data).devices
                with self.kubelet.cond:
                    self.lists.append((time.monotonic(), {d.ID: d for d in devices}))
                    self.kubelet.cond.notify_all()
        except grpc.RpcError:
            pass
        with self.kubelet.cond:
            self.ended = time.monotonic()
            self.kubelet.cond.notify_all()

    def now(self):
        return self.lists[-1][1] if self.lists else None

    def health(self):
        return {i: d.health for i, d in (self.now() or {}).items()}


class Kubelet(grpc.GenericRpcHandler):
    def __init__(self, directory):
        self.pod_dirs = os.path.join(directory, "pods")
        self.come = 0      # how many there have been
        self.plugins = os.path.join(directory, "device-plugins")
        self.pods_dir = os.path.join(directory, "pod-resources")
        self.cond = threading.Condition()
        self.refused = {}  # name: why
        self.refused_as = grpc.StatusCode.INVALID_ARGUMENT
        self.asked = []    # whoever was to be registered, however it ended
        self.may_register = threading.Event()  # unset: a Register is answered later
        self.may_register.set()
        self.before_watch = lambda endpoint: None  # inside a Register
        self.deaf = set()  # names: a Register is answered, and nobody listens
        self.pods = []     # (namespace, pod, container, resource, [ids])
        self.era = 0       # what a former kubelet was told is none of this one's
        self.started = 0
        self.listed = 0    # how often pods were asked for
        self.may_list = threading.Event()  # unset: what was asked is answered later, as it is now
        self.may_list.set()
        os.makedirs(self.plugins, exist_ok=True)
        os.makedirs(self.pods_dir, exist_ok=True)
        self.reset()

    def reset(self):
        with self.cond:
            self.endpoints = {}
            self.registered = []  # (time, name)
            self.era += 1

    def service(self, details):
        handler = {"/v1beta1.Registration/Register": self.register,
                   "/v1.PodResourcesLister/List": self.list_pods}.get(details.method)
        return handler and grpc.unary_unary_rpc_method_handler(handler)

    def start(self):
        """As kubelet does: every socket is removed, then its own is made."""
        self.reset()
        for name in os.listdir(self.plugins):
            if name == "kubelet_internal_checkpoint":
                continue
            try:
                os.unlink(os.path.join(self.plugins, name))
            except FileNotFoundError:  # its owner was quicker
                pass
        self.servers = []
        for path in (os.path.join(self.pods_dir, "kubelet.sock"), os.path.join(self.plugins, "kubelet.sock")):
            if os.path.exists(path):
                os.unlink(path)
            server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
            server.add_generic_rpc_handlers((self,))
            server.add_insecure_port("unix:" + path)
            self.started = time.monotonic()
            server.start()
            self.servers.append(server)

    def stop(self):
        for server in self.servers:
            server.stop(None).wait()
        for endpoint in list(self.endpoints.values()):
            if endpoint.stream:
                endpoint.stream.cancel()
            endpoint.channel.close()

    def register(self, data, context):
        era = self.era
        request = dp.RegisterRequest.FromString(data)
        why = self.refused.get(request.resource_name)
        self.asked.append(request.resource_name)
        if why:
            context.abort(self.refused_as, why)
        self.may_register.wait(60)
        if not context.is_active():
            return b""
        assert request.version == "v1beta1" and "/" not in request.endpoint, request
        endpoint = Endpoint(self, request)  # dials back inside the call
        with self.cond:
            if era != self.era:
                endpoint.channel.close()
                return b""
            self.endpoints[request.resource_name] = endpoint
            self.registered.append((time.monotonic(), request.resource_name))
            self.cond.notify_all()
        self.before_watch(endpoint)
        if request.resource_name not in self.deaf:
            endpoint.watch()
        return b""

    def list_pods(self, _data, _context):
        answer = pr.ListPodResourcesResponse()
        for namespace, pod, container, resource, ids in self.pods:
            p = answer.pod_resources.add(name=pod, namespace=namespace)
            c = p.containers.add(name=container)
            c.devices.add(resource_name=resource, device_ids=ids)
        self.listed += 1
        self.may_list.wait(60)
        return answer.SerializeToString()

    def wait(self, what, true, seconds=5):
        end = time.monotonic() + seconds * BUSY
        with self.cond:
            while not true():
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError("in vain: " + what)
                self.cond.wait(min(left, 0.05))

    def lists(self, *pods):
        """From now on; a new pod's directory makes the plugin ask."""
        self.pods = list(pods)
        self.news()

    def news(self):
        self.come += 1
        os.makedirs("%s/new%d" % (self.pod_dirs, self.come))

    def asks(self, seconds=5):
        """The plugin is asking which pods there are."""
        before = self.listed
        self.news()
        self.wait("the question", lambda: self.listed > before, seconds)

    def wait_health(self, name, expected, seconds=5):
        def true():
            e = self.endpoints.get(name)
            return e is not None and e.now() is not None and e.health() == expected
        try:
            self.wait("health", true, seconds)
        except AssertionError:
            e = self.endpoints.get(name)
            raise AssertionError("%s is %s, not %s" % (name, e and e.health(), expected)) from None
        return self.endpoints[name]

    def allocate(self, name, *ids):
        request = dp.AllocateRequest()
        request.container_requests.add(devices_ids=ids)
        return self.endpoints[name].call("Allocate", request, dp.AllocateResponse)


def refused(code, call, *args, **kw):
    try:
        call(*args, **kw)
    except grpc.RpcError as e:
        assert e.code().name == code, (e.code(), e.details())
        return e.details()
    raise AssertionError("not refused: " + repr(args))


def raw(path, data, seconds=1):
    """What a server says to bytes that are no HTTP/2."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(seconds)
    s.connect(path)
    try:
        s.sendall(data)
        return s.recv(4096)
    except OSError:
        return b""
    finally:
        s.close()
