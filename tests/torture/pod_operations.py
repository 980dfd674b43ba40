# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to a node with pods: a row each. `pick` chooses arguments that can be written down and done again."""
import os
import signal
import subprocess
import time

from machine import Failure, wait_for

VF = "intel.com/82599_ETHERNET_CONTROLLER_VIRTUAL_FUNCTION"
PFS = {"0000:02:00.1": 8, "0000:02:00.0": 4}
PLAIN = ("0000:05:02.0", "0000:05:01.0", "0000:06:00.0", "0000:01:00.0", "0000:01:00.1", "0000:07:00.0", "0000:07:00.1")
NAMES = ("intel.com/82540EM_GIGABIT_ETHERNET_CONTROLLER", "unknown.com/11e8",
         "samsung.com/NVME_SSD_CONTROLLER_SM981_PM981_PM983", "nvidia.com/TU104GL_TESLA_T4",
         "nvidia.com/TU104_HD_AUDIO_CONTROLLER", "amd.com/NAVI_31_RADEON_RX_7900_XT_7900_XTX", "amd.com/ab30")
WHOLE = ((NAMES[0], NAMES[1]), (NAMES[3], NAMES[4]), (NAMES[5], NAMES[6]))  # groups
PODS = 9


class Row:
    def __init__(self, name, weight, pick, act):
        self.name, self.weight, self.pick, self.act = name, weight, pick, act


ROWS = []


def operation(weight, pick=lambda rng: []):
    def add(act):
        ROWS.append(Row(act.__name__, weight, pick, act))
        return act
    return add


def some_pod(rng):
    """One device, many of a pool, both, or a whole group."""
    how = rng.randrange(4)
    asks = {VF: rng.choice((1, 1, 2, 4, 8))} if how < 2 else {rng.choice(NAMES): 1} if how == 2 else \
        {n: 1 for n in rng.choice(WHOLE)}
    if rng.random() < 0.15:
        asks[VF] = 2
    return ["p%d" % rng.randrange(PODS), asks]


def some_device(rng):
    """A function by its address, or a VF by its PF and number: its address may change."""
    return [rng.choice(PLAIN)] if rng.random() < 0.6 else [(lambda pf: "%s/%d" % (pf, rng.randrange(PFS[pf])))(
        rng.choice(sorted(PFS)))]


def address_of(m, device):
    pf, _, index = device.partition("/")
    return m.vfs(pf).get(int(index)) if index else pf


# ---- pods

@operation(20, some_pod)
def pod(m, o, base, asks):
    """A pod comes, or the one of that name goes."""
    if base in o.wanted:
        o.delete(base)
        return "deleted"
    o.create(base, asks)


@operation(6, lambda rng: ["p%d" % rng.randrange(PODS)])
def pod_again(m, o, base):
    """Deleted, and made anew before the former one has ended."""
    if base in o.wanted:
        o.again(o.wanted[base])


@operation(4, lambda rng: [rng.randrange(20)])
def kill_container(m, o, index):
    """kubelet starts it again, and asks whether it may."""
    running = sorted(o.running(), key=lambda c: c.pod)
    if running:
        c = running[index % len(running)]
        o.may_end(c.pod)
        os.kill(c.pid, signal.SIGKILL)
        wait_for("its end", 5, lambda: not o.runs(c) or "it runs")


@operation(4, lambda rng: [rng.randrange(20)])
def hold(m, o, index):
    """A VMM that outlives its pod: so long the group is nobody else's."""
    groups = sorted((group, c.pod) for c in o.running() for group in c.nodes if group.isdigit() and group not in o.held)
    if groups:
        group, pod_name = groups[index % len(groups)]
        m.sim("hold", group, 5000 + int(group), "qemu-system-x86")
        if pod_name in (c.pod for c in o.running()):
            o.held[group] = pod_name
        else:
            m.sim("release", group)
        return "%s of %s" % (group, pod_name)


@operation(4)
def let_go(m, o):
    for group in sorted(o.held):
        m.sim("release", group)
    o.held.clear()


# ---- who writes to the tree

def users(o, address):
    return {c.pid: c for c in o.running() if address in c.devices}


def not_under(o, address, before, said, what):
    still = users(o, address)
    for pid in before:
        if said == "ok" and pid in still:
            raise Failure("%s: accepted while %s is in %s" % (what, address, still[pid]))
    return said


@operation(8, some_device)
def release(m, o, device):
    address = address_of(m, device)
    if not address:
        return "not there"
    before = users(o, address)
    return not_under(o, address, before, m.put(address, "claim", "none"), "release")


@operation(10, some_device)
def claim(m, o, device):
    address = address_of(m, device)
    return m.put(address, "claim", "alice") if address else "not there"


