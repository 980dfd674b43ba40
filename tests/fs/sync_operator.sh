# SPDX-License-Identifier: GPL-2.0-or-later
# Beside NVIDIA's GPU Operator, on a card of $world: its components whose work is ours are told to stay away, its validator pauses
# while vGPUs change, whatever breaks in between, and all is taken back; what an admin or the operator says stays.
# shellcheck shell=bash
. tests/fs/lib.sh
. tests/fs/sync_node.sh
writes() { # what was said to its components, a write a line: "VGPU-STATE NAME=VALUE..."
	jq -r '.metadata.labels // {} | "\(.["nvidia.com/vgpu.config.state"] // "-") \([to_entries[] | select(.key |
		startswith("nvidia.com/gpu.deploy.")) | "\(.key[22:])=\(.value)"] | sort | join(" "))"' "$D/api.node" | grep =
}
wrote() { [ "$(writes)" = "$1" ]; }
says() { labelled "gpu.deploy.$1" "$2"; }
forget() { : >"$D/api.node"; }
note() { node | jq -r '.metadata.annotations["pcidevfs/gpu.deploy"]'; }
case $world in mdev) validator='sandbox-validator=' ;; *) validator= ;; esac

# Without the operator its labels are not ours, nor are those of a node that an admin has named a GPU's.
begin "${heed[@]}"
label vgpu.config '"A2-4Q"'
wait_for 20 labelled vgpu.config.state success
label gpu.present '"true"'
label vgpu.config '"A2-8Q"'
wait_for 20 labelled vgpu.config.state success
! grep -E 'gpu\.(deploy|present)' "$D/api.node" || fail "without the operator"

# It comes, as an admin has told its vfio-manager to stay away; who is the driver, or anything else, runs on.
forget
node '{"metadata":{"labels":{"nvidia.com/gpu.deploy.vfio-manager":"false","nvidia.com/gpu.deploy.sandbox-device-plugin":"true",
	"nvidia.com/gpu.deploy.driver":"true","nvidia.com/gpu.deploy.vgpu-manager":"true","nvidia.com/gpu.deploy.mig-manager":"true",
	"nvidia.com/gpu.deploy.vgpu-device-manager":"true","nvidia.com/gpu.deploy.sandbox-validator":"true",
	"nvidia.com/gpu.deploy.cc-manager":"true"}}}' >/dev/null
away='sandbox-device-plugin=false'
[ "$world" = mdev ] || away="$away sandbox-validator=false"
wait_for 10 wrote "- $away vgpu-device-manager=false"
for name in driver vgpu-manager mig-manager cc-manager; do says $name true || fail "$name: $(node)"; done
case $(note) in *vfio-manager*) fail "an admin's false is taken for ours: $(note)" ;; esac
sleep 0.5
wrote "- $away vgpu-device-manager=false" || fail "it goes on to write: $(writes)"

# A change: what is left of those that NVIDIA's own manager pauses pauses with the state, and runs again with it.
paused=paused-for-vgpu-change
done_so() { # done_so STATE: the two writes of a change
	if [ -n "$validator" ]; then
		wrote "$(printf 'pending %s\n%s %s' $validator$paused "$1" ${validator}true)"
	else
		wrote "" && [ "$(grep -c "state\":\"$1\"" "$D/api.node")" = 1 ]
	fi
}
change() { # change NAME STATE
	forget
	label vgpu.config "\"$1\""
	# The state may be this one from before: the writes of this change count.
	wait_for 20 done_so "$2"
	labelled vgpu.config.state "$2" || fail "$1, $2: $(cat "$D/api.node")"
}
change A2-4Q success
have '4 NVIDIA A2-4Q ' || fail "vGPUs: $(vgpus)"

# What cannot be done at all pauses nobody; what the tree refuses in the midst does, and all runs on.
forget
label vgpu.config '"nope"'
wait_for 20 labelled vgpu.config.state failed
wrote '' || fail "nothing was to be changed: $(writes)"
used=$(one profile '^NVIDIA A2-4Q$' "$T/mdevs")
group=$(head -n 2 "$V/$used/nodes" | sed -n "s,/dev/vfio/\([0-9]*\)$,\1,p")
ctl hold "$group" 4711 qemu-kvm
change A2-8Q failed
have '4 NVIDIA A2-4Q ' || fail "vGPUs: $(vgpus)"
ctl release "$group"

