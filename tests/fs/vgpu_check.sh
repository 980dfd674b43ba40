# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by vgpu_check_WORLD.test.
. tests/fs/lib.sh
gpu=0000:01:00.0
start_gpu "$world" numvfs=1
start_daemon
mixed=()
if [ "$world" != mdev-pf ]; then
	driver_root
	stop_daemon
	start_daemon --driver-root "$root"
	set_to "$V/$gpu/enabled" 1
	mode=$S/sys/bus/pci/devices/$gpu/nvidia/heterogeneous_mode
	# shellcheck disable=SC2016 # of the inner shell
	mixed=(sh -c 'echo "${1#mixed=}" >'"$mode" set)
fi
for seed in 1 2; do
	python3 tests/fs/vgpu_check.py "$T" $gpu $seed 40 "${mixed[@]}" || fail "$(cat "$T/last_error")"
done
