# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: the root directory of a GPU's driver, over the simulation in $S. Mounts are added to $mounts.
# shellcheck shell=sh

bind() { # bind WHAT WHERE: until the end; no blanks in WHERE
	mkdir "$2" && mount --bind "$1" "$2" && mounts="$2 $mounts"
}

driver_root() { # $root: the root of that GPU's driver, for --driver-root; its sriov-manage acts on the simulation
	root=$(mktemp -d "$D/driver.XXXXXX") # another one after power_cut
	chmod 755 "$root"
	mkdir -p "$root/usr/lib/nvidia" "$root/dev/fd"
	for d in bin lib lib64; do
		[ ! -e /$d ] || { bind /$d "$root/$d"; } || skip "nothing can be mounted here"
	done
	for d in sys proc; do
		bind "$S/$d" "$root/$d" || skip "nothing can be mounted here"
	done
	touch "$root/dev/null"
	mount --bind /dev/null "$root/dev/null" && mounts="$root/dev/null $mounts"
	install -m 755 tests/lab/tools/sriov-manage "$root/usr/lib/nvidia"
	if [ -d "$D/cards" ]; then # of start_mig
		mkdir "$root/usr/lib64"
		install -m 755 "$tool/libnvidia-ml.so.1" "$root/usr/lib64"
		ln -s "$D/cards" "$root/usr/lib64/cards"
	fi
	# Its shell gets it as a descriptor, which the simulated proc does not have.
	cp tests/lab/tools/sriov-manage "$root/dev/fd/3"
}
