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

static void put_machine(const char *consoles)
{
	host_file("0x0c0330\n", "sys/bus/pci/devices/0000:03:00.0/class");
	host_link("../../bus/pci", "sys/devices/" XHCI "/subsystem");
	put_usb(XHCI, "usb1");
	put_usb(XHCI "/usb1", "1-1");
	put_usb(XHCI "/usb1", "1-2");
	put_usb(XHCI "/usb1/1-2", "1-2.1");
	host_file(consoles, "proc/consoles");
}

#define ONE XHCI "/usb1/1-1/1-1:1.0/0003:0627:0001.0001"
#define TWO XHCI "/usb1/1-2/1-2.1/1-2.1:1.0/0003:0627:0001.0002"
#define TEXT "tty0                 -WU (EC  p  )    4:1\nttyS0 -W- (E  p a)    4:64\n"

static int inputs;

static void put_input(const char *where, const char *keys)
{
	char name[16], path[512];

	snprintf(name, sizeof(name), "input%d", inputs++);
	snprintf(path, sizeof(path), "%s/input", where);
	host_class("input", path, name);
	host_file(keys, "sys/devices/%s/%s/capabilities/key", path, name);
}

static void expect(const char *first, const char *second)
{
	char lines[256];

	snprintf(lines, sizeof(lines), "%s%s%s%s", first, *first ? sole : "", second,
		 *second ? sole : "");
	EXPECT_CRITICAL("", lines);
}

DEFINE_TEST(critical_keyboard_the_only_one)
{
	put_machine(TEXT);
	put_input(ONE, "1 " KEYS "\n");
	expect("0000:03:00.0 ", "usb/1-1 ");
	EXPECT_ONLY("usb/1-2.1", "", "");
	EXPECT_ONLY("usb/1-1", "", "usb/1-1 the text console's only keyboard is on it\n");
}

DEFINE_TEST(critical_keyboard_of_no_text_console)
{
	put_machine(
		"ttyS0 -W- (EC  p a)    4:64\ntty0 -WU (   p  ) 4:1\nttyAMA0 -W- (E p) 204:64\n");
	put_input(ONE, KEYS);
	expect("", "");
}

/* Both hang on the controller; with one on it alone no device is the only one. */
DEFINE_TEST(critical_keyboards_of_one_controller)
{
	put_machine(TEXT);
	put_input(TWO, KEYS);
	put_input(TWO, KEYS);
	expect("0000:03:00.0 ", "usb/1-2.1 "); /* a keyboard with a second set of keys */
	put_input(ONE, KEYS);
	expect("0000:03:00.0 ", "");
	put_input("platform/i8042/serio0", KEYS);
	expect("", "");
}

/* Power buttons and remote controls, mice, what a program has made, what is no input device. */
DEFINE_TEST(critical_keyboards_that_are_none)
{
	put_machine(TEXT);
	put_input("LNXSYSTM:00/LNXPWRBN:00", "10000000000000 0\n");
	put_input(ONE, KEYS "\n");
	put_input(TWO, "1f0000 0 0 0 0\n");
	put_input(TWO, "");
	put_input("virtual/input", KEYS);
	host_class("input", TWO "/input/input1", "event1");
	host_file(KEYS, "sys/devices/" TWO "/input/input1/event1/capabilities/key");
	expect("0000:03:00.0 ", "usb/1-1 ");
}

/* A device chooses its name, which may have newlines. */
DEFINE_TEST(critical_keyboards_forged_by_a_name)
{
	put_machine(TEXT);
	host_file("I: Bus=0003\nN: Name=\"\nS: Sysfs=/devices/" ONE
		  "\nH: Handlers=kbd \nB: KEY=" KEYS "\n\"\nS: Sysfs=/devices/" TWO
		  "/input/input7\nH: Handlers=mouse0 \nB: KEY=1f0000 0\n\n",
		  "proc/bus/input/devices");
	put_input(TWO, "1f0000 0 0 0 0\n");
	expect("", "");
}

DEFINE_TEST(critical_keyboards_of_rubbish)
{
	put_machine(TEXT);
	put_input(ONE, "\xff\xfe");
	put_input(ONE, "fffffffffffffffe x");
	put_input(ONE, " ");
	host_link("../../../../etc/passwd", "sys/class/input/input77");
	host_link("../../devices/nowhere", "sys/class/input/input78");
	expect("", "");
}
