// SPDX-License-Identifier: GPL-2.0-or-later
/* A layout of any bytes against a machine: what is refused has a sentence with the file; what is taken
 * asks for values of files that a layout may set, one line each, each once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "client/inventory.h"
#include "client/layout/layout.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char machine[] =
	"pcidevfs-inventory 1 generation=7 boot=b devices=9\n"
	"0000:01:00.0 vendor=0x10de device=0x25b6 class=0x030200 kind=sriov-gpu claim=none enabled=1 "
	"sriov_totalvfs=2 sriov_numvfs=2 pooled=1\n"
	"0000:01:00.1 kind=vgpu physfn=0000:01:00.0 profile=\"NVIDIA A2-4Q\" claim=bob state=held\n"
	"0000:01:00.2 kind=vgpu physfn=0000:01:00.0 profile=none claim=none state=free\n"
	"0000:02:00.0 vendor=0x10de device=0x2236 class=0x030200 kind=sriov-gpu claim=none enabled=0 "
	"sriov_totalvfs=2 sriov_numvfs=0 pooled=1\n"
	"0000:03:00.0 vendor=0x10de device=0x1eb8 class=0x030200 kind=pci claim=none\n"
	"0000:05:00.0 vendor=0x8086 device=0x10fb kind=sriov-nic netdev=enp5s0 sriov_totalvfs=8 "
	"sriov_numvfs=1 claim=none\n"
	"0000:05:10.0 kind=vf physfn=0000:05:00.0 claim=alice pooled=1\n"
	"mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4 kind=mdev parent=0000:03:00.0 "
	"profile=\"GRID T4-8Q\" claim=admin\n"
	"usb/1-1 vendor=0781 device=5581 kind=usb serial=4C53 claim=none\n";

static char *text_of(void *ctx, const char *id, const char *file)
{
	if (!id || strlen(file) > 64)
		return NULL;
	if (!strcmp(file, "mig/mode"))
		return strdup("1");
	if (!strcmp(file, "mig/layout"))
		return strdup("3g.20gb 1g.5gb*2");
	if (!strcmp(file, "vgpu_support") ||
	    (!strcmp(file, "create") && !strcmp(id, "0000:03:00.0")))
		return strdup("yes");
	if (!strcmp(file, "profiles") && !strcmp(id, "0000:01:00.0"))
		return strdup("name=\"NVIDIA A2-4Q\" id=1\nname=\"NVIDIA A2-8Q\" id=2");
	return NULL;
}

static void check_lines(const struct layout *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct layout_line *a = &l->v[i];

		check(a->id && *a->id && a->line && a->file && *a->file);
		check(*a->value && !strchr(a->value, '\n') && strlen(a->id) < 96);
		for (const struct layout_line *b = l->v; b < a && l->n < 64; b++)
			check(!strcmp(a->file, "create") || strcmp(a->file, b->file) ||
			      strcmp(a->id, b->id));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tree_inventory inv;
	struct layout_view view = { .inv = &inv, .text = text_of };
	struct err err = { 0 };
	struct layout l;
	char *text = malloc(size + 1);

	if (!inv.n)
		check(!tree_inventory_parse(strdup(machine), &inv, &err));
	memcpy(text, data, size);
	text[size] = '\0';
	if (layout_read("f", text, size, NULL, &view, &l, &err))
		check(!strncmp(err.text, "f:", 2) || !strcmp(err.text, "no memory"));
	else
		check_lines(&l);
	layout_free(&l);
	free(text);
	return 0;
}
