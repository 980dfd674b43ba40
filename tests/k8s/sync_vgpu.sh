# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# VGPUDevices, both ways, on a genuine API server, in the world that $world names: Harvester's QA cases.
. tests/fs/lib.sh
. tests/k8s/sync.sh
need jq
start_gpu "$world" numvfs=0
driver_root
start_daemon --driver-root "$root"
start_cluster
start_sync
gpu=0000:01:00.0
type="NVIDIA LAB-4Q"
wait_for 10 reads false sriovgpudevice "$(object_of $gpu)" .spec.enabled
[ -z "$(kubectl get vgpudevices -o name)" ] || fail "there are vGPUs without VFs"
kubectl patch sriovgpudevice "$(object_of $gpu)" --type merge -p '{"spec":{"enabled":true}}' >/dev/null
listed() { [ "$(kubectl get vgpudevices -l "harvesterhci.io/parentSRIOVGPUDevice=$(object_of $gpu)" -o name | wc -l)" = 8 ]; }
wait_for 20 listed
for i in 0 1 2 3 4; do vfs[i]=$(basename "$(readlink "$V/$gpu/virtfn$i")") names[i]=$(object_of "${vfs[i]}"); done
types() { field vgpudevice "$1" .status.availableTypes; }
has_type() { types "$1" | jq -e --arg t "$type" '.[$t]' >/dev/null; }
has_none() { [ -z "$(types "$1")" ]; }
wait_for 10 has_type "${names[0]}"
reads $gpu vgpudevice "${names[0]}" .spec.parentGPUDeviceAddress || fail "no parent"
[ "$(types "${names[0]}" | jq -r --arg t "$type" '.[$t]')" = "$(sed -n "s/^name=\"$type\" id=//p" "$V/${vfs[0]}/profiles_available")" ] ||
	fail "the type's id"

vgpu() { # vgpu I ENABLED [TYPE]
	kubectl patch vgpudevice "${names[$1]}" --type merge -p "{\"spec\":{\"enabled\":$2,\"vGPUTypeName\":\"${3:-}\"}}" >/dev/null
}
is_on() { # is_on I: as Harvester's UI and controller see it
	reads vGPUConfigured vgpudevice "${names[$1]}" .status.vGPUStatus &&
		reads "$type" vgpudevice "${names[$1]}" .status.configureVGPUTypeName &&
		reads true pcideviceclaim "${names[$1]}" .status.passthroughEnabled &&
		reads nvidia.com/NVIDIA_LAB-4Q pcidevice "${names[$1]}" '.metadata.annotations.pcidevice\.harvesterhci\.io/override-resource-name'
}
is_off() {
	reads '' vgpudevice "${names[$1]}" .status.vGPUStatus && reads false vgpudevice "${names[$1]}" .spec.enabled &&
		gone pcideviceclaim "${names[$1]}" && has_type "${names[$1]}" &&
		reads '' pcidevice "${names[$1]}" '.metadata.annotations.pcidevice\.harvesterhci\.io/override-resource-name'
}

# Add one, and its claim, which binds nothing and is owned by both.
vgpu 0 true "$type" || fail "the patch was not taken"
wait_for 20 is_on 0
is "$V/${vfs[0]}/profile" "$type"
reads true pcideviceclaim "${names[0]}" '.metadata.annotations.pcidevices\.harvesterhci\.io/skip-vfio-binding' || fail "no skip annotation"
owners() { reads 'PCIDevice VGPUDevice Node' pcideviceclaim "${names[0]}" '.metadata.ownerReferences[*].kind'; }
wait_for 10 owners
reads admin pcideviceclaim "${names[0]}" .spec.userName || fail "whose claim?"
case $world in
vfio) reads "$(cat "$V/${vfs[0]}/profile_id")" vgpudevice "${names[0]}" .status.uuid ;;
mdev) reads "$(cat "$V/${vfs[0]}/mdev_uuid")" vgpudevice "${names[0]}" .status.uuid ;;
esac || fail "uuid"

