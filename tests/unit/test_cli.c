// SPDX-License-Identifier: GPL-2.0-or-later
/* The command's own work: names of devices, tables, bundles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/anonymous.h"
#include "cli/tar.h"
#include "client/name.h"
#include "pcidevfs/err.h"
#include "pcidevfs/table.h"
#include "pcidevfs/util.h"
#include "test.h"

#define HEAD "pcidevfs-inventory 1 generation=7 boot=b devices=5\n"

static const char machine[] =
	HEAD "0000:00:14.0 kind=pci disk=\"sdd +1\" netdev=none claim=none\n"
	     "0000:05:02.0 kind=pci netdev=enp5s2 disk=none claim=\"Windows 11\"\n"
	     "0000:05:03.0 kind=pci netdev=enp5s3 disk=none claim=a/b sriov_totalvfs=4\n"
	     "10000:e1:00.0 kind=pci disk=nvme0n1 claim=none\n"
	     "mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4 kind=mdev claim=a/b\n"
	     "usb/1-1 kind=usb disk=sdd controller=0000:00:14.0 serial=4C53 claim=none\n"
	     "usb/usb1 kind=hub serial=0000:00:14.0\n"
	     "usb/usb2 kind=hub serial=0000:00:14.0 drm=sd\n";

static struct tree_inventory parsed(const char *text)
{
	struct tree_inventory inv = { 0 };
	struct err err = { 0 };

	CHECK_EQ(tree_inventory_parse(strdup(text), &inv, &err), 0);
	return inv;
}

/* The ids of what the name finds, or the refusal. */
static void check_found(const struct tree_inventory *inv, const char *name, const char *want)
{
	struct targets t = { 0 };
	struct err err = { 0 };
	struct out got = { 0 };

	if (target_find(inv, name, &t, &err))
		out_printf(&got, "%s", err.text);
	for (size_t i = 0; i < t.n && !err.code; i++)
		out_printf(&got, "%s%s=%s", i ? " " : "", t.v[i].id, t.v[i].dir);
	CHECK_STR(out_text(&got), want);
	out_free(&got);
	targets_free(&t);
}

DEFINE_TEST(cli_devices_have_many_names)
{
	static const char *const rows[][2] = {
		{ "0000:05:02.0", "0000:05:02.0=devices/0000:05:02.0" },
		{ "05:02.0", "0000:05:02.0=devices/0000:05:02.0" },
		{ "5:2.0", "0000:05:02.0=devices/0000:05:02.0" },
		{ "devices/0000:05:02.0", "0000:05:02.0=devices/0000:05:02.0" },
		{ "enp5s2", "0000:05:02.0=devices/0000:05:02.0" },
		{ "10000:e1:00.0", "10000:e1:00.0=devices/10000:e1:00.0" },
		{ "nvme0n1", "10000:e1:00.0=devices/10000:e1:00.0" },
		{ "70a78f40-0039-4f74-85f4-b4d8d1dd3cf4",
		  "mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4=mdevs/"
		  "70a78f40-0039-4f74-85f4-b4d8d1dd3cf4" },
		{ "1-1", "usb/1-1=usb/1-1" },
		{ "usb/1-1", "usb/1-1=usb/1-1" },
		{ "4c53", "usb/1-1=usb/1-1" },
		{ "sdd", "usb/1-1=usb/1-1" }, /* and not its controller */
		{ "00:14.0", "0000:00:14.0=devices/0000:00:14.0" },
		{ "0000:00:14.0", "0000:00:14.0=devices/0000:00:14.0" },
		{ "claims/Windows 11", "0000:05:02.0=devices/0000:05:02.0" },
		{ "claims/a!b", "0000:05:03.0=devices/0000:05:03.0 "
				"mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4=mdevs/"
				"70a78f40-0039-4f74-85f4-b4d8d1dd3cf4" },
		{ "5:3.0/virtfn2", "0000:05:03.0/virtfn2=devices/0000:05:03.0" },
		{ "5:2.0/virtfn2", "0000:05:02.0 has no VFs" },
		{ "claims/a", "\"a\" holds no device; `pcidevfs list --claimed` has them" },
		{ "enp5s1", "no device is called \"enp5s1\"; did you mean enp5s2, enp5s3" },
		{ "05:02.1", "no device is called \"05:02.1\"; did you mean 0000:05:02.0" },
		{ "", "no device is called \"\"; `pcidevfs list` has the devices" },
		{ "../../etc",
		  "no device is called \"../../etc\"; `pcidevfs list` has the devices" },
	};
	struct tree_inventory inv = parsed(machine);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_found(&inv, rows[i][0], rows[i][1]);
	tree_inventory_free(&inv);
}

