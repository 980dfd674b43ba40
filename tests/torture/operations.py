# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to the machine: a row each. `pick` chooses arguments that can be written down and done again."""
import os
import subprocess
import threading
import time

from machine import XHCI, Failure, wait_for, write

NAMES = ("alice", "bob", "vm-1")
PLAIN = ("0000:05:02.0", "0000:05:01.0", "0000:06:00.0", "0000:01:00.0", "0000:01:00.1", "0000:07:00.0", "0000:07:00.1",
         "0000:08:00.0", "0000:09:00.0")
USB = ("usb/1-1",)
CLAIMED = PLAIN + (XHCI,) + 4 * USB
PFS = ("0000:02:00.0", "0000:02:00.1")
NEEDED = ("0000:08:00.0",)  # by the host, as long as it has its driver
TOGETHER = ("0000:05:02.0", "0000:06:00.0", "0000:07:00.0", "0000:08:00.0", XHCI) + USB
OURS = tuple(a for a in PLAIN if a not in NEEDED)
PULLED = CLAIMED + PFS[1:]
REFUSALS = {"EBUSY", "EPERM", "EOPNOTSUPP", "ENODEV", "ENOENT", "EIO", "ETIMEDOUT", "ENOSPC", "EINVAL", "ERANGE", "ESTALE",
            "EAGAIN", "EACCES"}
LOST = {"EIO", "ENOTCONN", "ECONNABORTED", "ENOENT", "EINTR", "ESTALE", "ENODEV"}


class Row:
    def __init__(self, name, weight, pick, act):
        self.name, self.weight, self.pick, self.act = name, weight, pick, act


ROWS = []


def operation(weight, pick=lambda rng, m: []):
    def add(act):
        ROWS.append(Row(act.__name__, weight, pick, act))
        return act
    return add


# ---- requests

def some_claim(rng, m):
    return [rng.choice(CLAIMED), rng.choice(NAMES)]


def some_vf_claim(rng, m):
    return [rng.choice(PFS), rng.randrange(4), rng.choice(NAMES + ("none",))]


def refusal(m, said, where, address):
    if said not in REFUSALS:
        raise Failure("%s: refused with %s" % (where, said))
    # Restore may have written behind it, and well: the log has both.
    if said not in LOST and m.get(address, "last_error") in ("", "ok") and not m.logged(address, said):
        raise Failure("%s: %s without a sentence" % (where, said))


def note(o, address, value):
    if value == "none":
        o.released(address)
    else:
        o.claimed(address, value)


def ask_claim(m, o, address, value):
    said = m.put(address, "claim", value)
    if said != "ok":
        refusal(m, said, "claim of %s" % address, address)
    elif o.pods.get(address) and value == "none":
        raise Failure("%s was released under %s" % (address, o.pods[address]))
    else:
        note(o, address, value)
    return said


@operation(10, some_claim)
def claim(m, o, address, name):
    return ask_claim(m, o, address, name)


@operation(8, lambda rng, m: [rng.choice(CLAIMED)])
def release(m, o, address):
    return ask_claim(m, o, address, "none")


@operation(6, some_vf_claim)
def claim_vf(m, o, pf, index, name):
    address = m.vfs(pf).get(index)
    return ask_claim(m, o, address, name) if address else "no such VF"


@operation(6, lambda rng, m: [rng.choice(PFS), rng.choice((0, 0, 1, 2, 4))])
def numvfs(m, o, pf, n):
    said = m.put(pf, "sriov_numvfs", str(n))
    if said != "ok":
        refusal(m, said, "sriov_numvfs of %s" % pf, pf)
    else:
        o.vfs_set(pf, n)
    return said


def lines_of(asked):
    return ["%s/claim %s" % (a, value) for a, value in asked]


def some_together(rng, m):
    return [[[a, rng.choice(NAMES + ("none",))] for a in rng.sample(TOGETHER, rng.randrange(2, 4))]]


@operation(5, some_together)
def together(m, o, asked):
    """All or nothing."""
    said = m.commit(lines_of(asked))
    if said == "ok":
        for a, value in asked:
            note(o, a, value)
    elif said not in REFUSALS:
        raise Failure("ctl: refused with %s" % said)
    return said


@operation(4, lambda rng, m: [rng.choice(PFS), rng.randrange(1, 4), rng.choice(NAMES)])
def vfs_and_claim(m, o, pf, n, name):
    said = m.commit(["%s/sriov_numvfs %d" % (pf, n), "%s/virtfn%d/claim %s" % (pf, n - 1, name)])
    if said == "ok":
        o.vfs_set(pf, n)
        address = m.vfs(pf).get(n - 1)
        if not address:
            raise Failure("%s has no virtfn%d although its claim was accepted" % (pf, n - 1))
        o.claimed(address, name)
    elif said not in REFUSALS:
        raise Failure("ctl: refused with %s" % said)
    return said


