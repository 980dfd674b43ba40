# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the sweeps over a restore: a full machine comes up after a power cut, and one write of what
# brings back its wishes is broken. What could not be brought back says why and is whole or not there at
# all, the rest is there, and written again it is as it was.
# shellcheck shell=sh disable=SC2154,SC2034
. tests/fs/sweep.sh
factor=1
disk=0000:06:00.0 nic=0000:05:02.0 gpu=0000:01:00.0 pf0=0000:02:00.0 pf1=0000:02:00.1
members="$disk $nic $gpu $pf0 $pf1"
wishes="$disk/claim vm-1
$nic/claim vm-2
$gpu/claim vm-3
$pf0/sriov_numvfs 2
$pf0/virtfn1/claim vm-4
$pf1/sriov_numvfs 3
$pf1/virtfn0/claim vm-5
$pf1/virtfn2/claim vm-6
commit"

is_after() {
	both >"$D/now" 2>/dev/null && cmp -s "$D/after" "$D/now"
}

# True when the write was met, false when all was restored before.
boots() { # boots N HOW [ERRNO]
	power_cut "$D/machine"
	ctl nth "$@"
	start_daemon --deadline $factor
	b_end=$(deadline 8)
	until met; do
		! is_after || return 1
		[ "$(ms)" -lt $b_end ] || fail "$point: neither broken nor restored: $(cat "$T/intents")"
		sleep 0.02
	done
}

# What waits for a device that is not there waits for good.
quiet() {
	! grep -E ' state=pending| state=waiting device=0' "$T/intents" && ! grep -qsx busy "$V"/*/state
} >/dev/null

# Twice the same: between the end of what hung and the next try of it nothing runs either.
settles() {
	b_end=$(deadline 8)
	until quiet && both >"$D/rest" && sleep 0.3 && quiet && both | cmp -s - "$D/rest"; do
		[ "$(ms)" -lt $b_end ] || fail "$point: does not come to rest: $(cat "$T/intents")"
		sleep 0.02
	done
}

nothing_is_half() {
	! grep -E ' state=(refused|drifted|waiting) ' "$T/intents" | grep -v 'reason="' || fail "$point: no reason"
	for a in $disk $nic $gpu $pf0/virtfn1 $pf1/virtfn0 $pf1/virtfn2; do
		a=$(basename "$(readlink -f "$V/$a")")
		[ -n "$a" ] && [ -e "$V/$a" ] || continue
		for m in $(members "$a"); do
			[ ! -e "$V/$m/claim" ] || is "$V/$m/claim" "$(cat "$V/$a/claim")"
			[ "$(cat "$V/$a/claim")" = none ] || [ "$(driver_of "$m")" = vfio-pci ] ||
				[ ! -e "$V/$m/claim" ] || fail "$point: $m is claimed and with $(driver_of "$m")"
		done
	done
}

repaired() { # what did not come is written again
	b_end=$(deadline 8)
	until is_after; do
		put $T/ctl "$wishes" >"$D/verdict" || [ "$(cat "$D/verdict")" = EBUSY ] ||
			fail "$point: written again: $(cat "$D/verdict"), $(said)"
		[ "$(ms)" -lt $b_end ] || must_be "$D/after"
		sleep 0.05
	done
}

refused_at() { # refused_at N
	boots "$1" fail EIO || return 1
	ctl nth 0
	settles
	nothing_is_half
	repaired
}

hung_at() { # hung_at N before|after: the others are brought back meanwhile, and files answer
	boots "$1" "$2" || return 1
	timeout 5 cat "$V"/*/claim "$T/intents" >/dev/null || fail "$point: files do not answer"
	wait_for 8 grep -qsx stuck "$V"/*/state
	for a in $(where state '^stuck$'); do
		has "$V/$a/reason" 'did not end within'
	done
	ctl nth 0
	wait_for 5 sh -c "! grep -qsx stuck '$V'/*/state"
	settles
	nothing_is_half
	repaired
}

killed_at() { # killed_at N before|after: the next process brings all back
	boots "$1" "$2" || return 1
	kill -9 "$(serving_pid)"
	ctl nth 0
	must_be "$D/after"
}

gone_at() { # gone_at N before ADDRESS: pulled out at that write, it is brought back once it is there again
	boots "$1" "$2" || return 1
	ctl unplug "$3"
	ctl nth 0
	wait_for 2 test ! -e "$V/$3"
	settles
	nothing_is_half
	ctl plug "$3"
	must_be "$D/after"
}

sweep() { # sweep WAY [ARGUMENT]...
	n=$PART met=0
	while point="restore, $* at write $n" && s_way=$1 && shift && "$s_way" $n "$@"; do
		set -- "$s_way" "$@"
		points=$((points + 1))
		n=$((n + PARTS)) met=$((met + 1))
	done
	ctl nth 0
	must_be "$D/after"
	[ $((met * PARTS)) -ge 10 ] || fail "$point: was not met"
	echo "restore: $s_way${1:+ $*} at $met writes, part $PART of $PARTS"
}

full_machine() {
	group_of_four "$D/machine"
	start_sim "$D/machine"
	start_daemon
	wait_for 5 grep -qs mounted "$V"/*/host_critical
	put $T/ctl "$wishes" || fail "$(cat "$T/last_error")"
	both >"$D/after"
	: >"$D/verdict"
}