DEFINE_TEST(cli_claimed_devices_are_called_as_they_last_were)
{
	static const char events[] =
		"seq=1 action=add 0000:05:01.0 netdev=eth0 claim=none\n"
		"seq=2 action=add 0000:05:02.0 netdev=eth0 claim=none\n"
		"seq=3 action=change changed=netdev 0000:05:02.0 netdev=eth1 disk=none\n"
		"seq=4 action=change 0000:05:02.0 netdev=none claim=a\n"
		"seq=5 action=change 0000:05:03.0 netdev=eth2 drm=card2\n"
		"seq=6 action=change 0000:05:04.0 netdev=\"eth3 +1\"\n"
		"seq=7 action=lost\n\n0000:05:04.0 \"\n";
	static const char *const rows[][2] = {
		{ "eth1", "0000:05:02.0" },
		{ "eth3", "0000:05:04.0" },
		{ "card2", "0000:05:03.0" },
		{ "eth0", NULL }, /* it was called otherwise when it was claimed */
		{ "eth2", NULL }, /* it is not claimed away: another name is its own now */
		{ "none", NULL },
		{ "a", NULL },
	};
	struct tree_inventory inv = parsed(HEAD "0000:05:01.0 netdev=none claim=none\n"
						"0000:05:02.0 netdev=none claim=a\n"
						"0000:05:03.0 netdev=up drm=none claim=a\n"
						"0000:05:04.0 netdev=none claim=a\n");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = strdup(events);
		struct targets t = { 0 };
		struct err err = { 0 };

		CHECK_EQ(target_find_former(&inv, text, rows[i][0], &t, &err),
			 rows[i][1] ? 0 : -ENODEV);
		CHECK_STR(t.n ? t.v[0].id : NULL, rows[i][1]);
		targets_free(&t);
		free(text);
	}
	tree_inventory_free(&inv);
}

DEFINE_TEST(cli_a_name_of_several_devices_is_told)
{
	struct tree_inventory inv = parsed(
		HEAD "0000:05:02.0 serial=77\n0000:05:03.0 serial=77\n0000:05:04.0 serial=78\n");

	check_found(&inv, "77",
		    "several devices are called \"77\"; write one of 0000:05:02.0, 0000:05:03.0");
	tree_inventory_free(&inv);
}

DEFINE_TEST(cli_text_of_the_tree_is_clean_or_refused)
{
	static const char *const bad[] = { "",
					   "x\n",
					   "pcidevfs-inventory 2 devices=0\n",
					   HEAD "a=b\n",
					   HEAD "0000:05:02.0 a=\"b\n",
					   HEAD "0000:05:02.0 a=b c\n",
					   HEAD "\n=\n" };
	struct tree_inventory inv = parsed(HEAD "0000:05:02.0 a=\"x\\x1b[2J\" b=y\033z\n");

	CHECK_STR(device_get(&inv.devices[0], "a"), "x?[2J");
	CHECK_STR(device_get(&inv.devices[0], "b"), "y?z");
	CHECK(!device_get(&inv.devices[0], "c"));
	tree_inventory_free(&inv);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		CHECK_EQ(tree_inventory_parse(strdup(bad[i]), &inv, &err), -EBADMSG);
		CHECK(err.text[0] && !inv.text);
	}
	/* An id becomes a path only if it is one. */
	inv = parsed(HEAD "../etc netdev=eth0\n");
	check_found(&inv, "eth0", "\"../etc\" in inventory is not a device");
	tree_inventory_free(&inv);
}