# Add two more, one in the shell; then the card is full, and the others have no profiles.
vgpu 1 true "$type"
set_to "$V/${vfs[2]}/profile" "$type"
wait_for 20 is_on 1
wait_for 20 is_on 2
reads true vgpudevice "${names[2]}" .spec.enabled && reads "$type" vgpudevice "${names[2]}" .spec.vGPUTypeName || fail "the shell's is not in spec"
vgpu 3 true "$type"
wait_for 20 is_on 3
wait_for 10 has_none "${names[4]}"
vgpu 4 true "$type"
wait_for 10 reads False vgpudevice "${names[4]}" '.status.conditions[0].status'
sentence=$(field vgpudevice "${names[4]}" '.status.conditions[0].message')
[ "$(sed 's/^profile/spec.vGPUTypeName/' "$V/${vfs[4]}/last_error")" = "$sentence" ] || fail "condition \"$sentence\", the tree: $(cat "$V/${vfs[4]}/last_error")"
has "$V/${vfs[4]}/last_error" '4 vGPUs use 16384 of 16384 MiB'
vgpu 4 false
wait_for 10 reads '' vgpudevice "${names[4]}" '.status.conditions[0].status'

# Disable in use is refused, and nothing is undone.
put "$V/${vfs[0]}/allocated_to" ns/vm/compute || fail "allocated_to"
vgpu 0 false
wait_for 10 reads False vgpudevice "${names[0]}" '.status.conditions[0].status'
field vgpudevice "${names[0]}" '.status.conditions[0].message' | grep -q 'allocated to ns/vm/compute' || fail "not told who has it"
is "$V/${vfs[0]}/profile" "$type"
put "$V/${vfs[0]}/allocated_to" none || fail "allocated_to"
wait_for 20 is_off 0

# Remove: in the object, in the shell, and by its claim.
vgpu 1 false
wait_for 20 is_off 1
set_to "$V/${vfs[2]}/profile" none
wait_for 20 is_off 2
kubectl delete pcideviceclaim "${names[3]}" --timeout 5s >/dev/null || fail "the claim stays"
wait_for 20 is_off 3
is "$V/${vfs[3]}/profile" none

# A type that is none is refused with the tree's sentence, whatever it holds.
vgpu 1 true 'NVIDIA\nclaim <x>'
wait_for 10 reads False vgpudevice "${names[1]}" '.status.conditions[0].status'
field vgpudevice "${names[1]}" '.status.conditions[0].message' | grep -q 'has no vGPU type' || fail "the sentence"
is "$V/${vfs[1]}/claim" none

# The GPU is disabled: its vGPUs are stored in the tree, have no objects by which a VM could ask for them, and come back
# with its VFs.
vgpu 1 true "$type"
wait_for 20 is_on 1
kubectl patch sriovgpudevice "$(object_of $gpu)" --type merge -p '{"spec":{"enabled":false}}' >/dev/null
unlisted() { [ -z "$(kubectl get vgpudevices -o name)" ]; }
wait_for 20 unlisted
wait_for 10 reads NoDevice pcideviceclaim "${names[1]}" '.status.conditions[0].reason'
reads '' pcideviceclaim "${names[1]}" .status.passthroughEnabled || fail "the claim of a vGPU that is away is enabled"
grep -q "^${vfs[1]} .*profile=\"$type\"" "$T/intents" || fail "it is not stored: $(cat "$T/intents")"
kubectl patch sriovgpudevice "$(object_of $gpu)" --type merge -p '{"spec":{"enabled":true}}' >/dev/null
wait_for 20 is_on 1
reads "$type" vgpudevice "${names[1]}" .spec.vGPUTypeName || fail "what was asked is lost"
# While it is off, its claim is what ends it.
set_to $V/$gpu/enabled 0
wait_for 20 unlisted
kubectl delete pcideviceclaim "${names[1]}" --timeout 5s >/dev/null || fail "the claim stays"
set_to $V/$gpu/enabled 1
wait_for 20 is_off 1
vgpu 1 true "$type"
wait_for 20 is_on 1
# The driver goes and comes back: meanwhile nothing is disabled in the cluster.
driver=$S/sys/bus/pci/drivers/nvidia
specs() { grep -c 'sriovgpudevices/.*fieldManager=pcidevfs-spec' "$G/log/audit.log"; }
before=$(specs)
put "$driver/unbind" $gpu || fail "unbind"
wait_for 20 reads Unsatisfied sriovgpudevice "$(object_of $gpu)" '.status.conditions[0].reason'
put "$driver/bind" $gpu || fail "bind"
wait_for 20 is_on 1
wait_for 10 reads '' sriovgpudevice "$(object_of $gpu)" '.status.conditions[0].reason'
[ "$(specs)" = "$before" ] || fail "sync wrote to spec: $(sed 's/[^{]*//' "$G/log/audit.log" | grep fieldManager=pcidevfs-spec | tail -n 2 | cut -c1-500)"
grep -vE '\(re\)initializing|driver-needed cannot be changed' "$D/sync.err" && fail "it complains"
end_cluster
stop_daemon
