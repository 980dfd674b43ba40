# SPDX-License-Identifier: GPL-2.0-or-later
"""A node: the simulated machine with the daemon, the plugin, and a genuine kubelet with containerd."""
import glob
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess

from machine import BUSY, Failure, Machine, read, wait_for

GROUND = "tests/k8s/ground/"
SCRIPT = "trap exit TERM; sleep 100000 & wait"
MARK = "torture:"
MANIFEST = """apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  restartPolicy: Always
  terminationGracePeriodSeconds: 1
  containers:
  - name: compute
    image: pcidevfs.test/busybox:1
    command: [sh, -c, "%s", "%s%s"]
    resources: {limits: %s}
"""


class Container:
    """What a container that runs really has: its environment's devices and its nodes."""

    def __init__(self, pod, pid, devices, nodes):
        self.pod, self.pid, self.devices, self.nodes = pod, pid, devices, nodes

    def __repr__(self):
        return "%s (process %d) with %s and %s" % (self.pod, self.pid, self.devices, sorted(self.nodes))


def containers():
    """All containers of ours that run, by /proc: nobody is asked who may be down."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = read(path).split("\0")
        if len(words) < 4 or words[2] != SCRIPT or not words[3].startswith(MARK):
            continue
        c = container(words[3][len(MARK):], os.path.dirname(path))
        if c:
            found.append(c)
    return found


def container(pod, proc):
    """Only process 1 of a container: what it forks looks like it for a moment."""
    ids = [line.split() for line in read(proc + "/status").splitlines() if line.startswith("NSpid:")]
    if not ids or ids[0][-1] != "1":
        return None
    devices = []
    for pair in read(proc + "/environ").split("\0"):
        if pair.startswith("PCI_RESOURCE_"):
            devices += pair.split("=", 1)[1].split(",")
    try:
        nodes = set(os.listdir(proc + "/root/dev/vfio")) - {"vfio"}
    except OSError:
        nodes = set()
    return Container(pod, int(os.path.basename(proc)), devices, nodes) if devices else None


class Node(Machine):
    def __init__(self, place, programs):
        self.plugin = self.api = None
        super().__init__(place, programs, 1)
        self.ground = place + "/g"
        self.manifests = self.ground + "/node/manifests"

    # ---- processes

    def up(self):
        said = subprocess.run([GROUND + "up", "--standalone-node", "--owner", str(os.getpid()), self.ground],
                              capture_output=True, text=True)
        if said.returncode == 77:
            print("skip: " + said.stderr.splitlines()[-1])
            raise SystemExit(77)
        if said.returncode:
            raise RuntimeError("the ground did not come up: " + said.stderr)
        self.api = None

    def start_plugin(self):
        with open(self.place + "/plugin.err", "a") as err:
            self.plugin = subprocess.Popen(
                [self.programs + "/pcidevfs-plugin", "--tree", self.tree, "--kubelet", self.ground + "/kubelet", "--dev",
                 self.sim_dir + "/dev", "--cdi", self.ground + "/node/run/cdi"], stderr=err,
                preexec_fn=lambda: os.nice(-10))

    def end_plugin(self, number=signal.SIGTERM):
        self.plugin.send_signal(number)
        try:
            status = self.plugin.wait(20 * BUSY)
        except subprocess.TimeoutExpired:
            raise Failure("the plugin does not end") from None
        if status not in (0, -number):
            raise Failure("the plugin ended with status %d: %s" % (status, self.said("plugin")))

    def said(self, who):
        return " | ".join(read("%s/%s.err" % (self.place, who)).splitlines()[-8:])

    def component(self, how, name):
        subprocess.run([GROUND + "component", self.ground, how, name], check=True, stderr=subprocess.DEVNULL)

    def down(self):
        """The node's power is cut: of its disks all stays, of /run nothing."""
        subprocess.run([GROUND + "down", "--keep", self.ground], check=True)
        for path in glob.glob(self.ground + "/node/run/*/*"):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    def reboot(self, plugin_first=True):
        """In the order of the units, or with a plugin that is late."""
        self.end_plugin(signal.SIGKILL)
        self.down()
        super().reboot()
        if plugin_first:
            self.start_plugin()
        self.up()
        if not plugin_first:
            self.start_plugin()

    def close(self):
        if self.plugin and self.plugin.poll() is None:
            self.plugin.kill()
            self.plugin.wait()
        subprocess.run(["umount", self.ground + "/host"], stderr=subprocess.DEVNULL, check=False)
        keep = os.environ.get("KEEP")
        if keep:
            for path in glob.glob(self.place + "/*.err") + glob.glob(self.ground + "/log/*.log") + [self.tree + "/log"]:
                try:
                    shutil.copy(path, keep + "/" + os.path.basename(path))
                except OSError:
                    pass
        subprocess.run([GROUND + "down", self.ground], check=False)
        super().close()

    # ---- pods

    def place_pod(self, name, asks):
        """Renamed into its place: kubelet would else read half of it."""
        hidden = "%s/.%s" % (self.manifests, name)
        with open(hidden, "w") as f:
            f.write(MANIFEST % (name, SCRIPT, MARK, name, json.dumps(asks)))
        os.rename(hidden, "%s/%s.yaml" % (self.manifests, name))

    def remove_pod(self, name):
        os.unlink("%s/%s.yaml" % (self.manifests, name))

    def pods(self):
        """{name: status} as kubelet tells, or None while it does not answer."""
        try:
            if not self.api:
                self.api = self.connect()
            self.api.request("GET", "/pods")
            items = json.loads(self.api.getresponse().read())["items"] or []
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            self.api = None
            return None
        return {i["metadata"]["name"].removesuffix("-node1"): i["status"] for i in items}

    def connect(self):
        context = ssl.create_default_context(cafile=self.ground + "/pki/ca.crt")
        context.load_cert_chain(self.ground + "/pki/admin.crt", self.ground + "/pki/admin.key")
        with open(self.ground + "/ports") as f:
            ports = dict(line.strip().split("=") for line in f)
        return http.client.HTTPSConnection("127.0.0.1", int(ports["kubelet"]), context=context, timeout=10)

    def allocatable(self):
        """{resource: healthy devices} as kubelet counts, or None while it does not answer."""
        programs = subprocess.run([GROUND + "build", "--where"], capture_output=True, text=True).stdout.strip()
        said = subprocess.run([programs + "/podresources", self.ground + "/kubelet/pod-resources/kubelet.sock",
                               "allocatable"], capture_output=True, text=True)
        if said.returncode:
            return None
        found = {}
        for d in json.loads(said.stdout).get("devices", []):
            found.setdefault(d["resourceName"], set()).update(d["deviceIds"])
        return found

    def await_kubelet(self):
        wait_for("kubelet", 30, lambda: self.pods() is not None or "no answer")
