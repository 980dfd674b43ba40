# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests of a mounted tree. tests/run gives $D, the test's directory, and $B.
# shellcheck shell=sh disable=SC2034
set -u
S=$D/sim # the simulated machine: $S/sys, $S/dev, $S/proc
T=$D/tree # the mounted tree
V=$T/devices
bin=$B/bin
tool=$B/tests
version=$(sed -n "s,^VERSION := ,,p" Makefile)
sim_pid= daemon_pid= mounts=

fail() {
	echo "FAILED: $*"
	exit 1
}

skip() {
	echo "skip: $*"
	exit 77
}

need() { # need PROGRAM...
	for p; do command -v "$p" >/dev/null || skip "$p is not installed"; done
}

ms() { # milliseconds since some fixed time; no program is started, since sweeps ask thousands of times
	read -r m_up m_rest </proc/uptime
	echo "${m_up%.*}${m_up#*.}0"
}

# SECONDS is what an idle machine may take; a busy one has eight times that, for this ends what hangs and times nothing.
deadline() { # deadline SECONDS: in ms
	echo $(($(ms) + $1 * 8000))
}

tell_state() { # what the daemon knows, for whoever reads why a test has failed
	for s_file in intents log; do
		s_text=$(timeout 5 tail -n 6 "$T/$s_file" 2>/dev/null | cut -c1-300)
		[ -z "$s_text" ] || printf '\n%s:\n%s' "$s_file" "$s_text"
	done
}

wait_for() { # wait_for SECONDS COMMAND...: until it succeeds
	w_end=$(deadline "$1")
	shift
	{ echo "$*" >"$D/awaited"; } 2>/dev/null # tests/run tells it of a test that has used up its time
	until "$@" >/dev/null 2>&1; do
		[ "$(ms)" -lt $w_end ] || fail "in vain: $*$(tell_state)"
		sleep 0.02
	done
}

# Commands to the simulated kernel: ctl plug ADDRESS ..., ctl fail FILE ERRNO, ...
ctl() {
	"$bin/pcidevfs-sim" --control "$S" "$@" || fail "sim: $*"
}

within() { # within FILE: until somebody waits in it, slow or hanging
	wait_for 10 "$bin/pcidevfs-sim" --control "$S" inside "$1"
}

comes_back() { # comes_back DEVICE CLAIM: by restore, whose act is over
	wait_for 10 grep -qsx "$2" "$V/$1/claim"
	wait_for 10 sh -c "! grep -qsx busy '$V'/*/state"
}

start_sim() { # start_sim [MACHINE]; $cdev, $free_override, $vgpus, $kmsg: its kernel is so, see pcidevfs-sim --help
	mkdir -p "$S"
	: >"$D/sim.out" # of an earlier one, which the background job would empty too late
	# Process 1 is the test's own here, so the simulation cannot know that the network is private.
	"$bin/pcidevfs-sim" --uevents ${cdev:+--cdev} ${free_override:+--free-override} \
		${kmsg:+--log "$kmsg"} ${vgpus:+--gpu "$vgpus"} ${1:+--machine "$1"} "$S" >"$D/sim.out" 2>"$D/sim.err" &
	sim_pid=$!
	wait_for 20 grep -qx ready "$D/sim.out"
}

start_gpu() { # start_gpu STYLE [OPTION=VALUE]...: the lab's machine under -g, 0000:01:00.0 is a GPU with 8 VFs
	vgpus="$*"
	start_sim tests/machines/lab-vgpu.umockdev.gz
}

a2_types() { # types of an A2, as start_gpu takes a file of them
	cat <<-END
		741 1 NVIDIA A2-1Q
		742 2 NVIDIA A2-2Q
		747 4 NVIDIA A2-4Q
		748 8 NVIDIA A2-8Q
		749 16 NVIDIA A2-16Q
	END
}

vgpus() { # "COUNT NAME" of each type
	sed -n "s/^\(mdev\|0000:01\).* profile=\"\([^\"]*\)\".*/\2/p" "$T/inventory" | sort | uniq -c | sed 's/^ *//' | tr '\n' ' '
}

nvswitch() { # nvswitch CARD: $D/machine is the built-in one with the GPU in this file, and $switch is an NVSwitch
	switch=0000:02:00.0 # not the first of two ports of a NIC
	awk -v RS= -v ORS='\n\n' '/^P: [^\n]*0000:02:00.0\/net/ { next }
		/^P: [^\n]*0000:02:00.0\n/ { gsub(/ixgbe/, "nvidia-nvswitch"); gsub(/\nA: sriov[^\n]*/, "")
			sub(/\nA: class=[^\n]*/, "\nA: class=0x068000\\n"); sub(/\nA: vendor=[^\n]*/, "\nA: vendor=0x10de\\n")
			sub(/\nA: device=[^\n]*/, "\nA: device=0x22a3\\n") } 1' tests/machines/small-server.umockdev >"$D/machine"
	cat "$1" >>"$D/machine"
}