@operation(2, lambda rng: [rng.choice(sorted(PFS))])
def no_vfs(m, o, pf):
    """Refused while a pod has one; else they come again and are claimed."""
    before = {c.pid: a for a in m.vfs(pf).values() for c in users(o, a).values()}
    for a in m.vfs(pf).values():
        m.put(a, "claim", "none")
    said = m.put(pf, "sriov_numvfs", "0")
    for pid, a in before.items():
        not_under(o, a, {pid}, said, "sriov_numvfs 0")
    all_claimed(m, o, "%s" % pf)
    return said


def all_claimed(m, o, pf):
    m.put(pf, "sriov_numvfs", str(PFS[pf]))
    for a in m.vfs(pf).values():
        m.put(a, "claim", "alice")


@operation(3)
def all_claims(m, o):
    for pf in PFS:
        all_claimed(m, o, pf)
    for a in PLAIN:
        m.put(a, "claim", "alice")


# ---- processes

@operation(5)
def kill_serving(m, o):
    m.kill_serving()


@operation(3, lambda rng: [rng.choice((0, 400, 3000))])
def kill_holder(m, o, ms):
    """Both processes: the tree is away for a while."""
    o.daemon_up = False
    m.kill_all()
    while_away(o, ms)
    m.start_daemon()
    o.daemon_up = True


@operation(3, lambda rng: [rng.choice((0, 400, 3000, 12000))])
def tree_away(m, o, ms):
    o.daemon_up = False
    m.end_daemon()
    while_away(o, ms)
    m.start_daemon()
    o.daemon_up = True


def while_away(o, ms):
    """Pods come and go meanwhile."""
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        o.schedule()
        time.sleep(0.2)


@operation(2)
def replace(m, o):
    said = subprocess.run(m.daemon_argv() + ["--replace", m.tree], capture_output=True, text=True, timeout=300)
    if said.returncode:
        raise Failure("--replace: %s" % said.stderr)


@operation(5, lambda rng: [rng.choice((9, 15)), rng.choice((0, 0, 1000, 4000))])
def end_plugin(m, o, number, ms):
    o.plugin_up = False
    m.end_plugin(number)
    while_away(o, ms)
    m.start_plugin()
    o.plugin_up = True


@operation(4, lambda rng: [rng.choice(("restart", "kill"))])
def restart_kubelet(m, o, how):
    o.kubelet_up = False
    m.component(how, "kubelet")
    m.await_kubelet()
    o.kubelet_up = True


@operation(3, some_device)
def pull_without_kubelet(m, o, device):
    """Unplugged and plugged while kubelet is down; what a pod has stays its own."""
    o.kubelet_up = False
    m.component("stop", "kubelet")
    pull(m, o, device, 50)
    o.check()
    release(m, o, device)
    m.component("start", "kubelet")
    m.await_kubelet()
    o.kubelet_up = True


@operation(3, some_device)
def release_without_all(m, o, device):
    """The holder is killed while the plugin is away, and kubelet too: nobody knows whose it is, and it is somebody's."""
    o.plugin_up = o.kubelet_up = False
    m.end_plugin(signal.SIGKILL)
    m.component("stop", "kubelet")
    m.kill_all()
    m.start_daemon()
    release(m, o, device)
    o.check()
    m.start_plugin()
    m.component("start", "kubelet")
    m.await_kubelet()
    o.plugin_up = o.kubelet_up = True


@operation(2, lambda rng: [rng.random() < 0.7])
def reboot(m, o, plugin_first):
    o.seen.clear()
    o.held.clear()
    m.reboot(plugin_first)
    o.away.clear()
    m.await_kubelet()


# ---- the hardware

@operation(6, lambda rng: some_device(rng) + [rng.choice((0, 30, 300))])
def pull(m, o, device, ms):
    address = address_of(m, device)
    if not address or "/" in device:
        return "VFs go with their PF"
    m.sim("unplug", address)
    o.away.add(address)
    time.sleep(ms / 1000)
    m.sim("plug", address)
    wait_for("its coming back", 20, lambda: m.get(address, "claim")[:1] != "!" or "%s is not there" % address)
    o.away.discard(address)


@operation(3, lambda rng: [rng.choice(PLAIN)])
def unplug(m, o, address):
    m.sim("unplug", address)
    o.away.add(address)


@operation(4)
def plug_all(m, o):
    for a in sorted(o.away):
        m.sim("plug", a)
        wait_for("its coming back", 20, lambda: m.get(a, "claim")[:1] != "!" or "%s is not there" % a)
    o.away.clear()


@operation(3)
def settle(m, o):
    let_go(m, o)
    plug_all(m, o)
    o.settle()
