# SPDX-License-Identifier: GPL-2.0-or-later
# A card that cannot be divided into instances is asked of its settings too, by one question; and one whose driver offers none says so.
# shellcheck shell=bash disable=SC2154
. tests/fs/lib.sh # $style: by which vGPUs are made
[ "$(id -u)" = 0 ] || skip "only root sets anything"
gpu=0000:01:00.0
mkdir "$D/cards"
printf 'driver 580.159.04\nlibrary 13.580.159.04\n' >"$D/cards/all"
cat >"$D/cards/$gpu" <<-END
	name NVIDIA A2
	vgpus
	mixed_sizes 0
	scheduler 1 0 0 0
	type 747 -1 4 1 4096 4 60 Quadro/Quadro-Virtual-DWS,5.0/NVIDIA A2-4Q
	type 748 -1 2 1 8192 4 60 Quadro/Quadro-Virtual-DWS,5.0/NVIDIA A2-8Q
	type 749 -1 1 1 16384 4 60 Quadro/Quadro-Virtual-DWS,5.0/NVIDIA A2-16Q
END
start_gpu "$style" numvfs=0 "cards=$D/cards"
driver_root
start_daemon --driver-root "$root"
[ -e "$V/$gpu/mig" ] && fail "it has mig"
wait_for 10 grep -qx 0 "$V/$gpu/mixed_sizes"
set_to "$V/$gpu/enabled" 1
has "$V/$gpu/virtfn0/profiles" 'framebuffer_mib=4096 class=Quadro license=Quadro-Virtual-DWS,5.0 max_per_vm=1 heads=4 frame_rate_limit=60'
set_to "$V/$gpu/mixed_sizes" 1
set_to "$V/$gpu/virtfn0/profile" 'NVIDIA A2-4Q'
set_to "$V/$gpu/virtfn1/profile" 'NVIDIA A2-8Q'
set_to "$V/$gpu/virtfn0/profile" none
set_to "$V/$gpu/virtfn1/profile" none
set_to "$V/$gpu/mixed_sizes" 0

# A driver without vGPU manager answers so.
sed -i '/^vgpus/d; /^mixed/d; /^sched/d' "$D/cards/$gpu"
ctl uevent change "bus/pci/devices/$gpu"
wait_for 10 grep -qx none "$V/$gpu/mixed_sizes"
refused EOPNOTSUPP "$V/$gpu/mixed_sizes" 1
has "$V/$gpu/last_error" "mixed_sizes of $gpu cannot be changed now: "
is "$V/$gpu/scheduler" none