@operation(3, lambda rng, m: [rng.choice(CLAIMED), rng.choice(("none", "ns/pod/c", "ns/other/c"))])
def allocate(m, o, address, pod):
    """As the plugin does."""
    if pod != "none" and (address not in o.claims or m.get(address, "claim") != o.claims[address]):
        return "not claimed"
    said = m.put(address, "allocated_to", pod)
    if said == "ok":
        o.pods.pop(address, None)
        if pod != "none":
            o.pods[address] = pod
    return said


# ---- who writes when a process dies

def in_background(work):
    done = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()

    def result():
        thread.join(120)
        if not done:
            raise Failure("a writer hangs")
        return done[0]
    return result


@operation(4, lambda rng, m: some_claim(rng, m) + [rng.randrange(40)])
def claim_killed(m, o, address, name, ms):
    """The serving process dies meanwhile; the writer gets its verdict all the same."""
    verdict = in_background(lambda: m.put(address, "claim", name))
    time.sleep(ms / 1000)
    m.kill_serving()
    said = verdict()
    if said == "ok":
        note(o, address, name)
    elif said not in REFUSALS:
        raise Failure("claim of %s: refused with %s" % (address, said))
    return said


@operation(3, lambda rng, m: some_claim(rng, m) + [rng.randrange(40)])
def claim_cut(m, o, address, name, ms):
    """Both processes die: the writer knows nothing, and it is whole."""
    members = set(m.members(address) or [address]) | set(o.group(address))
    was_split = len({o.claims.get(a, "none") for a in m.members(address)}) > 1  # a member came into the claimed group
    verdict = in_background(lambda: m.put(address, "claim", name))
    time.sleep(ms / 1000)
    m.kill_all()
    said = verdict()
    if said == "ok":
        note(o, address, name)
    elif said in LOST:
        o.lost(members)
    m.start_daemon()
    if said in LOST:
        wait_for("coming to rest", 20, o.at_rest)
        o.learn()
        names = {o.claims.get(a, "none") for a in m.members(address)}
        if len(names) > 1 and not was_split:
            raise Failure("the group of %s is split: %s" % (address, names))
    return said


@operation(3, lambda rng, m: [rng.choice(PFS), rng.randrange(1, 4), rng.choice(NAMES), rng.randrange(1, 12)])
def vfs_cut(m, o, pf, n, name, at):
    """Both die at a write of the kernel's, in a transaction that makes VFs and claims one."""
    m.sim("nth", at, "before")
    old = set(m.vfs(pf).values())
    verdict = in_background(lambda: m.commit(["%s/sriov_numvfs %d" % (pf, n), "%s/virtfn%d/claim %s" % (pf, n - 1, name)]))
    time.sleep(0.15)
    m.kill_all()
    said = verdict()
    m.sim("nth", 0)
    if said == "ok":
        o.vfs_set(pf, n)
    m.start_daemon()
    if said == "ok":
        wait_for("its VFs", 10, lambda: n - 1 in m.vfs(pf) or "no virtfn%d" % (n - 1))
        o.claimed(m.vfs(pf)[n - 1], name)
    elif said in LOST:
        o.lost(old | set(m.vfs(pf).values()) | set(m.members(pf)), pf)
        wait_for("coming to rest", 20, o.at_rest)
        o.lost(set(m.vfs(pf).values()))
        o.learn()
    return said


# ---- processes

@operation(4)
def kill_serving(m, o):
    m.kill_serving()


@operation(2)
def kill_both(m, o):
    m.kill_all()
    m.start_daemon()


@operation(2)
def restart(m, o):
    m.end_daemon()
    m.start_daemon()


@operation(2)
def replace(m, o):
    said = subprocess.run(m.daemon_argv() + ["--replace", m.tree], capture_output=True, text=True, timeout=120)
    if said.returncode:
        raise Failure("--replace: %s" % said.stderr)


@operation(2)
def reboot(m, o):
    m.lift_faults()
    m.reboot()
    o.rebooted()


# ---- the hardware, and others on the machine

@operation(5, lambda rng, m: [rng.choice(PULLED), rng.randrange(60)])
def pull(m, o, address, ms):
    m.sim("unplug", address)
    time.sleep(ms / 1000)
    m.sim("plug", address)


