#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lab.sh BUILD DRIVERCTL ROUNDS: run in the lab's guest. Claims and releases one function of the genuine
# kernel in three ways, and prints what turns says.
B=$1 driverctl=$2 rounds=$3
nic=0000:06:00.0
pci=/sys/bus/pci
tree=/run/pcidevfs
host=$(basename "$(readlink $pci/devices/$nic/driver)")
state=/run/state
mkdir -p $tree $state
# driverctl calls it so, and the modules are not where the host has its own.
ln -sf /run/modprobe /sbin/modprobe
"$B/bin/pcidevfsd" --state $state $tree 2>/run/err &
until [ -s $tree/version ]; do sleep 0.05; done
sleep 1
nl='
'
"$B/tests/turns" 0 "$rounds" \
	bare "$pci/devices/$nic/driver_override=vfio-pci" "$pci/drivers/$host/unbind=$nic" \
	"$pci/drivers/vfio-pci/bind=$nic" "$pci/drivers/vfio-pci/unbind=$nic" \
	"$pci/devices/$nic/driver_override=$nl" "$pci/drivers/$host/bind=$nic" \
	-- tree "$tree/devices/$nic/claim=bench" "$tree/devices/$nic/claim=none" \
	-- driverctl "!$driverctl set-override $nic vfio-pci" "!$driverctl unset-override $nic" || {
	cat /run/err $tree/devices/$nic/last_error
	exit 1
}
