#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario.sh SYS TOOLS HOLD: see scenario_lib.sh
. "$(dirname "$0")/scenario_lib.sh"
edu=0000:05:01.0 nic=0000:05:02.0 disk=0000:02:00.0 bridge=0000:04:00.0

echo '# a group of two: one with a driver, one without'
show $edu $nic
try devices/$nic/driver_override vfio-pci
try drivers/vfio-pci/bind $nic
try drivers/e1000/unbind $edu
try drivers/e1000/unbind $nic
try drivers/vfio-pci/bind $nic
try drivers/vfio-pci/bind $nic
try devices/$edu/driver_override vfio-pci
try drivers/vfio-pci/bind $edu
show $edu $nic
echo '# while one of them is held, the host gets none'
try drivers/vfio-pci/unbind $nic
try devices/$nic/driver_override ''
look devices/$edu/enable
hold $edu
look devices/$edu/enable
try devices/$edu/enable 0
try drivers/e1000/bind $nic
let_go
look devices/$edu/enable
try drivers/e1000/bind $nic
try_open $edu
try drivers/e1000/unbind $nic
try devices/$nic/driver_override vfio-pci
try drivers/vfio-pci/bind $nic
show $edu $nic
echo '# and back'
try drivers/vfio-pci/unbind $nic
try drivers/e1000/bind $nic
try devices/$nic/driver_override ''
show $nic
try drivers/e1000/bind $nic
try drivers/e1000/bind $nic
try devices/$edu/driver_override ''
try drivers/vfio-pci/unbind $edu
show $edu $nic

echo '# what is refused'
try drivers_probe 0000:ff:1f.7
try drivers_probe $nic
try drivers_probe $edu
try drivers_probe rubbish
try drivers/vfio-pci/bind 0000:ff:1f.7
try drivers/vfio-pci/bind $edu
try drivers/vfio-pci/unbind 0000:ff:1f.7
try devices/$bridge/driver_override vfio-pci
try drivers/vfio-pci/bind $bridge
try devices/$bridge/driver_override ''
try devices/$edu/driver_override no-such-driver
try drivers_probe $edu
show $edu $bridge
try devices/$edu/driver_override ''

echo '# virtual functions'
try devices/$disk/sriov_drivers_autoprobe 0
try devices/$disk/sriov_numvfs 5
try devices/$disk/sriov_numvfs -1
try devices/$disk/sriov_numvfs rubbish
try devices/$disk/sriov_numvfs 2
show $disk 0000:02:00.1 0000:02:00.2 0000:02:00.3
try devices/$disk/sriov_numvfs 2
try devices/$disk/sriov_numvfs 3
try devices/0000:02:00.1/driver_override vfio-pci
try drivers_probe 0000:02:00.1
try drivers_probe 0000:02:00.2
show 0000:02:00.1 0000:02:00.2
try devices/$disk/sriov_numvfs 0
show $disk 0000:02:00.1
try devices/$disk/driver_override vfio-pci
try drivers/nvme/unbind $disk
try devices/$disk/sriov_numvfs 1
try drivers_probe $disk
show $disk
try devices/$disk/sriov_numvfs 1
try drivers/vfio-pci/unbind $disk
try devices/$disk/driver_override pci-stub
try drivers_probe $disk
try devices/$disk/sriov_numvfs 1
try devices/$disk/sriov_numvfs 0
show $disk
try drivers/pci-stub/unbind $disk
try devices/$disk/driver_override ''
try drivers_probe $disk
show $disk

echo '# a physical function that has virtual ones'
try devices/$disk/sriov_numvfs 2
try drivers/nvme/unbind $disk
show $disk 0000:02:00.1
look devices/$disk/sriov_numvfs
try devices/$disk/sriov_numvfs 0
try devices/$disk/sriov_numvfs 1
try devices/$disk/sriov_numvfs 2
try devices/$disk/driver_override vfio-pci
try drivers/vfio-pci/bind $disk
try drivers_probe $disk
show $disk
try devices/0000:02:00.1/driver_override vfio-pci
try drivers_probe 0000:02:00.1
show 0000:02:00.1
try devices/$disk/driver_override pci-stub
try drivers_probe $disk
try devices/$disk/sriov_numvfs 0
show $disk
try drivers/pci-stub/unbind $disk
try devices/$disk/driver_override pci-pf-stub
try drivers_probe $disk
show $disk 0000:02:00.1
try devices/$disk/sriov_numvfs 0
show $disk 0000:02:00.1
try devices/$disk/sriov_numvfs 1
try drivers/pci-pf-stub/unbind $disk
try devices/$disk/driver_override ''
try drivers_probe $disk
show $disk 0000:02:00.1
try devices/$disk/sriov_numvfs 0
show $disk 0000:02:00.1

echo '# the switch of a function that has no driver'
look devices/$edu/enable
try devices/$edu/enable 0
try devices/$edu/enable rubbish
try devices/$edu/enable 1
look devices/$edu/enable
try devices/$edu/enable 1
look devices/$edu/enable
try devices/$edu/enable 0
try devices/$edu/enable 0
look devices/$edu/enable
try devices/$edu/enable 0
try devices/$nic/enable 0
look devices/$nic/enable

echo '# off the bus and on again'
try devices/$edu/remove 1
show $edu
try rescan 1
show $edu
try devices/$nic/driver_override vfio-pci
try drivers/e1000/unbind $nic
try drivers_probe $nic
try devices/$nic/driver_override ''
show $nic
try devices/$nic/remove 1
try rescan 1
show $nic
