# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: what the processes of pcidevfsd have, by /proc/PID/status, against docs/SECURITY.md.
# shellcheck shell=sh disable=SC2034,SC2086
chown=0 fowner=3 dac_read=2 setgid=6 setuid=7 setpcap=8 net_admin=12 module=16 chroot=18 ptrace=19 admin=21 mknod=27

status_of() { # status_of PID KEY
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}
value() { # value CAP...: the mask of these, by number
	v=0
	for c; do v=$((v | 1 << c)); done
	printf '%016x\n' $v
}
check() { # check WHAT PID KEY VALUE
	[ "$(status_of "$2" "$3")" = "$4" ] || fail "$1: $3 is $(status_of "$2" "$3"), should be $4"
}
# By few processes: the lab is slow.
confined() { # confined WHAT PID[/task/*] CAPS: these, in each set; $setpcap empty: the bounding set cannot shrink
	c_none=$(value) c_caps=$(value $3)
	c_want="CapAmb:	$c_none
${setpcap:+CapBnd:	$c_caps
}CapEff:	$c_caps
CapInh:	$c_none
CapPrm:	$c_caps
NoNewPrivs:	1
Seccomp:	2"
	c_got=$(grep -hE "^(Cap(Amb|${setpcap:+Bnd|}Eff|Inh|Prm)|NoNewPrivs|Seccomp):" /proc/$2/status 2>/dev/null | sort -u)
	[ "$c_got" = "$c_want" ] || fail "$1 has
$c_got
and should have
$c_want"
}
spawner_of() { pgrep -P "$1" -x pcidevfs-spawn; }
server_of() {
	for s_pid in $(pgrep -P "$1" -x pcidevfsd); do
		[ ! -e "/proc/$s_pid/exe" ] || echo "$s_pid"
	done | head -n 1
}
helper_kinds() { # helper_kinds HOLDER: what its idle helpers have
	grep -hs ^CapEff: /dev/null $(pgrep -P "$(spawner_of "$1")" -x pcidevfs-io | sed 's,.*,/proc/&/status,') | cut -f 2 | sort -u
}
helpers_confined() { # helpers_confined HOLDER
	for kind in $(helper_kinds "$1"); do
		for caps in "" $admin "$ptrace $dac_read" "$ptrace $dac_read $admin" $module $net_admin "$setuid $setgid $ptrace"; do
			[ "$kind" != "$(value $caps)" ] || continue 2
		done
		return 1
	done
}
all_confined() { # all_confined HOLDER
	wait_for 5 spawner_of "$1"
	c_server=$(server_of "$1")
	[ -n "${sanitized:-}" ] || c_server="$c_server/task/*" # a sanitizer's own thread was there before
	confined "a thread of the serving process" "$c_server" "$chown $fowner"
	confined "the spawner" "$(spawner_of "$1")" "$dac_read $ptrace $admin $module $net_admin $setpcap $chroot $mknod $setuid $setgid"
	check "the holder" "$1" CapEff "$(value $dac_read $ptrace $admin)"
	check "the holder" "$1" NoNewPrivs 1
	check "the holder" "$1" Seccomp 2
	wait_for 5 helpers_confined "$1" # one that has just been started has yet to give up the rest
}
