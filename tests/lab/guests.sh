# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests that boot guests themselves, one after the other, on a disk that outlives them.
# shellcheck shell=bash
disk=$D/disk lab=

fail() {
	echo "FAILED: $*"
	tail -n 20 "$D"/said.*
	exit 1
}

new_disk() { # with a journaling file system
	truncate -s 64M "$disk"
	mke2fs -q -t ext4 -F "$disk" || fail mke2fs
}

boot() { # boot SCRIPT N LINE: sh SCRIPT BUILD N in the background, until it has said LINE
	tests/lab/lab -d -p "$disk" -- sh "$1" "$B" "$2" >"$D/said.$2" 2>&1 &
	lab=$!
	for _ in $(seq 1800); do
		! grep -q FAILED "$D/said.$2" || fail "guest $2"
		! grep -qx "$3" "$D/said.$2" || return 0
		kill -0 $lab 2>/dev/null || break
		sleep 0.1
	done
	fail "guest $2 has not said: $3"
}

cut_power() { # the emulator is killed, as no guest can prevent
	local t q
	t=$(pgrep -P "$lab" -x timeout) && q=$(pgrep -P "$t") && kill -9 "$q" || return
	wait "$lab" 2>/dev/null
	lab=
}
trap '[ -z "$lab" ] || cut_power' EXIT
