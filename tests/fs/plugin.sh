# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of pcidevfs-plugin before a kubelet in Python, after tests/fs/lib.sh.
# shellcheck shell=sh disable=SC2154
need /usr/bin/python3 protoc
/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null ||
	skip 'python3-grpcio and python3-protobuf are not installed'
[ "$B" = "${B%tsan}" ] || skip 'gRPC is built without the thread sanitizer, which sees races in what it hands over'
export S SIM="$bin/pcidevfs-sim"

before_kubelet() { # before_kubelet SCRIPT: with the tree, kubelet's directory and the plugin's command line
	start_sim
	start_daemon
	mkdir "$D/kubelet"
	SERVING=$(serving_pid)
	export SERVING
	/usr/bin/python3 "tests/fs/$1" "$T" "$D/kubelet" "$bin/pcidevfs-plugin" --tree "$T" --kubelet "$D/kubelet" \
		--dev "$S/dev" --cdi "$D/cdi" || fail "see above"
	cat "$D/plugin.err"
	stop_daemon
}
