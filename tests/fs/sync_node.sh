# SPDX-License-Identifier: GPL-2.0-or-later
# The core Node of a stand-in for the API server, and pcidevfs-sync that heeds NVIDIA's labels of it, over the tree of a card of
# $world, or $gpu of a machine that runs. Sourced after tests/fs/lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154
need python3 jq
sync=
server=
trap 't_status=$?; [ -z "$sync$server" ] || kill -9 $sync $server 2>/dev/null; stop_all' EXIT
a2_types >"$D/types"
if [ -z "${gpu:-}" ]; then # or the machine runs
	gpu=0000:01:00.0
	start_gpu "$world" fb=16 "types=$D/types" numvfs=0
fi
driver_root
start_daemon --driver-root "$root"

echo labels alone >"$D/api.mode"
: >"$D/api.asked"
: >"$D/api.node"
: >"$D/api.events"
python3 tests/fs/sync_hostile.py "$D/api" 2>"$D/server.err" &
server=$!
wait_for 10 test -e "$D/api.up"
cat >"$D/config" <<-END
	current-context: c
	contexts: [{name: c, context: {cluster: k, user: u}}]
	clusters: [{name: k, cluster: {server: "http://127.0.0.1:$(cat "$D/api")"}}]
	users: [{name: u, user: {token: t}}]
END
# As kubelet mounts a ConfigMap: one rename changes all of its files.
mkdir -p "$D/layouts/..1"
cp tests/data/vgpu-configs.yaml "$D/layouts/..1/config.yaml"
ln -s ..1 "$D/layouts/..data"
ln -s ..data/config.yaml "$D/layouts/config.yaml"

heed=(--vgpu-configs "$D/layouts/config.yaml" --default-workload keep)
begin() { # begin [OPTION...]
	"$bin/pcidevfs-sync" --tree "$T" --kubeconfig "$D/config" --node node1 "$@" 2>>"$D/sync.err" &
	sync=$!
}
crash() { # kill -9
	kill -9 $sync
	wait $sync 2>/dev/null
}
node() { # node [PATCH]: the Node, after a user's patch
	python3 - "http://127.0.0.1:$(cat "$D/api")/api/v1/nodes/node1" "$@" <<-'END'
		import sys, urllib.request
		data = sys.argv[2].encode() if len(sys.argv) > 2 else None
		print(urllib.request.urlopen(urllib.request.Request(sys.argv[1], data, method="PATCH" if data else "GET")).read().decode())
	END
}
label() { node "{\"metadata\":{\"labels\":{\"nvidia.com/$1\":$2}}}" >/dev/null; } # label NAME JSON
labelled() { [ "$(node | jq -r ".metadata.labels[\"nvidia.com/$1\"]")" = "$2" ]; }
noted() { [[ $(node | jq -r ".metadata.annotations[\"pcidevfs/$1\"]") = $2 ]]; }
have() { [ "$(vgpus)" = "$1" ]; }
events() { grep -qE "$1" "$D/api.events"; }
