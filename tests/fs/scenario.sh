#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario.sh SYS TOOLS HOLD: what a kernel answers to the writes that pcidevfs makes, and what it says of
# them: a line per write with its errno, the uevents it brought, and the links afterwards. Made on
# the lab's machine by the genuine kernel and by the simulated one, both must be equal.
# HOLD GROUP ADDRESS SECONDS takes a function as a VMM does, says "held", and lets it go when it is killed.
set -u
pci=$1/bus/pci
put=$2/put
uevlog=$2/uevlog
hold=$3
log=$(mktemp) held=$(mktemp) verdict=$(mktemp)
holder=
edu=0000:05:01.0 nic=0000:05:02.0 disk=0000:02:00.0 bridge=0000:04:00.0

"$uevlog" pci vfio vfio-dev >"$log" &
logger=$!
trap 'kill $logger $holder; wait 2>/dev/null; rm -f "$log" "$held" "$verdict"' EXIT
until grep -qx ready "$log"; do sleep 0.05; done

# Events by the fields that a listener may use; numbers that depend on what ran before are blotted out.
events() {
	size=
	while [ "$size" != "$(wc -c <"$log")" ]; do
		size=$(wc -c <"$log")
		sleep 0.2
	done
	tail -n +$(($seen + 1)) "$log" | tr ' ' '\n' | awk '
		/@/ { if (line) print line; line = "  event " $0 }
		/^(SUBSYSTEM|DRIVER|DEVNAME|PCI_SLOT_NAME|PCI_ID|PCI_CLASS|MODALIAS)=/ { line = line " " $0 }
		END { if (line) print line }' |
		sed -E 's,(vfio/)[0-9]+,\1G,; s,(DEVNAME=vfio/)[0-9]+,\1G,; s,vfio-dev/vfio[0-9]+,vfio-dev/vfioN,'
}

try() { # try FILE VALUE
	seen=$(wc -l <"$log")
	said=$("$put" "$pci/$1" "$2") && said=ok
	echo "$1 <- \"$2\": $said"
	events
}

target() { # the last component of a link, or none
	t=$(readlink "$1") && echo "${t##*/}" || echo none
}

hold() { # hold ADDRESS
	: >"$held"
	"$hold" "$(target "$pci/devices/$1/iommu_group")" "$1" 600 >"$held" &
	holder=$!
	while kill -0 $holder 2>/dev/null && ! grep -qx held "$held"; do sleep 0.05; done
	echo "$1 is $(tail -n 1 "$held")"
}

let_go() {
	kill $holder
	wait $holder 2>/dev/null
	holder=
	echo 'and is let go'
}

waits() { # waits FILE VALUE ADDRESS: for the holder of ADDRESS to let go
	seen=$(wc -l <"$log")
	"$put" "$pci/$1" "$2" >"$verdict" &
	writer=$!
	sleep 1
	kill -0 $writer 2>/dev/null && now=waits || now="does not wait"
	echo "$1 <- \"$2\": $now"
	echo "  $3 driver=$(target "$pci/devices/$3/driver")"
	let_go
	wait $writer && echo ok >"$verdict"
	echo "$1 <- \"$2\": $(cat "$verdict")"
	events
}

show() { # show ADDRESS...
	for a; do
		d=$pci/devices/$a
		if [ ! -e "$d" ]; then
			echo "  $a is absent"
			continue
		fi
		printf '  %s driver=%s override=%s node=%s physfn=%s vfs=%s\n' "$a" "$(target "$d/driver")" \
			"$(cat "$d/driver_override")" "$([ -d "$d/vfio-dev" ] && echo yes || echo no)" \
			"$(target "$d/physfn")" "$(cd "$d" && echo virtfn*)"
	done
}

echo '# a group of two: one with a driver, one without'
show $edu $nic
try devices/$nic/driver_override vfio-pci
try drivers/vfio-pci/bind $nic
try drivers/e1000/unbind $edu
try drivers/e1000/unbind $nic
try drivers/vfio-pci/bind $nic
try drivers/vfio-pci/bind $nic
try devices/$edu/driver_override vfio-pci
try drivers/vfio-pci/bind $edu
show $edu $nic
echo '# while one of them is held, the host gets none'
try drivers/vfio-pci/unbind $nic
try devices/$nic/driver_override ''
hold $edu
try drivers/e1000/bind $nic
let_go
try drivers/e1000/bind $nic
try drivers/e1000/unbind $nic
try devices/$nic/driver_override vfio-pci
try drivers/vfio-pci/bind $nic
show $edu $nic
echo '# and back'
try drivers/vfio-pci/unbind $nic
try drivers/e1000/bind $nic
try devices/$nic/driver_override ''
show $nic
try drivers/e1000/bind $nic
try drivers/e1000/bind $nic
try devices/$edu/driver_override ''
try drivers/vfio-pci/unbind $edu
show $edu $nic

echo '# what is refused'
try drivers_probe 0000:ff:1f.7
try drivers_probe $nic
try drivers_probe $edu
try drivers_probe rubbish
try drivers/vfio-pci/bind 0000:ff:1f.7
try drivers/vfio-pci/bind $edu
try drivers/vfio-pci/unbind 0000:ff:1f.7
try devices/$bridge/driver_override vfio-pci
try drivers/vfio-pci/bind $bridge
try devices/$bridge/driver_override ''
try devices/$edu/driver_override no-such-driver
try drivers_probe $edu
show $edu $bridge
try devices/$edu/driver_override ''

echo '# virtual functions'
try devices/$disk/sriov_drivers_autoprobe 0
try devices/$disk/sriov_numvfs 5
try devices/$disk/sriov_numvfs -1
try devices/$disk/sriov_numvfs rubbish
try devices/$disk/sriov_numvfs 2
show $disk 0000:02:00.1 0000:02:00.2 0000:02:00.3
try devices/$disk/sriov_numvfs 2
try devices/$disk/sriov_numvfs 3
try devices/0000:02:00.1/driver_override vfio-pci
try drivers_probe 0000:02:00.1
try drivers_probe 0000:02:00.2
show 0000:02:00.1 0000:02:00.2
hold 0000:02:00.1
waits drivers/vfio-pci/unbind 0000:02:00.1 0000:02:00.1
show 0000:02:00.1
try drivers_probe 0000:02:00.1
hold 0000:02:00.1
waits devices/$disk/sriov_numvfs 0 0000:02:00.1
show $disk 0000:02:00.1
try devices/$disk/sriov_numvfs 2
try devices/0000:02:00.1/driver_override vfio-pci
try drivers_probe 0000:02:00.1
try devices/$disk/sriov_numvfs 0
show $disk 0000:02:00.1
try devices/$disk/driver_override vfio-pci
try drivers/nvme/unbind $disk
try devices/$disk/sriov_numvfs 1
try drivers_probe $disk
show $disk
try drivers/vfio-pci/unbind $disk
try devices/$disk/driver_override ''
try drivers_probe $disk
show $disk

echo '# off the bus and on again'
try devices/$edu/remove 1
show $edu
try rescan 1
show $edu
