# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run: 128 vGPUs, of eight cards with 16 VFs, over a simulated machine of its own. No lab has so many
# cards. What the daemon's processes compute is measured: the rest is the simulation, which plays the driver. A
# file of its sysfs costs them much more in the kernel than a genuine one; in user mode there is no difference.
# shellcheck shell=bash disable=SC2154
G=$D/cards
mkdir "$G" "$D/gpustate"
gpus=()
{
	cat tests/machines/small-server.umockdev
	for n in 0 1 2 3 4 5 6 7; do # each behind a port of its own
		gpus+=("0000:4$n:00.0")
		sed "s/0000:00:1d.6/0000:00:1$n.7/g; s/0000:0a/0000:4$n/g; s,iommu_groups/,&$((n + 1))0,g" \
			tests/machines/small-server-gpu.umockdev
	done
} >"$D/cards.umockdev"

cards_start() { # the machine as it boots
	: >"$D/cards.out" # of the boot before, which the background job would empty too late
	"$B/bin/pcidevfs-sim" --uevents --gpu mdev --machine "$D/cards.umockdev" "$G" >"$D/cards.out" &
	cards=$!
	until grep -qx ready "$D/cards.out"; do sleep 0.05; done
	# Without the vendor's tool, which the daemon would start for them.
	for a in "${gpus[@]}"; do echo 16 >"$G/sys/bus/pci/devices/$a/sriov_numvfs"; done
}

cards_serve() { # and its daemon
	"$daemon" --sysfs "$G/sys" --dev "$G/dev" --proc "$G/proc" --state "$D/gpustate" "$T" 2>"$D/err" &
	pid=$!
	until [ -s "$T/version" ]; do sleep 0.01; done
}

# CPU milliseconds of the daemon's processes, those that have ended too: FIELDS 14-17 all, 14,16 in user mode.
cards_cpu() { # cards_cpu FIELDS; a helper may end meanwhile
	local p
	for p in $pid $(pgrep -P $pid) $(pgrep -P $pid | xargs -n 1 pgrep -P); do
		cut -d' ' -f"$1" "/proc/$p/stat" 2>/dev/null
	done | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n * 10 }'
}

cards_held() { [ "$(grep -c 'state=held' "$T/intents")" -ge "$1" ]; }

cards_wait() { # cards_wait COMMAND...: 60 s
	local t=$SECONDS
	until "$@"; do
		sleep 0.05
		[ $((SECONDS - t)) -lt 60 ] || return 1
	done
}

cards_start
cards_serve
sleep 2
mapfile -t vfs < <(for a in "${gpus[@]}"; do for v in "$G/sys/bus/pci/devices/$a"/virtfn*; do basename "$(readlink "$v")"; done; done)
t=$(cards_cpu 14-17) u=$(cards_cpu 14,16)
"$tool/put" "$T/ctl" "$(printf '%s/profile NVIDIA LAB-1B\n' "${vfs[@]}"; echo commit)"
status=$?
row "${#vfs[@]} vGPUs of ${#gpus[@]} cards in one transaction, simulated kernel: CPU time of the daemon's processes" \
	"$(($(cards_cpu 14-17) - t)) ms, $(($(cards_cpu 14,16) - u)) ms of them in user mode" "150 ms" $status
cards_wait cards_held ${#vfs[@]}
sleep 1 # what has changed is packed when nothing more has for a while
memory=$(awk '/^VmRSS/ { printf "%.1f MiB", $2 / 1024 }' "/proc/$(server)/status")
status=$?
row "resident memory of the serving process with them" "$memory" "8 MiB" $status
kill -9 "$(server)" $pid
wait $pid 2>/dev/null
umount -l "$T"
kill $cards
wait $cards
cards_start
cards_serve
cards_wait cards_held ${#vfs[@]}
status=$?
row "restore of that machine, simulated kernel: CPU time of the daemon's processes" \
	"$(cards_cpu 14-17) ms, $(cards_cpu 14,16) ms of them in user mode" "1000 ms" $status
stop
kill $cards
wait $cards
