#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario_vgpu_mdev.sh SYS TOOLS HOLD: see scenario_lib.sh. A GPU whose VFs make one mediated device each.
. "$(dirname "$0")/scenario_lib.sh"
pf=0000:01:00.0 vf=0000:01:00.1 vf2=0000:01:00.2
t=devices/$vf/mdev_supported_types t2=devices/$vf2/mdev_supported_types
m=5a9f0a70-0000-4000-8000-00000000000a other=5a9f0a70-0000-4000-8000-00000000000b
mdevs=../mdev

links() { # links: where the device is, and its relatives
	for l in driver subsystem iommu_group mdev_type; do
		case $l in
		iommu_group) printf '  group=%s' "$([ -e "$bus/devices/$vf/$m/$l" ] && echo yes || echo no)" ;;
		*) printf '  %s=%s' $l "$(target "$bus/devices/$vf/$m/$l")" ;;
		esac
	done
	echo "  devices=$(cd "$bus/$t/nvidia-747/devices" 2>/dev/null && echo *) bus=$(cd "$bus/$mdevs/devices" && echo *)"
}

echo '# its VFs are parents'
try devices/$pf/sriov_numvfs 2
show $pf $vf
echo "  $(cd "$bus/$t" && echo *)"
(cd "$bus/../../class/mdev_bus" && echo "  parents: $(echo *)")
look $t/nvidia-747/name $t/nvidia-747/device_api $t/nvidia-747/description
look $t/nvidia-741/available_instances $t/nvidia-747/available_instances
try $t/nvidia-747/available_instances 1
echo '# what is no UUID'
for v in x '' 5a9f0a70-0000-4000-8000-00000000000 ${m}0 ${m}00 5a9f0a70-0000-4000-8000-00000000000g 5a9f0a7000000-4000-8000-00000000000a; do
	try $t/nvidia-747/create "$v"
done
echo '# one is made'
try $t/nvidia-747/create 5A9F0A70-0000-4000-8000-00000000000A
links
look $t/nvidia-741/available_instances $t/nvidia-747/available_instances $t2/nvidia-741/available_instances \
	$t2/nvidia-747/available_instances
try $t/nvidia-747/create $m
try $t2/nvidia-747/create $m
try $t/nvidia-747/create $other
try $t2/nvidia-741/create $other
try devices/$pf/sriov_numvfs 0
echo '# its driver goes and comes'
try $mdevs/drivers/nvidia-vgpu-vfio/unbind $m
links
look $t2/nvidia-741/available_instances
try $mdevs/drivers/nvidia-vgpu-vfio/bind $m
try $mdevs/drivers_probe $m
links
echo '# and it goes'
for v in x '' 0; do try devices/$vf/$m/remove "$v"; done
try devices/$vf/$m/remove 1
links
try devices/$vf/$m/remove 1
try $t/nvidia-747/create $m
try devices/$vf/$m/remove 1
echo '# its parent goes'
try $t/nvidia-747/create $m
try $t2/nvidia-747/create $other
try drivers/nvidia/unbind $vf
links
show $vf
try drivers/nvidia/bind $vf
look $t/nvidia-747/available_instances
try drivers/nvidia/unbind $pf
(cd "$bus/../../class/mdev_bus" && echo "  parents: $(echo *)")
links
show $pf $vf
try drivers/nvidia/bind $pf
show $pf
