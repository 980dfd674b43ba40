# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after tests/k8s/sync.sh: a machine and a cluster as Harvester's controller leaves them. It has claimed $device for a
# VM; $name is its object, $former the driver before, $old the resource name under which it is offered.
# shellcheck shell=bash disable=SC2034,SC2154
need jq python3
python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"
golden=tests/data/harvester-golden-vfio.jsonl
device=0000:05:00.0 name=$(object_of 0000:05:00.0) former=nvme old=samsung.com/NVME_SSD_CONTROLLER_OLD_PCIIDS

must() { "$@" >"$D/said" 2>&1 || fail "$*: $(head -c 2000 "$D/said")"; }
crds() { python3 tests/k8s/sync_crds.py tests/data/harvester-crds.txt crds; }
all() { kubectl get pcidevices,pcideviceclaims,sriovnetworkdevices,sriovgpudevices,vgpudevices,usbdevices,nodes.devices.harvesterhci.io -o json; }
# What must be the same; names and descriptions come from another pci.ids (tests/fs/sync_golden_vfio.test has them).
essence() { jq -c '.items[] | [.kind, .metadata.name, .metadata.uid, .metadata.finalizers, .spec, (.status | del(.conditions?, .description?, .resourceName?))]' "$1" | sort; }

former_machine() { # it has bound the device by new_id
	local sys=$S/sys/bus/pci
	zcat tests/machines/vgpu-node.umockdev.gz | python3 tests/lib/golden.py machine vfio $golden >"$D/machine" || fail "no machine"
	start_sim "$D/machine"
	[ "$(driver_of $device)" = $former ] || fail "its driver is $(driver_of $device)"
	echo $device >"$sys/drivers/$former/unbind"
	echo "$(cut -c3- "$sys/devices/$device/vendor") $(cut -c3- "$sys/devices/$device/device")" >"$sys/drivers/vfio-pci/new_id"
	[ "$(driver_of $device)" = vfio-pci ] || fail "the device is not bound before"
}

former_objects() { # its CRDs and KubeVirt's, $N, and its objects of the recorded machine
	local k p
	crds >"$D/crds"
	must kubectl create -f "$D/crds"
	kubectl create -f - >/dev/null <<-END || fail "no CRDs of KubeVirt"
		apiVersion: v1
		kind: List
		items:
		- apiVersion: v1
		  kind: Node
		  metadata: {name: $N, labels: {sriovgpu.harvesterhci.io/driver-needed: "true"}, finalizers: [wrangler.cattle.io/node-remove]}
		$(for k in VirtualMachine VirtualMachineInstance KubeVirt; do
			p=$(tr '[:upper:]' '[:lower:]' <<<$k)s
			echo "- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: $p.kubevirt.io}, spec: {group: kubevirt.io, scope: Namespaced, names: {kind: $k, plural: $p}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}"
		done)
	END
	must kubectl wait --for condition=Established --timeout 60s crd --all
	# The management network is left out, as on the machine itself; this device was bound when they were written.
	jq -s --arg name "$name" --arg old $old '{apiVersion: "v1", kind: "List", items: [.[] | select(.apiVersion != "v1" and .metadata.name != "node1-000004001"
		and .metadata.name != "node1-eno50") | if .metadata.name == $name then .status.kernelDriverInUse = "vfio-pci" | .status.resourceName = $old else . end]}' $golden >"$D/objects"
	must kubectl create --field-manager agent -f "$D/objects"
	jq '.items |= map(select(.status))' "$D/objects" >"$D/statuses"
	must kubectl replace --field-manager agent --subresource status -f "$D/statuses"
	kubectl create --field-manager agent -f - >/dev/null <<-END || fail "no claim"
		$(claim_yaml $device admin | sed "s/^metadata: .*/metadata: {name: $name, finalizers: [wrangler.cattle.io\/PCIDeviceClaimOnRemove], ownerReferences: [{apiVersion: devices.harvesterhci.io\/v1beta1, kind: PCIDevice, name: $name, uid: $(field pcidevice "$name" .metadata.uid)}]}/")
	END
	must kubectl patch pcideviceclaim "$name" --field-manager agent --subresource status --type merge -p "{\"status\":{\"kernelDriverToUnbind\":\"$former\",\"passthroughEnabled\":true}}"
}
