# SPDX-License-Identifier: GPL-2.0-or-later
"""sync_kills.py SEED KILLS SERVER_KILLS GROUND TREE KUBECONFIG OBJECTS DEVICE... -- SYNC...: claims are made and ended at random, in the
tree and in the cluster, while pcidevfs-sync, whose command SYNC is, and the API server are killed. At checkpoints both must
agree, on what somebody asked for last: what one side alone was asked for, or the last of either if both were. OBJECTS is the
number of PCIDevices."""
import random
import subprocess
import sys
import time

from api import Api

EVERY = 10  # kills between two checkpoints
DEADLINE = 8 * 30  # seconds, on a busy machine
FINALIZER_MAX = 60  # seconds that an object may have one, or be about to go


class World:
    def __init__(self, tree, api, count, devices):
        self.tree, self.api, self.count = tree, api, count
        self.agreed = {d: "none" for d in devices}
        self.asked = {d: {} for d in devices}  # by side: what may be its last request
        self.uids = None
        self.course = []  # what was done, for whoever reads why it failed

    def tell(self, *what):
        self.course.append(f"{time.strftime('%H:%M:%S', time.gmtime())}.{time.time_ns() // 1000000 % 1000:03d} {' '.join(map(str, what))}")

    def told(self, device):
        """What was done to the device, by whom."""
        with open(f"{self.tree}/devices/{device}/log", encoding="utf-8") as f:
            log = [line.strip() for line in f]
        return "\n".join([line for line in self.course if device in line or "killed" in line] + log)

    def name(self, device):
        return "node1-" + device.replace(":", "").replace(".", "")

    def in_tree(self, device):
        with open(f"{self.tree}/devices/{device}/claim", encoding="ascii") as f:
            return f.read().strip()

    def ask_tree(self, device, value):
        try:
            with open(f"{self.tree}/devices/{device}/claim", "wb", buffering=0) as f:  # a buffer would be written twice
                f.write(value.encode())
            self.asked[device]["tree"] = {value}
            self.tell(device, "tree", value)
        except OSError:
            pass  # refused: it is claimed, or busy

    def ask_cluster(self, device, value):
        path, name = "pcideviceclaims", self.name(device)
        if value == "none":
            status, _ = self.api.ask("DELETE", f"{path}/{name}")
        else:
            spec = {"address": device, "nodeName": "node1", "userName": value}
            claim = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                     "metadata": {"name": name}, "spec": spec}
            status, _ = self.api.ask("POST", path, claim)
            if status == 409:
                status, _ = self.api.ask("PATCH", f"{path}/{name}", {"spec": {"userName": value}})
        self.tell(device, "cluster", value, status)
        if status is None or status >= 500:
            self.asked[device].setdefault("cluster", {self.agreed[device]}).add(value)
        elif status < 300:
            self.asked[device]["cluster"] = {value}

    def differs(self):
        """What the two sides do not agree on, in words."""
        lists = {}
        for kind in "pcideviceclaims", "pcidevices":
            status, doc = self.api.ask("GET", kind)
            if status != 200:
                return f"{kind} cannot be listed: {status}"
            lists[kind] = {o["metadata"]["name"]: o for o in doc["items"]}
        if len(lists["pcidevices"]) != self.count:
            return f"there are {len(lists['pcidevices'])} PCIDevices, and not {self.count}"
        for o in (*lists["pcideviceclaims"].values(), *lists["pcidevices"].values()):
            if o["metadata"].get("finalizers") or o["metadata"].get("deletionTimestamp"):
                return f"{o['metadata']['name']} has a finalizer, or is being deleted"
        for device in self.agreed:
            name, tree = self.name(device), self.in_tree(device)
            claim = lists["pcideviceclaims"].pop(name, {"spec": {"userName": "none"}})
            note = lists["pcidevices"][name]["metadata"].get("annotations", {}).get("pcidevfs/claim", "none")
            if not tree == claim["spec"]["userName"] == note:
                return f"{device} is {tree} in the tree, {claim['spec']['userName']} in the cluster, noted as {note}"
        if lists["pcideviceclaims"]:
            return f"there are claims of others: {list(lists['pcideviceclaims'])}"
        uids = {name: o["metadata"]["uid"] for name, o in lists["pcidevices"].items()}
        self.uids = self.uids or uids
        return "" if uids == self.uids else "an object was made anew, lost or invented"

    def check(self):
        begun = time.monotonic()
        end = begun + DEADLINE
        while True:
            why = self.differs()
            if not why:
                break
            if "finalizer" in why and time.monotonic() > begun + FINALIZER_MAX:
                sys.exit(f"FAILED: after {FINALIZER_MAX} s {why}")
            if time.monotonic() > end:
                sys.exit(f"FAILED: {why}; asked: {self.asked}")
            time.sleep(0.05)
        for device, asked in self.asked.items():
            value = self.in_tree(device)
            allowed = set().union(*asked.values()) or {self.agreed[device]}
            if value not in allowed:
                sys.exit(f"FAILED: {device} is {value}, asked for was {asked} after {self.agreed[device]}\n{self.told(device)}")
            self.agreed[device] = value
            asked.clear()


def change(world, rng):
    device = rng.choice(list(world.agreed))
    value = rng.choice(["none", "none", f"user{rng.randrange(1000)}"])
    rng.choice([world.ask_tree, world.ask_cluster])(device, value)


def main():
    seed, kills, server_kills = map(int, sys.argv[1:4])
    ground, tree, config = sys.argv[4:7]
    cut = sys.argv.index("--")
    rng = random.Random(seed)
    world = World(tree, Api(config), int(sys.argv[7]), sys.argv[8:cut])

    server_at = set(rng.sample(range(kills), server_kills))
    sync = None
    try:
        sync = subprocess.Popen(sys.argv[cut + 1:])
        world.check()
        for n in range(kills):
            for _ in range(rng.randrange(1, 4)):
                change(world, rng)
            time.sleep(rng.choice([0, 0.002, 0.01, 0.03, 0.1]))
            if n in server_at:
                subprocess.run(["tests/k8s/ground/component", ground, "kill", "kube-apiserver"], check=True)
                world.tell("the API server is killed")
            sync.kill()
            sync.wait()
            world.tell("sync is killed")
            for _ in range(rng.randrange(0, 3)):
                change(world, rng)
            sync = subprocess.Popen(sys.argv[cut + 1:])
            time.sleep(rng.choice([0, 0.01, 0.05, 0.15, 0.3]))
            if n % EVERY == EVERY - 1 or n == kills - 1:
                world.check()
                print(f"seed {seed}: {n + 1} kills of sync, {len([m for m in server_at if m <= n])} of the API server", flush=True)
    finally:
        sync.terminate()
        if sync.wait():
            sys.exit(f"FAILED: sync ended with status {sync.returncode}")


main()
