# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of the command, behind lib.sh.
# shellcheck shell=bash
pcidevfs() { # with what it says in $D/out and $D/said
	"$bin/pcidevfs" --tree "$T" "$@" >"$D/out" 2>"$D/said"
}

ends() { # ends STATUS WORD...: pcidevfs WORD... does
	local want=$1 got=0
	shift
	pcidevfs "$@" || got=$?
	[ $got = "$want" ] || fail "pcidevfs $*: status $got, should be $want: $(cat "$D/out" "$D/said")"
	[ "$want" = 0 ] || [ "$(wc -l <"$D/said")" = 1 ] || fail "pcidevfs $*: not one sentence: $(cat "$D/said")"
	[ "$want" != 0 ] || [ ! -s "$D/said" ] || fail "pcidevfs $*: $(cat "$D/said")"
}

refuses() { # refuses TEXT WORD...: with status 1, and a sentence that has TEXT
	local text=$1
	shift
	ends 1 "$@"
	has "$D/said" "$text"
}

differs() { # differs WORD...: diff says so, and no more
	local got=0
	pcidevfs diff "$@" || got=$?
	[ $got = 1 ] && [ ! -s "$D/said" ] && [ -s "$D/out" ] || fail "diff $*: $got: $(cat "$D/out" "$D/said")"
}

json() { # json FILTER WORD...: what jq makes of the answer
	local filter=$1
	shift
	ends 0 "$@" --json
	jq -r "$filter" "$D/out" || fail "pcidevfs $*: $filter: $(cat "$D/out")"
}
