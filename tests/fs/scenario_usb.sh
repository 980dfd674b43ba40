#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario_usb.sh SYS TOOLS HOLD: see scenario_lib.sh. Interfaces are taken from their drivers and given back; devices
# lose what they have and get it again; a hub goes with all that is below it.
on=usb
. "$(dirname "$0")/scenario_lib.sh"
tablet=1-1 stick=2-2 nic=1-3.1 sound=1-3.2 hub=1-3 deep=1-3.3.1.1.1

# What the device and its interfaces are with. Numbers count up and depend on what ran before.
show() { # show DEVICE...
	for d; do
		[ -e "$bus/devices/$d" ] || echo "  $d is absent"
		for i in "$bus/devices/$d" "$bus/devices/$d":*; do
			[ ! -e "$i" ] || echo "  ${i##*/} driver=$(target "$i/driver")"
		done
	done
}
number() { read_file "devices/$1/devnum"; }

echo '# an interface'
show $tablet
try drivers/usbhid/unbind $tablet:1.0
try drivers/usbhid/unbind $tablet:1.0
show $tablet
try drivers/usb-storage/bind $tablet:1.0
try drivers/usbhid/bind $tablet:1.7
try drivers/usbhid/bind $tablet
try drivers/usbhid/bind $tablet:1.0
try drivers/usbhid/bind $tablet:1.0
try drivers/usb-storage/unbind $tablet:1.0
try drivers/nobody/bind $tablet:1.0
try drivers/usbhid/unbind $tablet:1.0
try drivers_probe $tablet:1.0
try drivers_probe $tablet:1.0
try drivers_probe $tablet:1.7
try drivers_probe $tablet
show $tablet
try drivers/usb-storage/unbind $stick:1.0
try drivers_probe $stick:1.0
show $stick

echo '# drivers that have both interfaces or none'
for d in $nic $sound; do
	show $d
	driver=$(target $bus/devices/$d:1.0/driver)
	try drivers/"$driver"/unbind $d:1.0
	show $d
	try drivers/"$driver"/bind $d:1.1
	show $d
	try drivers/"$driver"/bind $d:1.0
	show $d
	try drivers/"$driver"/unbind $d:1.1
	show $d
	try drivers_probe $d:1.1
	show $d
	try drivers_probe $d:1.0
	show $d
done
echo '# another driver has the second interface: that of the first one cannot have it'
try drivers/cdc_ether/bind $nic:1.0
try drivers/cdc_subset/unbind $nic:1.1
try drivers/cdc_ether/bind $nic:1.0
try drivers/snd-usb-audio/unbind $sound:1.0
try drivers/snd-usb-audio/bind $sound:1.0
show $nic $sound

echo '# a configuration'
look devices/$tablet/bConfigurationValue devices/$nic/bNumConfigurations
try devices/$tablet/bConfigurationValue 7
try devices/$tablet/bConfigurationValue x
look devices/$tablet/bConfigurationValue
before=$(number $tablet)
try devices/$tablet/bConfigurationValue 0
show $tablet
look devices/$tablet/bConfigurationValue
try devices/$tablet/bConfigurationValue 1
show $tablet
echo '# set anew, its interfaces meet the drivers that they were taken from'
try drivers/usbhid/unbind $tablet:1.0
try devices/$tablet/bConfigurationValue 1
show $tablet

echo '# no right to be used'
try devices/$tablet/authorized 0
show $tablet
try drivers_probe $tablet
try devices/$tablet/authorized 1
show $tablet
[ "$(number $tablet)" = "$before" ] || echo 'it has another number'

echo '# all below a hub goes, and comes with other numbers'
before=$(number $deep)
try devices/$hub/authorized 0
show $hub $nic $sound 1-3.3 $deep
seen=$(wc -l <"$log")
"$put" "$bus/devices/$hub/authorized" 1
until [ "$(target $bus/devices/$deep:1.0/driver)" = usbhid ]; do sleep 0.1; done
events
show $hub $nic $sound 1-3.3 $deep
[ "$(number $deep)" -gt "$before" ] || echo 'it has the same number'
echo '# it is taken out'
try devices/$stick/remove 1
show $stick
