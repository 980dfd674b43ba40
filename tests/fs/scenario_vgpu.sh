#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario_vgpu.sh SYS TOOLS HOLD: see scenario_lib.sh. A GPU whose VFs are vGPUs while they have a type.
. "$(dirname "$0")/scenario_lib.sh"
pf=0000:01:00.0 vf=0000:01:00.1 vf2=0000:01:00.2 vf3=0000:01:00.3
n=devices/$vf/nvidia n2=devices/$vf2/nvidia
type=$n/current_vgpu_type type2=$n2/current_vgpu_type

echo '# its VFs are devices of its driver'
show $pf
try devices/$pf/sriov_numvfs 9
try devices/$pf/sriov_numvfs 2
show $pf $vf $vf2
look $n/creatable_vgpu_types $type $n/gpu_instance_id $n/placement_id $n/vgpu_params $n/warm_update
try $n/vgpu_params a=1
try_open $vf
echo '# a type'
for v in x -1 '' 0x2ec 4294967296 999 0; do try $type "$v"; done
try $type 748
look $type $n/creatable_vgpu_types $n2/creatable_vgpu_types $n/gpu_instance_id $n/placement_id
try $n/vgpu_params a=1
look $n/vgpu_params
try $type2 747
look $type2
try devices/$pf/sriov_numvfs 0
try devices/$pf/nvidia/heterogeneous_mode 1
try $type 748
look $type $n/vgpu_params $n2/creatable_vgpu_types
try $type 749
look $n2/creatable_vgpu_types
try $type2 749
try $type 0
echo '# sizes that mix'
try devices/$pf/nvidia/heterogeneous_mode 1
try $type 748
try $type2 747
look $n/creatable_vgpu_types devices/$pf/nvidia/heterogeneous_mode
try $type 0
try $type2 0
try devices/$pf/sriov_numvfs 0
look devices/$pf/nvidia/heterogeneous_mode
try devices/$pf/sriov_numvfs 2
echo '# held'
try $type 747
try $n/vgpu_params a=1
hold $vf
try_open $vf
try $type 0
try $n/vgpu_params b=2
look $type $n/vgpu_params devices/$vf/enable
waits drivers/nvidia/unbind $vf $vf $type devices/$vf/driver_override $type2=747
show $vf $vf2
look $n2/creatable_vgpu_types
echo '# a VF of another driver, and back'
try devices/$vf/driver_override vfio-pci
try drivers_probe $vf
show $vf
try drivers/vfio-pci/unbind $vf
try devices/$vf/driver_override ''
try drivers_probe $vf
show $vf
look $type
echo '# the driver goes and comes'
try $type2 747
try $type 747
hold $vf
waits drivers/nvidia/unbind $pf $vf devices/$pf/driver_override
show $pf $vf $vf2
try drivers/nvidia/bind $pf
try devices/$pf/sriov_numvfs 1
look $type
show $pf $vf $vf2
echo '# VFs that another driver makes wait for it'
try drivers/nvidia/unbind $pf
try devices/$pf/driver_override pci-pf-stub
try drivers_probe $pf
try devices/$pf/sriov_numvfs 1
show $pf $vf
try drivers/pci-pf-stub/unbind $pf
try devices/$pf/driver_override ''
try drivers_probe $pf | LC_ALL=C sort # the kernel probes them aside
show $pf $vf
look $type
try devices/$pf/sriov_numvfs 0
show $pf $vf $vf3
echo '# a driver that lets nobody make VFs'
try ../../module/labgpu/parameters/numvfs N
try devices/$pf/sriov_numvfs 2
look devices/$pf/sriov_numvfs
try ../../module/labgpu/parameters/numvfs Y
