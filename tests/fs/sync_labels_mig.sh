# SPDX-License-Identifier: GPL-2.0-or-later
# mig-parted's own example, unchanged, on $card: by nvidia.com/mig.config of the core Node and by `pcidevfs apply`. What fits is made,
# with its state; what does not is told; what is so already is not touched. $good names a layout that reads $made then, $mixed one
# (none if the file has none for this card) that reads $mixture, $bad one that is refused with $why. $resets is not
# empty where MIG mode comes with a reset of the card.
# shellcheck shell=bash disable=SC2154
. tests/fs/lib.sh
. tests/fs/cli.sh
[ "$(id -u)" = 0 ] || skip "only root sets anything"
world=vfio
start_gpu() { start_mig "$1" "$card"; } # the machine of this test
. tests/fs/sync_node.sh
config=tests/data/mig-configs.yaml
M=$V/$gpu/mig
wait_for 10 grep -qx yes "$M/support"
reads() { is "$M/mode" "$1" && is "$M/layout" "$2"; }
refused_for() { # refused_for NAME REGEX: by the label, with this Event
	label mig.config "\"$1\""
	wait_for 30 labelled mig.config.state failed
	wait_for 10 events "^Refused nvidia.com/mig.config=$1: $config:[0-9]+: $2"
}
made_by() { # made_by NAME MODE LAYOUT: the label
	: >"$D/api.node"
	label mig.config "\"$1\""
	wait_for 30 labelled mig.config.state success
	reads "$2" "$3"
	wait_for 10 noted mig.config "$1 *"
}

reset_to() { # reset_to MODE: which is asked for already
	put "$S/sys/bus/pci/devices/$gpu/reset" 1
	ctl uevent change "bus/pci/devices/$gpu"
	wait_for 10 grep -qx "$1" "$M/mode"
}

# A GPU without MIG beside it, which "devices: all" is about too; then it is alone.
begin --mig-configs $config
wait_for 20 grep -q 'GET /api/v1/nodes[?].*watch=1' "$D/api.asked"
refused_for "$good" '0000:[0-9a-f:.]* has no MIG$'
refuses ' has no MIG' apply $config "$good"
reads 0 none
refused_for nope 'there is no "nope"; the file has all-disabled, all-enabled, '
ctl unplug "$(grep -l 0x10de "$V"/*/vendor | cut -d/ -f"$(($(tr -dc / <<<"$V" | wc -c) + 2))" | grep -v "$gpu" | head -n 1)"

# Where the mode comes with a reset of the card alone, instances are refused until then. The same name is tried again by itself,
# but a minute later.
if [ -n "$resets" ]; then
	refused_for "$good" "$gpu/mig/mode: .*the card must be reset first, or the host rebooted$"
	set_to "$M/mode" 1
	reset_to 1
	refused_for nope 'there is no "nope"; '
fi
made_by "$good" 1 "$made"
[ -n "$resets" ] || [ "$(grep -o '"nvidia.com/mig.config.state":"[a-z]*"' "$D/api.node" | cut -d'"' -f4 | tr '\n' ' ')" = 'pending success ' ] ||
	fail "states: $(cat "$D/api.node")"
wait_for 10 events "^Applied nvidia.com/mig.config=$good: done$"

# Twice is once: the very instances stay, whoever asks.
instances=$(cat "$M/instances") log=$(tail -n 1 "$T/log")
crash
begin --mig-configs $config
wait_for 20 sh -c "[ \$(grep -c 'GET /api/v1/nodes[?].*watch=1' '$D/api.asked') -ge 2 ]"
ends 0 apply $config "$good"
ends 0 diff $config "$good"
sleep 1
[ "$(cat "$M/instances")" = "$instances" ] && [ "$(tail -n 1 "$T/log")" = "$log" ] || fail "it is done again: $(cat "$M/instances" "$T/log")"
labelled mig.config.state success || fail "$(node)"

# What is exported is what is, in both forms.
for form in mig-configs layouts; do
	ends 0 export --form $form
	cp "$D/out" "$D/now"
	ends 0 diff "$D/now" now
	[ ! -s "$D/out" ] || fail "$form: $(cat "$D/now" "$D/out")"
done
ends 0 export --form mig-configs
has "$D/out" "mig-devices: {${made%\**}: ${made#*\*}}"

# What the card has not, and what the file has not: all stays.
refused_for "$bad" "$why"
pcidevfs apply $config "$bad" && fail "$bad is applied"
has "$D/said" "pcidevfs: $config:"
[ "$(cat "$M/instances")" = "$instances" ] || fail "$(cat "$M/instances")"

if [ -n "$mixed" ]; then
	made_by "$mixed" 1 "$mixture"
	ends 0 diff $config "$mixed"
	wait_for 10 events "^Applied nvidia.com/mig.config=$mixed: $gpu/mig/layout .* ends"
fi
made_by all-enabled 1 none
if [ -n "$resets" ]; then
	label mig.config '"all-disabled"'
	wait_for 30 grep -q 'MIG mode 0 comes with a reset of the GPU or a reboot' "$V/$gpu/reason"
	reset_to 0
	wait_for 30 labelled mig.config.state success
else
	made_by all-disabled 0 none
fi
reads 0 none
ends 0 diff $config all-disabled

# By the command alone, from a card with MIG off, and back.
label mig.config null
ends 0 apply $config "$good" --dry-run
reads 0 none
if [ -n "$resets" ]; then
	refuses "$config:14: $gpu/mig/mode: " apply $config "$good"
	reads 0 none
else
	ends 0 apply $config "$good"
	reads 1 "$made"
	pcidevfs apply $config all-disabled || fail "$(cat "$D/said")"
	has "$D/said" "$gpu/mig/layout: $made goes"
	reads 0 none
fi
kill $sync
wait $sync || fail "sync ended with status $?: $(cat "$D/sync.err")"
sync=
stop_daemon
