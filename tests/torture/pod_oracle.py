# SPDX-License-Identifier: GPL-2.0-or-later
"""The pods that are wanted, a scheduler for them, and what must hold of those that run."""
import time

from machine import BUSY, Failure, wait_for
from node import containers

# What only people can decide, or kubelet's own: the sentence says to delete the pod.
BY_HAND = ("delete one of the pods", "delete the pod, and its next one gets")


class Pod:
    """One that somebody wants; where kubelet refuses it for good, the next one of it has another name."""

    def __init__(self, name, asks):
        self.name, self.asks, self.placed = name, asks, False


class Oracle:
    def __init__(self, node, trace):
        self.m, self.trace = node, trace
        self.names = 0
        self.wanted = {}  # base name: Pod
        self.ending = {}  # name: what it asked for, until kubelet knows it no more
        self.held = {}  # a group's node that a process has open: the pod that it was of then
        self.away = set()  # devices that are unplugged
        self.daemon_up = self.plugin_up = self.kubelet_up = True
        self.refusals = {}  # a sentence, and how often kubelet refused a pod with it
        self.seen = {}  # process 1 of a container that ran, and has no reason to end: its pod
        self.by_hand = 0  # pods that were deleted since a sentence said so

    # ---- a scheduler and a controller

    def create(self, base, asks):
        self.wanted[base] = Pod(self.new_name(base), asks)

    def new_name(self, base):
        """For kubelet, a static pod of the same name and manifest is the one that has ended."""
        self.names += 1
        return "%s-%d" % (base, self.names)

    def delete(self, base):
        self.end(self.wanted.pop(base))

    def end(self, pod):
        self.may_end(pod.name)
        if pod.placed:
            self.m.remove_pod(pod.name)
            self.ending[pod.name] = pod.asks
            pod.placed = False

    def may_end(self, name):
        """Its container: it is deleted, or was killed by somebody."""
        self.seen = {pid: pod for pid, pod in self.seen.items() if pod != name}

    def again(self, pod):
        self.end(pod)
        pod.name = self.new_name(pod.name.split("-")[0])

    def used(self, resource):
        return sum(asks.get(resource, 0) for asks in [p.asks for p in self.wanted.values() if p.placed] +
                   list(self.ending.values()))

    def schedule(self):
        """One round: what kubelet refused for good comes again, and what fits is placed."""
        status = self.m.pods() if self.kubelet_up else None
        if status is None:
            return
        for name in [n for n in self.ending if n not in status]:
            del self.ending[name]
        for pod in self.wanted.values():
            told = status.get(pod.name, {}) if pod.placed else {}
            if told.get("phase") == "Failed":
                self.refused(pod, "%s: %s" % (told.get("reason"), told.get("message")))
        waiting = [p for p in self.wanted.values() if not p.placed]
        healthy = self.m.allocatable() if waiting else None
        if healthy is None:
            return
        for pod in waiting:
            if all(len(healthy.get(r, ())) - self.used(r) >= n for r, n in pod.asks.items()):
                self.m.place_pod(pod.name, pod.asks)
                pod.placed = True

    def refused(self, pod, why):
        if pod.name in self.seen.values():
            raise Failure("ended: %s ran, and kubelet ended it: %s" % (pod.name, why))
        self.refusals[why] = self.refusals.get(why, 0) + 1
        print("# %s refused: %s" % (pod.name, why), file=self.trace, flush=True)
        self.again(pod)

    # ---- what must hold at any moment

    def running(self):
        """Of pods that are wanted. A static pod whose manifest is gone is none for kubelet from then on: it gives the
        devices to the next pod while the containers of the former one end."""
        names = {p.name for p in self.wanted.values()}
        return [c for c in containers() if c.pod in names]

    def check(self):
        self.schedule()
        running = self.running()
        self.alone(running)
        self.go_on({c.pid: c.pod for c in running})
        for c in running:
            self.still_theirs(c)
        if self.daemon_up and self.plugin_up and self.kubelet_up:
            wait_for("the names of the pods", 40, lambda: self.unnamed() or True)

    def go_on(self, now):
        """What ran runs, whoever was ended or went away."""
        for pid, pod in self.seen.items():
            if pid not in now:
                raise Failure("ended: process %d of %s, which nobody told to; %s" % (pid, pod, self.m.pods()))
        self.seen = now

    def alone(self, running):
        for what in ("devices", "nodes"):
            owner = {}
            for c in running:
                for i in getattr(c, what):
                    other = owner.setdefault(i, c)
                    if other.pod != c.pod:
                        raise Failure("shared: %s of %s and of %s" % (i, other, c))

        for c in running:
            for node in c.nodes:
                if self.held.get(node, c.pod) != c.pod:
                    raise Failure("held: %s, which a process of %s has open" % (c, self.held[node]))

    def runs(self, c):
        return any(c.pid == other.pid and c.pod == other.pod for other in self.running())

    def still_theirs(self, c):
        """The tree says that a pod has it, as long as there is a tree and the device. VFs are known once the serial of
        their PF is read after a start; so long a release is refused, which release() looks at."""
        wait_for("allocated", 3, lambda: self.not_theirs(c) or True)

    def not_theirs(self, c):
        for a in c.devices:
            told = self.m.get(a, "allocated_to") if self.daemon_up and a not in self.away else "!"
            if told[0] != "!" and told not in ("pending", self.called(c.pod)) and self.runs(c):
                return "%s reads %s while it is in %s" % (a, told, c)
        return None

    def unnamed(self):
        """Kubelet has told of all that run, and the tree names them."""
        for c in self.running():
            for a in c.devices:
                told = self.m.get(a, "allocated_to") if a not in self.away else "!"
                if told[0] != "!" and told != self.called(c.pod) and self.runs(c):
                    return "%s reads %s while it is in %s" % (a, told, c)
        return None

    @staticmethod
    def called(pod):
        return "default/%s-node1/compute" % pod

    # ---- what must hold in the end

    def settle(self, seconds=60):
        """Nothing hinders any more: every pod that could run does."""
        end, told = time.monotonic() + seconds * BUSY, "nothing was looked at"
        quiet = 0
        while quiet < 3:
            if time.monotonic() > end:
                raise Failure("at rest: %s; %s" % (told, self.m.said("plugin")))
            self.check()
            told = self.not_yet()
            quiet = 0 if told else quiet + 1
            time.sleep(0.3)

    def not_yet(self):
        status = self.m.pods()
        if status is None:
            return "kubelet does not answer"
        at_work = {c.pod: c for c in containers()}
        for name in self.ending:
            return "%s has not ended" % name
        for pod in self.wanted.values():
            if not pod.placed:
                if self.fits(pod):
                    return "%s waits for %s, which are free" % (pod.name, pod.asks)
            elif pod.name not in at_work:
                return self.why_not(pod, status.get(pod.name, {}))
            elif len(at_work[pod.name].devices) != sum(pod.asks.values()):
                raise Failure("given: %s asked for %s" % (at_work[pod.name], pod.asks))
        return None

    def why_not(self, pod, status):
        """Its start was refused: two pods were given one group, or a group has another number since a reboot."""
        why = [c.get("state", {}).get("waiting", {}).get("message", "") for c in status.get("containerStatuses", [])]
        if any(s in w for w in why for s in BY_HAND):
            self.by_hand += 1
            self.again(pod)
        return "%s is placed and does not run: %s" % (pod.name, why or status)

    def free(self, resource):
        """Devices that a pod could be given, by the tree alone."""
        rows = self.m.inventory()
        taken = {r.get("iommu_group") for r in rows.values() if r.get("allocated_to", "none") != "none"}
        return [a for a, r in rows.items() if r.get("resource_name") == resource and r.get("state") == "claimed" and
                r.get("iommu_group") not in taken]

    def fits(self, pod):
        return all(len(self.free(r)) >= n for r, n in pod.asks.items())

    def end_all(self):
        for base in list(self.wanted):
            self.delete(base)
        wait_for("the end of all pods", 60, self.all_free)

    def all_free(self):
        self.schedule()
        if self.ending:
            return "kubelet still has %s" % list(self.ending)
        left = {a: r for a, r in self.m.inventory().items() if r.get("allocated_to", "none") != "none" or
                r.get("state") in ("allocated", "held")}
        return not left or "allocated after all: %s" % left
