# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An SR-IOV GPU in the world that $world names: enabled, carved up by one transaction, refused past its cap with the
# reason, changed, adopted, disabled, and found again after a reboot; the profiles are always what the kernel has.
. tests/fs/lib.sh

gpu=0000:01:00.0
P=$S/sys/bus/pci/devices
vf() { basename "$(readlink "$V/$gpu/virtfn$1")"; }
type_of() { # type_of VF: what the kernel has
	case $world in
	vfio) cat "$P/$1/nvidia/current_vgpu_type" ;;
	*) basename "$(readlink "$P/$1/"????????-*/mdev_type)" ;;
	esac
}
can() { # can VF TYPE NUMBER: how many of that type its profiles say are available
	grep -q "^name=\"NVIDIA LAB-$2\" id=[^ ]* available=$3 " "$V/$1/profiles" || fail "$1: $(cat "$V/$1/profiles")"
}
begin() {
	start_gpu "$world" numvfs=0
	driver_root
	start_daemon --driver-root "$root"
}
again() { # the daemon is stopped, and started on the same machine
	stop_daemon
	start_daemon --driver-root "$root"
	wait_for 10 sh -c "! grep -qsx busy '$V'/*/state" # restore is over
}

begin
is $V/$gpu/kind sriov-gpu
has $V/$gpu/vgpu_support "no: its VFs are not enabled; write 1 to enabled"
# Four vGPUs of VFs that do not exist yet, in one commit.
{
	echo "$gpu/enabled 1"
	for i in 0 1 2 3; do echo "$gpu/virtfn$i/profile NVIDIA LAB-4Q"; done
	echo "$gpu/virtfn1/claim alice"
	echo commit
} >"$D/lines"
cat "$D/lines" >$T/ctl || fail "commit: $(cat $T/last_error)"
is $V/$gpu/enabled 1
is $V/$gpu/vgpu_support yes
check_four() {
	for i in 0 1 2 3; do
		is "$V/$(vf $i)/kind" vgpu
		is "$V/$(vf $i)/profile" "NVIDIA LAB-4Q"
		is "$V/$(vf $i)/state" claimed
		is "$V/$(vf $i)/resource_name" nvidia.com/NVIDIA_LAB-4Q
		[ "$(type_of "$(vf $i)")" = "$(cat "$V/$(vf $i)/profile_id")" ] || fail "virtfn$i is $(type_of "$(vf $i)")"
		is "$V/$(vf $i)/driver" nvidia
	done
	is "$V/$(vf 0)/claim" admin
	is "$V/$(vf 1)/claim" alice
	is "$T/resources/nvidia.com/NVIDIA_LAB-4Q/capacity" 4
}
check_four
# The cap, and why.
a=$(vf 0) b=$(vf 1) c=$(vf 4)
refused ENOSPC "$V/$c/profile" "NVIDIA LAB-4Q" "4 vGPUs use 16384 of 16384 MiB; possible now: none"
can "$c" 4Q 0
can $gpu 4Q 0
grep -q 'name="NVIDIA LAB-4Q" .* available=0 .*reason="4 vGPUs use 16384 of 16384 MiB"' $V/$gpu/profiles ||
	fail "$(cat $V/$gpu/profiles)"
# Two of the four become what no card of one size has beside the others; nothing is ended for that.
before=$(for i in 0 1 2 3; do type_of "$(vf $i)"; done)
put $T/ctl "$a/profile NVIDIA LAB-8Q
$b/profile NVIDIA LAB-8Q
commit
" && fail "8Q beside 4Q"
[ "$(for i in 0 1 2 3; do type_of "$(vf $i)"; done)" = "$before" ] || fail "not as before"
# All four become two, in one transaction.
put $T/ctl "$a/profile NVIDIA LAB-8Q
$b/profile NVIDIA LAB-8Q
$(vf 2)/profile none
$(vf 3)/profile none
commit
" || fail "$(cat $T/last_error)"
# Where a full card has no word of its own, one that says no and lists room is asked again, but not for ever.
if [ "$world" = vfio ]; then
	set_to "$V/$b/profile" none
	ctl nth 1 fail EIO
	set_to "$V/$b/profile" "NVIDIA LAB-8Q"
	ctl met
	set_to "$V/$b/profile" none
	ctl nth 1 from EIO
	refused EIO "$V/$b/profile" "NVIDIA LAB-8Q" "was refused by its driver"
	ctl nth 0
