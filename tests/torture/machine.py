# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated machine, the daemon on it, and what tree, kernel and disk say of them."""
import errno
import os
import shlex
import shutil
import signal
import subprocess
import time

BUSY = 8  # a busy machine may take so much longer, as in tests/fs/lib.sh
FAULT_FILES = ("bus/pci/drivers/*/bind", "bus/pci/drivers/*/unbind", "bus/pci/devices/*/driver_override",
               "bus/pci/devices/*/sriov_numvfs", "bus/pci/devices/*/config", "bus/usb/drivers/*/bind",
               "bus/usb/drivers/*/unbind", "bus/usb/drivers_probe")


XHCI = "0000:00:14.0"  # of the USB devices


def is_usb(address):
    return address.startswith("usb/")


def guest_driver(address):
    """That a claimed device has."""
    return "none" if is_usb(address) else "vfio-pci"


class Failure(Exception):
    """The product broke a promise."""


def wait_for(what, seconds, condition):
    end = time.monotonic() + seconds * BUSY
    while True:
        told = condition()
        if told is True:
            return
        if time.monotonic() > end:
            raise Failure("%s: in vain: %s" % (what, told))
        time.sleep(0.01)


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError as e:
        return "!" + errno.errorcode[e.errno]


def write(path, text):
    """One write(2), as echo makes it: "ok" or the errno's name."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, text.encode() + b"\n")
        finally:
            os.close(fd)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]


def pairs(line):
    """"id key=value key="va lue"": its first word, and the values by key."""
    words = shlex.split(line)
    return words[0], dict(w.split("=", 1) for w in words if "=" in w)


class Machine:
    def __init__(self, place, programs, factor):
        self.place, self.programs, self.factor = place, programs, factor
        self.sim_dir, self.tree, self.state = place + "/sim", place + "/tree", place + "/state"
        self.sys = self.sim_dir + "/sys"
        for d in (self.sim_dir, self.tree, self.state):
            os.makedirs(d, exist_ok=True)
        # A disk of its own, which can be filled.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "torture", self.state], check=True)
        self.sim_process = self.daemon = None
        self.start_sim()

    # ---- processes

    def start_sim(self):
        with open(self.place + "/sim.out", "w") as out, open(self.place + "/sim.err", "a") as err:
            self.sim_process = subprocess.Popen([self.programs + "/pcidevfs-sim", "--uevents", self.sim_dir],
                                                stdout=out, stderr=err)
        wait_for("the simulation", 20, lambda: read(self.place + "/sim.out") == "ready\n" or "not ready")

    def sim(self, command, *args):
        """USB devices have names of the tree here: usb/1-1."""
        args = [command] + [str(a).removeprefix("usb/") if command in ("plug", "unplug") else a for a in args]
        return subprocess.run([self.programs + "/pcidevfs-sim", "--control", self.sim_dir, *map(str, args)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def daemon_argv(self):
        return [self.programs + "/pcidevfsd", "--sysfs", self.sys, "--dev", self.sim_dir + "/dev", "--proc",
                self.sim_dir + "/proc", "--state", self.state, "--deadline", str(self.factor)]

    def start_daemon(self, wait=True):
        with open(self.place + "/daemon.err", "a") as err:
            self.daemon = subprocess.Popen(self.daemon_argv() + [self.tree], stderr=err)
        if wait:
            self.await_tree()

    def await_tree(self):
        def there():
            if self.daemon.poll() is not None:
                raise Failure("the daemon ended with status %d: %s" % (self.daemon.returncode, self.daemon_said()))
            return read(self.tree + "/version")[:1] not in "!" or "no tree"
        wait_for("the tree", 20, there)

    def daemon_said(self):
        return " | ".join(read(self.place + "/daemon.err").splitlines()[-5:])

    def serving(self):
        said = subprocess.run(["pgrep", "-P", str(self.daemon.pid), "-x", "pcidevfsd"], capture_output=True, text=True)
        return [int(p) for p in said.stdout.split() if os.path.exists("/proc/%s/exe" % p)]

    def kill_serving(self):
        for pid in self.serving()[:1]:
            os.kill(pid, signal.SIGKILL)

    def kill_all(self):
        """Holder and serving process, at once."""
        for pid in self.serving() + [self.daemon.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.daemon.wait()
        subprocess.run(["umount", "-l", self.tree], stderr=subprocess.DEVNULL)

    def end_daemon(self):
        self.daemon.send_signal(signal.SIGTERM)
        try:
            status = self.daemon.wait(60 * BUSY)
        except subprocess.TimeoutExpired:
            raise Failure("the daemon does not end") from None
        if status:
            raise Failure("the daemon ended with status %d: %s" % (status, self.daemon_said()))

    def reboot(self):
        self.kill_all()
        self.sim_process.terminate()
        self.sim_process.wait()
        self.start_sim()
        self.start_daemon()

    def close(self):
        if self.daemon and self.daemon.poll() is None:
            self.kill_all()
        self.sim_process.terminate()
        self.sim_process.wait()
        subprocess.run(["umount", "-l", self.state], check=False)
        shutil.rmtree(self.place, ignore_errors=True)

    # ---- what the kernel has

    def functions(self):
        """PCI functions and, with a slash, USB devices."""
        usb = [n for n in os.listdir(self.sys + "/bus/usb/devices") if ":" not in n]
        return sorted(os.listdir(self.sys + "/bus/pci/devices") + ["usb/" + n for n in usb])

    def kernel_path(self, address, name=""):
        bus = "usb" if is_usb(address) else "pci"
        return "%s/bus/%s/devices/%s/%s" % (self.sys, bus, address.removeprefix("usb/"), name)

    def parts(self, address):
        """What has drivers: a function, or the interfaces of a USB device."""
        if not is_usb(address):
            return [""]
        try:
            return sorted(n for n in os.listdir(self.kernel_path(address)) if ":" in n)
        except OSError:
            return []

    def driver(self, address):
        """Of the first part that has one."""
        for part in self.parts(address):
            try:
                return os.path.basename(os.readlink(self.kernel_path(address, part + "/driver")))
            except OSError:
                pass
        return "none"

    def node_owner(self, address):
        """Of a USB device's node, None if it is not there."""
        try:
            number = [int(read(self.kernel_path(address, n))) for n in ("busnum", "devnum")]
            return os.stat("%s/dev/bus/usb/%03d/%03d" % (self.sim_dir, *number)).st_uid
        except (OSError, ValueError):
            return None

    def vfs(self, pf):
        """By index."""
        found = {}
        try:
            names = os.listdir(self.kernel_path(pf))
        except OSError:
            return found
        for n in names:
            if n.startswith("virtfn") and os.path.exists(self.kernel_path(pf, n)):
                found[int(n[6:])] = os.path.basename(os.readlink(self.kernel_path(pf, n)))
        return found

    def physfn(self, address):
        try:
            return os.path.basename(os.readlink(self.kernel_path(address, "physfn")))
        except OSError:
            return None

    def members(self, address):
        """Of its IOMMU group, but for bridges, which are left alone."""
        try:
            all_of_it = os.listdir(self.kernel_path(address, "iommu_group/devices"))
        except OSError:
            return []
        return [a for a in sorted(all_of_it) if not read(self.kernel_path(a, "class")).startswith(("0x0604", "0x0600"))]

    # ---- what the tree says

    def file(self, address, name):
        return "%s/%s/%s" % (self.tree, address if is_usb(address) else "devices/" + address, name)

    def get(self, address, name):
        return read(self.file(address, name)).rstrip("\n")

    def put(self, address, name, value):
        return write(self.file(address, name), value)

    def inventory(self):
        text = read(self.tree + "/inventory")
        return dict(pairs(line) for line in text.splitlines()[1:]) if text[:1] != "!" else {}

    def intents(self):
        """A list of (identity, values)."""
        text = read(self.tree + "/intents")
        lines = [pairs(line)[1] for line in text.splitlines() if line] if text[:1] != "!" else []
        return [(values["identity"], values) for values in lines]

    def stored(self):
        """The same of the state file: what holds after a reboot."""
        lines = read(self.state + "/intent").splitlines()
        return [pairs(line)[1] for line in lines if line.startswith("path=")]

    def logged(self, address, said):
        lines = [pairs("log " + line)[1] for line in read(self.tree + "/log").splitlines()[-20:]]
        return any(v.get("id") == address and v.get("result") == said and v.get("text") for v in lines)

    def commit(self, lines):
        """All lines as one transaction through ctl."""
        return self.command("\n".join(lines) + "\ncommit")

    def command(self, text):
        return write(self.tree + "/ctl", text)

    def remains(self):
        """For whoever reads why it failed."""
        paths = [self.tree + "/" + name for name in ("intents", "inventory", "log")] + [self.state + "/intent"]
        said = [self.place + "/daemon.err"]
        return ["%s: %s" % (os.path.basename(p), line) for p in paths + said for line in read(p).splitlines()[-200:]]

    def lift_faults(self):
        for path in FAULT_FILES:
            self.sim("fail", path, "EIO", 0)
            self.sim("slow", path, 0)
            self.sim("unhang", path)
        self.sim("nth", 0)
