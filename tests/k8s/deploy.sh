# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of deploy/kustomize on a genuine kubelet, after lib.sh: the image of `make image`, and overlays that use it.
# shellcheck shell=bash disable=SC2034,SC2154
image=registry.example/pcidevfs
on_node=/run/kube-pcidevfs/pcidevfs # where the node sees the tree

node() { # node COMMAND...: there
	tests/k8s/ground/in-node "$G" "$@"
}

# Compressing it takes seconds, so the tests that run side by side share it.
new_image() { # new_image TAG: the node's container runtime has it then
	local programs archive=$B/tests/image$1.tar
	programs=$(make -s --eval='programs: ; @echo $(programs:%=$(B)/bin/%)' B="$B" programs)
	mkdir -p "$B/tests"
	exec {lock}>"$B/tests/image.lock"
	flock "$lock"
	# shellcheck disable=SC2086 # names
	[ -e "$archive" ] && [ -z "$(find $programs deploy/image/image -newer "$archive")" ] ||
		SOURCE_DATE_EPOCH=$((1700000000 + $1)) deploy/image/image --name "$image:$1" --triplet "$(gcc -dumpmachine)" --strip strip \
			--tool /usr/lib/execline/bin/background --tool /usr/lib/execline/bin/loopwhilex --sbom "$D/sbom" "$archive" $programs >"$D/said" 2>&1 ||
		{ rm -f "$archive"; fail "no image: $(cat "$D/said")"; }
	exec {lock}>&-
	node ctr --address "$G/node/run/containerd/containerd.sock" --namespace k8s.io images import "$PWD/$archive" >/dev/null ||
		fail "the image was not taken"
}

# Of the repository's files a copy, since an overlay refers to folders beside it. Where no kube-proxy is, a pod finds the API
# server in the host's network.
overlay() { # overlay NAME TAG: what kubectl -k takes is $D/overlay
	[ -e "$D/deploy" ] || cp -r deploy "$D/deploy"
	mkdir -p "$D/overlay"
	cat >"$D/overlay/kustomization.yaml" <<-END
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources: [../deploy/kustomize/$1]
		images: [{name: $image, newTag: "$2"}]
		patches:
		- target: {kind: DaemonSet, name: ${3:-pcidevfs-sync}}
		  patch: |-
		    - {op: add, path: /spec/template/spec/hostNetwork, value: true}
		    - {op: add, path: /spec/template/spec/containers/${4:-0}/env/-, value: {name: KUBERNETES_SERVICE_HOST, value: 127.0.0.1}}
		    - {op: add, path: /spec/template/spec/containers/${4:-0}/env/-, value: {name: KUBERNETES_SERVICE_PORT, value: "$(sed -n 's/^apiserver=//p' "$G/ports")"}}
	END
}

apply() { # apply OVERLAY TAG...
	overlay "$@"
	kubectl apply -k "$D/overlay" >"$D/applied" 2>&1 || fail "$(cat "$D/applied")"
}

rolled() { # rolled DAEMONSET...
	local name
	for name; do
		kubectl -n pcidevfs rollout status "daemonset/$name" --timeout=90s >"$D/said" 2>&1 || fail "$(cat "$D/said")
$(kubectl -n pcidevfs describe pods -l app="$name" | tail -n 25)
$(kubectl -n pcidevfs logs -l app="$name" --all-containers --prefix --tail=20)"
	done
}

pod_of() { # pod_of DAEMONSET
	kubectl -n pcidevfs get pod -l app="$1" -o 'jsonpath={.items[0].metadata.name}'
}

in_tree() { # in_tree FILE: as the node reads it
	node cat "$on_node/$1"
}

tree_has() { # tree_has FILE TEXT
	in_tree "$1" | grep -qxF "$2"
}

claim() { # claim ADDRESS USER: as people do in the cluster
	kubectl create -f - >/dev/null <<-END || fail "the claim is not taken"
		apiVersion: devices.harvesterhci.io/v1beta1
		kind: PCIDeviceClaim
		metadata: {name: node1-$(tr -d ':.' <<<"$1")}
		spec: {address: "$1", nodeName: node1, userName: $2}
	END
}

guest() { # guest NAME RESOURCE: a pod that has one
	kubectl create -f - >/dev/null <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: $1}
		spec:
		  terminationGracePeriodSeconds: 1
		  automountServiceAccountToken: false
		  containers:
		  - name: compute
		    image: pcidevfs.test/busybox:1
		    command: [sh, -c, "trap exit TERM; sleep 1000 & wait"]
		    resources: {limits: {$2: 1}}
	END
}

exists() { # exists KIND NAME
	kubectl get "$1" "$2"
}

away() { # away DAEMONSET: no pod of it is left
	[ -z "$(kubectl -n pcidevfs get pod -l app="$1" -o name)" ]
}
