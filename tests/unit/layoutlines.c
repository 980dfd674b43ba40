// SPDX-License-Identifier: GPL-2.0-or-later
#include "layoutlines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/inventory.h"
#include "client/layout/layout.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

static char all[8192];

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	size_t n = strlen(all);
	va_list ap;

	if (n)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "; ");
	va_start(ap, fmt);
	vsnprintf(all + n, sizeof(all) - n, fmt, ap);
	va_end(ap);
}

static void say_end(void *ctx, const char *id, const char *file, const char *was)
{
	say("%s of %s goes: %s", file, id, was);
}

const char *layout_lines(const char *inventory, const char *text, const char *name,
			 text_of_file *of, void *ctx, bool ends)
{
	struct tree_inventory inv = { 0 };
	struct layout_view view = { .inv = &inv, .text = of, .ctx = ctx };
	struct layout l;
	struct err err = { 0 };

	*all = '\0';
	CHECK_EQ(tree_inventory_parse(strdup(inventory), &inv, &err), 0);
	if (layout_read("f", text, strlen(text), name, &view, &l, &err))
		say("%s", err.text);
	for (size_t i = 0; i < l.n && !err.code; i++)
		say("%s/%s %s%s", l.v[i].id, l.v[i].file, l.v[i].value,
		    l.v[i].hidden  ? " (hidden)"
		    : l.v[i].takes ? " (takes)"
				   : "");
	if (ends)
		layout_ends(&l, &inv, say_end, NULL);
	layout_free(&l);
	tree_inventory_free(&inv);
	return all;
}
