# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by what installs packages in a root of its own, under a genuine systemd: $R is that root, $D a directory.
# fail() and wait_for() are the caller's.
# shellcheck shell=sh disable=SC2015
R=$D/root T=/run/pcidevfs nic=0000:05:02.0 boss=
V=$T/devices

root_of_host() { # this machine's own files, but for its units; what is written goes elsewhere
	mkdir -p "$D/upper" "$D/work" "$R"
	mount -t overlay -o "lowerdir=/,upperdir=$D/upper,workdir=$D/work" overlay "$R" 2>/dev/null || return 1
	ln -sf /bin/true "$R/usr/bin/mandb" # takes seconds for every page of this machine
	rm -rf "$R/usr/lib/systemd/system" "$R/etc/systemd/system" "$R/usr/sbin/policy-rc.d"
	mkdir -p "$R/usr/lib/systemd/system" "$R/etc/systemd/system/multi-user.target.wants"
	for t in sysinit basic shutdown local-fs multi-user; do
		printf '[Unit]\nDefaultDependencies=no\nAllowIsolate=yes\n' >"$R/etc/systemd/system/$t.target"
	done
	printf '[Service]\nType=notify\nExecStart=/usr/lib/systemd/systemd-journald\nStandardOutput=null\n' \
		>"$R/etc/systemd/system/journald.service"
	ln -s ../journald.service "$R/etc/systemd/system/multi-user.target.wants"
}

make_cgroup() { # of our own, for systemd to be the first in
	mkdir -p "$D/cgroup"
	mount -t cgroup2 none "$D/cgroup" 2>/dev/null || return 1
	cgroup=$D/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)
	cgroup=$(mktemp -d "$cgroup/pcidevfs-test.XXXXXX") || { umount "$D/cgroup"; return 1; }
}

boot() { # systemd becomes process 1 of $R
	mkdir -p "$R/.outside"
	(
		echo 0 >"$cgroup/cgroup.procs" || exit 1
		export container=packages
		# shellcheck disable=SC2016
		exec unshare --mount --pid --fork --cgroup --net --kill-child --propagation private sh -c '
			cd "$1" || exit 1
			mount -t proc proc proc && mount -t sysfs -o ro sysfs sys && mount -t cgroup2 none sys/fs/cgroup &&
				mount -t tmpfs -o mode=755 none dev && mount -t tmpfs none run && mount -t tmpfs none tmp || exit 1
			mkdir dev/shm dev/pts
			for n in null zero full random urandom tty fuse; do
				: >dev/$n && mount --bind /dev/$n dev/$n || exit 1
			done
			pivot_root . .outside && umount -l /.outside || exit 1
			exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=0' sh "$R"
	) >>"$D/systemd.log" 2>&1 </dev/null &
	boss=$!
	wait_for 20 is_up
}

within() { nsenter -t "$(pgrep -P "$boss" | head -n 1)" --mount --pid --cgroup --net -- "$@"; }
is_up() { within systemctl show --property Version; }
is_active() { [ "$(within systemctl is-active "$1")" = active ]; }
reads() { within cat "$1"; }

apt() { # apt COMMAND...: in the root, by the network that we have
	nsenter -t "$(pgrep -P "$boss" | head -n 1)" --mount --pid --cgroup -- \
		env DEBIAN_FRONTEND=noninteractive HOME=/root apt-get -y -qq -o Dpkg::Use-Pty=0 \
		--no-install-recommends "$@" >"$D/apt" 2>&1 </dev/null || fail "apt $*: $(cat "$D/apt")"
	[ -z "${SHOW:-}" ] || { echo "# apt $*" && cat "$D/apt"; }
}

halt() { # as if the power were cut
	[ -z "$boss" ] || { kill -9 "$boss" && wait "$boss"; } 2>/dev/null
	boss=
}

clear_away() {
	halt
	for _ in 1 2 3 4 5 6 7 8 9 10; do # what was killed has to die first
		[ -d "$cgroup" ] || break
		find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.2
	done
	umount "$D/cgroup"
	! mountpoint -q "$R" || umount "$R"
}

