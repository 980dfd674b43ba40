# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of pcidevfs-plugin before a kubelet in Python, after tests/fs/lib.sh.
# shellcheck shell=sh disable=SC2154
need /usr/bin/python3 protoc
/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null ||
	skip 'python3-grpcio and python3-protobuf are not installed'
[ "$B" = "${B%tsan}" ] || skip 'gRPC is built without the thread sanitizer, which sees races in what it hands over'
export S SIM="$bin/pcidevfs-sim"

before_kubelet() { # before_kubelet SCRIPT: with a server's tree, as below
	start_sim
	start_daemon
	tree_before_kubelet "$1"
}

gpu_before_kubelet() { # gpu_before_kubelet SCRIPT WORLD: with the tree of a GPU whose VFs are vGPUs, as below
	export WORLD="$2"
	start_gpu "$2" numvfs=0
	driver_root
	start_daemon --driver-root "$root"
	tree_before_kubelet "$1"
}

tree_before_kubelet() { # tree_before_kubelet SCRIPT: gets the tree, kubelet's directory and the plugin's command line
	mkdir "$D/kubelet"
	SERVING=$(serving_pid)
	export SERVING
	/usr/bin/python3 "tests/fs/$1" "$T" "$D/kubelet" "$bin/pcidevfs-plugin" --tree "$T" --kubelet "$D/kubelet" \
		--dev "$S/dev" --cdi "$D/cdi" || fail "see above"
	cat "$D/plugin.err"
	stop_daemon
}
