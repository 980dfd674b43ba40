# SPDX-License-Identifier: GPL-2.0-or-later
# vGPUs before a genuine kubelet, in the world that $world names: what it counts, what a container gets and KubeVirt's
# own code makes of that, who is named while a pod has one, and that all is free again.
# shellcheck shell=bash disable=SC2154
. tests/fs/lib.sh
. tests/k8s/lib.sh
. tests/k8s/judges.sh
gpu=0000:01:00.0
P=$S/sys/bus/pci/devices
pool=nvidia.com/NVIDIA_LAB-4Q
# What the worlds differ in: the variable, kubelet's id of the vGPU, whose IOMMU group it is, KubeVirt's element.
case $world in
vfio)
	variable=PCI_RESOURCE_NVIDIA_COM
	id_of() { echo "$1"; }
	element() { hostdev "$1" "$2"; }
	display=
	;;
mdev)
	variable=MDEV_PCI_RESOURCE_NVIDIA_COM
	id_of() { cat "$V/$1/mdev_uuid"; }
	element() { mediated "$1" "$(id_of "$2")" "${3:-}"; }
	display='display="on" ramfb="on"' # of the first GPU of a VM; KubeVirt gives a PCI function none
	;;
esac

group_of() { # group_of VF: the number of its node, as the kernel has it
	local of=$P/$1
	[ "$world" = vfio ] || of=$of/$(id_of "$1")
	basename "$(readlink "$of/iommu_group")"
}

kubelet_has() { # kubelet_has RESOURCE [VF]...: as many, and these
	local list vf
	list=$("${resources[@]}" allocatable | jq -r --arg r "$1" '.devices[]? | select(.resourceName == $r) | .deviceIds[]') &&
		[ "$(sort <<<"$list")" = "$(for vf in "${@:2}"; do id_of "$vf"; done | sort)" ]
}

has_vgpu() { # has_vgpu POD: the tree says so; $has are its VFs
	mapfile -t has < <(where allocated_to "^default/$1-node1/compute\$")
	[ "${#has[@]}" != 0 ]
}

