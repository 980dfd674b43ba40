# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by vgpu_race_WORLD.test. Four writers at once, each on a VF of one card: whatever each gets, the tree then has
# what the kernel has, at once: what each VF is, and what each could become.
. tests/fs/lib.sh
gpu=0000:01:00.0
P=$S/sys/bus/pci/devices
start_gpu "$world"
driver_root
start_daemon --driver-root "$root"
set_to $V/$gpu/enabled 1
vfs=$(cd "$P/$gpu" && for v in virtfn*; do basename "$(readlink "$v")"; done | sort)
read -ra written < <(echo $vfs)
types=(none "NVIDIA LAB-2Q" "NVIDIA LAB-4Q" "NVIDIA LAB-8Q" none "NVIDIA LAB-16Q")

# A line for each VF: what it is, and the ids of what can be made of it.
kernel_has() {
	for v in $vfs; do
		case $world in
		vfio)
			echo "$v $(cat "$P/$v/nvidia/current_vgpu_type")" \
				"$(sed -n 's/^\([0-9][0-9]*\) *: .*/\1/p' "$P/$v/nvidia/creatable_vgpu_types" | xargs)"
			;;
		mdev)
			t=$(readlink "$P/$v/"????????-*/mdev_type) t=${t##*/}
			echo "$v ${t:-0}" \
				"$(grep -v '^0$' "$P/$v/mdev_supported_types"/*/available_instances /dev/null |
					sed 's,.*/nvidia-\([0-9]*\)/.*,nvidia-\1,' | sort | xargs)"
			;;
		esac
	done
}
tree_has() {
	for v in $vfs; do
		read -r id <"$V/$v/profile_id"
		echo "$v ${id/#none/0} $(sed -n 's/.* id=\([^ ]*\) available=[1-9].*/\1/p' "$V/$v/profiles" | sort | xargs)"
	done
}
# The card could still make each of what any VF could become.
card_has() {
	sed -n 's/.* id=\([^ ]*\) available=[1-9].*/\1/p' "$V/$gpu/profiles" | sort | xargs
}

write() { # write VF: something; its own verdict holds for its own VF at once
	type=${types[$((RANDOM % ${#types[@]}))]}
	said=$(put "$V/$1/profile" "$type")
	case $?/$said in
	0/*) is "$V/$1/profile" "$type" ;;
	*/ENOSPC | */EBUSY) ;;
	*) fail "$1: $type: $said, $(cat "$V/$1/last_error")" ;;
	esac
	echo "$type: ${said:-done}" >>"$D/said.$1"
}

rounds=${rounds:-40}
for ((i = 0; i < rounds; i++)); do
	pids=()
	for n in 0 2 3 7; do
		RANDOM=$((i * 7 + n))
		write "${written[n]}" >"$D/write.$n" 2>&1 &
		pids+=($!)
	done
	for p in "${pids[@]}"; do
		wait "$p" || fail "round $i: $(cat "$D"/write.*)"
	done
	tree_has >"$D/tree_has"
	kernel_has >"$D/kernel_has"
	cmp -s "$D/tree_has" "$D/kernel_has" || fail "round $i: $(tail -qn 1 "$D"/said.*)
$(diff "$D/kernel_has" "$D/tree_has")"
	all=$(cut -d ' ' -f 3- "$D/kernel_has" | tr ' ' '\n' | grep . | sort -u | xargs)
	[ "$(card_has)" = "$all" ] || fail "round $i: the card has $(card_has), should be $all"
done
sort "$D"/said.* | uniq -c
for t in done ENOSPC; do grep -q "$t" "$D"/said.* || fail "never: $t"; done