fi
put $T/ctl "$(for i in 0 1 2 3; do echo "$(vf $i)/profile NVIDIA LAB-4Q"; done)
$(vf 1)/claim alice
commit
" || fail "$(cat $T/last_error)"
check_four
refused EINVAL "$V/$c/profile" "NVIDIA LAB" "has no vGPU type \"NVIDIA LAB\""
refused EOPNOTSUPP "$V/$c/claim" bob "is not a vGPU yet"
refused EINVAL "$V/$a/claim" none "write none to its profile"
set_to "$V/$b/claim" bob # handed over as it is
set_to "$V/$b/claim" alice
# The simulated driver has parameters of VFs alone.
if [ "$world" = vfio ]; then
	params="frame_rate_limiter=0, disable_vnc=1"
	set_to "$V/$a/vgpu_params" "$params"
	# They are taken back with the rest.
	ctl fail "bus/pci/devices/$b/nvidia/vgpu_params" EIO
	put $T/ctl "$a/vgpu_params x=1
$b/vgpu_params x=2
commit
" && fail "half of it is done"
	ctl fail "bus/pci/devices/$b/nvidia/vgpu_params" EIO 0
	is "$V/$a/vgpu_params" "$params"
	is "$P/$a/nvidia/vgpu_params" "$params"
else
	params=none
	refused EOPNOTSUPP "$V/$a/vgpu_params" "a=1" "takes no parameters"
fi

# The next daemon knows the names, although the kernel lists none.
again
for i in 0 2 3; do comes_back "$(vf $i)" admin; done
comes_back "$(vf 1)" alice
check_four
can "$(vf 4)" 8Q 0
is "$V/$a/vgpu_params" "$params"

# Whoever has it keeps it, and is named.
group=$(sed -n 's,^/dev/vfio/\([0-9]*\)$,\1,p' "$V/$a/nodes")
ctl hold "$group" 4711 qemu-kvm
refused EBUSY "$V/$a/profile" none "$a is held by"
set_to "$V/$a/claim" ann
refused EBUSY "$V/$a/claim" bob "$a is held by"
refused EBUSY "$V/$a/profile" "NVIDIA LAB-8Q" "$a is held by"
[ "$world" = mdev ] || refused EBUSY "$V/$a/vgpu_params" none "$a is held by"
refused EBUSY "$V/$gpu/enabled" 0 "$a is held by"
ctl release "$group"
# Somebody opens the second one while the first one ends, which for a mediated device would wait for him.
if [ "$world" = mdev ]; then
	group=$(sed -n 's,^/dev/vfio/\([0-9]*\)$,\1,p' "$V/$b/nodes") remove=bus/mdev/devices/$(cat "$V/$a/mdev_uuid")/remove
	ctl hang "$remove"
	put $T/ctl "$a/profile none
$b/profile none
commit
" >"$D/verdict" & writer=$!
	within "$remove"
	ctl hold "$group" 4711 qemu-kvm
	sleep 0.1 # what was asked before the plan counts for 50 ms
	ctl unhang "$remove"
	wait $writer && fail "it was held"
	is "$D/verdict" EBUSY
	has $T/last_error "$b is held by qemu-kvm (pid 4711)"
	ctl release "$group"
	is "$V/$a/profile" "NVIDIA LAB-4Q"
	[ -e "$S/sys/$remove" ] || fail "it has another UUID"
fi
put "$V/$a/allocated_to" ns/vm/compute || fail "allocated_to"
refused EBUSY "$V/$a/profile" none "$a is allocated to ns/vm/compute"
refused EBUSY "$V/$a/claim" bob "$a is allocated to ns/vm/compute"
refused EBUSY "$V/$gpu/enabled" 0 "$a is allocated to ns/vm/compute"
put "$V/$a/allocated_to" none || fail "allocated_to"

