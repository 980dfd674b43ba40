# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run, behind vgpus.sh: the same machine, whose vGPUs a label of the Node asks for. A stand-in for the API server
# has the Node, and none of Harvester's kinds: those are not what a label costs.
# shellcheck shell=bash disable=SC2154
labels_end() {
	[ -z "$heeds" ] || { kill "$heeds"; wait "$heeds"; }
	[ -z "$api" ] || { kill "$api"; wait "$api"; }
	heeds='' api=''
} 2>/dev/null

# CPU milliseconds: all but the third, in user mode, and in the kernel for the daemon's helpers, for which the
# simulation is a file system in a process.
labels_cpu() {
	local p
	{
		for p in $heeds $pid $(pgrep -P "$pid"); do cut -d' ' -f14-17 "/proc/$p/stat"; done
		for p in $(pgrep -P "$pid" | xargs -n 1 pgrep -P); do # some end meanwhile
			cut -d' ' -f14-17 "/proc/$p/stat" 2>/dev/null | sed 's/$/ helper/'
		done
	} | awk '{ u += $1 + $3; k += $4; if (NF > 4) k += $2; else s += $2 } END { print (u + s) * 10, u * 10, k * 10 }'
}

labels() {
	local node t n rest=10 name status=0 was now
	ip link set lo up || return
	for n in asked node events; do : >"$D/api.$n"; done
	echo labels alone >"$D/api.mode"
	python3 tests/fs/sync_hostile.py "$D/api" 2>"$D/api.err" &
	api=$!
	cards_wait [ -e "$D/api.up" ] || return
	node=http://127.0.0.1:$(cat "$D/api")
	cat >"$D/kubeconfig" <<-END
		current-context: c
		contexts: [{name: c, context: {cluster: k, user: u}}]
		clusters: [{name: k, cluster: {server: "$node"}}]
		users: [{name: u, user: {token: t}}]
	END
	node+=/api/v1/nodes/node1
	# The machine's first card has no VFs.
	mkdir -p "$D/layouts" # where nothing else changes: what does makes pcidevfs-sync read them again
	cat >"$D/layouts/cards.yaml" <<-END
		version: v1
		vgpu-configs:
		  all: [{devices: [1, 2, 3, 4, 5, 6, 7, 8], vgpu-devices: {LAB-1B: 16}}]
		  none: [{devices: all, vgpu-devices: {}}]
	END
	"$B/bin/pcidevfs-sync" --tree "$T" --kubeconfig "$D/kubeconfig" --node node1 --vgpu-configs "$D/layouts/cards.yaml" 2>"$D/sync.err" &
	heeds=$!
	cards_wait grep -q 'GET /api/v1/nodes[?].*watch=1' "$D/api.asked" || return
	for n in 1 2 3 4 5; do
		for name in none all; do
			: >"$D/api.node"
			read -r -a was <<<"$(labels_cpu)"
			python3 tests/bench/label.py "$node" nvidia.com/vgpu.config $name "$G/sys/bus/mdev/devices" >>"$D/label.$name"
			cards_wait grep -q '"nvidia.com/vgpu.config.state":"success"' "$D/api.node" || status=1
			read -r -a now <<<"$(labels_cpu)"
			echo "$((now[0] - was[0])) ms, $((now[1] - was[1])) ms of it in user mode; $((now[2] - was[2])) ms" >>"$D/label.cpu.$name"
		done
	done
	[ "$(entries "$G/sys/bus/mdev/devices")" = ${#vfs[@]} ] || status=1
	row "a label of the Node, written: until the kernel has the first of its vGPUs" "$(median <"$D/label.all") ms" "200 ms" $status
	row "${#vfs[@]} vGPUs of ${#gpus[@]} cards by that label: CPU time of pcidevfsd and pcidevfs-sync; in the kernel for helpers" \
		"$(sort -n "$D/label.cpu.all" | sed -n 3p)" "300 ms" $status
	row "all of them ended by another label: the same" "$(sort -n "$D/label.cpu.none" | sed -n 3p)" "" $status
	sleep 3
	n=$(wc -l <"$D/api.asked") t=$(switches $heeds)
	sleep $rest
	row "then, in $rest s of rest: requests to the API server and wake-ups of pcidevfs-sync" \
		"$(($(wc -l <"$D/api.asked") - n)), $(($(switches $heeds) - t))" ""
}

heeds='' api=''
if command -v python3 >/dev/null; then
	cards_start
	cards_serve
	cards_wait cards_held ${#vfs[@]}
	labels || leave_out "labels of a Node" "$(tail -n 1 "$D/sync.err")"
	labels_end
	stop
	kill "$cards"
	wait "$cards"
else
	leave_out "labels of a Node" "there is no python3"
fi
