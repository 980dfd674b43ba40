#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario_igb.sh SYS TOOLS HOLD: see scenario_lib.sh. A driver that takes its VFs along, unlike nvme.
. "$(dirname "$0")/scenario_lib.sh"
pf=0000:06:00.0 vf=0000:06:10.0

echo '# a driver that takes its virtual functions along'
try devices/$pf/sriov_drivers_autoprobe 0
try devices/$pf/sriov_numvfs 8
try devices/$pf/sriov_numvfs 2
show $pf $vf 0000:06:10.2
try devices/$vf/driver_override vfio-pci
try drivers_probe $vf
show $vf
try devices/$vf/remove 1
try devices/$pf/driver_override vfio-pci
try drivers/vfio-pci/bind $pf
try drivers/igb/unbind $pf
show $pf $vf
look devices/$pf/sriov_numvfs
try devices/$pf/sriov_numvfs 0
try devices/$pf/sriov_numvfs 1
try drivers_probe $pf
show $pf
try drivers/vfio-pci/unbind $pf
try devices/$pf/driver_override ''
try drivers_probe $pf
show $pf
echo '# and waits for who holds one'
try devices/$pf/sriov_numvfs 2
try devices/$vf/driver_override vfio-pci
try drivers_probe $vf
hold $vf
waits drivers/igb/unbind $pf $vf devices/$pf/sriov_numvfs devices/$pf/driver_override rescan=1
show $pf $vf
try drivers/igb/bind $pf
show $pf
