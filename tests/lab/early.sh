# SPDX-License-Identifier: GPL-2.0-or-later
# early.sh BUILD: the guest's side of early.test. "plug" and "unplug" on a line of their own ask for it.
B=$1
hot=0000:07:00.0 T=/run/pcidevfs V=/run/pcidevfs/devices K=/sys/bus/pci/devices/0000:07:00.0
tools=$(sed -n 's/^exec \([^ ]*\)\/bin\/modprobe -d \([^ ]*\) .*/\1/p' /run/modprobe)
root=$(sed -n 's/^exec .* -d \([^ ]*\) .*/\1/p' /run/modprobe)

fail() {
	echo "FAILED: $*"
	cat /run/udevd.err /run/daemon.err 2>/dev/null
	dmesg | tail -n 20
	exit 1
}
wait_for() { # wait_for COMMAND...
	for _ in $(seq 300); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	fail "in vain: $*"
}
driver() {
	basename "$(readlink $K/driver)"
}
driven_by() {
	[ "$(driver)" = "$1" ]
}
met() { # what the host's driver has said of the card
	dmesg | grep -c "e1000e 0000:07:00.0"
}
serve() {
	"$B/bin/pcidevfsd" $T 2>>/run/daemon.err &
	daemon=$!
	wait_for test -s $T/version
}

mkdir -p /lib/modules /var/lib/pcidevfs $T /etc/udev/rules.d /run/udev
ln -sfn "$root/lib/modules/$(uname -r)" "/lib/modules/$(uname -r)"
rmmod e1000e 2>/dev/null
cp "$B/bin/pcidevfsd" /usr/sbin/pcidevfsd
cp deploy/60-pcidevfs.rules "$tools/lib/udev/rules.d/80-drivers.rules" /etc/udev/rules.d
# One program under several names, of which the package's link leads to the host's.
ln -s "$tools/bin/udevadm" /run/systemd-udevd
/run/systemd-udevd >/run/udevd.err 2>&1 &
wait_for test -e /run/udev/control

# Nothing is stored: udev loads the host's driver, and it takes the card.
echo plug
wait_for driven_by e1000e
[ "$(met)" -gt 0 ] || fail "the host's driver says nothing of a card that it has"
serve
wait_for test -e $V/$hot/claim
"$B/tests/put" $V/$hot/claim alice || fail "claim: $(cat $V/$hot/last_error)"
driven_by vfio-pci || fail "claimed, and with $(driver)"
kill $daemon
wait $daemon
echo unplug
wait_for test ! -e $K
rmmod e1000e || fail "e1000e stays"

# It is claimed: no daemon runs, and all the same the host's driver never gets it.
dmesg -C
echo plug
wait_for grep -qx vfio-pci $K/driver_override
wait_for test -d /sys/module/e1000e
sleep 2
[ "$(driver)" != e1000e ] && [ "$(met)" = 0 ] || fail "the host's driver has met it"
serve
wait_for grep -qx alice $V/$hot/claim
driven_by vfio-pci || fail "restored, and with $(driver)"
[ "$(met)" = 0 ] || fail "the host's driver has met it"

# Pulled out and put back under the daemon, likewise.
echo unplug
wait_for test ! -e $V/$hot
rmmod e1000e
echo plug
wait_for grep -qsx alice $V/$hot/claim
wait_for driven_by vfio-pci
[ "$(met)" = 0 ] || fail "the host's driver has met it under the daemon"
echo 'all is well'
kill $daemon
