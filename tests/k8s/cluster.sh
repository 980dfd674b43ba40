# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of pcidevfs-sync --cluster, after tests/k8s/sync.sh.
# shellcheck shell=bash disable=SC2034,SC2154
role_pid=
trap 't_status=$?; [ -z "$sync_pid" ] || kill "$sync_pid"; [ -z "$role_pid" ] || kill "$role_pid"; stop_all' EXIT

established() { # established CRD
	kubectl wait --for condition=Established --timeout 1s crd "$1" >/dev/null 2>&1
}

kubevirt_crd() { # kubevirt_crd [VERSION]: the CRD that KubeVirt installs
	python3 tests/k8s/kubevirt_crd.py "${1:-v1}" >"$D/crd.yaml" || skip "$(cat "$D/crd.yaml")"
	kubectl create -f "$D/crd.yaml" >/dev/null || fail "the CRD is not taken"
	wait_for 60 established kubevirts.kubevirt.io
}

start_kubevirt() { # start_kubevirt [VERSION]: that, its judges, and our rights
	judges=$(tests/k8s/ground/build --where kubevirt) || skip "KubeVirt's judges are not built: make test-k8s"
	kubevirt_crd "$@"
	grant_role
}

grant_role() { # our rights, and a kubeconfig of their service account: $role_config
	kubectl apply -f deploy/kubernetes/cluster/cluster.yaml >"$D/applied" 2>&1 || fail "$(cat "$D/applied")"
	role_token=$(kubectl -n pcidevfs create token pcidevfs-cluster) || fail "no token"
	role_config=$D/role
	kubectl config view --raw -o json |
		jq --arg t "$role_token" '.users[0].user = {token: $t}' >"$role_config"
}

start_role() { # start_role [COMMAND...]
	"$@" "$bin/pcidevfs-sync" --cluster --kubeconfig "$role_config" 2>>"$D/role.err" &
	role_pid=$!
}

end_role() {
	kill "$role_pid"
	wait "$role_pid" || fail "the role ended with status $?: $(tail -n 3 "$D/role.err")"
	role_pid=
}

kubevirt() { # kubevirt NAMESPACE LISTS: makes the CR; LISTS: permittedHostDevices in JSON, null for none
	kubectl create namespace "$1" >/dev/null 2>&1
	kubectl create -f - >/dev/null <<-END || fail "the KubeVirt CR is not taken"
		apiVersion: kubevirt.io/v1
		kind: KubeVirt
		metadata: {name: kubevirt, namespace: $1}
		spec: {configuration: {developerConfiguration: {featureGates: [${gates-HostDevices}]}, permittedHostDevices: $2}}
	END
}

as_role() { # as_role NAMESPACE PATCH: what the API server answers to a merge patch of the CR with the role's rights
	curl -sk -X PATCH -H "Authorization: Bearer $role_token" -H 'Content-Type: application/merge-patch+json' --data "$2" \
		"$(jq -r '.clusters[0].cluster.server' "$role_config")/apis/kubevirt.io/v1/namespaces/$1/kubevirts/kubevirt"
}

lists() { # lists NAMESPACE [LIST]: "SELECTOR NAME" of each entry, sorted
	kubectl -n "$1" get kubevirt kubevirt -o json | jq -r --arg l "${2:-pciHostDevices}" '.spec.configuration.permittedHostDevices[$l][]? |
		"\(.pciVendorSelector // .mdevNameSelector // (.selectors[0] | "\(.vendor):\(.product)")) \(.resourceName)\(if .externalResourceProvider then "" else " own" end)"'
}

has_lines() { # has_lines NAMESPACE LIST LINE...: just these, in any order
	[ "$(lists "$1" "$2" | sort)" = "$(printf '%s\n' "${@:3}" | sort)" ]
}

permits() { # permits NAMESPACE NAME: KubeVirt's own code lets a VM ask for it
	"$judges/kubevirt-old" -permitted <(kubectl -n "$1" get kubevirt kubevirt -o json) -vmi <(jq -n --arg n "$2" \
		'{spec: {domain: {devices: {hostDevices: [{name: "a", deviceName: $n}]}}}}') 2>>"$D/judge.said"
}

told() { # told NAMESPACE TEXT: an Event of the CR
	kubectl -n "$1" get events -o json | jq -e --arg t "$2" '.items[] | select(.message | contains($t))' >/dev/null
}

pci_device() { # pci_device NODE ADDRESS VENDOR DEVICE RESOURCE: as an agent has it
	kubectl apply -f - >/dev/null <<-END && kubectl patch pcidevice "$1-$(tr -d ':.' <<<"$2")" --subresource status --type merge -p \
		"{\"status\": {\"address\": \"$2\", \"nodeName\": \"$1\", \"vendorId\": \"$3\", \"deviceId\": \"$4\", \"resourceName\": \"$5\"}}" >/dev/null
		apiVersion: devices.harvesterhci.io/v1beta1
		kind: PCIDevice
		metadata: {name: $1-$(tr -d ':.' <<<"$2"), labels: {nodename: $1}}
		spec: {}
	END
}

pci_claim() { # pci_claim NODE ADDRESS
	kubectl apply -f - >/dev/null <<-END
		apiVersion: devices.harvesterhci.io/v1beta1
		kind: PCIDeviceClaim
		metadata: {name: $1-$(tr -d ':.' <<<"$2")}
		spec: {address: "$2", nodeName: $1, userName: alice}
	END
}
