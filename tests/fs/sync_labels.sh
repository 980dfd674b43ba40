# SPDX-License-Identifier: GPL-2.0-or-later
# NVIDIA's labels of a core Node, on a card of $world: the configuration that is named is made, and its state told; what it says is
# kept, what an admin wrote since stays, and what cannot be has an Event.
# shellcheck shell=bash
. tests/fs/lib.sh
. tests/fs/sync_node.sh

agreed() { noted vgpu.config "$1 ????????????????"; } # agreed NAME: with the layout's hash

# The user's label is carried out; its state goes pending, success; what was agreed is an annotation.
begin "${heed[@]}"
wait_for 20 grep -q 'GET /api/v1/nodes[?].*watch=1' "$D/api.asked"
[ ! -s "$D/api.node" ] || fail "it writes to a Node without labels: $(cat "$D/api.node")"
label vgpu.config '"A2-4Q"'
wait_for 20 labelled vgpu.config.state success
have '4 NVIDIA A2-4Q ' || fail "vGPUs: $(vgpus)"
states() { grep -o '"nvidia.com/vgpu.config.state":"[a-z]*"' "$D/api.node" | cut -d'"' -f4 | tr '\n' ' '; }
[ "$(states)" = 'pending success ' ] || fail "states: $(states)"
agreed A2-4Q || fail "$(node)"
wait_for 10 events '^Applied nvidia.com/vgpu.config=A2-4Q: done$'

# What an admin writes in the tree since then stays, also when sync begins anew, or another configuration of the file changes.
one=$(one profile '^NVIDIA A2-4Q$')
set_to "$V/$one/profile" none
wait_for 10 have '3 NVIDIA A2-4Q '
crash
begin "${heed[@]}"
again() { [ "$(grep -c 'GET /api/v1/nodes[?].*watch=1' "$D/api.asked")" -ge "$1" ]; }
wait_for 20 again 2
turn() { # turn SED: the ConfigMap becomes another one
	rm -rf "$D/layouts/..2"
	mkdir "$D/layouts/..2"
	sed "$1" "$D/layouts/..1/config.yaml" >"$D/layouts/..2/config.yaml"
	ln -sfn ..2 "$D/layouts/..new"
	mv -T "$D/layouts/..new" "$D/layouts/..data"
}
turn '/^    A2-8Q:/,/A2-8Q: / s/A2-8Q: 2/A2-8Q: 1/'
label other '"1"'
sleep 1
have '3 NVIDIA A2-4Q ' || fail "what an admin wrote is undone: $(vgpus)"

# A configuration that is not there, and one that ends what is; both are told.
label vgpu.config '"nope"'
wait_for 20 labelled vgpu.config.state failed
wait_for 10 events '^Refused nvidia.com/vgpu.config=nope: .*config.yaml:[0-9]+: there is no "nope"; the file has '
have '3 NVIDIA A2-4Q ' || fail "vGPUs: $(vgpus)"
label vgpu.config '"A2-8Q"'
wait_for 20 labelled vgpu.config.state success
have '1 NVIDIA A2-8Q ' || fail "vGPUs: $(vgpus)"
wait_for 10 events '^Applied nvidia.com/vgpu.config=A2-8Q: .* NVIDIA A2-4Q ends'

# The file changes what the label names.
agreed A2-8Q || fail "$(node)"
: >"$D/api.node"
sed -i '/^    A2-8Q:/,/A2-8Q: / s/A2-8Q: 1/A2-8Q: 2/' "$D/layouts/..2/config.yaml"

turn ''
wait_for 20 have '2 NVIDIA A2-8Q '
wait_for 10 grep -q 'success.*A2-8Q ' "$D/api.node"

# A FIFO in its place holds up nobody, and is told; then the file is back.
mkdir "$D/layouts/..3"
mkfifo "$D/layouts/..3/config.yaml"
ln -sfn ..3 "$D/layouts/..new"
mv -T "$D/layouts/..new" "$D/layouts/..data"
wait_for 20 labelled vgpu.config.state failed
wait_for 10 events '^Refused nvidia.com/vgpu.config=A2-8Q: .*/config.yaml is not a regular file$'
turn ''
wait_for 20 labelled vgpu.config.state success
have '2 NVIDIA A2-8Q ' || fail "vGPUs: $(vgpus)"

# The directory of the file is another one.
cp -r "$D/layouts/..2" "$D/layouts.new"
sed -i '/^    A2-8Q:/,/A2-8Q: / s/A2-8Q: 2/A2-8Q: 1/' "$D/layouts.new/config.yaml"
mv "$D/layouts" "$D/layouts.old"
sleep 0.2
mv "$D/layouts.new" "$D/layouts"
wait_for 20 have '1 NVIDIA A2-8Q '
sed -i '/^    A2-8Q:/,/A2-8Q: / s/A2-8Q: 1/A2-8Q: 2/' "$D/layouts/config.yaml"
wait_for 20 have '2 NVIDIA A2-8Q '

