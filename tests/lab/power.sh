# SPDX-License-Identifier: GPL-2.0-or-later
# power.sh BUILD N: what power.test runs in its N-th guest: tells what restore has brought back from the disk
# of the guests before, then asks for one thing after the other until the power goes.
B=$1 n=$2
. tests/lab/guest_disk.sh
nic=0000:05:02.0 edu=0000:05:01.0 nvme=0000:01:00.0 usb=0000:03:00.0

tells() { # tells WRITER VALUE
	echo "found $1 $2"
}
tells group "$(cat $V/$nic/claim)"
tells nvme "$(cat $V/$nvme/claim)"
tells owner "$(stat -c %u $V/$usb/claim)"
for a in $nic $edu $nvme; do
	d=$(basename "$(readlink /sys/bus/pci/devices/$a/driver)")
	case $(cat $V/$a/claim)/$d in
	none/vfio-pci) echo "FAILED: $a is free and with $d" ;;
	none/* | */vfio-pci) ;;
	*) echo "FAILED: $a is claimed and with ${d:-no driver}: $(cat $V/$a/reason)" ;;
	esac
done
[ "$(cat $V/$nic/claim)" = "$(cat $V/$edu/claim)" ] || echo "FAILED: half a group is claimed"
echo found all

does() { # does WRITER VALUE COMMAND...
	w=$1 v=$2
	shift 2
	echo "begin $w $v"
	if "$@" >"$D/$w"; then echo "ok $w $v"; else echo "FAILED: $w $v: $(cat "$D/$w")"; fi
}
put() { # what restore has under way is busy for a moment
	i=0
	until "$B/tests/put" "$@"; do
		i=$((i + 1))
		[ $i -lt 50 ] || return
		sleep 0.1
	done
}
(for i in $(seq 1000); do does group g$n-$i put $V/$edu/claim g$n-$i; does group none put $V/$nic/claim none; done) &
(for i in $(seq 1000); do does nvme v$n-$i put $V/$nvme/claim v$n-$i; does nvme none put $V/$nvme/claim none; done) &
for i in $(seq 1000); do does owner $((n * 1000 + i)) chown $((n * 1000 + i)) $V/$usb/claim; sleep 0.1; done
