# SPDX-License-Identifier: GPL-2.0-or-later
# The main job, for both worlds: a GPU enabled, carved up, refused past its cap, taken by a VMM, found again by the next
# daemon, ended. A test says before, by id, max, type_is, uuid_of and taken_as, how its world shows a vGPU.
. tests/fs/lib.sh
T=/run/pcidevfs V=$T/devices SYS=/sys
gpu=0000:01:00.0

start_daemon
is $V/$gpu/kind sriov-gpu
is $V/$gpu/enabled 0
set_to $V/$gpu/enabled 1
is $V/$gpu/sriov_numvfs 8
for i in 0 1 2 3 4; do
	eval "vf$i=$(basename "$(readlink $V/$gpu/virtfn$i)")"
done
is "$V/$vf0/kind" vgpu
is "$V/$vf0/state" free
is "$V/$vf0/profile" none
grep -qx "name=\"NVIDIA LAB-4Q\" id=$id available=1$max framebuffer_mib=4096" "$V/$vf0/profiles" || fail "profiles"
refused EOPNOTSUPP "$V/$vf0/claim" alice "is not a vGPU yet"
refused EINVAL "$V/$vf0/profile" "NVIDIA LAB-3Q" "possible now: NVIDIA LAB-1B"
for vf in $vf0 $vf1 $vf2 $vf3; do
	set_to "$V/$vf/profile" "NVIDIA LAB-4Q"
	is "$V/$vf/claim" admin
	is "$V/$vf/state" claimed
	is "$V/$vf/enabled" 1
	is "$V/$vf/profile_id" "$id"
	type_is "$vf" "$id"
	is "$V/$vf/resource_name" nvidia.com/NVIDIA_LAB-4Q
	is "$V/$vf/mdev_uuid" "$(uuid_of "$vf")"
	[ "$(driver_of "$vf")" = nvidia ] || fail "$vf lost its driver"
done
refused ENOSPC "$V/$vf4/profile" "NVIDIA LAB-4Q" "4 vGPUs use 16384 of 16384 MiB; possible now: none"
is "$T/resources/nvidia.com/NVIDIA_LAB-4Q/capacity" 4
set_to "$V/$vf0/claim" bob
set_to "$V/$vf0/claim" alice
refused EINVAL "$V/$vf0/claim" none "write none to its profile"
taken_as "$vf0"
# A VMM has it.
group=$(sed -n 's,^/dev/vfio/\([0-9]*\)$,\1,p' "$V/$vf0/nodes")
[ -n "$group" ] || fail "nodes: $(cat "$V/$vf0/nodes")"
"$B/tests/hold" "$group" "$(name_of "$vf0")" 100 >"$D/said" 2>&1 &
vmm=$!
wait_for 10 grep -q held "$D/said"
wait_for 10 grep -q "pid=$vmm" "$V/$vf0/holders"
refused EBUSY "$V/$vf0/claim" bob "held by"
refused EBUSY "$V/$vf0/profile" none "held by"
refused EBUSY "$V/$vf0/profile" "NVIDIA LAB-8Q" "held by"
refused EBUSY "$V/$gpu/enabled" 0 "held by"
kill $vmm
wait $vmm
wait_for 10 grep -qx none "$V/$vf0/holders"

# Another daemon, on the same machine.
stop_daemon
start_daemon
is "$V/$vf0/profile" "NVIDIA LAB-4Q"
is "$V/$vf0/claim" alice
is "$V/$vf1/claim" admin

# Another profile, in one step where nobody has it.
set_to "$V/$vf1/profile" none
is "$V/$vf1/claim" none
is "$V/$vf1/state" free
set_to "$V/$vf1/enabled" 1
is "$V/$vf1/profile" "NVIDIA LAB-4Q"
for vf in $vf1 $vf2 $vf3; do set_to "$V/$vf/profile" none; done
set_to "$V/$vf0/profile" "NVIDIA LAB-8Q"
is "$V/$vf0/claim" alice
is "$V/$vf0/resource_name" nvidia.com/NVIDIA_LAB-8Q
refused ENOSPC "$V/$vf1/profile" "NVIDIA LAB-4Q" "all vGPUs of a card have one size"
set_to "$V/$vf1/profile" "NVIDIA LAB-8Q"

# The card's VFs go, with the vGPUs that nobody has, and all comes back.
set_to $V/$gpu/enabled 0
is $V/$gpu/sriov_numvfs 0
set_to $V/$gpu/enabled 1
wait_for 20 grep -qx "NVIDIA LAB-8Q" "$V/$vf1/profile"
wait_for 20 grep -qx alice "$V/$vf0/claim"
