# SPDX-License-Identifier: GPL-2.0-or-later
"""sync_group.py ROUNDS USERS PAUSE KUBECONFIG TREE DEVICE SIBLING: the device, one of an IOMMU group of two, is claimed as
Harvester's UI does, and the claim is deleted as soon as the tree has it; then comes a pause of up to PAUSE seconds. A claim that comes
back by itself is lost. USERS 1: always the same one; 2: two in turn. Says how long it took from the POST to the tree. USERS anew: the
claims of both are deleted, and the sibling's is made anew at once for the same user: it stays."""
import random
import select
import sys
import time

from api import Api

ANEW = sys.argv[2] == "anew"
ROUNDS, USERS, PAUSE = int(sys.argv[1]), 1 if ANEW else int(sys.argv[2]), float(sys.argv[3])
TREE, PAIR = sys.argv[5], sys.argv[6:8]
LIMIT = 15.0  # seconds for a step: longer is stuck
API = Api(sys.argv[4])


def name_of(device):
    return "node1-" + device.replace(":", "").replace(".", "")


class Claim:
    """The file, and waiting for it."""

    def __init__(self, device):
        self.file = open(f"{TREE}/devices/{device}/claim", encoding="ascii")
        self.poll = select.poll()
        self.poll.register(self.file, select.POLLPRI)

    def reads(self):
        self.file.seek(0)
        return self.file.read().strip()

    def wait(self, value, limit=LIMIT):
        end = time.monotonic() + limit
        while self.reads() != value:
            left = end - time.monotonic()
            if left < 0:
                return False
            self.poll.poll(left * 1000)
        return True


def state():
    """Of both members, for whoever reads why it failed."""
    said = []
    for device in PAIR:
        _, claim = API.ask("GET", "pcideviceclaims/" + name_of(device))
        _, pci = API.ask("GET", "pcidevices/" + name_of(device))
        note = pci["metadata"].get("annotations", {}).get("pcidevfs/claim")
        said.append(f"{device}: the tree has {Claim(device).reads()}, the claim {claim.get('spec', {}).get('userName')}, the note {note}")
    return "; ".join(said)


def posted(device, user):
    _, owner = API.ask("GET", "pcidevices/" + name_of(device))
    owner = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "name": name_of(device),
             "uid": owner["metadata"]["uid"]}
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
            "metadata": {"name": name_of(device), "ownerReferences": [owner]},
            "spec": {"address": device, "nodeName": "node1", "userName": user, "disableResourcePooling": False}}


def parts(times):
    times = sorted(times)
    p50, p99 = (times[int(q * (len(times) - 1) + 0.5)] * 1000 for q in (0.5, 0.99))
    return f"p50 {p50:.1f}, p99 {p99:.1f} ms"


def tell(rounds, lost, times, answers):
    print(f"{rounds} rounds, {USERS} users: {lost} lost; from POST to the tree {parts(times)}, to its answer {parts(answers)}", flush=True)


def until(is_so, what):
    end = time.monotonic() + LIMIT
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"FAILED: {what}; {state()}")
        time.sleep(0.05)


def is_noted(device):
    """Is the note about the claim that is there?"""
    _, claim = API.ask("GET", "pcideviceclaims/" + name_of(device))
    _, pci = API.ask("GET", "pcidevices/" + name_of(device))
    return claim["metadata"].get("uid", "") == pci["metadata"].get("annotations", {}).get("pcidevfs/claim-uid")


def anew():
    paths = ["pcideviceclaims/" + name_of(device) for device in PAIR]
    second = posted(PAIR[1], "user0")
    for n in range(ROUNDS):
        API.ask("POST", "pcideviceclaims", posted(PAIR[0], "user0"))
        until(lambda: all(is_noted(device) for device in PAIR), f"round {n}: the claims are not noted")
        for path in paths:
            API.ask("DELETE", path)
        status, made = API.ask("POST", "pcideviceclaims", second)
        if status != 201:
            sys.exit(f"FAILED: round {n}: POST gave {status}")
        until(lambda: all(is_noted(device) for device in PAIR), f"round {n}: the claims are not noted again")
        _, claim = API.ask("GET", paths[1])
        if claim["metadata"].get("uid") != made["metadata"]["uid"] or Claim(PAIR[0]).reads() != "user0":
            sys.exit(f"FAILED: round {n}: the claim that was made anew is lost; {state()}")
        for path in paths:
            API.ask("DELETE", path)
        until(lambda: Claim(PAIR[0]).reads() == "none" and all(API.ask("GET", path)[0] == 404 for path in paths),
              f"round {n}: it is not released")
    print(f"{ROUNDS} rounds of claims made anew: none lost")


def main():
    rng = random.Random(1)
    users = [f"user{n}" for n in range(USERS)]
    claims = [posted(PAIR[0], user) for user in users]
    tree, path = Claim(PAIR[0]), "pcideviceclaims/" + name_of(PAIR[0])
    times, answers, lost = [], [], 0
    for n in range(ROUNDS):
        if tree.reads() != "none":
            lost += 1
            print(f"round {n}: what was released is claimed again; {state()}", flush=True)
            API.ask("DELETE", path)
            if not tree.wait("none"):
                sys.exit(f"FAILED: round {n}: it is not released; {state()}")
        began = time.monotonic()
        status, _ = API.ask("POST", "pcideviceclaims", claims[n % USERS])
        answers.append(time.monotonic() - began)
        if status == 409:
            lost += 1
            print(f"round {n}: the deleted claim is back; {state()}", flush=True)
        elif status != 201:
            sys.exit(f"FAILED: round {n}: POST gave {status}")
        elif tree.wait(users[n % USERS]):
            times.append(time.monotonic() - began)
        else:
            sys.exit(f"FAILED: round {n}: the claim of {users[n % USERS]} stays open; {state()}")
        API.ask("DELETE", path)
        if not tree.wait("none"):
            sys.exit(f"FAILED: round {n}: the claim that was deleted is not released; {state()}")
        time.sleep(rng.uniform(0, PAUSE))
    tell(ROUNDS, lost, times, answers)
    time.sleep(4)
    left = [API.ask("GET", "pcideviceclaims/" + name_of(device))[0] for device in PAIR]
    if lost or left != [404, 404] or tree.reads() != "none":
        sys.exit(f"FAILED: {lost} lost; in the end {state()}; GET of both claims gives {left}")


anew() if ANEW else main()
