# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests before a genuine kubelet, after tests/fs/lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154
. tests/k8s/gone.sh
G=$D/g # the ground; a socket's path below it must be short
K=$G/kubelet
plugin_pid=

# Before start_node: the node sees what was mounted until then. With --node it belongs to a cluster.
start_node() { # start_node [--node]
	tests/k8s/ground/up "${1:---standalone-node}" --owner $$ "$G" >"$D/up" 2>"$D/up.said" || {
		[ $? != 77 ] || skip "$(tail -n 1 "$D/up.said")"
		cat "$D/up.said"
		fail "the ground did not come up"
	}
	eval "$(cat "$D/up")"
	resources=("$(tests/k8s/ground/build --where)/podresources" "$K/pod-resources/kubelet.sock")
}

start_plugin() { # start_plugin [OPTION...]: at its unit's priority
	nice -n -10 "$bin/pcidevfs-plugin" --tree "$T" --kubelet "$K" --dev "$S/dev" --cdi "$G/node/run/cdi" "$@" 2>>"$D/plugin.err" &
	plugin_pid=$!
}

end_plugin() {
	kill "$plugin_pid"
	wait "$plugin_pid" || fail "the plugin ended with status $?"
	plugin_pid=
}

counted() { # counted RESOURCE ID: says true or false; nothing when kubelet does not answer
	local list
	list=$("${resources[@]}" allocatable) && jq --arg r "$1" --arg i "$2" \
		'[.devices[]? | select(.resourceName == $r) | .deviceIds[]] | any(. == $i)' <<<"$list"
}

allocatable() { # allocatable RESOURCE ID: kubelet counts it
	[ "$(counted "$@")" = true ]
}

not_allocatable() { # ... and says that it does not
	[ "$(counted "$@")" = false ]
}

# A static pod that asks for one (or COUNT) of each RESOURCE and shows what it got. A shell drops what it
# cannot name, such as a hyphen: the environment is read from where the container runtime left it.
start_pod() { # start_pod NAME RESOURCE[=COUNT]...; $restart is its policy, Never; $user who it runs as, root
	local limits
	limits=$(printf '"%s", ' "${@:2}")
	cat >"$G/node/manifests/.$1" <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, namespace: default}
		spec:
		  restartPolicy: ${restart:-Never}
		  terminationGracePeriodSeconds: 1
		  securityContext: {runAsUser: ${user:-0}, runAsGroup: ${user:-0}}
		  containers:
		  - name: compute
		    image: pcidevfs.test/busybox:1
		    command: [sh, -c, "xargs -0 -n 1 echo </proc/1/environ; find /dev/vfio -type c; stat -c '%n %u:%g' /dev/bus/usb/*/*; echo shown; trap exit TERM; sleep 1000 & wait"]
		    resources: {limits: $(jq -nc "[$limits null] | map(strings / \"=\" | {(.[0]): (.[1] // 1 | tonumber)}) | add")}
	END
	mv "$G/node/manifests/.$1" "$G/node/manifests/$1.yaml"
}

end_pod() { # end_pod NAME
	rm -f "$G/node/manifests/$1.yaml"
}

pod_env() { # pod_env NAME: what device plugins put into its environment
	cut -d' ' -f4- "$G"/node/var/log/pods/default_"$1"-*/compute/*.log | grep -E '^[A-Z_]*_RESOURCE_.*='
}

pod_said() { # pod_said NAME TEXT: a line of its output
	cut -d' ' -f4- "$G"/node/var/log/pods/default_"$1"-*/compute/*.log | grep -qxF -e "$2"
}

# A resource claim brings the device, and with it the runtime's leave to open it.
offer_fuse() {
	mkdir -p "$G/node/run/cdi"
	cat >"$G/node/run/cdi/fuse.json" <<-END
		{"cdiVersion": "0.6.0", "kind": "pcidevfs.test/fuse", "devices": [
		{"name": "fuse", "containerEdits": {"deviceNodes": [{"path": "/dev/fuse", "permissions": "rw"}]}}]}
	END
	dra-driver node1 "$K" fuse.pcidevfs.test pcidevfs.test/fuse=fuse >"$D/dra.out" 2>"$D/dra.said" &
	dra_pid=$!
	wait_for 20 grep -qx serving "$D/dra.out"
	kubectl create -f - >/dev/null <<-END
		apiVersion: resource.k8s.io/v1
		kind: DeviceClass
		metadata: {name: fuse}
		spec: {selectors: [{cel: {expression: device.driver == "fuse.pcidevfs.test"}}]}
		---
		apiVersion: resource.k8s.io/v1
		kind: ResourceClaimTemplate
		metadata: {name: fuse}
		spec: {spec: {devices: {requests: [{name: fuse, exactly: {deviceClassName: fuse}}]}}}
	END
}

end_node() {
	[ -z "$plugin_pid" ] || end_plugin
	umount "$G/host" 2>/dev/null
	tests/k8s/ground/down "$G"
}