drop() { # what the killed one has sent is not carried out
	mv "$D/api.hold" "$D/api.refuse"
	sleep 0.3
	rm "$D/api.refuse"
}
if [ -n "$validator" ]; then
	# Killed before the change, when the server has yet to carry out the pause: it has it afterwards, and the next one goes on.
	label vgpu.config '"A2-4Q"'
	wait_for 20 labelled vgpu.config.state success
	forget
	echo $paused >"$D/api.hold"
	label vgpu.config '"A2-8Q"'
	wait_for 20 grep -q "$paused" "$D/api.node"
	crash
	have '4 NVIDIA A2-4Q ' || fail "changed before anybody has paused: $(vgpus)"
	rm "$D/api.hold"
	wait_for 10 says sandbox-validator $paused
	forget
	begin "${heed[@]}"
	wait_for 20 labelled vgpu.config.state success
	wrote 'success sandbox-validator=true' || fail "$(cat "$D/api.node")"
	have '2 NVIDIA A2-8Q ' || fail "vGPUs: $(vgpus)"

	# Killed after the change, before its end is told.
	echo '"success"' >"$D/api.hold"
	label vgpu.config '"A2-4Q"'
	wait_for 20 have '4 NVIDIA A2-4Q '
	crash
	drop
	says sandbox-validator $paused || fail "the killed one's write was carried out"
	begin "${heed[@]}"
	wait_for 20 says sandbox-validator true
	labelled vgpu.config.state success || fail "$(node)"

	# Killed while it pauses, and the next one has no role any more.
	echo '"success"' >"$D/api.hold"
	label vgpu.config '"A2-8Q"'
	wait_for 20 have '2 NVIDIA A2-8Q '
	crash
	drop
	says sandbox-validator $paused || fail "$(node)"
	begin
	wait_for 20 says sandbox-validator true
	crash
	begin "${heed[@]}"
	wait_for 20 says sandbox-device-plugin false
	wait_for 20 labelled vgpu.config.state success

	# The server refuses the pause: it is told, and the change is not held up.
	echo $paused >"$D/api.refuse"
	label vgpu.config '"A2-4Q"'
	wait_for 20 have '4 NVIDIA A2-4Q '
	wait_for 5 labelled vgpu.config.state success
	grep -q 'labels cannot be written to node node1: nodes is forbidden' "$T/health" || fail "$(cat "$T/health")"
	says sandbox-validator true || fail "$(node)"
	rm "$D/api.refuse"
	crash
	begin "${heed[@]}"
	wait_for 20 labelled vgpu.config.state success

	# The daemon dies in the midst: nobody is paused for longer than it may take to come back.
	ctl nth 1 before
	label vgpu.config '"A2-8Q"'
	wait_for 20 "$bin/pcidevfs-sim" --control "$S" met
	says sandbox-validator $paused || fail "$(node)"
	kill_both
	ctl nth 0
	wait_for 5 says sandbox-validator true
	start_daemon --driver-root "$root"
	wait_for 20 have '2 NVIDIA A2-8Q '
	wait_for 20 labelled vgpu.config.state success
	wait_for 10 says sandbox-validator true

	# NVIDIA's own manager was told to stay away while it paused them.
	label gpu.deploy.sandbox-validator "\"$paused\""
	wait_for 10 says sandbox-validator true
else
	label vgpu.config '"A2-4Q"'
	wait_for 20 labelled vgpu.config.state success
	# Without VFs nothing tells that a VF would be the vGPU: the validator stays away.
	label vgpu.config null
	set_to "$V/$gpu/enabled" 0
	forget
	label other '"1"'
	sleep 0.5
	wrote '' || fail "$(writes)"
	says sandbox-validator false || fail "$(node)"
fi

# While the driver is upgraded others have paused them: that is not ours to end.
label gpu.deploy.sandbox-device-plugin '"paused-for-driver-upgrade"'
sleep 0.5
says sandbox-device-plugin paused-for-driver-upgrade || fail "$(node)"
label gpu.deploy.sandbox-device-plugin '"true"'
wait_for 10 says sandbox-device-plugin false

# Its newer stack takes labels away: they are not made again, and it is told what that means.
forget
node '{"metadata":{"labels":{"nvidia.com/gpu.deploy.sandbox-device-plugin":null,"nvidia.com/gpu.deploy.vgpu-device-manager":null,
	"nvidia.com/gpu.deploy.sandbox-validator":null,"nvidia.com/gpu.deploy.dra-driver":"true"}}}' >/dev/null
wait_for 10 grep -q 'GPUCluster stack on node node1' "$D/sync.err"
wait_for 10 test "$(note)" = null
wrote '' || fail "$(writes)"
node '{"metadata":{"labels":{"nvidia.com/gpu.deploy.sandbox-device-plugin":"true","nvidia.com/gpu.deploy.vgpu-device-manager":"true",
	"nvidia.com/gpu.deploy.mig-manager":"true","nvidia.com/gpu.deploy.dra-driver":null}}}' >/dev/null
wait_for 10 says vgpu-device-manager false

# mig.config becomes ours, and is not any more; then nothing is: what we have said is taken back, what the admin said stays.
crash
begin "${heed[@]}" --mig-configs "$D/layouts/config.yaml"
wait_for 10 says mig-manager false
crash
begin "${heed[@]}"
wait_for 10 says mig-manager true
says vgpu-device-manager false || fail "$(node)"
crash
begin
wait_for 10 says vgpu-device-manager true
says sandbox-device-plugin true || fail "$(node)"
says vfio-manager false || fail "the admin's is taken back: $(node)"
[ "$(note)" = null ] || fail "$(note)"
crash

# The operator has nothing to do there any more.
begin "${heed[@]}"
wait_for 10 says vgpu-device-manager false
label gpu.present '"false"'
wait_for 10 says vgpu-device-manager true
kill $sync
wait $sync || fail "sync ended with status $?: $(cat "$D/sync.err")"
sync=
stop_daemon