static char *drawn(unsigned int width)
{
	static const struct table_column columns[] = {
		{ "ID", 4, 0 }, { "WHAT", 8, 1 }, { "EMPTY", 5, 2 }, { "END", 3, 3 }
	};
	static const char *const rows[][4] = {
		{ "aaaa", "a long description of it", "", "x" },
		{ "bbbb", "short", "", "" },
		{ "c\033c\xc3\xa4", "", "", "zzzz" },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	struct out out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(table_row(&t, rows[i]), 0);
	table_print(&t, width, &out);
	table_free(&t);
	return out.data;
}

DEFINE_TEST(cli_tables_fit_the_terminal)
{
	static const struct {
		unsigned int width;
		const char *want;
	} rows[] = {
		{ 0, "ID     WHAT                      END\n"
		     "aaaa   a long description of it  x\n"
		     "bbbb   short                     -\n"
		     "c?c??  -                         zzzz\n" },
		{ 30, "ID     WHAT               END\n"
		      "aaaa   a long d..on of it  x\n"
		      "bbbb   short              -\n"
		      "c?c??  -                  zzzz\n" },
		{ 14, "ID    WHAT\n"
		      "aaaa  a l..it\n"
		      "bbbb  short\n"
		      "c?c?  -\n" },
		{ 3, "ID\naaa\nbbb\nc?c\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *got = drawn(rows[i].width);

		for (char *line = got; rows[i].width && *line; line += strcspn(line, "\n") + 1)
			CHECK(strcspn(line, "\n") <= rows[i].width);
		if (rows[i].width != 30 && rows[i].width != 14)
			CHECK_STR(got, rows[i].want);
		free(got);
	}
}

DEFINE_TEST(cli_bundles_are_tar)
{
	struct out tar = { 0 };
	unsigned int sum = 0;

	tar_add(&tar, "d/health", "iommu=on\n", 9, 0x1234);
	tar_end(&tar);
	CHECK_EQ(tar.len, 512 + 512 + 1024);
	CHECK_STR(tar.data, "d/health");
	CHECK_STR(tar.data + 124, "00000000011");
	CHECK(!memcmp(tar.data + 257, "ustar\00000", 8));
	for (size_t i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)tar.data[i];
	CHECK_EQ(strtoul(tar.data + 148, NULL, 8), sum);
	CHECK(!memcmp(tar.data + 512, "iommu=on\n\0\0", 11));
	out_free(&tar);
}

DEFINE_TEST(cli_anonymous_text_names_nobody)
{
	static const char *const rows[][2] = {
		{ "claimed by alice", "claimed by name-1" },
		{ "claimed by alice2, malice", "claimed by alice2, malice" },
		{ "claim=alice state=claimed", "claim=name-1 state=claimed" },
		{ "claim=\"Windows 11\" x", "claim=\"name-2\" x" },
		{ "allocated to ns/vm/c now", "allocated to name-3 now" },
		{ "pid=12 uid=0 comm=\"my vm\" result=ok", "pid=? uid=? comm=? result=ok" },
		{ "loginuid=1000\nopener=1", "loginuid=?\nopener=?" },
		{ "held by qemu (pid 7); stop it", "held by a process, see holders; stop it" },
		{ "mounted on /home/alice/x and /srv", "mounted on /home/?/x and /srv" },
		{ "", "" },
	};
	struct known_names names = { 0 };

	names_of(&names, "0000:05:02.0 claim=alice allocated_to=none\n"
			 "id=x file=claim value=\"Windows 11\"\nid=x file=pooled value=1\n"
			 "0000:05:03.0 claim=alice allocated_to=ns/vm/c\n"
			 "0000:05:03.0 claim=none allocated_to=pending\n");
	CHECK_EQ(names.n, 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *got = anonymous(&names, rows[i][0]);

		CHECK_STR(got, rows[i][1]);
		free(got);
	}
	names_free(&names);
}
