# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after lib.sh, with $debs, the folder of the packages, and $version: installs, upgrades, downgrades, removes and
# purges them in $R, which systemd runs in.
# shellcheck shell=sh disable=SC2154,SC2086,SC2012

here=$PWD
deb() { ls "$debs/$1"_*.deb; }

another() { # another VERSION [MAGIC]: a program of that version, as long as ours
	sed -i "s/$(echo "$version" | sed 's/\./\\./g')/$1/g" usr/sbin/pcidevfsd
	[ $# = 1 ] || python3 "$here/tests/lib/relayout.py" "$2" usr/sbin/pcidevfsd
}

installs() {
	cp "$(deb pcidevfs-sim)" "$R/srv/sim.deb"
	cp "$(deb pcidevfs)" "$R/srv/pcidevfs.deb"
	simulate
	apt install /srv/sim.deb
	apt install /srv/pcidevfs.deb
	is_active pcidevfsd || fail "not up: $(within systemctl status pcidevfsd) $(cat "$D/apt")"
	[ "$(within systemctl is-enabled pcidevfsd)" = enabled ] || fail "not enabled"
	[ "$(reads $T/version)" = "$version" ] || fail "version: $(reads $T/version)"
	within getent group pcidevfs >/dev/null || fail "no group"
	[ "$(within stat -c %a /run/pcidevfsd)" = 700 ] || fail "sockets: $(within ls -ld /run/pcidevfsd)"
	within dpkg --verify pcidevfs >"$D/verify" || fail "$(cat "$D/verify")"
	within pcidevfs | grep "^$nic  enp5s2 " || fail "no table"
	within pcidevfs claim enp5s2 alice --dry-run >"$D/steps" || fail "--dry-run: $(cat "$D/steps")"
	grep -q "$nic driver_override vfio-pci" "$D/steps" && [ "$(sim_driver)" = e1000 ] || fail "steps: $(cat "$D/steps")"
	within sh -c "echo alice >$V/$nic/claim" || fail "claim: $(reads $V/$nic/last_error)"
	[ "$(sim_driver)" = vfio-pci ] || fail "not claimed"
}

# The services beside it: an upgrade restarts the plugin; sync waits for its administrator, whose credential a purge takes.
companions() {
	for p in plugin sync; do cp "$(deb pcidevfs-$p)" "$R/srv/$p.deb"; done
	apt install /srv/plugin.deb /srv/sync.deb
	wait_for 10 is_active pcidevfs-plugin
	[ "$(within systemctl is-enabled pcidevfs-plugin)" = enabled ] || fail "the plugin is not enabled"
	[ "$(within systemctl is-enabled pcidevfs-sync)" = disabled ] || fail "sync is enabled"
	! is_active pcidevfs-sync || fail "sync runs without a credential"
	within getent passwd pcidevfs-sync >/dev/null || fail "no user"
	c_plugin=$(within systemctl show --property MainPID --value pcidevfs-plugin)
	remake "$(deb pcidevfs-plugin)" "$(echo "$version" | sed 's/.$/7/')" "$D/plugin.deb"
	apt_takes "$D/plugin.deb"
	wait_for 10 is_active pcidevfs-plugin
	[ "$(within systemctl show --property MainPID --value pcidevfs-plugin)" != "$c_plugin" ] || fail "the former plugin runs on"
	for f in kubeconfig notes; do echo mine >"$R/etc/pcidevfs/$f"; done
	apt remove pcidevfs-plugin pcidevfs-sync
	! is_active pcidevfs-plugin || fail "the plugin runs on"
	[ -s "$R/etc/pcidevfs/kubeconfig" ] || fail "the removal took the credential"
	apt purge pcidevfs-plugin pcidevfs-sync
	[ ! -e "$R/etc/pcidevfs/kubeconfig" ] && [ -s "$R/etc/pcidevfs/notes" ] || fail "left: $(ls "$R/etc/pcidevfs")"
	rm "$R/etc/pcidevfs/notes"
	is_active pcidevfsd || fail "the daemon ended with them"
}

upgrades() {
	next=$(echo "$version" | sed 's/.$/7/') last=$(echo "$version" | sed 's/.$/8/')
	remake "$(deb pcidevfs)" "$next" "$D/next.deb" another "$next"
	changes "$next" apt_takes "$D/next.deb"
	# One that makes devices anew by a scan, then back.
	remake "$(deb pcidevfs)" "$last" "$D/scans.deb" another "$last" model
	changes "$last" apt_takes "$D/scans.deb"
	changes "$version" apt_takes "$(deb pcidevfs)" --allow-downgrades
}

# A program that would lose what is open is not let in; the former one goes on, and apt says until when.
is_refused() {
	remake "$(deb pcidevfs)" "$last" "$D/refused.deb" another "$last" objects
	changes "$version" apt_takes "$D/refused.deb"
	grep 'it keeps objects=.*the running one goes on' "$D/apt" || fail "says: $(cat "$D/apt")"
	grep -q "pcidevfsd $version goes on until .systemctl restart pcidevfsd." "$D/apt" || fail "says: $(cat "$D/apt")"
	within systemctl restart pcidevfsd || fail "restart"
	[ "$(reads $T/version)" = "$last" ] || fail "version after a restart: $(reads $T/version)"
	[ "$(reads $V/$nic/claim)" = alice ] || fail "claim after a restart"
	changes "$last" apt_takes "$(deb pcidevfs)" --allow-downgrades
	within systemctl restart pcidevfsd || fail "restart"
}

is_removed() {
	apt remove pcidevfs
	grep 'pcidevfs: devices stay as they are' "$D/apt" || fail "says: $(cat "$D/apt")"
	[ "$(sim_driver)" = vfio-pci ] || fail "the removal gave the device to $(sim_driver)"
	! within mountpoint -q $T || fail "still mounted"
	within test -s /var/lib/pcidevfs/intent || fail "the state is gone"
	apt install /srv/pcidevfs.deb
	[ "$(reads $V/$nic/claim)" = alice ] || fail "claim after a removal: $(reads $V/$nic/claim)"
}

is_purged() {
	apt purge pcidevfs
	[ "$(sim_driver)" = vfio-pci ] || fail "the purge gave the device to $(sim_driver)"
	! within ls /var/lib/pcidevfs /run/pcidevfsd /run/pcidevfs /etc/default/pcidevfs /etc/pcidevfs /etc/needrestart/conf.d/pcidevfs.conf 2>/dev/null ||
		fail "left behind"
}

# from_former PROGRAM NAME: a daemon of an earlier commit goes on as ours under the same mount, or is left running and apt
# says why; nobody's read fails either way.
from_former() {
	remake "$(deb pcidevfs)" "0.1.0~$2" "$D/former.deb" cp "$1" usr/sbin/pcidevfsd
	cp "$D/former.deb" "$R/srv/former.deb"
	apt install /srv/former.deb
	within sh -c "echo alice >$V/$nic/claim" || fail "claim: $(reads $V/$nic/last_error)"
	f_mount=$(mount_number)
	start_reader
	apt_takes "$(deb pcidevfs)"
	end_reader
	[ "$(mount_number)" = "$f_mount" ] && [ "$(reads $V/$nic/claim)" = alice ] || fail "another mount, or no claim"
	f_said=$(grep '^pcidevfs: ' "$D/apt") || f_said="goes on as $(reads $T/version)"
	[ -n "${f_said##goes on as*}" ] || [ "$f_said" = "goes on as $version" ] || fail "$2: $f_said"
	echo "from $2: $f_said"
	apt purge pcidevfs
}
