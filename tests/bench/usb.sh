# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run: a USB device over the simulated kernel, a stick on a port of its own.
# shellcheck shell=bash disable=SC2154
stick=1-1 drivers=$S/sys/bus/usb/drivers/usb-storage

latency "a USB device comes or goes" "${control[@]}" unplug $stick -- "${control[@]}" plug $stick

"$tool/turns" $sim "$ROUNDS" bare "$drivers/unbind=$stick:1.0" "$drivers/bind=$stick:1.0" \
	-- tree "$T/usb/$stick/claim=bench" "$T/usb/$stick/claim=none" >"$D/turns"
status=$?
row "claim and release of a USB device of one interface, simulated kernel; bare writes $(turn bare 2) ms" \
	"$(turn tree 2) ms" "" $status
row "own overhead of one of them: minus the bare writes and the CPU time of the simulation" \
	"$(awk -v t="$(turn tree 4)" -v b="$(turn bare 4)" 'BEGIN { printf "%.2f", (t - b) / 2 }') ms" "5 ms" $status

replug() { # prints milliseconds until it is claimed again, and those that the simulation did not compute
	local t c
	"${control[@]}" unplug $stick
	while [ -e "$T/usb/$stick" ]; do sleep 0.01; done
	t=${EPOCHREALTIME/./} c=$(ticks $sim)
	"${control[@]}" plug $stick
	until [ "$(cat "$T/usb/$stick/state" 2>/dev/null)" = claimed ]; do
		[ $((${EPOCHREALTIME/./} - t)) -lt 10000000 ] || { echo "all=inf own=inf"; return; }
	done
	t=$(((${EPOCHREALTIME/./} - t) / 1000))
	echo "all=$t own=$((t - ($(ticks $sim) - c) * 10))"
}
"$tool/put" "$T/usb/$stick/claim" bench
status=$?
for _ in $(seq 20); do replug; done >"$D/replug"
row "a claimed USB device is pulled out and put back: until it is claimed again" \
	"$(key all <"$D/replug" | median) ms" "" $status
row "own part of it: minus the CPU time of the simulation" "$(key own <"$D/replug" | median) ms" "100 ms" $status
"$tool/put" "$T/usb/$stick/claim" none
