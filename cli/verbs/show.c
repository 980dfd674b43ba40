// SPDX-License-Identifier: GPL-2.0-or-later
/* All that the tree says of devices: each file of their directories. */
#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "cli/access.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* Each line is pairs. */
static const char of_pairs[] = " profiles profiles_available holders mig/profiles mig/instances "
			       "mig_profiles mig_instances ";
static const char left_out[] = " ctl plan log create "; /* to be written, or of another verb */

static bool is_in(const char *names, const char *name)
{
	const char *at = strstr(names, name);

	return at && at[-1] == ' ' && at[strlen(name)] == ' ';
}

static void put_text(struct out *out, const char *name, const char *text)
{
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		out_printf(out, "    %-18s %.*s\n", name, (int)len, text);
		name = "";
	}
}

static void put_file(struct cli *cli, const struct target *t, const char *name, struct out *out,
		     struct json_object *o)
{
	_free_ char *text = device_file(cli, t, name);
	bool none = text && !strcmp(text, "none");

	if (text && is_in(of_pairs, name))
		json_object_object_add(o, name, lines_json(none ? "" : text));
	else if (text)
		json_text(o, name, text);
	if (text && !none)
		put_text(out, name, text);
}

/* In its inventory line, where mig/mode reads mig_mode? */
static bool is_key(const struct tree_device *d, const char *name)
{
	char key[NAME_MAX + 1];

	if (!STR_COPY(key, name))
		return false;
	for (char *c = key; (c = strchr(c, '/'));)
		*c = '_';
	return device_get(d, key);
}

int show_files(struct cli *cli, const struct target *t, struct out *out, struct json_object *o)
{
	const struct tree_device *d = t->device;
	_free_ char *text = NULL;
	struct err none = { 0 };

	tree_names(cli, t->dir, &text, &none);
	out_printf(out, "%s\n", d->id);
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->pairs[i].value, "none") != 0 && !is_in(of_pairs, d->pairs[i].key))
			put_text(out, d->pairs[i].key, d->pairs[i].value);
	for (char *names = text, *name; (name = line_next(&names));)
		if ((!is_key(d, name) || is_in(of_pairs, name)) && !is_in(left_out, name))
			put_file(cli, t, name, out, o);
	return 0;
}
