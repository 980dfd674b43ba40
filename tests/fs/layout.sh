# SPDX-License-Identifier: GPL-2.0-or-later
# NVIDIA's own configuration, unchanged, by one command on a card of $world: what is right stays, all or nothing, and what is
# exported changes nothing.
# shellcheck shell=bash
. tests/fs/lib.sh
. tests/fs/cli.sh
need jq
gpu=0000:01:00.0
config=tests/data/vgpu-configs.yaml
{ a2_types && echo 757 4 NVIDIA A2-4C; } >"$D/types"
start_gpu "$world" fb=16 "types=$D/types" numvfs=0
driver_root
start_daemon --driver-root "$root"

have() { # have TEXT: these vGPUs
	[ "$(vgpus)" = "$1" ] || fail "vGPUs: $(vgpus), should be $1"
}
writes() { tail -n 1 "$T/log"; }
line() { # line TEXT: its number in the configuration
	grep -nx " *$1" $config | head -n 1 | cut -d: -f1
}

# Nothing is done by who only asks.
differs $config A2-4Q
ends 0 apply $config A2-4Q --dry-run
has "$D/out" '0 profile A2-4Q'
have ''
before=$(writes)

# One transaction makes the VFs and what they are to be. Once more it does nothing at all.
ends 0 apply $config A2-4Q
have '4 NVIDIA A2-4Q '
[ "$(grep -c "file=profile .*result=ok" "$T/log")" = 4 ] || fail "$(cat "$T/log")"
before=$(writes)
ends 0 apply $config A2-4Q
ends 0 diff $config A2-4Q
[ ! -s "$D/out" ] || fail "diff: $(cat "$D/out")"
[ "$(json '.changed, .dry_run' apply $config A2-4Q | tr '\n' ' ')" = 'false false ' ] || fail "$(cat "$D/out")"
[ "$(writes)" = "$before" ] || fail "something was written: $(writes)"

# The vGPU of a VM stays where it is right; where it is not, all stays, and the sentence names the line that wants it away.
used=$(one profile '^NVIDIA A2-4Q$')
group=$(head -n 2 "$V/$used/nodes" | sed -n "s,/dev/vfio/\([0-9]*\)$,\1,p")
set_to "$V/$used/claim" alice
ctl hold "$group" 4711 qemu-kvm
wait_for 5 sh -c "cat $V/$used/holders; grep -qx held $V/$used/state" # holders are looked for when asked for
printf 'version: v1\nvgpu-configs:\n  two:\n  - devices: [0]\n    vgpu-devices: {A2-4Q: 2}\n' >"$D/two.yaml"
got=0
pcidevfs apply "$D/two.yaml" || got=$?
[ $got = 0 ] || fail "$(cat "$D/said")"
has "$D/said" 'profile: NVIDIA A2-4Q goes'
! grep -q "$used" "$D/said" || fail "the one in use: $(cat "$D/said")"
have '2 NVIDIA A2-4Q '
is "$V/$used/claim" alice
state=$(kernel_state)
got=0
pcidevfs apply $config A2-8Q || got=$?
[ $got = 1 ] || fail "status $got"
has "$D/said" "pcidevfs: $config:$(($(line 'A2-8Q:') + 2)): $used/profile: "
has "$D/said" qemu-kvm
have '2 NVIDIA A2-4Q '
[ "$(kernel_state)" = "$state" ] || fail "something has changed"
ctl release "$group"
wait_for 5 sh -c "cat $V/$used/holders; grep -qx claimed $V/$used/state"

# Another size; NVIDIA's default has entries for the A16 and the A2, which share their device id.
pcidevfs apply $config A2-8Q || fail "$(cat "$D/said")"
has "$D/said" "$used/profile: NVIDIA A2-4Q goes"
have '2 NVIDIA A2-8Q '
ends 0 diff $config default

# Out of what is exported all of it comes back, also claims and VFs; of what is there it changes nothing.
set_to "$V/$(one profile '^NVIDIA A2-8Q$')/claim" bob
set_to "$V/$(one profile '^NVIDIA A2-8Q$')/resource_name" example.com/desktop
ends 0 export
cp "$D/out" "$D/now.yaml"
ends 0 diff "$D/now.yaml" now
[ ! -s "$D/out" ] || fail "$(cat "$D/now.yaml" "$D/out")"
ends 0 export --form vgpu-configs
has "$D/out" 'vgpu-devices: {A2-8Q: 2}'
cp "$D/out" "$D/nvidia.yaml"
ends 0 diff "$D/nvidia.yaml"
for vf in $(where profile '^NVIDIA'); do set_to "$V/$vf/profile" none; done
set_to $V/$gpu/enabled 0
differs "$D/now.yaml"
ends 0 apply "$D/now.yaml"
have '2 NVIDIA A2-8Q '
[ "$(where claim '^bob$' | wc -l)" = 1 ] || fail "bob: $(cat "$T/overview")"
is "$V/$(one claim '^bob$')/resource_name" example.com/desktop
ends 0 diff "$D/now.yaml"