# The simulated machine, as a unit; the daemon's unit names it by a drop-in.
simulate() {
	mkdir -p "$R/etc/systemd/system/pcidevfsd.service.d" "$R/srv/sim"
	cat >"$R/etc/systemd/system/simulated.service" <<-END
		[Service]
		ExecStart=/usr/sbin/pcidevfs-sim --uevents /srv/sim
		ExecStartPost=/bin/sh -c 'until [ -e /srv/sim/sys/bus ]; do sleep 0.1; done'
	END
	cat >"$R/etc/systemd/system/pcidevfsd.service.d/simulated.conf" <<-END
		[Unit]
		Requires=simulated.service
		After=simulated.service
		[Service]
		Environment="PCIDEVFSD_OPTIONS=--sysfs /srv/sim/sys --dev /srv/sim/dev --proc /srv/sim/proc"
	END
}

# A package of another version with the same content, but for what a command does to it in the current directory.
remake() { # remake DEB VERSION OUT [COMMAND...]
	m_in=$1 m_version=$2 m_out=$3
	shift 3
	rm -rf "$D/remade"
	dpkg-deb -R "$m_in" "$D/remade"
	sed -i "s/^Version: .*/Version: $m_version/" "$D/remade/DEBIAN/control"
	[ $# = 0 ] || (cd "$D/remade" && "$@") || fail "remake: $*"
	dpkg-deb --root-owner-group -Znone -b "$D/remade" "$m_out" >/dev/null || fail "dpkg-deb"
}

# Somebody who reads all the time, and has a file open.
start_reader() {
	rm -f "$R/srv/stop" "$R/srv/failed" "$R/srv/reads"
	# shellcheck disable=SC2016
	within sh -c 'exec 5<$1/version 6<$1/devices/$2/claim
		while [ ! -e /srv/stop ]; do
			cat $1/version $1/health $1/devices/$2/claim $1/devices/$2/driver >/srv/read 2>>/srv/failed ||
				echo failed >>/srv/failed
			echo >>/srv/reads
		done
		cat <&5 >/srv/read 2>>/srv/failed
		[ "$(cat <&6 2>>/srv/failed)" = alice ] || echo "open claim" >>/srv/failed' sh $T $nic &
	reader=$!
	wait_for 10 test -s "$R/srv/reads"
}

end_reader() {
	: >"$R/srv/stop"
	wait "$reader"
	[ ! -s "$R/srv/failed" ] || fail "reads failed: $(sort "$R/srv/failed" | uniq -c)"
	[ "$(cat "$R/srv/read")" = "$(reads $T/version)" ] || fail "the open file reads $(cat "$R/srv/read")"
	echo "$(wc -l <"$R/srv/reads") rounds of reads, none failed"
}

mount_number() { within stat -c %d $T; }
main_pid() { within systemctl show --property MainPID --value pcidevfsd; }
sim_driver() { basename "$(within readlink "/srv/sim/sys/bus/pci/devices/$nic/driver")"; }

# changes VERSION COMMAND...: by it the daemon goes on as that version, under the same mount, and nobody's read fails
changes() {
	c_version=$1 c_mount=$(mount_number) c_pid=$(main_pid)
	shift
	start_reader
	"$@"
	end_reader
	[ "$(reads $T/version)" = "$c_version" ] || fail "version $(reads $T/version), not $c_version: $(cat "$D/apt")"
	[ "$(mount_number)" = "$c_mount" ] && [ "$(main_pid)" = "$c_pid" ] || fail "another mount or process"
	[ "$(reads $V/$nic/claim)" = alice ] || fail "claim: $(reads $V/$nic/claim)"
}

apt_takes() { # apt_takes DEB [OPTION]
	cp "$1" "$R/srv/next.deb"
	# shellcheck disable=SC2086 # none, or one option
	apt install ${2-} /srv/next.deb
}

rpm_does() { # rpm_does OPTION...: in the root
	within rpm --force-debian --nodeps "$@" >"$D/apt" 2>&1 || fail "rpm $*: $(cat "$D/apt")"
}
