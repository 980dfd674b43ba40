# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run: eight H100 with seven MIG instances and a vGPU in each, over a simulated machine of its own with the
# fake library, which takes no time itself. The CPU time of the daemon, and that of the programs that it starts for the
# driver, are told apart.
# shellcheck shell=bash disable=SC2034,SC2154
S=$D/hgx mounts=
mkdir "$S" "$D/cards" "$D/hgxstate"
skip() { echo "# $*"; }
. tests/lib/driver.sh
tests/machines/make-small-server h100 8 | cat tests/machines/small-server.umockdev - >"$D/hgx.umockdev"
hgx=()
for n in c d e f 10 11 12 13; do
	hgx+=("0000:$(printf %02x 0x$n):00.0")
	cat tests/nvml/h100.{card,vgpus} >"$D/cards/${hgx[-1]}"
done
printf 'driver 580.159.04\nlibrary 13.580.159.04\n' >"$D/cards/all"

hgx_start() { # the machine as it boots, and its daemon
	: >"$D/hgx.out"
	"$B/bin/pcidevfs-sim" --uevents --log 20000 --gpu "vfio numvfs=0 cards=$D/cards" --machine "$D/hgx.umockdev" "$S" >"$D/hgx.out" &
	cards=$!
	until grep -qx ready "$D/hgx.out" || ! kill -0 $cards; do sleep 0.05; done
	driver_root
	"$daemon" --sysfs "$S/sys" --dev "$S/dev" --proc "$S/proc" --driver-root "$root" --state "$D/hgxstate" "$T" 2>"$D/err" &
	pid=$!
	until [ -s "$T/version" ]; do sleep 0.01; done
}

hgx_end() {
	kill -9 "$(server)" $pid
	wait $pid
	umount -l "$T"
	kill $cards
	wait $cards
	for m in $mounts; do umount -l "$m"; done
	mounts=
} 2>/dev/null

# CPU milliseconds of the daemon's processes: 14,15 its own; 16,17 those of programs that have ended.
hgx_cpu() { # hgx_cpu FIELDS; a helper may end meanwhile
	for p in $pid $(pgrep -P $pid) $(pgrep -P $pid | xargs -n 1 pgrep -P); do
		cut -d' ' -f"$1" "/proc/$p/stat" 2>/dev/null
	done | awk '{ n += $1 + $2 } END { print n * 10 }'
}

hgx_start
cards_wait grep -qx yes "$T/devices/${hgx[7]}/mig/support"
for n in {1..100}; do
	t=${EPOCHREALTIME/./}
	"$B/bin/pcidevfs-nvml" --root "$root" card "${hgx[0]}" >"$D/answer" || status=1
	echo $((${EPOCHREALTIME/./} - t))
done | sort -n >"$D/times"
row "a question to NVIDIA's library (a fake one): pcidevfs-nvml from its start to its end, p50 and p99 of 100" \
	"p50 $(sed -n 50p "$D/times") us, p99 $(sed -n 99p "$D/times") us" "p99 40000 us"
set_all() { # set_all FILE VALUE
	local a
	for a in "${hgx[@]}"; do "$tool/put" "$T/devices/$a/$1" "$2" || return; done
}
set_all mig/mode 1 && set_all enabled 1
status=$?
c=$(hgx_cpu 14,15) p=$(hgx_cpu 16,17) t=${EPOCHREALTIME/./}
set_all mig/layout '1g.10gb*7' || status=$?
t=$((${EPOCHREALTIME/./} - t))
row "a layout of 7 instances, mean of 8 cards: CPU time of the daemon itself" \
	"$((($(hgx_cpu 14,15) - c) / 8)) ms" "30 ms" $status
row "of the programs that it starts for that, which ask the library" "$((($(hgx_cpu 16,17) - p) / 8)) ms" ""
row "from the write to its answer" "$((t / 8000)) ms" ""
for n in {0..6}; do set_all "virtfn$n/profile" 'NVIDIA H100XM-1-10C' || status=$?; done
cards_wait cards_held 64 || status=$?
hgx_end
t=${EPOCHREALTIME/./}
hgx_start
cards_wait cards_held 64 || status=$?
t=$((${EPOCHREALTIME/./} - t))
row "restore of 8 cards with 7 instances and 56 MIG-backed vGPUs, simulated kernel: CPU time of the daemon itself" \
	"$(hgx_cpu 14,15) ms" "1000 ms" $status
row "of the programs that it starts for that: sriov-manage, and those that ask the library" "$(hgx_cpu 16,17) ms" ""
row "from the start of the machine to its end" "$((t / 1000)) ms" ""
log_flood() { # 10 000 lines a second that are no card's, for 10 s
	local n at=${EPOCHREALTIME/./}
	for n in {1..100}; do
		"$B/bin/pcidevfs-sim" --control "$S" log 6 'eth0: a line that is about as long as those of other drivers are' 1000 || return
		until [ $((${EPOCHREALTIME/./} - at)) -ge $((n * 100000)) ]; do sleep 0.005; done
	done
}
c=$(hgx_cpu 14,15) t=${EPOCHREALTIME/./}
log_flood || status=$?
t=$((${EPOCHREALTIME/./} - t))
row "10 000 foreign lines a second in the kernel's log, simulated (each read is a request to a FUSE server): CPU time of the daemon" \
	"$((($(hgx_cpu 14,15) - c) * 1000000 / t)) ms a second" "100 ms" $status
stop
kill $cards
wait $cards
for m in $mounts; do umount -l "$m"; done
S=$D/sim
