# SPDX-License-Identifier: GPL-2.0-or-later
# main.sh BUILD N: what main.test runs in its N-th guest: 0 does it all, 1 only tells what is there.
B=$1 n=$2
. tests/lab/guest_disk.sh
pf=0000:02:00.0 other=0000:01:00.0 nic=0000:05:02.0 edu=0000:05:01.0

refused() { # refused FILE VALUE SENTENCE
	! "$B/tests/put" "$1" "$2" >"$D/verdict" || echo "FAILED: $1 took $2"
	grep -qx EBUSY "$D/verdict" && grep -qF "$3" "$(dirname "$1")/last_error" ||
		echo "FAILED: $1 $2: $(cat "$D/verdict" "$(dirname "$1")/last_error")"
}
took() { # took FILE VALUE
	"$B/tests/put" "$1" "$2" >"$D/verdict" || echo "FAILED: $1 $2: $(cat "$D/verdict" "$(dirname "$1")/last_error")"
}

all_done() {
	took $V/$pf/sriov_numvfs 4
	for i in 0 1 2 3; do took $V/$pf/virtfn$i/claim vm-$i; done

	vf=$(basename "$(readlink /sys/bus/pci/devices/$pf/virtfn2)")
	: >$D/hold
	"$B/tests/hold" "$(basename "$(readlink /sys/bus/pci/devices/"$vf"/iommu_group)")" "$vf" 600 >$D/hold &
	vmm=$!
	until grep -q held $D/hold; do sleep 0.1; done
	until grep -q "pid=$vmm" "$V/$vf/holders"; do sleep 0.1; done
	refused "$V/$vf/claim" none "pid $vmm"
	refused $V/$pf/sriov_numvfs 0 "is claimed by vm-0"

	# Killed when it has begun and is not done.
	(took $T/ctl "$(printf '%s\n' $nic/claim\ group $other/sriov_numvfs\ 3 $other/virtfn0/claim\ vm-5 \
		$other/virtfn2/claim\ vm-6 commit)"; echo told >$D/told) &
	writer=$!
	until grep -qx busy $V/*/state; do [ ! -e $D/told ] || break; done
	kill -9 "$(cut -d' ' -f1 "/proc/$daemon/task/$daemon/children")"
	[ ! -e $D/told ] || echo "FAILED: the commit was done before the kill"
	wait $writer
}

[ "$n" != 0 ] || all_done
for a in /sys/bus/pci/devices/*; do
	a=${a##*/}
	[ "$(cat "$V/$a/claim" 2>/dev/null || echo none)" = none ] ||
		echo "it is $a: claimed by $(cat "$V/$a/claim"), with $(basename "$(readlink "/sys/bus/pci/devices/$a/driver")")"
done
for a in $pf $other; do
	echo "it is $a: $(cat /sys/bus/pci/devices/$a/sriov_numvfs) VFs, in the tree $(cat $V/$a/sriov_numvfs)"
done
for a in $nic $edu; do echo "it is $a: $(cat /sys/bus/pci/devices/$a/driver_override)"; done
sync
echo ready
sleep 600