start_mig() { # start_mig STYLE CARD [OPTION=VALUE]...: the built-in machine with $gpu, an h100 of 20 VFs or a100 of 16
	case $2 in h100) gpu=0000:0c:00.0 ;; *) gpu=0000:0b:00.0 ;; esac
	mkdir -p "$D/cards"
	cat "tests/nvml/$2.card" "tests/nvml/$2.vgpus" >"$D/cards/$gpu"
	printf 'driver 580.159.04\nlibrary 13.580.159.04\n' >"$D/cards/all"
	cat tests/machines/small-server.umockdev "tests/machines/small-server-$2.umockdev" >"$D/machine"
	vgpus="$1 numvfs=0 cards=$D/cards"
	shift 2
	vgpus="$vgpus $*"
	start_sim "$D/machine" # after power_cut "$D/machine" the cards are the same
}

. tests/lib/driver.sh

process() { # process PID NAME [UID [CAPS [MAP]]]: of the simulation, as the kernel shows it; its program is $D/PID
	mkdir -p "$S/proc/$1"
	echo "$2" >"$S/proc/$1/comm"
	printf 'Name:\t%s\nState:\tS (sleeping)\nUid:\t%s\t%s\t%s\t%s\nCapEff:\t%s\n' "$2" "${3:-0}" "${3:-0}" "${3:-0}" \
		"${3:-0}" "${4:-000001ffffffffff}" >"$S/proc/$1/status"
	printf '%s\n' "${5:-         0          0 4294967295}" >"$S/proc/$1/uid_map"
	[ -e "$D/$1" ] || install -m 755 /dev/null "$D/$1"
	ln -sfn "$D/$1" "$S/proc/$1/exe"
}

start_demo() { # as `make demo`, from a copy of what it needs; its tree is $T, what it prints $D/said
	need setsid ldd
	mkdir -p "$D/deploy/demo" "$D/build" "$D/tests/lab"
	cp deploy/demo/demo "$D/deploy/demo/"
	cp -r tests/machines "$D/tests/"
	cp -r tests/lab/tools "$D/tests/lab/"
	ln -s "$(readlink -f "$bin")" "$D/build/bin"
	demo=$D/deploy/demo/demo T=$D/build/demo/pcidevfs
	V=$T/devices
	trap 't_status=$?; "$demo" stop; exit $t_status' EXIT
	"$demo" start >"$D/said" 2>&1 || fail "$(cat "$D/said")"
}

start_daemon() { # start_daemon [OPTION...]: over the simulation where there is one
	mkdir -p "$T"
	if [ -n "$sim_pid" ]; then
		set -- --sysfs "$S/sys" --dev "$S/dev" --proc "$S/proc" "$@"
	fi
	"$bin/pcidevfsd" --state "$D/state" "$@" "$T" 2>>"$D/daemon.err" &
	daemon_pid=$!
	# Read, not stat: the kernel remembers the attributes of a mount whose daemon is dead.
	wait_for 20 cat "$T/version"
}

signal_daemon() { # SIGTERM, which it has taken then: a second one would else be one with it
	kill "$daemon_pid"
	wait_for 5 grep -q '^ShdPnd:.0*$' "/proc/$daemon_pid/status"
}

end_daemon() { # ends and unmounts, and must say so by status 0
	[ -n "$daemon_pid" ] || return 0
	# shellcheck disable=SC2046 # pids: a test that failed may have left them stopped
	kill -CONT "$daemon_pid" $(pgrep -P "$daemon_pid") 2>/dev/null
	kill "$daemon_pid" 2>/dev/null
	wait "$daemon_pid"
	s_status=$?
	daemon_pid=
	if [ $s_status != 0 ] || mountpoint -q "$T"; then
		echo "FAILED: the daemon ended with status $s_status and left $(mountpoint "$T")"
		return 1
	fi
}

stop_daemon() {
	end_daemon || exit 1
}

stop_all() {
	trap - EXIT
	end_daemon || t_status=1
	for m in $mounts; do umount -l "$m"; done
	if [ -n "$sim_pid" ]; then
		kill "$sim_pid" 2>/dev/null
		wait "$sim_pid"
	fi
	exit $t_status
}
trap 't_status=$?; stop_all' EXIT
trap 'exit 124' TERM

