#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario_held.sh SYS TOOLS HOLD: see scenario_lib.sh. What waits while somebody holds a function, and what does not.
. "$(dirname "$0")/scenario_lib.sh"
nic=0000:05:02.0 disk=0000:02:00.0 other=0000:01:00.0 vf=0000:02:00.1 vf2=0000:02:00.2

echo '# unbinding a function that is held'
try devices/$disk/sriov_drivers_autoprobe 0
try devices/$disk/sriov_numvfs 2
try devices/$vf/driver_override vfio-pci
try drivers_probe $vf
look devices/$vf/enable
hold $vf
try_open $vf
look devices/$vf/enable
try devices/$vf/enable 0
waits drivers/vfio-pci/unbind $vf $vf devices/$vf/driver_override devices/$vf/driver_override=vfio-pci \
	devices/$vf/enable devices/$disk/sriov_numvfs drivers_probe=$vf2
show $vf
try_open $vf

echo '# removing it as a virtual function'
try drivers_probe $vf
hold $vf
waits devices/$disk/sriov_numvfs 0 $vf devices/$disk/sriov_numvfs devices/$disk/sriov_totalvfs \
	devices/$disk/driver_override devices/$vf/driver_override drivers_probe=$vf2 rescan=1
show $disk $vf

echo '# taking one off the bus'
try devices/$other/sriov_drivers_autoprobe 0
try devices/$nic/driver_override vfio-pci
try drivers/e1000/unbind $nic
try drivers_probe $nic
try devices/$nic/driver_override ''
hold $nic
waits devices/$nic/remove 1 $nic devices/$nic/driver_override devices/$nic/enable devices/$nic/remove=1 \
	devices/$other/sriov_numvfs=1 rescan=1
show $nic
