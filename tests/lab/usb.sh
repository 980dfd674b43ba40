# SPDX-License-Identifier: GPL-2.0-or-later
# usb.sh BUILD N: what usb.test runs in its N-th guest: 0 claims the devices, 1 finds them claimed and gives them back.
# "ask COMMAND..." on a line of its own asks the emulator for something, "stick" for the stick that was pulled out.
B=$1 n=$2
K=/sys/bus/usb/devices
/run/modprobe -qa cdc-acm dummy_hcd usb_f_acm sd_mod
mount -t configfs none /sys/kernel/config
gadget=/sys/kernel/config/usb_gadget/modem
mkdir -p $gadget/strings/0x409 $gadget/functions/acm.0 $gadget/configs/c.1
echo 0x1d6b >$gadget/idVendor
echo 0x0104 >$gadget/idProduct
printf 'a modem="5" \303\251 x=y' >$gadget/strings/0x409/serialnumber
ln -s $gadget/functions/acm.0 $gadget/configs/c.1
echo dummy_udc.0 >$gadget/UDC
until [ -e $K/3-1:1.1/driver ]; do sleep 0.1; done
. tests/lab/guest_disk.sh
U=$T/usb

bad() {
	echo "FAILED: $*"
	tail -n 3 $U/*/last_error
	tail -n 30 $T/log $D/daemon.err
}
until_so() { # until_so COMMAND...: within a time that a busy machine needs
	end=$(($(cut -d. -f1 /proc/uptime) + 160))
	while [ "$(cut -d. -f1 /proc/uptime)" -lt $end ]; do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.05
	done
	bad "in vain: $*"
}
took() { # took DEVICE VALUE: its claim
	"$B/tests/put" "$U/$1/claim" "$2" >"$D/verdict" || bad "$1 $2: $(cat "$D/verdict" "$U/$1/last_error")"
}
refused() { # refused DEVICE VALUE SENTENCE
	! "$B/tests/put" "$U/$1/claim" "$2" >"$D/verdict" || bad "$1 took $2"
	grep -qF "$3" "$U/$1/last_error" || bad "$1 $2: $(cat "$D/verdict" "$U/$1/last_error")"
}
drivers() { # of the device's interfaces
	for i in "$K/$1":*; do basename "$(readlink "$i/driver" || echo none)"; done | xargs
}
with() { # with DEVICE DRIVER...
	d=$1
	shift
	[ "$(drivers "$d")" = "$*" ] || { echo "$d: $(drivers "$d")" >&2; return 1; }
}
reads() { # reads FILE VALUE
	[ "$(cat "$1")" = "$2" ] || bad "$1 reads $(cat "$1")"
}
kept() { # kept DEVICE WHO: claimed, and with nobody
	until_so grep -qsx "$2" "$U/$1/claim"
	until_so grep -qsx claimed "$U/$1/state"
	until_so with "$1" $(drivers "$1" | sed 's/[^ ]*/none/g')
	reads "$K/$1/authorized" 1
}

[ "$(ls $U)" = "$(ls $K | grep -v :)" ] || bad "shown: $(ls $U)"
if [ "$n" = 0 ]; then
	reads $U/1-1/interfaces '1.0 030000 usbhid'
	reads $U/3-1/interfaces "$(printf '1.0 020201 cdc_acm\n1.1 0a0000 cdc_acm')"
	reads $U/3-1/serial 'a modem=?5? ?? x=y'
	[ ! -e $U/3-1/controller ] || bad "3-1 has a controller"
	reads $U/3-1/state host
	took 1-1 alice
	took 2-2 bob
	took 3-1 carol
fi
kept 1-1 alice
kept 2-2 bob
kept 3-1 carol
[ ! -e /sys/class/block/sda ] || bad "the stick's disk is still there"

# Somebody has it, and lets it go: a VMM, and a program that takes the interface as libusb does.
has_it() { # has_it PID
	until_so grep -q "pid=$1 " $U/1-1/holders
	until_so grep -qx held $U/1-1/state
	refused 1-1 none "pid $1"
	kill "$1"
	wait "$1"
	kept 1-1 alice
}
# shellcheck disable=SC2046 # arguments
# By its port QEMU opens a device once the guest runs.
qemu-system-x86_64 -machine q35 -nodefaults -display none -device qemu-xhci $(cat $U/1-1/qemu) >$D/qemu 2>&1 &
has_it $!
/usr/bin/python3 -c 'import fcntl, struct, sys, time
node = open(sys.argv[1], "r+b", buffering=0)
fcntl.ioctl(node, 0x8004550f, struct.pack("I", 0))  # USBDEVFS_CLAIMINTERFACE
time.sleep(600)' "$(cat $U/1-1/nodes)" &
client=$!
until_so with 1-1 usbfs
reads $U/1-1/driver none # the kernel says nothing of usbfs
has_it $client

# Pulled out and put back.
number=$(cat $U/1-1/devnum)
echo ask device_del id=tablet
until_so test ! -e $U/1-1
grep -q alice $T/intents || bad "forgotten: $(cat $T/intents)"
echo ask device_add driver=usb-tablet id=tablet bus=usb.0 port=1 serial=LABUSB1
kept 1-1 alice
[ "$(cat $U/1-1/devnum)" -gt "$number" ] || bad "its number is still $number"
[ -c "$(cat $U/1-1/nodes)" ] || bad "no node $(cat $U/1-1/nodes)"
echo ask device_del id=stick
until_so test ! -e $U/2-2
dmesg -C
echo stick
kept 2-2 bob
sleep 2 # as long as usb-storage waits before it looks for disks, and once more
[ ! -e /sys/class/block/sda ] && ! dmesg | grep Direct-Access || bad "a disk was seen"

# Drivers that meet it later: one loaded, one asked for, one of a configuration set anew.
rmmod cdc_acm
echo >$gadget/UDC
until_so test ! -e $U/3-1
echo dummy_udc.0 >$gadget/UDC
kept 3-1 carol
/run/modprobe cdc-acm
[ -d /sys/module/cdc_acm ] || bad "not loaded"
kept 3-1 carol
echo 1-1:1.0 >/sys/bus/usb/drivers/usbhid/bind
kept 1-1 alice
echo 0 >$K/1-1/bConfigurationValue
echo 1 >$K/1-1/bConfigurationValue
until_so test -e $K/1-1:1.0
kept 1-1 alice

# Given back, each interface to its driver, and taken again.
for d in "1-1 usbhid" "2-2 usb-storage" "3-1 cdc_acm cdc_acm"; do
	set -- $d
	took "$1" none
	with "$@" || bad "given back: $(drivers "$1")"
	reads "$U/$1/state" host
done
until_so test -e /sys/class/block/sda
took 1-1 alice
took 2-2 bob
took 3-1 carol

# The daemon is killed with all its processes, and a driver comes while nobody looks.
# shellcheck disable=SC2046 # pids
kill -9 $(cat "/proc/$daemon/task/$daemon/children") "$daemon"
wait $daemon
umount -l $T
for d in 1-1:1.0/usbhid 3-1:1.0/cdc_acm; do echo "${d%/*}" >"/sys/bus/usb/drivers/${d#*/}/bind"; done
with 3-1 cdc_acm cdc_acm || bad "not bound"
"$B/bin/pcidevfsd" --state /run/disk/state $T 2>>$D/daemon.err &
daemon=$!
until_so test -s $T/version
kept 1-1 alice
kept 2-2 bob
kept 3-1 carol
sync
echo "guest $n is done"
sleep 600