# Over another layout it comes back as well: what that has made on other VFs ends.
pcidevfs apply $config A2-4Q || fail "$(cat "$D/said")"
have '4 NVIDIA A2-4Q '
ends 0 export
cp "$D/out" "$D/four.yaml"
has "$D/four.yaml" 'vgpus: {}'
pcidevfs apply $config default || fail "$(cat "$D/said")"
have '2 NVIDIA A2-8Q '
pcidevfs apply "$D/four.yaml" || fail "$(cat "$D/said")"
have '4 NVIDIA A2-4Q '
ends 0 diff "$D/four.yaml"

# What is stored of VFs that a layout does not name does not come back with them.
for vf in $(where profile '^NVIDIA'); do set_to "$V/$vf/profile" none; done
set_to $V/$gpu/enabled 0
printf 'version: v1\nlayouts: {one: [{match: {address: "01:00.0"}, vgpus: {A2-8Q: 1}}]}\n' >"$D/one.yaml"
ends 0 apply "$D/one.yaml"
wait_for 5 sh -c "! grep -qsx busy '$V'/*/state"
have '1 NVIDIA A2-8Q '
set_to $V/$gpu/enabled 0
printf 'version: v1\nlayouts: {bare: [{match: {address: "01:00.0"}, enabled: 1, vgpus: {}}]}\n' >"$D/bare.yaml"
ends 0 apply "$D/bare.yaml"
wait_for 5 sh -c "! grep -qsx busy '$V'/*/state"
have ''
! grep -q ' profile=' "$T/intents" || fail "stored: $(cat "$T/intents")"
ends 0 diff "$D/bare.yaml"

# More than the card holds: nothing is left of it, and the line is named.
for vf in $(where profile '^NVIDIA'); do set_to "$V/$vf/profile" none; done
set_to $V/$gpu/enabled 0
state=$(kernel_state)
printf 'version: v1\nvgpu-configs:\n  x:\n  - devices: all\n    vgpu-devices:\n      A2-4Q: 5\n' >"$D/five.yaml"
refuses "pcidevfs: $D/five.yaml:6: $gpu/virtfn4/profile: " apply "$D/five.yaml"
have ''
[ "$(kernel_state)" = "$state" ] || fail "something has changed"
is $V/$gpu/enabled 0
# What goes with the VFs is named too; and what the device's own ctl refuses has the line.
pcidevfs apply "$D/one.yaml" || fail "$(cat "$D/said")"
used=$(one profile '^NVIDIA A2-8Q$')
printf 'version: v1\nlayouts: {off: [{match: {address: "01:00.0"}, enabled: 0}]}\n' >"$D/off.yaml"
pcidevfs apply "$D/off.yaml" || fail "$(cat "$D/said")"
has "$D/said" "$gpu/enabled: 1 goes"
has "$D/said" "$used/profile: NVIDIA A2-8Q goes"
[ "$(wc -l <"$D/said")" = 2 ] || fail "$(cat "$D/said")"
differs $config default # its types are known since its VFs were there
printf 'version: v1\nlayouts: {off: [{match: {address: "01:00.0"}, sriov_numvfs: 4}]}\n' >"$D/off.yaml"
for dry in '' --dry-run; do
	refuses "$D/off.yaml:2: $gpu/sriov_numvfs: the driver of $gpu does not let others" apply "$D/off.yaml" $dry
	! grep -q 'until abort' "$D/said" || fail "$(cat "$D/said")"
done
refuses "$config:$(line 'A10-4Q: 6')" apply $config A10-4Q
refuses 'there is no "nope"; the file has ' apply $config nope
refuses 'the file has 711 layouts; name one of them' apply $config
# mig-parted's example: a card without MIG has it off.
ends 0 diff tests/data/mig-configs.yaml all-disabled
refuses "tests/data/mig-configs.yaml:14: $gpu has no MIG" apply tests/data/mig-configs.yaml all-1g.5gb
printf 'apiVersion: v1\nkind: ConfigMap\n' >"$D/map.yaml"
refuses "$D/map.yaml:1: this is a manifest of Kubernetes" apply "$D/map.yaml"
refuses 'No such file or directory' apply "$D/none.yaml"
exit 0