# Killed between the request and its state: that a change has begun is noted before.
midst() { # midst NAME COMMAND...: after the kernel's first write for this label
	ctl nth 2 before
	label vgpu.config "\"$1\""
	wait_for 20 "$bin/pcidevfs-sim" --control "$S" met
	noted vgpu.config "$1 begun" || fail "$(node)"
	"${@:2}"
	ctl nth 0
}
midst A2-2Q kill -9 $sync # it ends once its request is answered
wait_for 20 have '8 NVIDIA A2-2Q '
labelled vgpu.config.state pending || fail "$(node)"
begin "${heed[@]}"
wait_for 20 labelled vgpu.config.state success
wait_for 10 agreed A2-2Q
have '8 NVIDIA A2-2Q ' || fail "vGPUs: $(vgpus)"

# Another value, or none, while one is carried out; and a death in it.
midst A2-8Q label vgpu.config '"A2-2Q"'
wait_for 20 agreed A2-2Q
have '8 NVIDIA A2-2Q ' || fail "vGPUs: $(vgpus)"
labelled vgpu.config.state success || fail "$(node)"
midst A2-8Q kill -9 $sync # it ends once its request is answered
wait_for 20 have '2 NVIDIA A2-8Q '
label vgpu.config '"A2-2Q"'
begin "${heed[@]}"
wait_for 20 have '8 NVIDIA A2-2Q '
wait_for 20 agreed A2-2Q
midst A2-8Q label vgpu.config null
wait_for 20 agreed A2-8Q
have '2 NVIDIA A2-8Q ' || fail "vGPUs: $(vgpus)"
labelled vgpu.config.state success || fail "$(node)"
label vgpu.config '"A2-2Q"'
wait_for 20 have '8 NVIDIA A2-2Q '

# Removed before anything ran: what was agreed comes back, and what an admin has written since stays.
used=$(one profile '^NVIDIA A2-2Q$')
set_to "$V/$used/profile" none
hold() { # hold NAME COMMAND...: after the change has begun, and before the server says so
	echo begun >"$D/api.hold"
	: >"$D/api.node"
	: >"$D/api.events"
	label vgpu.config "\"$1\""
	wait_for 20 grep -q begun "$D/api.node"
	"${@:2}"
	rm "$D/api.hold"
}
hold A2-8Q label vgpu.config null
wait_for 20 agreed A2-2Q
wait_for 10 labelled vgpu.config.state success
label vgpu.config '"A2-2Q"'
sleep 1
have '7 NVIDIA A2-2Q ' || fail "what an admin wrote is undone: $(vgpus)"
! events A2-8Q || fail "nothing was carried out: $(cat "$D/api.events")"

# A workload comes before anything ran: the state does not stay pending.
hold A2-8Q label gpu.workload.config '"container"'
wait_for 20 noted vgpu.config 'A2-2Q ended'
labelled vgpu.config.state success || fail "$(node)"
node '{"metadata":{"labels":{"nvidia.com/gpu.workload.config":null,"nvidia.com/vgpu.config":"A2-2Q"},"annotations":{"pcidevfs/gpu.workload.config":null}}}' >/dev/null
wait_for 20 agreed A2-2Q
have '8 NVIDIA A2-2Q ' || fail "vGPUs: $(vgpus)"

# An admin writes while the server takes long: what is as asked by then stays.
for one in $(where profile '^NVIDIA A2-2Q$'); do set_to "$V/$one/profile" none; done
last=$(where profile '^none$' | tail -n 1)
hold A2-8Q set_to "$V/$last/profile" 'NVIDIA A2-8Q'
wait_for 20 labelled vgpu.config.state success
have '2 NVIDIA A2-8Q ' || fail "vGPUs: $(vgpus)"
is "$V/$last/profile" 'NVIDIA A2-8Q'

# Others write the Node at that moment.
echo begun >"$D/api.conflict"
: >"$D/api.node"
label vgpu.config '"A2-2Q"'
wait_for 20 grep -q begun "$D/api.node"
sleep 0.5
rm "$D/api.conflict"
wait_for 5 agreed A2-2Q

# The daemon dies in the midst, as the label is removed: what it has not done is no success.
midst A2-8Q label vgpu.config null
kill_both
start_daemon --driver-root "$root"
wait_for 20 sh -c "! grep -qsx busy '$V'/*/state"
true_end() { # what the tree has is agreed, or nothing is
	if labelled vgpu.config.state success; then
		agreed "$(vgpus | sed 's/.* NVIDIA \(.*\) /\1/')"
	else
		noted vgpu.config 'A2-8Q ended' && labelled vgpu.config.state failed && events '^Abandoned nvidia.com/vgpu.config=A2-8Q: '
	fi
}
wait_for 20 true_end
label vgpu.config '"A2-2Q"'
wait_for 20 have '8 NVIDIA A2-2Q '
wait_for 20 agreed A2-2Q