# Room for another, at once, and another type in one step; the claim stays.
set_to "$V/$(vf 3)/profile" none
can "$c" 4Q 1
can "$c" 8Q 0
set_to "$V/$(vf 2)/profile" none
set_to "$V/$b/profile" none
is "$V/$b/claim" none
is "$V/$b/state" free
set_to "$V/$a/claim" carol
uuid=$(cat "$V/$a/mdev_uuid")
set_to "$V/$a/profile" "NVIDIA LAB-8Q"
is "$V/$a/claim" carol
is "$V/$a/mdev_uuid" "$uuid"
refused ENOSPC "$V/$b/profile" "NVIDIA LAB-4Q" \
	"all vGPUs of a card have one size, and $a is NVIDIA LAB-8Q; possible now: NVIDIA LAB-8Q"
# A change that fails leaves what was.
set_to "$V/$b/profile" "NVIDIA LAB-8Q"
refused ENOSPC "$V/$a/profile" "NVIDIA LAB-16Q" \
	"all vGPUs of a card have one size, and $b is NVIDIA LAB-8Q; possible now: NVIDIA LAB-8Q"
is "$V/$a/profile" "NVIDIA LAB-8Q"
is "$V/$a/claim" carol
is "$V/$a/mdev_uuid" "$uuid"
is "$V/$a/state" claimed

# Off and on again.
set_to $V/$gpu/enabled 0
is $V/$gpu/sriov_numvfs 0
set_to $V/$gpu/enabled 1
comes_back "$a" carol
is "$V/$a/profile" "NVIDIA LAB-8Q"
comes_back "$b" admin
set_to "$V/$b/profile" none
set_to "$V/$b/enabled" 1
is "$V/$b/profile" "NVIDIA LAB-8Q"
set_to "$V/$b/enabled" 0

# What others make is shown and left alone, until somebody adopts it.
case $world in
vfio) put "$P/$b/nvidia/current_vgpu_type" 748 ;;
mdev) put "$P/$b/mdev_supported_types/nvidia-748/create" 11111111-2222-4333-8444-555555555555 ;;
esac || fail "by hand"
# Such a write makes no event: it shows at the next look, here that after an operation on its sibling.
[ "$world" = mdev ] || set_to "$V/$a/vgpu_params" "frame_rate_limiter=1"
wait_for 20 grep -qx "NVIDIA LAB-8Q" "$V/$b/profile"
is "$V/$b/claim" none
has "$V/$b/reason" "that others have made"
refused EBUSY "$V/$gpu/claim" alice "has 8 VFs; write 0 to its enabled first"
set_to "$V/$b/claim" dora
is "$V/$b/state" claimed

# After a reboot all is as it was: the VFs, the profiles, the parameters, the claims.
[ "$world" = mdev ] || set_to "$V/$b/vgpu_params" "a=1"
before=$(grep -H . "$V"/*/profile "$V"/*/claim "$V"/*/vgpu_params "$V"/*/mdev_uuid)
power_cut tests/machines/lab-vgpu.umockdev.gz
driver_root
start_daemon --driver-root "$root"
comes_back "$b" dora
comes_back "$a" carol
if [ "$world" = vfio ]; then # they are there when it reads claimed
	is "$V/$b/vgpu_params" "a=1"
	order=$(sed -n "s/.* id=$b file=\([a-z_]*\) .*/\1/p" $T/log | tail -n 3 | tr '\n' ' ')
	[ "$order" = "profile vgpu_params claim " ] || fail "$order: $(tail -n 9 $T/log)"
fi
after=$(grep -H . "$V"/*/profile "$V"/*/claim "$V"/*/vgpu_params "$V"/*/mdev_uuid)
[ "$after" = "$before" ] || fail "$(diff <(echo "$before") <(echo "$after"))"
is $V/$gpu/enabled 1
