# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after tests/k8s/sync.sh: what Harvester's UI asks of the API server, request for request, and how it reads the
# answer (spec/harvester.md 8). It shows no conditions and no Events; a request that is refused is a red box.
# shellcheck shell=bash disable=SC2034,SC2154
api=/apis/devices.harvesterhci.io/v1beta1

ask() { # ask VERB ARGUMENT...: a request, whose body is standard input; a refusal is left in $D/box
	kubectl "$1" --raw "$api/${*:2}" ${body:+-f -} >"$D/box" 2>&1
}

post() { # post PLURAL <BODY
	body=1 ask create "$1"
}

delete() { # delete PLURAL NAME
	body='' ask delete "$1/$2"
}

put_whole() { # put_whole PLURAL NAME FILTER: the whole object as it was read, changed; again if somebody was faster
	local i
	for i in 1 2 3 4 5; do
		kubectl get "$1" "$2" -o json | jq -c "$3" >"$D/whole"
		body=1 ask replace "$1/$2" <"$D/whole" && return
		grep -q 'has been modified' "$D/box" || return 1
	done
	return 1
}

enable() { # enable ADDRESS USER [true]: a PCIDevice; true: not pooled
	local name
	name=$(object_of "$1")
	post pcideviceclaims <<-END
		{"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
		 "metadata": {"name": "$name", "ownerReferences": [{"apiVersion": "devices.harvesterhci.io/v1beta1",
		  "kind": "PCIDevice", "name": "$name", "uid": "$(field pcidevice "$name" .metadata.uid)"}]},
		 "spec": {"address": "$1", "nodeName": "$N", "userName": "$2", "disableResourcePooling": ${3:-false}}}
	END
}

disable() { # disable ADDRESS
	delete pcideviceclaims "$(object_of "$1")"
}

row_of() { # row_of ADDRESS USER: of the PCI devices' page: disabled, progress or enabled, and whose it is
	kubectl get pcideviceclaims -o json | jq -r --arg a "$1" --arg n $N --arg u "$2" \
		'[.items[] | select(.spec.nodeName == $n and .spec.address == $a)][0] | if . == null then "disabled" else
		(if .status.passthroughEnabled then "enabled" else "progress" end) + (if .spec.userName == $u then " mine" else "" end) end'
}

shows() { # shows WORDS ADDRESS USER
	[ "$(row_of "$2" "$3")" = "$1" ]
}

# What the VM editor writes as deviceName for a PCI or USB device; for a vGPU it makes it of the type.
device_name() { # device_name KIND NAME
	field "$1" "$2" .status.resourceName
}

vgpus_offered() { # the VM editor's list of vGPUs: by spec alone
	kubectl get vgpudevices -o json |
		jq -r '.items[] | select(.spec.enabled) | .metadata.name + " nvidia.com/" + ((.status.configureVGPUTypeName // "undefined") | gsub(" "; "_"))'
}

# With the policies a request is refused where the user stands. The server takes a moment to know them.
start_policies() {
	kubectl apply -f deploy/kubernetes/policies.yaml >"$D/applied" 2>&1 || fail "$(cat "$D/applied")"
	claim_yaml 0000:00:00.0 admin | grep -v '^spec' >"$D/nodeless"
	wait_for 20 sh -c "kubectl create --dry-run=server -f '$D/nodeless' 2>&1 | grep -q 'names no node'"
}

boxed() { # boxed TEXT COMMAND...: a red box, with that text
	"${@:2}" && fail "it may: ${*:2}"
	has "$D/box" "$1"
}

in_use() { # in_use KIND NAME: as the policy sees it
	reads True "$1" "$2" '.status.conditions[?(@.type=="InUse")].status'
}

not_in_use() {
	reads '' "$1" "$2" '.status.conditions[?(@.type=="InUse")].status'
}

reason_of() { # reason_of KIND NAME: what kubectl tells and the UI does not
	field "$1" "$2" '.status.conditions[?(@.status=="False")].message'
}

has_reason() { # has_reason TEXT KIND NAME
	reason_of "$2" "$3" | grep -qF -e "$1"
}
