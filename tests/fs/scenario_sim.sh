# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after lib.sh: as_simulated MACHINE SCRIPT EXPECTED: the simulated kernel answers as the genuine one does, errno
# for errno, link for link, uevent for uevent, on the lab's machine as tests/lab/record recorded it. $free_override and $vgpus
# as for start_sim.
# shellcheck shell=sh

as_simulated() {
	start_sim "$1"
	cat >"$D/hold" <<-EOF
	#!/bin/sh
	sim() { "$bin/pcidevfs-sim" --control "$S" "\$@" 2>&1; }
	trap 'sim release "\$1"; kill \$sleeper; exit' TERM
	said=\$(sim viable "\$1") && said=\$(sim hold "\$1" \$\$ hold) || {
		case \$said in # as tests/lab/tools/hold.c names the step
		*"$("$tool/put" --text EBUSY)") echo 'open group: EBUSY' ;;
		*"$("$tool/put" --text ENODEV)") echo 'open group: ENOENT' ;;
		*"$("$tool/put" --text EPERM)") echo 'set container: EPERM' ;;
		*"$("$tool/put" --text ENXIO)") echo 'get device: ENODEV' ;;
		*) echo "\$said" ;;
		esac
		exit 1
	}
	echo held
	sleep "\$3" &
	sleeper=\$!
	wait
	sim release "\$1"
	EOF
	chmod +x "$D/hold"
	sh "$2" "$S/sys" "$tool" "$D/hold" >"$D/simulated" 2>&1
	diff -u "$3" "$D/simulated" || fail "the simulation answers otherwise"
}
