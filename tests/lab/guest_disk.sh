# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced in such a guest (guests.sh), with $B: the disk is mounted, and pcidevfsd brings back what is stored there.
# shellcheck shell=sh
D=/run/test T=/run/pcidevfs V=$T/devices
mkdir -p $D $T /run/disk
/run/modprobe -qa virtio_blk ext4
until [ -b /dev/vda ]; do sleep 0.1; done
e2fsck -p /dev/vda >$D/fsck || [ $? = 1 ] || { echo "FAILED: $(cat $D/fsck)"; exit 1; }
mount -t ext4 /dev/vda /run/disk || { echo "FAILED: no disk"; exit 1; }
"$B/bin/pcidevfsd" --state /run/disk/state $T 2>$D/daemon.err &
daemon=$!
until [ -s $T/version ]; do sleep 0.05; done
i=0
until [ -e $V/0000:05:02.0/claim ] && ! grep -qE ' state=(pending|waiting)| pending=' $T/intents; do
	sleep 0.1
	i=$((i + 1))
	[ $i -lt 300 ] || { echo "FAILED: not settled: $(cat $T/intents)"; exit 1; }
done
