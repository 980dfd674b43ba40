// SPDX-License-Identifier: GPL-2.0-or-later
/* A layout of as many values as a transaction has. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/inventory.h"
#include "client/layout/layout.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

static char *no_text(void *ctx, const char *id, const char *file)
{
	return NULL;
}

/* As fast as it should be: by a look at each pair it takes seconds. */
DEFINE_TEST(thousands_of_vfs_are_found_by_name)
{
	static const char text[] = "version: v1\nlayouts: {now: [{match: {kind: sriov-nic}, vfs: "
				   "{0-254: {claim: alice}}}]}";
	struct tree_inventory inv = { 0 };
	struct layout_view view = { .inv = &inv, .text = no_text };
	struct timespec before, after;
	struct out machine16 = { 0 };
	struct err err = { 0 };
	struct layout l;
	double ms;

	out_printf(&machine16, "pcidevfs-inventory 1 generation=7\n");
	for (unsigned int pf = 0; pf < 16; pf++)
		out_printf(&machine16,
			   "0000:%02x:00.0 kind=sriov-nic sriov_totalvfs=255 claim=none\n", pf);
	for (unsigned int vf = 0; vf < 16 * 255; vf++)
		out_printf(&machine16, "0001:%02x:%02x.%u kind=vf physfn=0000:%02x:00.0 claim=%s\n",
			   vf >> 8, vf >> 3 & 31, vf & 7, vf % 16, vf < 16 ? "alice" : "none");
	CHECK_EQ(tree_inventory_parse(machine16.data, &inv, &err), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	CHECK_EQ(layout_read("f", text, strlen(text), NULL, &view, &l, &err), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
	     (double)(after.tv_nsec - before.tv_nsec) / 1e6;
	CHECK_EQ(l.n, 16 * 254); /* the first VF of each is alice's */
	CHECK_STR(l.v[0].id, "0001:00:02.0");
	CHECK_STR(l.v[254].id, "0001:00:02.1");
	CHECK(ms < 500); /* with sanitizers too */
	layout_free(&l);
	tree_inventory_free(&inv);
}
