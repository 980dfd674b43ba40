# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What health says of prerequisites, and of their end once the fault is mended. Sourced.
. tests/fs/lib.sh

says() { # says PATTERN: health does, soon
	local until
	until=$(deadline 5)
	until grep -q -- "$1" "$T/health"; do
		[ "$(ms)" -lt "$until" ] || fail "health does not say $1: $(cat "$T/health")"
		sleep 0.1
	done
}
documented() { # documented LINE: docs/READY.md has what it says, but for devices' own sentences
	sed 's/\\|/|/g' docs/READY.md >"$D/READY.md"
	s_hint=$(sed -n "/$1/s/.* hint=\"\(.*\)\"\$/\1/p" "$T/health" | sed 's/\\"/"/g')
	grep -qF -- "| $s_hint |" "$D/READY.md" || fail "docs/READY.md does not have: $s_hint"
}
missing() { # missing NAME DEVICE NEEDED TEXT
	says "^missing=$1 device=$2 devices=[0-9]* needed=$3 hint=\".*$4"
	[ "$3" = no ] || says '^ready=no$'
	case $1 in vfs | profile | intent) ;; *) documented "^missing=$1 " ;; esac
}
mended() { # mended NAME [READY]
	wait_for 5 sh -c "! grep -q '^missing=$1 ' '$T/health'" || fail "still: $(cat "$T/health")"
	says "^ready=${2:-yes}\$"
}
looked() { # looked ADDRESS: an event about it, as when something was changed there
	ctl uevent change "bus/pci/devices/$1"
}
