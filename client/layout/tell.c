// SPDX-License-Identifier: GPL-2.0-or-later
/* What is told of lines: what ends by them, and which of them is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "work.h"

static bool ends(const struct layout_line *l)
{
	return l->was && strcmp(l->was, "none") && strcmp(l->was, "0") &&
	       strcmp(l->was, layout_file(l->file)->unset) && !l->hidden && !l->takes &&
	       strcmp(l->file, "create") && strcmp(l->file, "pooled") && strcmp(l->was, l->value);
}

static bool tells_profile(const struct layout *l, const char *id)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].file, "profile") && !strcmp(l->v[i].id, id))
			return true;
	return false;
}

/* Of MIG instances those that it has more of than it is to have: "1g.5gb*2". */
static void tell_instances(const struct layout_line *l, layout_tell *tell, void *ctx)
{
	struct out gone = { 0 };

	for (const char *p = l->was; *p;) {
		size_t word = strcspn(p, " "), bare = strcspn(p, " *");
		unsigned int had = layout_instances(l->was, p, bare);
		unsigned int has = layout_instances(l->value, p, bare);

		if (had > has)
			out_printf(&gone, "%s%.*s", gone.len ? " " : "", (int)bare, p);
		if (had > has + 1)
			out_printf(&gone, "*%u", had - has);
		p += word + strspn(p + word, " ");
	}
	if (gone.len && !gone.failed)
		tell(ctx, l->id, l->file, out_text(&gone));
	out_free(&gone);
}

void layout_ends(const struct layout *l, const struct tree_inventory *inv, layout_tell *tell,
		 void *ctx)
{
	for (const struct layout_line *of = l->v; of < l->v + l->n; of++) {
		bool vfs = !strcmp(of->file, "enabled") || !strcmp(of->file, "sriov_numvfs");

		if (!ends(of))
			continue;
		if (!strcmp(of->file, "mig/layout"))
			tell_instances(of, tell, ctx);
		else
			tell(ctx, of->id, of->file, of->was);
		for (size_t i = 0; i < inv->n && vfs; i++) {
			const struct tree_device *d = &inv->devices[i];
			const char *profile = device_says(d, "profile");

			/* What a line of its own says of it is told by that. */
			if (*profile && !strcmp(device_says(d, "physfn"), of->id) &&
			    !tells_profile(l, d->id))
				tell(ctx, d->id, "profile", profile);
		}
	}
}

/* Does the text begin with "DEVICE/FILE: " of the line? */
static bool is_of_line(const char *text, const char *device, const char *file)
{
	size_t n = strlen(device), len = strlen(file);

	return !strncmp(text, device, n) && text[n] == '/' && !strncmp(text + n + 1, file, len) &&
	       text[n + 1 + len] == ':';
}

void layout_blame(const struct layout *l, struct err *err)
{
	char text[2 * ERR_TEXT];
	const char *vf;

	for (size_t i = 0; i < l->n; i++)
		if (is_of_line(err->text, l->v[i].id, l->v[i].file)) {
			fail_wrap(err, "%s:%u", l->path, l->v[i].line);
			return;
		}
	/* The own ctl of a device, which has only lines of this one, does not name it. */
	for (size_t i = 0; i < l->n; i++) {
		vf = strstr(l->v[i].id, LAYOUT_VF);
		snprintf(text, sizeof(text), "%.*s/%s",
			 (int)(vf ? vf - l->v[i].id : (long)strlen(l->v[i].id)), l->v[i].id,
			 err->text);
		if (is_of_line(text, l->v[i].id, l->v[i].file)) {
			fail(err, err->code, "%s:%u: %s", l->path, l->v[i].line, text);
			return;
		}
	}
	/* None of them may be written. */
	if (err->code == EACCES && l->n)
		fail_wrap(err, "%s:%u", l->path, l->v[0].line);
}
