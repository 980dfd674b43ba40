#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lab_vgpu.sh BUILD MDEVCTL ROUNDS: run in the lab's guest under -g mdev. Makes a mediated device of a VF and removes
# it, in three ways, and prints what turns says: with no sibling to be read again, and with seven.
B=$1 mdevctl=$2 rounds=$3
gpu=0000:01:00.0
pci=/sys/bus/pci/devices
tree=/run/pcidevfs
state=/run/state
uuid=11111111-2222-4333-8444-555555555555
mkdir -p $tree $state /etc/mdevctl.d/scripts.d/callouts /etc/mdevctl.d/scripts.d/notifiers \
	/usr/lib/mdevctl/scripts.d/callouts /usr/lib/mdevctl/scripts.d/notifiers
"$B/bin/pcidevfsd" --state $state $tree 2>/run/err &
until [ -s $tree/version ]; do sleep 0.05; done
for n in 1 8; do
	echo 0 >$pci/$gpu/sriov_numvfs
	echo $n >$pci/$gpu/sriov_numvfs
	vf=$(basename "$(readlink $pci/$gpu/virtfn0)")
	until [ -s "$tree/devices/$vf/profiles" ] && ! grep -qx none "$tree/devices/$vf/profiles"; do sleep 0.05; done
	sleep 1
	"$B/tests/turns" 0 "$rounds" \
		"bare$n" "$pci/$vf/mdev_supported_types/nvidia-747/create=$uuid" "/sys/bus/mdev/devices/$uuid/remove=1" \
		-- "tree$n" "$tree/devices/$vf/profile=NVIDIA LAB-4Q" "$tree/devices/$vf/profile=none" \
		-- "mdevctl$n" "!$mdevctl start -u $uuid -p $vf -t nvidia-747" "!$mdevctl stop -u $uuid" || {
		cat /run/err "$tree/devices/$vf/last_error"
		exit 1
	}
done
