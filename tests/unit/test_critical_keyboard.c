// SPDX-License-Identifier: GPL-2.0-or-later
/* The only keyboard of a text console. */
#include <stdio.h>

#include "fakehost.h"
#include "test.h"

#define XHCI "pci0000:00/0000:03:00.0"
#define KEYS "fffffffffffffffe"

static const char *const sole = "the text console's only keyboard is on it\n";

static void put_usb(const char *where, const char *name)
{
	host_link("../../../bus/usb", "sys/devices/%s/%s/subsystem", where, name);
}

static void put_inputs(const char *inputs)
{
	host_file(inputs, "proc/bus/input/devices");
}

static void put_machine(const char *consoles, const char *inputs)
{
	host_file("0x0c0330\n", "sys/bus/pci/devices/0000:03:00.0/class");
	host_link("../../bus/pci", "sys/devices/" XHCI "/subsystem");
	put_usb(XHCI, "usb1");
	put_usb(XHCI "/usb1", "1-1");
	put_usb(XHCI "/usb1", "1-2");
	put_usb(XHCI "/usb1/1-2", "1-2.1");
	host_file(consoles, "proc/consoles");
	put_inputs(inputs);
}

/* As the kernel writes it; handlers end with a blank. */
#define INPUT(path, handlers, keys)                                                                \
	"I: Bus=0003 Vendor=0627 Product=0001 Version=0111\nN: Name=\"S: Sysfs=/x\"\n"             \
	"P: Phys=usb-0000:03:00.0-1/input0\nS: Sysfs=/devices/" path "/input/input5\nU: Uniq=1\n"  \
	"H: Handlers=" handlers " \nB: PROP=0\nB: EV=120013\nB: KEY=" keys "\nB: LED=1f\n\n"
#define ONE XHCI "/usb1/1-1/1-1:1.0/0003:0627:0001.0001"
#define TWO XHCI "/usb1/1-2/1-2.1/1-2.1:1.0/0003:0627:0001.0002"
#define TEXT "tty0                 -WU (EC  p  )    4:1\nttyS0 -W- (E  p a)    4:64\n"

static void expect(const char *first, const char *second)
{
	char lines[256];

	snprintf(lines, sizeof(lines), "%s%s%s%s", first, *first ? sole : "", second,
		 *second ? sole : "");
	EXPECT_CRITICAL("", lines);
}

DEFINE_TEST(critical_keyboard_the_only_one)
{
	put_machine(TEXT, INPUT(ONE, "sysrq kbd leds event0", "1 " KEYS));
	expect("0000:03:00.0 ", "usb/1-1 ");
	EXPECT_ONLY("usb/1-2.1", "", "");
	EXPECT_ONLY("usb/1-1", "", "usb/1-1 the text console's only keyboard is on it\n");
}

DEFINE_TEST(critical_keyboard_of_no_text_console)
{
	put_machine(
		"ttyS0 -W- (EC  p a)    4:64\ntty0 -WU (   p  ) 4:1\nttyAMA0 -W- (E p) 204:64\n",
		INPUT(ONE, "kbd", KEYS));
	expect("", "");
}

/* Both hang on the controller; with one on it alone no device is the only one. */
DEFINE_TEST(critical_keyboards_of_one_controller)
{
	put_machine(TEXT, INPUT(ONE, "kbd", KEYS) INPUT(TWO, "kbd", KEYS));
	expect("0000:03:00.0 ", "");
	put_inputs(INPUT(TWO, "kbd", KEYS) INPUT(TWO, "kbd", KEYS));
	expect("0000:03:00.0 ", "usb/1-2.1 "); /* a keyboard with a second set of keys */
	put_inputs(INPUT(ONE, "kbd", KEYS) INPUT("platform/i8042/serio0", "kbd", KEYS));
	expect("", "");
}

/* Power buttons and remote controls, mice, what nobody hears, what a program has made. */
DEFINE_TEST(critical_keyboards_that_are_none)
{
	put_machine(TEXT,
		    INPUT("LNXSYSTM:00/LNXPWRBN:00", "kbd event0",
			  "10000000000000 0") INPUT(ONE, "sysrq kbd event1", KEYS)
			    INPUT(TWO, "mouse0 event2", "1f0000 0 0 0 0") INPUT(TWO, "event2", KEYS)
				    INPUT("virtual/input", "kbd event4", KEYS));
	expect("0000:03:00.0 ", "usb/1-1 ");
}

DEFINE_TEST(critical_keyboards_of_rubbish)
{
	put_machine(TEXT, "H: Handlers=kbd \nB: KEY=fffffffe\nS: Sysfs=\nI: \nS: Sysfs=/\nI: x\n"
			  "B: KEY=\n\n\xff\xfe\nS: Sysfs=/../../etc/passwd\nH: Handlers=kbd \n"
			  "B: KEY= \nB: KEY=fffffffffffffffffffffffffffffffffff\n");
	expect("", "");
}
