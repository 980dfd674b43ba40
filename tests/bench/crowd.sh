# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by run: 300 readers of one file by one user and 64 that map it, and what another user gets meanwhile.
# CROWD_ROUNDS (3) shortens it.
# shellcheck shell=bash disable=SC2154

crowd_on() { # crowd_on FILE
	setpriv --reuid 65534 --regid 65534 --clear-groups "$tool/maps" 64+300 "$1" >"$D/crowd.said" 2>&1 &
	readers=$!
	sleep 0.3
}

crowd_off() {
	kill "$readers"
	wait "$readers" 2>/dev/null || echo "# crowd: $(cat "$D/crowd.said")"
	readers=
}

# As the do-nothing server is asked: one file whose text is made each time and one of the length of the crowd's.
state_under() { # state_under CROWD-FILE FILE OUTPUT: a line of percentiles
	crowd_on "$1"
	"$tool/reads" 1 "$2" >>"$3"
	crowd_off
}

overhead() { # own ms of one claim or release, as above
	"$tool/turns" $sim 20 \
		bare "$pci/devices/$disk/driver_override=vfio-pci" "$pci/drivers/nvme/unbind=$disk" \
		"$pci/drivers/vfio-pci/bind=$disk" "$pci/drivers/vfio-pci/unbind=$disk" \
		"$pci/devices/$disk/driver_override="$'\n' "$pci/drivers/nvme/bind=$disk" \
		-- tree "$V/$disk/claim=bench" "$V/$disk/claim=none" >"$D/turns"
	awk -v t="$(turn tree 4)" -v b="$(turn bare 4)" 'BEGIN { printf "%.2f\n", (t - b) / 2 }'
}

"$daemon" --sysfs "$S/sys" --dev "$S/dev" --proc "$S/proc" --state "$D/state" "$T" 2>"$D/err" &
pid=$!
until [ -s "$T/version" ]; do sleep 0.05; done
sleep 1
chmod 755 "$D"
# A log as long as it gets.
for i in $(seq 1500); do "$tool/put" $V/$nic/claim "nobody can be called so, number $i $(printf '%0150d' 0)"; done >/dev/null
"$tool/put" $V/$nic/claim bench
files=(log inventory events intents metrics.prom health devices/$nic/log devices/$nic/plan
	devices/$nic/state devices/$nic/vendor)
for file in "${files[@]}"; do
	: >"$D/tree.reads" && : >"$D/peer.reads"
	size=$(wc -c <"$T/$file") read=2
	[ "$file" != devices/$nic/vendor ] || read=0
	taskset -c 0,1 "$tool/peer" "$D/peer" "-$size" 4 &
	peer=$!
	until [ -d "$D/peer/d/directory0000000" ]; do sleep 0.05; done
	for i in $(seq "${CROWD_ROUNDS:-3}"); do
		state_under "$T/$file" "$V/$disk/state" "$D/tree.reads"
		state_under "$D/peer/d/directory0000000/attribute000000$read" \
			"$D/peer/d/directory0000000/attribute0000001" "$D/peer.reads"
	done
	stop_peer 2>/dev/null
	echo "$file $(key p50_us <"$D/tree.reads" | median) $(key p99_us <"$D/tree.reads" | median)" \
		"$(key p50_us <"$D/peer.reads" | median) $(key p99_us <"$D/peer.reads" | median)"
done >"$D/measured"
awk '{ printf "%s p50 %.2fx p99 %.2fx tree %d %d us peer %d %d us\n", $1, $2 / $4, $3 / $5, $2, $3, $4, $5 }' "$D/measured" |
	tee "$D/crowds" | sed 's/^/# /'
while read -r file _ _ _ p99 _ p50t p99t _ _ p50p p99p _; do
	row "state while one user's 300 threads read $file and 64 map it: p50 $p50t, p99 $p99t us; a server that does nothing: p50 $p50p, p99 $p99p us" \
		"$p99" 2.0x
done < <(sort -t' ' -k5,5rn "$D/crowds" | head -n 3)
"$tool/put" $V/$nic/claim none
quiet=$(overhead)
for file in log inventory; do
	crowd_on "$T/$file"
	busy=$(overhead)
	crowd_off
	row "own overhead of a claim while they read $file: $busy ms, quiet $quiet ms" \
		"$(awk -v b="$busy" -v q="$quiet" 'BEGIN { printf "%.1fx", b / (q > 0.01 ? q : 0.01) }')" 5.0x
done
stop
