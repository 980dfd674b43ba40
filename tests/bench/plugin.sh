# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run, over the simulated machine: the plugin from kubelet's side.
# shellcheck shell=bash disable=SC2154
K=$D/kubelet plugin=
mkdir -p "$K/device-plugins"

# kubelet's own library where there is Go, and the modules that the ground of tests/k8s has fetched.
go_client() {
	command -v go >/dev/null || { echo "no Go here"; return 1; }
	(cd tests/k8s/ground && CGO_ENABLED=0 GOWORK=off GOPROXY=off GOFLAGS=-mod=readonly \
		go build -modfile="v${KUBERNETES:-1.34}/go.mod" -buildvcs=false -o "$tool/kubelet" ../../bench/kubelet.go) >"$D/go" 2>&1 ||
		{ echo "Go's modules are not here: make test-k8s"; return 1; }
}
if why=$(go_client); then
	kubelet=("$tool/kubelet") client="a Go client"
else
	kubelet=(/usr/bin/python3 tests/bench/kubelet.py) client="a Python client ($why)"
fi

export D PYTHONDONTWRITEBYTECODE=1
kubelet() { # its status is kept for the rows that follow
	"${kubelet[@]}" "$K" "$@" >"$D/kubelet.out"
	status=$?
}

start_plugin() { # start_plugin TREE
	"$PWD/$B/bin/pcidevfs-plugin" --tree "$1" --kubelet "$K" --dev "$S/dev" --cdi "$D/cdi" 2>"$D/plugin.err" &
	plugin=$!
	sleep 2
}

stop_plugin() {
	[ -z "$plugin" ] || { kill "$plugin"; wait "$plugin"; }
	plugin=
}

took() { # took COMMAND: what it took
	grep "^$1 " "$D/kubelet.out" >"$D/took"
	echo "p50 $(key p50_ms <"$D/took"), p99 $(key p99_ms <"$D/took") ms"
}

# Who looks who holds what has a node's processes to look at, half of them the kernel's.
crowd() { # crowd PROCESSES FILES: each with so many open, in the simulated /proc until they are killed
	local i
	(
		for ((i = 20; i < 20 + $2; i++)); do eval "exec $i</etc/passwd"; done
		for ((i = 0; i < $1; i++)); do exec -a crowd sleep 10000 & echo $!; done
	) >"$D/crowd"
	while read -r i; do ln -s "/proc/$i" "$S/proc/$i"; done <"$D/crowd"
}

disperse() {
	local i
	while read -r i; do rm "$S/proc/$i"; kill "$i"; done <"$D/crowd"
	: >"$D/crowd"
}

twin=0000:0c:00.0
"${control[@]}" plug $twin from $disk
serve
sleep 1
"$tool/put" $V/$twin/claim bench
"$tool/put" $V/$nic/claim bench
start_plugin "$T"
kubelet "$T" claim "$ROUNDS" $disk
row "claim written to list received, of a name that kubelet knows, $client" "$(took claim)" \
	"10 ms (Go controller, measured elsewhere: 1.09 s)" $status
row "release written to list received" "$(took release)" "10 ms (Go controller, measured elsewhere: 6.7 s)" $status
"$tool/put" $V/$twin/claim none
sleep 2 # until the name is gone
kubelet "$T" claim 20 $disk
row "claim written to list received, of a new name: with its registration" "$(took claim)" "10 ms" $status
kubelet "$T" again $((ROUNDS * 25)) $nic
row "Allocate and its answer, one behind another, $client" "$(took again)" "p99 1 ms" $status
crowd 400 40
kubelet "$T" allocate $((ROUNDS * 5)) $nic
disperse
row "the same beside 400 processes of 40 files, a pod's end 250 ms before" "$(took allocate)" "p99 1 ms" $status
row "cost of gRPC itself there: a call that does nothing" "$(took nothing)" ""
row "six of those in a row: time of gRPC alone for a call of about that length" "$(took row)" ""
"${kubelet[@]}" "$K" "$T" stay 2 >/dev/null &
stays=$!
sleep 12 # until nothing is pending or asked again
t=$(ticks $plugin) w=$(switches $plugin)
sleep "$REST"
row "CPU of the plugin at rest over $REST s, kubelet listens" "$((($(ticks $plugin) - t) * 10)) ms" ""
row "wake-ups in that time" "$(($(switches $plugin) - w))" ""
kill $stays
wait $stays 2>/dev/null
stop_plugin
stop

# A tree that stands still: what is measured is the plugin.
lay_out() { # lay_out DIR DEVICES RESOURCES: with a pod on each device
	mkdir "$1"
	awk -v devices="$2" -v resources="$3" 'BEGIN {
		print "pcidevfs-inventory 1 generation=1 boot=bench devices=" devices
		for (i = 0; i < devices; i++)
			printf "%04x:00:%02x.%d vendor=0x8086 device=0x0d58 class=0x020000 numa_node=%d driver=vfio-pci " \
				"resource_name=bench.com/NETWORK_CARD_%d claim=bench iommu_group=%d " \
				"nodes=\"/dev/vfio/vfio /dev/vfio/%d\" allocated_to=default/virt-launcher-%d/compute " \
				"state=allocated reason=\"allocated to default/virt-launcher-%d/compute\"\n", \
				i / 256, i / 8 % 32, i % 8, i % 2, i % resources, i, i, i, i
	}' >"$1/inventory"
	: >"$1/ctl"
	mkfifo "$1/events_pipe"
}
resident() { awk '/^VmRSS/ { printf "%.1f MiB", $2 / 1024 }' "/proc/$plugin/status"; }
for n in 200 1; do
	lay_out "$D/still.$n" 4096 $n
	exec 7<>"$D/still.$n/events_pipe"
	start_plugin "$D/still.$n"
	kubelet "$D/still.$n" lists 4096
	row "resident memory of the plugin, 4096 devices of $n resources, a pod on each: kubelet has just listed them" \
		"$(resident)" "20 MiB" $status
	failed=0 largest=$(key largest <"$D/kubelet.out")
	for ((i = 0; i < 24; i++)); do
		kubelet "$D/still.$n" lists 4096
		[ $status = 0 ] || failed=$status
		largest+=$'\n'$(key largest <"$D/kubelet.out")
	done
	"${kubelet[@]}" "$K" "$D/still.$n" stay 4096 >/dev/null &
	stays=$!
	sleep 8 # until what is free was given back
	row "after 24 restarts of kubelet, which listens" "$(resident)" "20 MiB" $failed
	kill $stays
	wait $stays 2>/dev/null
	sleep 1
	row "its largest message" "$(sort -n <<<"$largest" | tail -n 1) bytes" "1048576 bytes" $failed
	stop_plugin
	exec 7>&-
done