is() { # is FILE VALUE
	i_got=$(cat "$1") || fail "cannot read $1"
	[ "$i_got" = "$2" ] || fail "${1#"$T/"} is \"$i_got\", should be \"$2\""
}

has() { # has FILE TEXT: FILE contains it
	grep -qF -- "$2" "$1" || fail "${1#"$T/"} lacks \"$2\": $(cat "$1")"
}

put() { # put FILE VALUE: one write(2); says the errno's name when refused
	"$tool/put" "$1" "$2"
}

set_to() { # set_to FILE VALUE: put that must succeed
	p_said=$(put "$1" "$2") ||
		fail "${1#"$T/"}: \"$2\" refused with $p_said: $(cat "$(dirname "$1")/last_error")"
}

refused() { # refused ERRNO FILE VALUE [TEXT]: TEXT is part of last_error
	r_said=$(put "$2" "$3") && fail "${2#"$T/"}: \"$3\" was accepted, should be $1"
	[ "$r_said" = "$1" ] || fail "${2#"$T/"}: \"$3\" gave $r_said, should be $1"
	[ $# -lt 4 ] || has "$(dirname "$2")/last_error" "$4"
}

identity() { # identity ADDRESS: of what is stored for it
	sed -n "s,^$1 .* identity=\([^ ]*\).*,\1,p" "$T/intents"
}

expect_errno() { # expect_errno ERRNO COMMAND...: fails and says so, by name or in words
	e_name=$1
	shift
	e_said=$(LC_ALL=C "$@" 2>&1) && fail "succeeded, should be $e_name: $*"
	case $e_said in
	*"$e_name"* | *"$("$tool/put" --text "$e_name")"*) ;;
	*) fail "$*: said \"$e_said\", should be $e_name" ;;
	esac
}

driver_of() { # driver_of ADDRESS: as the kernel says
	d_link=$(readlink "${SYS:-$S/sys}/bus/pci/devices/$1/driver") || d_link=none
	echo "${d_link##*/}"
}

serving_pid() { # the newest process below the one we started, which only keeps the mount: an older one ends
	for s_pid in $(pgrep -P "$daemon_pid" -x pcidevfsd); do
		[ ! -e "/proc/$s_pid/exe" ] || echo "$s_pid" # one that is dead may not be reaped yet
	done | tail -n 1
}

kill_serving() { # kill -9, and a fresh one has taken over when the next read answers
	k_pid=$(serving_pid)
	kill -9 "$k_pid" || fail "there is no serving process"
	[ -n "$(cat "$T/version")" ] || fail "no answer after the kill"
	[ "$(serving_pid)" != "$k_pid" ] || fail "process $k_pid did not die"
}

stop_sim() {
	kill "$sim_pid"
	wait "$sim_pid"
	sim_pid=
}

kill_both() { # -9, at once; the one that we started first, since it would start the other anew
	k_pid=$(serving_pid)
	kill -9 "$daemon_pid" "$k_pid"
	wait "$daemon_pid" 2>/dev/null
	umount -l "$T"
	wait_for 10 test ! -e "/proc/$k_pid/exe"
}

power_cut() { # power_cut [MACHINE]: nothing ends well, then the machine as it comes up
	kill_both
	daemon_pid=
	stop_sim
	rm -f "$D/sim.out"
	start_sim "$@"
	! grep 'is for pcidevfsd itself' "$D/daemon.err" || fail 'the next process, still asleep, has complained'
}

where() { # where FILE PATTERN: addresses whose FILE has a line that matches, in order
	grep -lsE -- "$2" "$V"/*/"$1" | sed "s,^$V/,,; s,/$1\$,,"
}

one() { # one FILE PATTERN: the first of them; there must be one
	o_found=$(where "$1" "$2" | head -n 1)
	[ -n "$o_found" ] || fail "no device whose $1 matches $2"
	echo "$o_found"
}

members() { # members ADDRESS: of its IOMMU group, as the kernel says
	ls "$S/sys/bus/pci/devices/$1/iommu_group/devices"
}

# Everything a refused or undone write must leave as it was, each line with its address first; by few
# processes, since sweeps ask thousands of times. Not grep: it seeks, which waits for a write that hangs.
kernel_state() {
	(
		cd "$S/sys/bus/pci/devices" || exit
		stat -c %N -- */driver 2>/dev/null | sed "s,^'\([^/]*\)/driver' -> '.*/\(.*\)'$,\1 \2,"
		awk '{ sub("/.*", "", FILENAME); print FILENAME, "override", $0 }' */driver_override
	)
	ls "$S/dev/vfio"
}