# An admin takes all of it away.
node '{"metadata":{"labels":{"nvidia.com/vgpu.config":null,"nvidia.com/vgpu.config.state":null},"annotations":{"pcidevfs/vgpu.config":null}}}' >/dev/null
: >"$D/api.node"
sleep 1
[ ! -s "$D/api.node" ] || fail "what was taken away is written again: $(cat "$D/api.node")"
label vgpu.config '"A2-2Q"'
wait_for 20 agreed A2-2Q

# Somebody has one of them.
used=$(one profile '^NVIDIA A2-2Q$')
group=$(head -n 2 "$V/$used/nodes" | sed -n "s,/dev/vfio/\([0-9]*\)$,\1,p")
ctl hold "$group" 4711 qemu-kvm
label vgpu.config '"A2-8Q"'
wait_for 20 labelled vgpu.config.state failed
wait_for 10 events '^Refused nvidia.com/vgpu.config=A2-8Q: .*config.yaml:[0-9]+: .* is held by a process, see holders'
have '8 NVIDIA A2-2Q ' || fail "vGPUs: $(vgpus)"

# Workloads. A GPU with vGPUs is left; one without is claimed as a whole, and given back. Its vGPUs' label waits meanwhile.
label gpu.workload.config '"games"'
wait_for 10 events '^Refused nvidia.com/gpu.workload.config=games: it is not one of '
label gpu.workload.config '"vm-passthrough"'
wait_for 10 events "^Applied nvidia.com/gpu.workload.config=vm-passthrough: $gpu is left: it has vGPUs"
is "$V/$gpu/claim" none
wait_for 10 noted gpu.workload.config "vm-passthrough seen $gpu left $gpu"
label vgpu.config null
# It is taken once they have gone, also when sync begins anew before.
ctl release "$group"
crash
set_to "$V/$gpu/enabled" 0
wait_for 10 have ''
begin "${heed[@]}"
wait_for 20 grep -qx nvidia.com "$V/$gpu/claim"
wait_for 10 noted gpu.workload.config "vm-passthrough seen $gpu"
label gpu.workload.config '"container"'
wait_for 20 grep -qx none "$V/$gpu/claim"
wait_for 10 noted gpu.workload.config "container seen $gpu"
set_to "$V/$gpu/claim" alice
label gpu.workload.config '"vm-passthrough"'
wait_for 10 noted gpu.workload.config "vm-passthrough seen $gpu left $gpu"
set_to "$V/$gpu/claim" none
wait_for 20 grep -qx nvidia.com "$V/$gpu/claim"
wait_for 10 noted gpu.workload.config "vm-passthrough seen $gpu"
label vgpu.config '"A2-8Q"'
label gpu.workload.config '"vm-vgpu"'
wait_for 20 have '2 NVIDIA A2-8Q '
wait_for 10 labelled vgpu.config.state success
is "$V/$gpu/claim" none
# What it made has gone for the GPU to be passed through, and is made again.
label gpu.workload.config '"vm-passthrough"'
wait_for 10 noted gpu.workload.config "vm-passthrough seen $gpu left $gpu"
wait_for 10 events '^Waits nvidia.com/vgpu.config=A2-8Q: '
for one in $(grep -lx 'NVIDIA A2-8Q' "$V"/*/profile); do set_to "$one" none; done
wait_for 20 grep -qx nvidia.com "$V/$gpu/claim"
label gpu.workload.config '"vm-vgpu"'
wait_for 20 have '2 NVIDIA A2-8Q '
wait_for 10 labelled vgpu.config.state success

# What was refused is tried again as soon as the tree tells that it may be done, and not before.
used=$(one profile '^NVIDIA A2-8Q$')
set_to "$V/$used/allocated_to" default/vm/compute
label vgpu.config '"A2-2Q"'
wait_for 20 labelled vgpu.config.state failed
sleep 3
refused=$(grep -c '^Refused nvidia.com/vgpu.config=A2-2Q' "$D/api.events")
have '2 NVIDIA A2-8Q ' || fail "vGPUs: $(vgpus)"
set_to "$V/$used/allocated_to" none
wait_for 20 labelled vgpu.config.state success
have '8 NVIDIA A2-2Q ' || fail "vGPUs: $(vgpus)"
[ "$refused" -le 2 ] || fail "tried $refused times in vain"
kill $sync
wait $sync || fail "sync ended with status $?: $(cat "$D/sync.err")"
sync=
stop_daemon
