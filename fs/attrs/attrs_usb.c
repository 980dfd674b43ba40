// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a USB device. */
#include <string.h>

#include "fs/internal.h"
#include "rows.h"

static void controller_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../../devices/%s", s->dev->facts.parent.name);
}

/* "1-1.4" is on a port of 1-1, and 1-1 on one of the root hub. A mediated device has a function. */
static void parent_show(const struct subject *s, struct out *o)
{
	const char *name = s->dev->key.name, *dot = strrchr(name, '.');

	if (s->dev->key.bus == BUS_MDEV)
		controller_show(s, o);
	else if (dot)
		out_printf(o, "../%.*s", (int)(dot - name), name);
	else
		out_printf(o, "../usb%.*s", (int)strcspn(name, "-"), name);
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_RO_OF("serial", 80, facts.usb_serial), .bits = CH_IDS, .caps = CAP_USB, .flags = ATTR_CONST,
	  .help = "the serial number that the device tells, or none; other than printable characters "
		  "read ?" },
	{ KEY_RO_OF("speed", 81, facts.speed), .bits = CH_IDS, .caps = CAP_USB, .flags = ATTR_CONST,
	  .help = "in Mbit/s" },
	{ KEY_RO_OF("busnum", 82, facts.busnum), .bits = CH_IDS, .caps = CAP_USB, .flags = ATTR_CONST,
	  .help = "number of its bus until the next boot" },
	{ KEY_RO_OF("devnum", 83, facts.devnum), .bits = CH_IDS, .caps = CAP_USB, .flags = ATTR_CONST,
	  .help = "number on its bus until it is pulled out" },
	{ RO_OF("interfaces", 84, facts.interfaces), .bits = CH_FACT(interfaces), .caps = CAP_USB,
	  .help = "a line for each interface: configuration and number, class, driver or -; the last "
		  "line is ... where there are more than fit" },
	{ KEY_LINK("controller", 85, controller_show), .bits = CH_PARENT, .caps = CAP_HOSTED,
	  .help = "the PCI function that it hangs on" },
	{ KEY_LINK("parent", 86, parent_show), .bits = CH_IDENTITY | CH_PARENT, .caps = CAP_PORT,
	  .help = "the hub that it is plugged into; of a mediated device the function that makes it" },
};
/* clang-format on */

const struct attr_table attrs_usb = { rows, ARRAY_SIZE(rows) };
