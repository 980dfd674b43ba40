# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by sweep_both_vgpu_WORLD.test. Both processes die at each write of what makes VFs of a GPU, a vGPU, another
# type, none: the next daemon goes on or takes back; nothing is lost, nothing is there twice, and a mediated device that
# was there before has its UUID.
. tests/fs/lib.sh
gpu=0000:01:00.0 a=0000:01:00.1 b=0000:01:00.2
P=$S/sys/bus/pci/devices

met() {
	"$bin/pcidevfs-sim" --control "$S" met 2>/dev/null
}

kernel_has() { # kernel_has VF: the id of its type, and the UUIDs below it
	cat "$P/$1/nvidia/current_vgpu_type" 2>/dev/null && return
	for k_dir in "$P/$1"/????????-????-*; do
		[ -e "$k_dir" ] && echo "$(basename "$(readlink "$k_dir/mdev_type")") ${k_dir##*/}"
	done
}

vgpu_is() { # vgpu_is VF NAME CLAIM: in the tree as in the kernel
	read -r profile <"$V/$1/profile" && read -r id <"$V/$1/profile_id" && read -r claim <"$V/$1/claim" &&
		read -r uuid <"$V/$1/mdev_uuid" && [ "$profile/$claim" = "$2/$3" ] || return
	k_has=$(kernel_has "$1")
	case $world/$2 in
	vfio/none) [ "$k_has" = 0 ] ;;
	mdev/none) [ -z "$k_has" ] ;;
	vfio/*) [ "$k_has" = "$id" ] ;;
	mdev/*) [ "$k_has" = "$id $uuid" ] ;;
	esac
}

# What is before and after each act: NAME CLAIM of the first VF; the second one is alice's all the time.
is_one_of() { # is_one_of [NAME/CLAIM]...
	! grep -qsx busy "$V"/*/state && ! grep -q state=pending "$T/intents" || return
	if [[ " $* " = *" off "* ]] && grep -qx 0 "$V/$gpu/sriov_numvfs"; then
		[ "$(cat "$P/$gpu/sriov_numvfs")" = 0 ]
		return
	fi
	grep -qx 8 "$V/$gpu/sriov_numvfs" && grep -qx nvidia "$V/$gpu/driver" || return
	vgpu_is $b "${second%/*}" "${second#*/}" || return
	for i_state; do
		[ "$i_state" != off ] || continue
		vgpu_is $a "${i_state%/*}" "${i_state##*/}" || continue
		[ "$i_state" = none/none ] || grep -qx "$params" "$V/$a/vgpu_params"
		return
	done
	return 1
}

tell_all() {
	grep . "$V/$gpu"/{state,reason,sriov_numvfs} "$V"/{$a,$b}/{profile,claim,state,reason,mdev_uuid}
	kernel_has $a
	kernel_has $b
	cat "$T/intents" "$D/state/intent"
}

cut_at() { # cut_at N before|after
	start_daemon --driver-root "$root"
	start_state
	uuid_a=$(cat $V/$a/mdev_uuid 2>/dev/null) uuid_b=$(cat $V/$b/mdev_uuid 2>/dev/null)
	ctl nth "$1" "$2"
	act >"$D/verdict" 2>&1 & actor=$!
	until met; do
		kill -0 $actor 2>/dev/null || break
		sleep 0.01
	done
	c_met=0
	met || c_met=1
	kill_both
	ctl nth 0
	wait $actor
	start_daemon --driver-root "$root"
	c_end=$(deadline 5)
	until is_one_of "${states[@]}" && sleep 0.05 && is_one_of "${states[@]}"; do
		[ "$(ms)" -lt $c_end ] || fail "$what, $2 write $1: $(tell_all)"
		sleep 0.02
	done
	for v in a b; do
		u=uuid_$v
		u=${!u} v=${!v}
		[ -n "$u" ] && [ "$u" != none ] && [ -e "$V/$v" ] && ! grep -qx none "$V/$v/profile" || continue
		is "$V/$v/mdev_uuid" "$u"
	done
	[ -z "$(where state '^stuck$')" ] || fail "$what, $2 write $1: stuck: $(tell_all)"
	[ "$(ls "$S/sys/bus/mdev/devices" 2>/dev/null | wc -l)" -le 2 ] || fail "$what, $2 write $1: too many"
	# It works, and can be taken back.
	act >"$D/verdict" || fail "$what, $2 write $1: again: $(cat "$D/verdict"), $(cat "$T/last_error")"
	c_end=$(deadline 5)
	until is_one_of "${states[-1]}"; do
		[ "$(ms)" -lt $c_end ] || fail "$what, $2 write $1: done again: $(tell_all)"
		sleep 0.02
	done
	stop_daemon
	return $c_met
}

sweep() { # sweep WHAT STATE...: the last one is after the act
	what=$1
	shift
	states=("$@")
	for how in before after; do
		n=1
		while cut_at $n $how; do n=$((n + 1)) points=$((points + 1)); done
		[ $n -gt 1 ] || fail "$what, $how: no write was met"
		echo "$what, $how: $((n - 1)) writes"
	done
}

points=0 params=none second=none/none
start_gpu "$world" numvfs=0 types=16
driver_root
q4="NVIDIA LAB-4Q" c4="NVIDIA LAB-4C"
start_state() { set_to $V/$gpu/enabled 0; }
act() { put $V/$gpu/enabled 1; }
sweep "VFs are made" off none/none

# From now on the second VF is alice's.
start_daemon --driver-root "$root"
set_to $V/$gpu/enabled 1
set_to $V/$b/profile "$q4"
set_to $V/$b/claim alice
stop_daemon
second=$q4/alice
start_state() {
	comes_back $b alice
	set_to $V/$a/profile none
}
act() { put $V/$a/profile "$q4"; }
sweep "a vGPU is made" none/none "$q4/admin"

with_bob() {
	comes_back $b alice
	set_to $V/$a/profile "$q4"
	set_to $V/$a/claim bob
	params=none
	[ "$world" = mdev ] || params=a=1
	set_to $V/$a/vgpu_params $params
}
start_state() { with_bob; }
act() { put $V/$a/profile "$c4"; }
sweep "a vGPU becomes another" "$q4/bob" "$c4/bob"

act() { put $V/$a/profile none; }
sweep "a vGPU ends" "$q4/bob" none/none

# One that others have made is theirs until it is ended.
start_state() {
	comes_back $b alice
	params=none
	set_to $V/$a/profile none
	case $world in
	vfio) put "$P/$a/nvidia/current_vgpu_type" 757 ;;
	mdev) put "$P/$a/mdev_supported_types/nvidia-757/create" "$(cat /proc/sys/kernel/random/uuid)" ;;
	esac || fail "by hand"
	put $V/$a/plan "profile none" # it is looked at, for no event tells of a type
	wait_for 5 sh -c "cat $V/$a/plan >/dev/null; grep -qx '$c4' $V/$a/profile"
}
act() { put $V/$a/profile "$q4"; }
sweep "another's vGPU is replaced" "$c4/none" none/none "$q4/admin"

start_state() {
	set_to $V/$gpu/enabled 1
	! grep -q claim=bob "$T/intents" || wait_for 10 is_one_of "$q4/bob"
	with_bob
}
act() { put $V/$gpu/enabled 0; }
sweep "VFs go" "$q4/bob" off
echo "both die, vGPUs ($world): $points points broken"
