# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the sweeps over vGPUs, sweep_vgpu_ACT_WORLD.test: what each does is the function of that name here.
. tests/fs/lib.sh
. tests/fs/sweep.sh
factor=0.05 # 1.5 s for a profile, 6 s for the driver's own tool
gpu=0000:01:00.0
P=$S/sys/bus/pci/devices
pf=$gpu pulled=$gpu goes='^0000:01:0'
is_settled() { true; } # no disk of this machine is mounted
vf() { basename "$(readlink "$V/$gpu/virtfn$1")"; }
written() { put "$T/ctl" "$1"; } # written LINES: one commit

# What the kernel holds of each VF: its type, its parameters, and the type of each mediated device below it. By few
# processes, and without a seek, as kernel_state.
vgpus() {
	(
		shopt -s nullglob
		cd "$P/$gpu" 2>/dev/null || exit
		stat -c %N -- virtfn* virtfn*/????????-????-*/mdev_type 2>/dev/null
		awk '{ print FILENAME, $0 }' virtfn*/nvidia/{current_vgpu_type,vgpu_params} sriov_numvfs
	) | awk -v gpu=$gpu '{ sub(/^.?virtfn/, ""); n = int($0); end = $NF; gsub(/.*\/|\047$/, "", end) }
		$1 == "sriov_numvfs" { print gpu, "numvfs", $2; next }
		/^[0-9]+\047 -> / { vf[n] = end; next }
		/mdev_type\047 -> / { print vf[n], "type", end; next }
		/^[0-9]/ { sub(/[^ ]*\//, ""); print vf[n], $0 }'
}

# A mediated device that is made anew has another UUID; where one was, it keeps its own.
both() {
	{
		kernel_state | grep -v '^[0-9]*$'
		vgpus
		tree_state
		grep -s . "$V"/*/vgpu_params "$V"/*/enabled | sed "s,^$V/,,"
	} | sed "${uuids-s/ mdev_uuid=[^ ]*//}"
}

begin() { # begin OPTION...: of the simulated GPU
	start_gpu "$world" "$@"
	driver_root
	options="--driver-root $root"
	start_daemon --deadline $factor --driver-root "$root"
}

four() { # four TYPE
	for i in 0 1 2 3; do echo "$gpu/virtfn$i/profile $1"; done
}

enable() {
	begin numvfs=0
	members=$gpu
	act() { put $V/$gpu/enabled 1; }
	back() { put $V/$gpu/enabled 0; }
	learn
	ways "VFs of a GPU ($world)"
}

# Four vGPUs of VFs that are not there yet, and a claim.
commit() {
	begin numvfs=0
	members="$gpu 0000:01:00.1 0000:01:00.2 0000:01:00.3 0000:01:00.4" # VFs that are not there have no last_error
	act() {
		written "$gpu/enabled 1
$(four 'NVIDIA LAB-4Q')
$gpu/virtfn1/claim alice
commit
"
	}
	back() { put $V/$gpu/enabled 0; }
	learn
	ways "VFs and four vGPUs in one commit ($world)"
}

with_one() { # a vGPU of alice beside one of somebody else
	begin
	set_to $V/$gpu/enabled 1
	a=$(vf 0) b=$(vf 1)
	set_to "$V/$a/profile" "NVIDIA LAB-4Q"
	set_to "$V/$a/claim" alice
	[ "$world" = mdev ] || set_to "$V/$a/vgpu_params" "frame_rate_limiter=0"
	members="$gpu $a"
	uuids=
}

change() {
	with_one
	act() { put "$V/$a/profile" "NVIDIA LAB-8Q"; }
	back() { put "$V/$a/profile" "NVIDIA LAB-4Q"; }
	learn
	ways "another type ($world)"
}

# Two vGPUs that fill the card become smaller ones in one commit: both end before one is made.
carve() {
	with_one
	set_to "$V/$a/profile" "NVIDIA LAB-8Q"
	set_to "$V/$b/profile" "NVIDIA LAB-8Q"
	members="$gpu $a $b"
	both_to() {
		written "$a/profile $1
$b/profile $1
commit
"
	}
	act() { both_to "NVIDIA LAB-4Q"; }
	back() { both_to "NVIDIA LAB-8Q"; }
	learn
	ways "a card is carved anew ($world)"
}

none() {
	with_one
	act() { put "$V/$a/profile" none; }
	back() {
		written "$a/profile NVIDIA LAB-4Q
$a/claim alice
${params:-}commit
"
	}
	[ "$world" = mdev ] || params="$a/vgpu_params frame_rate_limiter=0
"
	learn
	ways "no vGPU any more ($world)"
}

disable() {
	with_one
	set_to "$V/$b/profile" "NVIDIA LAB-4Q"
	members="$gpu $a $b"
	act() { put $V/$gpu/enabled 0; }
	back() {
		put $V/$gpu/enabled 1 || return
		comes_back "$a" alice
		comes_back "$b" admin
	}
	learn
	ways "VFs go with their vGPUs ($world)"
}

# Mediated devices of the whole card, which have directories of their own.
u1=11111111-2222-4333-8444-555555555555 u2=66666666-7777-4888-8999-aaaaaaaaaaaa
whole_card() {
	goes='^mdev/|^[0-9a-f]*-'
	where() { # where FILE PATTERN: as seen from $V
		grep -lsE -- "$2" "$V"/*/"$1" "$T"/mdevs/*/"$1" | sed "s,^$V/,,; s,^$T/,../,; s,/$1\$,,"
	}
	vgpus() {
		for v_dir in "$S/sys/bus/mdev/devices"/*; do
			[ -e "$v_dir" ] || continue
			echo "${v_dir##*/} of $(basename "$(dirname "$(readlink -f "$v_dir")")")" \
				"type $(basename "$(readlink "$v_dir/mdev_type")") driver $(basename "$(readlink "$v_dir/driver")")"
		done
		grep -s . "$T"/mdevs/*/profile "$T"/mdevs/*/claim "$T"/mdevs/*/state | sed "s,^$T/mdevs/,,"
	}
	named() { said | grep -qE "$gpu|$u1|$u2" || fail "$point: which device? $(said)"; }
	start_gpu mdev-pf
	start_daemon --deadline $factor
	members=$gpu
	uuids=
	made() {
		written "$gpu/create \"NVIDIA LAB-4Q\" $u1
$gpu/create \"NVIDIA LAB-4Q\" $u2
mdev/$u1/claim alice
commit
"
	}
	ended() {
		written "mdev/$u1/profile none
mdev/$u2/profile none
commit
"
	}
}

create() {
	whole_card
	act() { made; }
	back() { ended; }
	learn
	ways "two mediated devices of a card in one commit"
}

# Theirs are others with other UUIDs.
anew() {
	whole_card
	carved() { # carved UUID... TYPE: these end, the others come
		written "mdev/$1/profile none
mdev/$2/profile none
$gpu/create \"$5\" $3
$gpu/create \"$5\" $4
commit
"
	}
	u3=aaaaaaaa-2222-4333-8444-555555555555 u4=bbbbbbbb-7777-4888-8999-aaaaaaaaaaaa
	back() { carved $u3 $u4 $u1 $u2 "NVIDIA LAB-8Q"; }
	act() { carved $u1 $u2 $u3 $u4 "NVIDIA LAB-4Q"; }
	named() { said | grep -qE "$gpu|$u1|$u2|$u3|$u4" || fail "$point: which device? $(said)"; }
	remake() { # what could not be taken back ends, what could not be made again is made
		remake=
		for u in $u3 $u4; do
			[ ! -e "$T/mdevs/$u" ] || remake="$remake
mdev/$u/profile none"
		done
		for u in $u1 $u2; do
			[ -e "$T/mdevs/$u" ] || remake="$remake
$gpu/create \"NVIDIA LAB-8Q\" $u"
		done
		written "$remake
commit
"
	}
	mended() {
		[ -n "$stuck" ] || return 0
		again remake
		must_be "$D/before"
	}
	written "$gpu/create \"NVIDIA LAB-8Q\" $u1
$gpu/create \"NVIDIA LAB-8Q\" $u2
commit
" || fail "$(cat "$T/last_error")"
	learn
	ways "mediated devices of a full card give way to others"
}

remove() {
	whole_card
	made || fail "$(cat "$T/last_error")"
	act() { ended; }
	back() { made; }
	mended() {
		[ ! -e "$T/mdevs/$u1" ] || return
		[ "$stuck" = $gpu ] || fail "$point: $u1 is gone, and its card is not stuck: $(said)"
		has $V/$gpu/reason "the mediated device $u1 cannot be made again: Input/output error"
		again back
		must_be "$D/before"
	}
	learn
	ways "mediated devices of a card end"
}
