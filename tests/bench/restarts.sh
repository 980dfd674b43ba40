# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run, over the simulated machine: how soon the plugin is back with kubelet. RESTARTS (100) of a
# kubelet stand-in and a tenth as many kills of the plugin; REBOOTS (50) of a node with the genuine kubelet.
# shellcheck shell=bash disable=SC2154
RESTARTS=${RESTARTS:-100} REBOOTS=${REBOOTS:-50}

plugin_up() { # plugin_up COUNT PODS: at its unit's priority, COUNT resources of one device, PODS of them with a pod
	local a offered=0
	mapfile -t used < <(printf '%s\n' "${plain[@]}" | grep '^....:' | head -n "$1")
	[ "${#used[@]}" = "$1" ] || { echo "# only ${#used[@]} functions for $1 resources"; return 1; }
	serve
	sleep 1
	"$tool/put" "$T/ctl" "$(for a in "${used[@]}"; do echo "$a/pooled 0"; echo "$a/claim guest"; done; echo commit)"
	# Not the first ones: in the order of their names these would come first anyway.
	given=("${used[@]: -$2}")
	"$tool/put" "$T/ctl" "$(printf '%s/allocated_to pending\n' "${given[@]}"; echo commit)"
	"$tool/put" "$T/ctl" "$(printf '%s/allocated_to default/vm/compute\n' "${given[@]}"; echo commit)"
	argv=(nice -n -10 "$PWD/$B/bin/pcidevfs-plugin" --tree "$T" --kubelet-dir "$D/kubelet" --dev "$S/dev" --cdi-dir none)
	mkdir -p "$D/kubelet"
	"${argv[@]}" 2>"$D/plugin.err" &
	plugin=$!
	for _ in {1..200}; do
		offered=$(grep -c 'is offered$' "$D/plugin.err")
		[ "$offered" -ge "$1" ] && break
		sleep 0.05
	done
	[ "$offered" = "$1" ] || { echo "# $offered of $1 resources are offered"; return 1; }
}

plugin_down() {
	stop_plugin
	"$tool/put" "$T/ctl" "$(printf '%s/allocated_to none\n' "${given[@]}"; echo commit)"
	"$tool/put" "$T/ctl" "$(printf '%s/claim none\n' "${used[@]}"; echo commit)"
	stop
}

# Of the last measurement: the tool's status, and whether it has counted lost devices, which is none.
lost_status() {
	if [ "$status" = 0 ] && [ "$(key lost <"$D/restarts")" != 0 ]; then echo lost; else echo "$status"; fi
}

restarts() { # restarts COUNT PODS BOUND-MS
	local status
	plugin_up "$1" "$2" || { leave_out "kubelet restarts, $1 resources" "the plugin does not offer them"; return; }
	FIRST=$(cd "$T/devices" && cat "${given[@]/%//resource_name}") \
		"$peer/restarts" "$D/kubelet" "$RESTARTS" "$1" "$1" >"$D/restarts"
	status=$?
	row "$RESTARTS kubelet restarts, $1 resources, pods on $2 of them: socket to the last Register" \
		"p50 $(key registered_p50_ms <"$D/restarts"), max $(key registered_max_ms <"$D/restarts") ms" "max $3 ms" $status
	row "to the last Register of those with pods" \
		"p50 $(key first_p50_ms <"$D/restarts"), max $(key first_max_ms <"$D/restarts") ms" "max 10 ms" $status
	row "to the last list with all devices healthy" \
		"p50 $(key listed_p50_ms <"$D/restarts"), max $(key listed_max_ms <"$D/restarts") ms, $(key lost <"$D/restarts") devices lost" \
		"0 lost" "$(lost_status)"
	plugin_down
}

imitation() { # imitation COUNT
	local status
	"$peer/restarts" "$D/kubelet" plugin "$1" &
	plugin=$!
	"$peer/restarts" "$D/kubelet" "$RESTARTS" "$1" "$1" >"$D/restarts"
	status=$?
	row "a plugin in Go that does nothing but register $1 resources, all at once: socket to the last Register" \
		"p50 $(key registered_p50_ms <"$D/restarts"), max $(key registered_max_ms <"$D/restarts") ms" "" $status
	stop_plugin
}

kills() { # kills COUNT
	local status
	plugin_up "$1" "$1" || { leave_out "kills of the plugin, $1 resources" "the plugin does not offer them"; return; }
	kill "$plugin"
	wait "$plugin"
	"$peer/restarts" "$D/kubelet" $((RESTARTS / 10)) "$1" "$1" "${argv[@]}" >"$D/restarts" 2>"$D/plugin.err" &
	plugin=$!
	wait "$plugin"
	status=$?
	row "$((RESTARTS / 10)) kills of the plugin, $1 resources, started again after systemd's 50 ms: to the last list" \
		"p50 $(key listed_p50_ms <"$D/restarts"), max $(key listed_max_ms <"$D/restarts") ms, $(key lost <"$D/restarts") devices lost" \
		"max 250 ms, 0 lost" "$(lost_status)"
	plugin=
	plugin_down
}

reboots() {
	local place status
	place=$(mktemp -d "${TMPDIR:-/tmp}/pcidevfs-boot.XXXXXX")
	# kubelet reports an address, and listens at none but loopback.
	ip link set lo up
	ip link add bench0 type veth peer name bench1
	ip address add 192.0.2.2/24 dev bench0
	ip link set bench0 up
	B=$B D=$place RACES=$REBOOTS unshare --mount --pid --fork --kill-child --mount-proc \
		tests/lib/inside tests/k8s/reboot.test >"$D/reboots"
	status=$?
	rm -rf --one-file-system "$place"
	if [ $status = 77 ]; then
		leave_out "power cuts of a node with the genuine kubelet" "$(sed -n 's/^skip: //p' "$D/reboots")"
		return
	fi
	[ $status = 0 ] || sed 's/^/# /' "$D/reboots"
	row "$REBOOTS power cuts of a node with the genuine kubelet and a static pod: admitted again" \
		"$(grep -c ': admitted' "$D/reboots")" "$REBOOTS" $status
	row "there: kubelet's socket to our last list, in its own words" \
		"p50 $(key list_ms <"$D/reboots" | median) ms" ""
}

if ! peer=$(tests/k8s/ground/build --where peer); then
	leave_out "restarts of kubelet and of the plugin" "kubelet's stand-in is not built: make test-k8s"
else
	rm -rf "$D/state" # what was claimed before is nobody's, and not offered
	"${control[@]}" functions 512
	mapfile -t plain < <(grep -l 0x0d58 $pci/devices/*/device | cut -d/ -f"$(($(tr -dc / <<<"$pci" | wc -c) + 3))")
	restarts 8 8 10
	restarts 200 8 250
	restarts 200 200 250
	imitation 200
	kills 8
	kills 200
	[ "$REBOOTS" = 0 ] || reboots
	peer=
fi