nodes_in() { # nodes_in POD VF...: all of VFIO that is in its container
	local there vf
	there=$(cut -d' ' -f4- "$G"/node/var/log/pods/default_"$1"-*/compute/*.log | grep ^/dev/vfio/ | sort)
	[ "$there" = "$({ echo /dev/vfio/vfio; for vf in "${@:2}"; do echo "/dev/vfio/$(group_of "$vf")"; done; } | sort)" ] ||
		fail "in $1, which has ${*:2}, is $there"
}

free() { # free VF...
	local vf
	for vf; do wait_for 30 grep -qx none "$V/$vf/allocated_to"; done
}

kept_by() { # kept_by POD VF: nobody takes it away, nor its GPU's VFs, of which the first is named
	local why="$2 is allocated to default/$1-node1/compute" first
	refused EBUSY "$V/$2/profile" none "$why"
	refused EBUSY "$V/$2/profile" "NVIDIA LAB-8Q" "$why"
	refused EBUSY "$V/$2/enabled" 0 "$why"
	first=$(one allocated_to ^default/)
	refused EBUSY "$V/$gpu/enabled" 0 "$first is allocated to $(cat "$V/$first/allocated_to")"
	is "$V/$2/profile" "NVIDIA LAB-4Q"
}

start_gpu "$world" numvfs=0
driver_root
start_daemon --driver-root "$root"
start_node
start_plugin
{
	echo "$gpu/enabled 1"
	for i in 0 1 2 3; do echo "$gpu/virtfn$i/profile NVIDIA LAB-4Q"; done
	echo commit
} >"$D/lines"
cat "$D/lines" >$T/ctl || fail "commit: $(cat $T/last_error)"
for i in 0 1 2 3; do vfs[i]=$(basename "$(readlink "$V/$gpu/virtfn$i")"); done
wait_for 20 kubelet_has $pool "${vfs[@]}"
single=${vfs[3]}
set_to "$V/$single/pooled" 0
own=$(cat "$V/$single/resource_name")
wait_for 20 kubelet_has "$own" "$single"
wait_for 20 kubelet_has $pool "${vfs[@]:0:3}"

# One of the pool.
start_pod vm-1 $pool
wait_for 30 pod_said vm-1 shown
wait_for 10 has_vgpu vm-1
a=${has[0]}
[[ " ${vfs[*]:0:3} " == *" $a "* ]] || fail "vm-1 has $a"
is "$V/$a/state" allocated
is $T/resources/$pool/allocated 1
variables vm-1 "${variable}_NVIDIA_LAB-4Q=$(id_of "$a")"
nodes_in vm-1 "$a"
judged vm-1 "$(vmi gpus g=$pool)" "$(element gpu-g "$a" "$display")"
judged vm-1 "$(vmi hostDevices g=$pool)" "$(element hostdevice-g "$a")"
kept_by vm-1 "$a"

# The other two of the pool and the single one, for one VM.
mapfile -t rest < <(printf '%s\n' "${vfs[@]:0:3}" | grep -vxF "$a")
mapfile -t ids < <(for vf in "${rest[@]}"; do id_of "$vf"; done | sort) # as the variable has them
[ "$(id_of "${rest[0]}")" = "${ids[0]}" ] || rest=("${rest[1]}" "${rest[0]}")
start_pod vm-2 $pool=2 "$own"
wait_for 30 pod_said vm-2 shown
for vf in "${rest[@]}" "$single"; do wait_for 10 grep -qx default/vm-2-node1/compute "$V/$vf/allocated_to"; done
own_name=${own#nvidia.com/}
variables vm-2 "${variable}_NVIDIA_LAB-4Q=${ids[0]},${ids[1]}" "${variable}_${own_name^^}=$(id_of "$single")"
nodes_in vm-2 "${rest[@]}" "$single"
judged vm-2 "$(vmi gpus a=$pool s="$own" b=$pool)" "$(
	element gpu-a "${rest[0]}" "$display"
	element gpu-s "$single"
	element gpu-b "${rest[1]}"
)"
judged vm-2 "$(vmi hostDevices a=$pool b=$pool)" "$(
	element hostdevice-a "${rest[0]}"
	element hostdevice-b "${rest[1]}"
)"
for vf in "${rest[@]}" "$single"; do kept_by vm-2 "$vf"; done

# The plugin killed in the middle, and the daemon, and kubelet; and a daemon that ended well, which forgets.
still() {
	wait_for 20 kubelet_has $pool "${vfs[@]:0:3}"
	wait_for 20 kubelet_has "$own" "$single"
	wait_for 20 grep -qx default/vm-1-node1/compute "$V/$a/allocated_to"
	for vf in "${rest[@]}" "$single"; do wait_for 20 grep -qx default/vm-2-node1/compute "$V/$vf/allocated_to"; done
	kept_by vm-1 "$a"
	kept_by vm-2 "$single"
}
{ kill -9 $plugin_pid; wait $plugin_pid; } 2>/dev/null
kill_serving
start_plugin
still
tests/k8s/ground/component "$G" restart kubelet
still
stop_daemon
end_plugin
start_daemon --driver-root "$root"
start_plugin
still

# Free again, for the next pod and for another profile.
end_pod vm-1
free "$a"
start_pod vm-3 $pool
wait_for 30 pod_said vm-3 shown
variables vm-3 "${variable}_NVIDIA_LAB-4Q=$(id_of "$a")"
wait_for 10 grep -qx default/vm-3-node1/compute "$V/$a/allocated_to"
kept_by vm-3 "$a"
end_pod vm-2
end_pod vm-3
free "${vfs[@]}"
wait_for 10 kubelet_has $pool "${vfs[@]:0:3}"
set_to "$V/$single/profile" none
wait_for 10 kubelet_has "$own"
set_to "$V/$single/profile" "NVIDIA LAB-4Q"
wait_for 10 kubelet_has "$own" "$single"
set_to "$V/$gpu/enabled" 0
wait_for 10 kubelet_has "$own"
wait_for 10 kubelet_has $pool
set_to "$V/$gpu/enabled" 1
wait_for 20 kubelet_has "$own" "$single"
wait_for 20 kubelet_has $pool "${vfs[@]:0:3}"
start_pod vm-4 $pool=3 "$own"
wait_for 30 pod_said vm-4 shown
nodes_in vm-4 "${vfs[@]}"
end_pod vm-4
free "${vfs[@]}"
cat "$D/plugin.err"
end_node
stop_daemon
