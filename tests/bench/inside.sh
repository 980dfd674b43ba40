# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced first by a bench on genuine Kubernetes: runs it again in namespaces of its own, with a directory $D.
# shellcheck shell=bash
cd "$(dirname "$0")/../.." || exit 1
export B=${B:-build}
if [ -z "${BENCH_INSIDE:-}" ]; then
	D=$(mktemp -d "${TMPDIR:-/tmp}/pcidevfs-bench.XXXXXX")
	export D BENCH_INSIDE=1 OWN_ADDRESS=192.0.2.1/24
	unshare --mount --net --pid --fork --kill-child --mount-proc tests/lib/inside "tests/bench/${0##*/}"
	status=$?
	rm -rf "$D"
	exit $status
fi
. tests/fs/lib.sh
. tests/k8s/sync.sh
. tests/bench/table.sh
