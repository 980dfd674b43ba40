# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by scenario*.sh SYS TOOLS HOLD: what a kernel answers to the writes that pcidevfs makes,
# and what it says of them: a line per write with its errno, the uevents it brought, and the links afterwards. Made on
# the lab's machine by the genuine kernel and by the simulated one, both must be equal.
# $on: the bus whose files and events they are, else pci.
# HOLD GROUP ADDRESS SECONDS takes a function as a VMM does, says "held", and lets it go when it is killed.
# shellcheck shell=sh
set -u
bus=$1/bus/${on:-pci}
put=$2/put
uevlog=$2/uevlog
hold=$3
work=$(mktemp -d)
log=$work/log held=$work/held
holder=

: >"$log" # grep may be faster
"$uevlog" ${on:-pci vfio vfio-dev mdev} >"$log" &
logger=$!
trap 'kill $logger $holder; wait 2>/dev/null; rm -rf "$work"' EXIT
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
		/^(SUBSYSTEM|DRIVER|DEVNAME|DEVTYPE|PRODUCT|TYPE|INTERFACE|PCI_SLOT_NAME|PCI_ID|PCI_CLASS|MODALIAS|MDEV_STATE)=/ { line = line " " $0 }
		END { if (line) print line }' |
		sed -E 's,(usb/[0-9]+/)[0-9]+,\1D,; s,(vfio/)[0-9]+,\1G,; s,(DEVNAME=vfio/)[0-9]+,\1G,; s,vfio-dev/vfio[0-9]+,vfio-dev/vfioN,'
}

try() { # try FILE VALUE
	seen=$(wc -l <"$log")
	said=$("$put" "$bus/$1" "$2") && said=ok
	echo "$1 <- \"$2\": $said"
	events
}

target() { # the last component of a link, or none
	t=$(readlink "$1") && echo "${t##*/}" || echo none
}

hold() { # hold ADDRESS
	: >"$held"
	"$hold" "$(target "$bus/devices/$1/iommu_group")" "$1" 600 >"$held" &
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

try_open() { # try_open ADDRESS: as a VMM does
	"$hold" "$(target "$bus/devices/$1/iommu_group")" "$1" 0 >"$work/opened"
	echo "opening $1: $(tail -n 1 "$work/opened")"
}

read_file() { # read_file FILE: what is in it, or why it cannot be read
	cat "$bus/$1" 2>&1 | sed 's/^cat: .*: //'
}

look() { # look FILE...
	for f; do echo "  $f reads $(read_file "$f")"; done
}

# Background work has a number; that it is done is told by a file, as a zombie can still be signalled.
start() { # start N COMMAND...
	rm -f "$work/done.$1"
	(
		n=$1
		shift
		"$@" >"$work/said.$n" && [ -s "$work/said.$n" ] || echo ok >>"$work/said.$n"
		: >"$work/done.$n"
	) &
}

said() { # said N: what it said, or waits
	[ -e "$work/done.$1" ] && head -n 1 "$work/said.$1" || echo waits
}

settle() { # settle N: until it is done, or seems to wait
	tries=20
	while [ $tries -gt 0 ] && [ ! -e "$work/done.$1" ]; do
		tries=$((tries - 1))
		sleep 0.1
	done
}

finish() { # finish N: until it is done
	while [ ! -e "$work/done.$1" ]; do sleep 0.05; done
}

# waits FILE VALUE ADDRESS [OTHER]...: for the holder of ADDRESS to let go. Meanwhile each OTHER is read, or
# written if it is FILE=VALUE, one after the other.
waits() {
	seen=$(wc -l <"$log")
	what="$1 <- \"$2\"" who=$3
	start 0 "$put" "$bus/$1" "$2"
	shift 3
	settle 0
	echo "$what: $(said 0)"
	echo "  $who driver=$(target "$bus/devices/$who/driver")"
	n=0
	for o; do
		n=$((n + 1))
		case $o in
		*=*) start $n "$put" "$bus/${o%%=*}" "${o#*=}" ;;
		*) start $n read_file "$o" ;;
		esac
		settle $n
		echo "  meanwhile $o: $(said $n)"
	done
	let_go
	finish 0
	echo "$what: $(said 0)"
	n=0
	for o; do
		n=$((n + 1))
		finish $n
		echo "  $o: $(said $n)"
	done
	events
}

show() { # show ADDRESS...
	for a; do
		d=$bus/devices/$a
		if [ ! -e "$d" ]; then
			echo "  $a is absent"
			continue
		fi
		printf '  %s driver=%s override=%s node=%s physfn=%s vfs=%s\n' "$a" "$(target "$d/driver")" \
			"$(cat "$d/driver_override")" "$([ -d "$d/vfio-dev" ] && echo yes || echo no)" \
			"$(target "$d/physfn")" "$(cd "$d" && echo virtfn*)"
	done
}
