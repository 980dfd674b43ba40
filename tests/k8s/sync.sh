# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of pcidevfs-sync on a genuine API server, after tests/fs/lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154
. tests/k8s/gone.sh
G=$D/g
N=node1
sync_pid=
trap 't_status=$?; [ -z "$sync_pid" ] || kill "$sync_pid"; stop_all' EXIT

start_ground() { # the API server alone
	tests/k8s/ground/up --control-plane --owner $$ "$G" >"$D/up" 2>"$D/up.said" || {
		[ $? != 77 ] || skip "$(tail -n 1 "$D/up.said")"
		cat "$D/up.said"
		fail "the ground did not come up"
	}
	eval "$(cat "$D/up")"
}

create_node() { # the core one
	kubectl create -f - >/dev/null <<-END
		apiVersion: v1
		kind: Node
		metadata: {name: $N}
	END
}

start_cluster() { # the API server with our kinds, and a sync user of least rights: $config
	start_ground
	kubectl apply -f deploy/kubernetes/crds.yaml -f deploy/kubernetes/rbac.yaml >"$D/applied" 2>&1 || fail "$(cat "$D/applied")"
	kubectl wait --for condition=Established --timeout 30s crd --all >/dev/null || fail "the CRDs are not established"
	create_node
	make_credential
}

make_credential() { # make_credential [OPTION...]: that of the host's unit
	deploy/kubernetes/sync-credential "$@" $N "$D/credential" >"$D/said" 2>&1 || fail "$(cat "$D/said")"
	config=$D/credential/kubeconfig
}

start_sync() { # start_sync [OPTION...]
	"${SYNC:-$bin/pcidevfs-sync}" --tree "$T" --kubeconfig "$config" --node $N "$@" 2>>"$D/sync.err" &
	sync_pid=$!
}

end_sync() {
	[ -n "$sync_pid" ] || return 0
	kill "$sync_pid"
	wait "$sync_pid" || fail "sync ended with status $?: $(tail -n 3 "$D/sync.err")"
	sync_pid=
}

end_cluster() {
	end_sync
	tests/k8s/ground/down "$G"
}

object_of() { # object_of ADDRESS
	echo "$N-$(tr -d ':.' <<<"$1")"
}

claim_yaml() { # claim_yaml ADDRESS USER
	cat <<-END
		apiVersion: devices.harvesterhci.io/v1beta1
		kind: PCIDeviceClaim
		metadata: {name: $(object_of "$1")}
		spec: {address: "$1", nodeName: $N, userName: $2}
	END
}

field() { # field KIND NAME JSONPATH
	kubectl get "$1" "$2" -o "jsonpath={$3}"
}

reads() { # reads VALUE KIND NAME JSONPATH
	[ "$(field "${@:2}")" = "$1" ]
}