@operation(3, lambda rng, m: [rng.choice(PULLED)])
def unplug(m, o, address):
    m.sim("unplug", address)
    o.away.add(address)


@operation(5)
def plug_all(m, o):
    for a in sorted(o.away):
        m.sim("plug", a)
    o.away.clear()


@operation(3, lambda rng, m: some_claim(rng, m) + [rng.randrange(1, 9)])
def claim_pulled(m, o, address, name, at):
    """It is pulled out at a write, and comes back."""
    m.sim("nth", at, "before")
    verdict = in_background(lambda: m.put(address, "claim", name))
    time.sleep(0.05)
    m.sim("unplug", address)
    m.sim("nth", 0)
    said = verdict()
    m.sim("plug", address)
    wait_for("its coming back", 10, lambda: address in m.inventory() or address not in m.functions() or "not there")
    if said == "ok":
        note(o, address, name)
    return said


REFUSED = ("pci/drivers/vfio-pci/bind", "pci/drivers/vfio-pci/unbind", "pci/drivers/e1000/bind", "pci/drivers/nvme/bind",
           "pci/drivers/nvme/unbind", "usb/drivers/usbhid/bind", "usb/drivers/usb-storage/unbind", "usb/drivers_probe")


@operation(4, lambda rng, m: [rng.choice(REFUSED), rng.randrange(1, 3)])
def refuse(m, o, name, times):
    """The next writes are refused by the kernel."""
    m.sim("fail", "bus/" + name, "EIO", times)


@operation(3, lambda rng, m: [rng.choice(("pci/drivers/vfio-pci/bind", "pci/drivers/e1000/unbind", "pci/drivers/*/bind",
                                          "usb/drivers/*/unbind")), rng.choice((20, 200))])
def slow(m, o, name, ms):
    m.sim("slow", "bus/" + name, ms)


@operation(2, lambda rng, m: some_claim(rng, m) + [rng.randrange(1, 8), rng.choice(("before", "after"))])
def hang(m, o, address, name, at, how):
    """A write hangs beyond its deadline: all is undone once it ends."""
    m.sim("nth", at, how)
    said = ask_claim(m, o, address, name)
    m.sim("nth", 0)
    return said


@operation(2, lambda rng, m: [rng.choice(PLAIN)])
def mute_at_start(m, o, address):
    """Its config space reads ff while the daemon starts."""
    m.sim("mute", address, 1)
    m.end_daemon()
    m.start_daemon()
    time.sleep(0.05)
    m.sim("mute", address, 0)


@operation(1, lambda rng, m: [rng.choice((100, 400))])
def slow_config_at_start(m, o, ms):
    m.sim("slow", "bus/pci/devices/*/config", ms)
    m.end_daemon()
    m.start_daemon()
    m.sim("slow", "bus/pci/devices/*/config", 0)


@operation(2, lambda rng, m: some_claim(rng, m))
def full_disk(m, o, address, name):
    """What cannot be kept is refused, and nothing is done."""
    ballast = os.open(m.state + "/ballast", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(ballast, b"\0" * 4096):
            pass
    except OSError:
        pass
    os.close(ballast)
    said = ask_claim(m, o, address, name)
    os.unlink(m.state + "/ballast")
    return said


@operation(3, lambda rng, m: [rng.choice(OURS)])
def others_unbind(m, o, address):
    driver = m.driver(address)
    o.at_first.pop(address, None)
    return write("%s/bus/pci/drivers/%s/unbind" % (m.sys, driver), address) if driver != "none" else "no driver"


@operation(4, lambda rng, m: [rng.choice(USB)])
def configure_anew(m, o, address):
    """As others do: its interfaces come again, with their drivers."""
    return [write(m.kernel_path(address, "authorized"), value) for value in "01"]


@operation(4, lambda rng, m: [rng.choice(USB)])
def meet_driver(m, o, address):
    """A driver takes it, claimed or not, as one does that is loaded."""
    return [write(m.sys + "/bus/usb/drivers_probe", part) for part in m.parts(address)]


@operation(2, lambda rng, m: [rng.choice(OURS), rng.choice(("foo bar", "", "vfio-pci"))])
def others_override(m, o, address, driver):
    o.at_first.pop(address, None)
    return write(m.kernel_path(address, "driver_override"), driver)


@operation(2, lambda rng, m: [rng.choice(PFS), rng.choice((0, 2))])
def others_numvfs(m, o, pf, n):
    return write(m.kernel_path(pf, "sriov_numvfs"), str(n))


@operation(3)
def settle(m, o):
    """Nothing hinders any more, and what was asked for holds."""
    m.lift_faults()
    plug_all(m, o)
    o.settle()
