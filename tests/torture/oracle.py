# SPDX-License-Identifier: GPL-2.0-or-later
"""What was accepted, and what must hold for it: in the tree, in `intents`, on the disk and in the kernel."""
from machine import XHCI, Failure, guest_driver, is_usb, wait_for

# What a claim that is kept may read otherwise for, and then says why.
EXCUSED = ("waiting", "refused", "drifted", "pending", "stranger", "mismatch")


class Oracle:
    def __init__(self, machine):
        self.m = machine
        self.claims = {}  # address: name
        self.numvfs = {}  # PF: number, where one was asked for
        self.pods = {}  # address: allocated_to
        self.any = set()  # addresses of which a request was lost with its writer: either is right
        self.any_numvfs = set()
        self.away = set()  # pulled out
        self.together = {}  # address: with whom it was claimed, those that are away among them
        self.at_first = self.drivers()

    def drivers(self):
        return {a: self.m.driver(a) for a in self.m.functions()}

    # ---- what was accepted

    def group(self, address):
        """Who is claimed with it: by what was claimed together, else by the kernel."""
        name = self.claims.get(address)
        here = self.m.members(address) or [address]
        away = [a for a in self.away if name and a in self.together.get(address, ())]
        return [a for a in here + away if self.claims.get(a) == name]

    def claimed(self, address, name):
        members = set(self.m.members(address) or [address])
        if self.claims.get(address) == name:  # again: else those that are away have a claim of their own, if any
            members |= {a for a in self.away & self.together.get(address, set()) if self.claims.get(a) == name}
        for a in members:
            self.together[a] = members
            self.claims[a] = name
            self.numvfs.pop(a, None)
            self.any.discard(a)

    def released(self, address):
        for a in self.group(address):
            self.claims.pop(a, None)
            self.any.discard(a)
            if a in self.away:  # whose pod has lost it already
                self.pods.pop(a, None)

    def vfs_set(self, pf, number):
        self.numvfs[pf] = number
        self.any_numvfs.discard(pf)
        for a in self.m.members(pf):
            self.claims.pop(a, None)

    def lost(self, addresses, pf=None):
        """Nobody knows whether it was done."""
        self.any.update(addresses)
        if pf:
            self.any_numvfs.add(pf)

    def learn(self):
        """What became of them, once all is at rest."""
        stored = self.stored()
        for a in self.any:
            self.claims.pop(a, None)
            if a in stored:
                self.claims[a] = stored[a]
        for pf in self.any_numvfs:
            numbers = [int(r["numvfs"]) for r in self.m.stored() if r["at"] == pf and r.get("numvfs", "none") != "none"]
            self.numvfs.pop(pf, None)
            if numbers:
                self.numvfs[pf] = numbers[0]
        self.any.clear()
        self.any_numvfs.clear()

    def rebooted(self):
        """A pod's devices are somebody's until kubelet has said otherwise, as the stand-in of the plugin does here."""
        self.pods.clear()
        wait_for("coming to rest", 20, self.at_rest)
        self.end_pods()

    def end_pods(self):
        """Of what nobody has any more: it reads pending since a reboot, or since it was away."""
        for a, row in self.m.inventory().items():
            if row.get("allocated_to") == "pending" and a not in self.pods:
                self.again(a, "allocated_to", "none")

    # ---- what must hold

    def stored(self):
        return {r["at"]: r["claim"] for r in self.m.stored() if r.get("claim", "none") != "none"}

    def check(self):
        """After every operation: soon all of it is true."""
        wait_for("the oracle", 10, self.complaint)

    def complaint(self):
        return self.kept() or self.true() or True

    def kept(self):
        """Every accepted claim is in intents and on the disk, and nobody's is."""
        told = {v["at"]: v for _, v in self.m.intents() if v.get("claim", "none") != "none"}
        disk = self.stored()
        for a, name in self.claims.items():
            if a in self.any:
                continue
            if told.get(a, {}).get("claim") != name:
                return "%s was claimed by %s; intents: %s" % (a, name, told.get(a))
            if disk.get(a) != name:
                return "%s was claimed by %s; the state file has %s" % (a, name, disk.get(a))
        for where, found in (("intents", {a: v["claim"] for a, v in told.items()}), ("the state file", disk)):
            for a in set(found) - set(self.claims) - self.any:
                return "%s has a claim of %s by %s, which nobody made" % (where, a, found[a])
        numbers = {r["at"]: int(r["numvfs"]) for r in self.m.stored() if r.get("numvfs", "none") != "none"}
        for pf, n in self.numvfs.items():
            if pf not in self.any_numvfs and numbers.get(pf, 0) != n:
                return "%s was to have %d VFs; the state file has %s" % (pf, n, numbers.get(pf))
        return None

    def true(self):
        """The tree is what the kernel holds; a claim that reads has its driver, or says why not."""
        inventory = self.m.inventory()
        functions = self.m.functions()
        if sorted(a for a in inventory if not a.startswith("mdev/")) != functions:
            return "devices: %s" % sorted(set(inventory) ^ set(functions))
        intents = {v["at"]: v for _, v in self.m.intents()}
        for a in functions:
            is_now, row = self.m.driver(a), inventory[a]
            if row["driver"] != is_now:
                return "driver of %s reads %s and is %s" % (a, row["driver"], is_now)
            told = self.complain_claim(a, row, is_now, intents.get(a, {})) or self.complain_node(a, row)
            if told:
                return told
            if row.get("state") == "stuck" and row.get("reason", "none") == "none":
                return "%s is stuck without a reason" % a
            n = self.m.get(a, "sriov_numvfs")
            if n.isdigit() and int(n) != len(self.m.vfs(a)):
                return "%s: sriov_numvfs reads %s of %d" % (a, n, len(self.m.vfs(a)))
        return None

    def complain_claim(self, a, row, driver, intent):
        name = row.get("claim", "none")
        if row.get("state") in ("stuck", "busy") or a in self.any:
            return None
        want = self.claims.get(a, "none")
        if name != want and not (intent.get("state") in EXCUSED and intent.get("reason", "none") != "none"):
            return "claim of %s reads %s and was %s; its intent: %s; its reason: %s" % (
                a, name, want, intent, row.get("reason"))
        if name not in ("none", want):
            return "claim of %s reads %s, nobody's; it was %s" % (a, name, want)
        if name != "none" and driver != guest_driver(a) and row.get("reason", "none") == "none":
            return "%s is claimed by %s, with driver %s, and says nothing of it" % (a, name, driver)
        return None

    def complain_node(self, a, row):
        """The user of VMs has a claimed USB device's node as long as the pod has what was given that node."""
        if not is_usb(a) or row.get("state") in ("stuck", "busy"):
            return None
        owner, pod, given = self.m.node_owner(a), row.get("allocated_to", "none"), self.m.get(a, "allocated_nodes")
        has_it = "none" not in (pod, row.get("claim", "none")) and given in ("none", self.m.get(a, "nodes"))
        if owner is not None and owner != (107 if has_it else 0):
            return "the node of %s is user %d's, and it is %s, of the pod %s" % (a, owner, row.get("state"), pod)
        return None

    def unfinished(self):
        """The intents whose act a kill cut in the middle."""
        return [v for _, v in self.m.intents() if v.get("state") == "pending" or v.get("pending") == "1"]

    def at_rest(self):
        """What could not be undone says so, and waits for somebody who writes."""
        inventory = self.m.inventory()
        busy = [a for a, row in inventory.items() if row.get("state") == "busy"]
        silent = [(v, row) for v in self.unfinished() for row in [inventory.get(v["at"], {})]
                  if row.get("state") != "stuck" or row.get("reason", "none") == "none"]
        return not busy and not silent or "busy: %s, pending: %s" % (busy, silent)

    def finish(self):
        """The way out that the reason of a stuck device tells."""
        for a in [v["at"] for v in self.unfinished()]:
            if "sriov_numvfs again" in self.m.get(a, "reason"):
                there = self.m.vfs(a).values()
                kept = any(v in self.claims for v in there)  # or their claims would go first
                number = len(there) if kept else self.numvfs.get(a, len(there))
                self.again(a, "sriov_numvfs", str(number))
                self.vfs_set(a, number)
            else:
                self.claim_again(a, self.claims.get(a, "none"))
        wait_for("the end of acts that were cut", 20, lambda: not self.unfinished() or self.unfinished())

    def settle(self):
        """Nothing hinders any more: what was asked holds, at the latest when it is written again."""
        wait_for("coming to rest", 20, self.at_rest)
        self.learn()
        self.finish()
        self.check()
        for pf, n in self.numvfs.items():
            there = self.m.vfs(pf).values()
            if len(there) == n or pf in self.claims:
                continue
            if any(a in self.claims for a in there):  # others made them fewer, or more, around one
                self.must_be_drifted(pf)
            else:
                self.again(pf, "sriov_numvfs", str(n))
        for a, name in sorted(self.claims.items()):
            if a in self.m.functions() and not self.is_had(a, name):
                self.claim_again(a, name)
                if not self.is_had(a, name):
                    raise Failure("claim of %s is %s with %s, written again as %s" % (
                        a, self.m.get(a, "claim"), self.m.driver(a), name))
        self.check()

    def is_had(self, address, name):
        return self.m.get(address, "claim") == name and self.m.driver(address) == guest_driver(address)

    def again(self, address, name, value):
        def done():
            said = self.m.put(address, name, value)
            return said == "ok" or "%s of %s: %s refused with %s: %s" % (
                name, address, value, said, self.m.get(address, "last_error"))
        wait_for("the same written again", 5, done)

    def must_be_drifted(self, pf):
        for v in [v for _, v in self.m.intents() if v["at"] == pf and v.get("state") != "drifted"]:
            raise Failure("%s has other VFs than are stored, which is %s" % (pf, v))

    def claim_again(self, address, name):
        """All of its group, of which some may have come since; a pod would keep it from that."""
        for a in self.group(address):
            if self.m.get(a, "allocated_to") not in ("none", "!ENOENT"):
                self.again(a, "allocated_to", "none")
                self.pods.pop(a, None)
        self.again(address, "claim", name)
        if name != "none":
            self.claimed(address, name)

    def forget(self, address):
        """What is not there has no claim that could be written: a VF of fewer VFs."""
        for identity in [i for i, v in self.m.intents() if v["at"] == address]:
            if self.m.command("forget " + identity) != "ok":
                raise Failure("forget %s: %s" % (identity, self.m.get("..", "last_error")))
        self.claims.pop(address, None)

    def undo_all(self):
        """All is released, and the machine is as it was."""
        here = self.m.functions()
        for a in list(self.pods):
            if a in here:
                self.again(a, "allocated_to", "none")
            del self.pods[a]
        self.end_pods()
        for a in sorted(self.claims, key=lambda a: (is_usb(a), not self.m.physfn(a))):
            if a not in self.m.functions():
                self.forget(a)
            elif a in self.claims:
                self.again(a, "claim", "none")
                self.released(a)
                if a == XHCI:  # what hangs on it comes back, also what a pod had
                    self.check()
                    wait_for("coming to rest", 20, self.at_rest)
                    self.end_pods()
        for pf in list(self.numvfs):
            self.again(pf, "sriov_numvfs", "0")
            self.vfs_set(pf, 0)
        self.check()
        wait_for("the drivers of before", 5, lambda: not self.altered() or self.altered())

    def altered(self):
        drivers = self.drivers()
        return ["%s has %s, not %s" % (a, drivers.get(a), d) for a, d in self.at_first.items() if drivers.get(a) != d]
