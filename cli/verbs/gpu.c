// SPDX-License-Identifier: GPL-2.0-or-later
/* A picture of each card: which vGPU takes how much of its framebuffer, and which MIG instance
 * which of its memory slices. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "pcidevfs/util.h"

enum { BAR_MOST = 100, SLICES_MOST = 16 };

static int mib(struct json_object *o)
{
	return json_object_get_int(json_object_object_get(o, "framebuffer_mib"));
}

static int by_size(const void *a, const void *b)
{
	return mib(*(struct json_object *const *)b) - mib(*(struct json_object *const *)a);
}

/* The type among the lines of profiles; NULL: it is none of these. */
static struct json_object *type_of(struct json_object *types, const char *name)
{
	struct json_object *o;

	for (size_t i = 0; (o = json_object_array_get_idx(types, i)); i++)
		if (!strcmp(json_says(o, "name"), name))
			break;
	return o;
}

/* Of the vGPUs on the card. Returns how much they take. */
static int add_vgpus(const struct tree_inventory *inv, const char *card, struct json_object *types,
		     struct json_object *vgpus)
{
	static const char *const keys[] = { "profile", "claim", "allocated_to" };
	int used = 0;

	for (const struct tree_device *d = inv->devices; d < inv->devices + inv->n; d++) {
		struct json_object *o;

		if (!*device_says(d, "profile") || !device_is_of(d, card))
			continue;
		o = json_object_new_object();
		json_text(o, "id", d->id);
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			json_text(o, keys[i], device_get(d, keys[i]));
		json_number(o, "framebuffer_mib", mib(type_of(types, json_says(o, "profile"))));
		json_object_array_add(vgpus, o);
		used += mib(o);
	}
	json_object_array_sort(vgpus, by_size);
	return used;
}

static char letter(size_t i)
{
	return i < 26 ? (char)('A' + i) : i < 52 ? (char)('a' + i - 26) : '#';
}

static void put_bar(struct json_object *vgpus, int total, int used, unsigned int room,
		    struct out *out)
{
	int wide = room < 41 ? 10 : room > BAR_MOST + 30 ? BAR_MOST : (int)room - 30;
	int sum = 0, at = 0;
	struct json_object *o;

	out_printf(out, "  [");
	for (size_t i = 0; (o = json_object_array_get_idx(vgpus, i)); i++) {
		char mark = letter(i);

		sum += mib(o);
		for (; at < wide && (int64_t)at * total < (int64_t)sum * wide; at++)
			out_put(out, &mark, 1);
	}
	out_printf(out, "%*s] %d of %d MiB\n", wide - at, "", used, total);
	for (size_t i = 0; (o = json_object_array_get_idx(vgpus, i)); i++)
		out_printf(out, "  %c %6d MiB  %s  %s  %s%s%s\n", letter(i), mib(o),
			   json_says(o, "id"), json_says(o, "profile"), json_says(o, "claim"),
			   *json_says(o, "allocated_to") ? "  " : "", json_says(o, "allocated_to"));
}

/* Behind the last of places such as "4:4" and "0,2,4:2". */
static int slices(const char *places)
{
	const char *last = strrchr(places, ','), *size = strchr(places, ':');

	return size ? atoi(last ? last + 1 : places) + atoi(size + 1) : 0;
}

static void put_instances(struct json_object *instances, struct json_object *profiles,
			  struct out *out)
{
	size_t n = json_object_array_length(instances);
	struct json_object *o;
	int total = 0;

	for (size_t i = 0; (o = json_object_array_get_idx(profiles, i)); i++) {
		int end = slices(json_says(o, "placements"));

		total = end > total ? end : total;
	}
	out_printf(out, "  [");
	for (int k = 0; k < total && k < SLICES_MOST; k++) {
		char mark = ' ';

		for (size_t i = 0; (o = json_object_array_get_idx(instances, i)); i++) {
			const char *place = json_says(o, "placement");

			if (atoi(place) <= k && k < slices(place))
				mark = letter(i);
		}
		out_printf(out, "%c%c%c%c", mark, mark, mark, mark);
	}
	out_printf(out, "] MIG: %zu instance%s\n", n, n == 1 ? "" : "s");
	for (size_t i = 0; (o = json_object_array_get_idx(instances, i)); i++)
		out_printf(out, "  %c %s  %s  used=%s%s%s\n", letter(i), json_says(o, "placement"),
			   json_says(o, "profile"), json_says(o, "used"),
			   *json_says(o, "vgpu") ? "  " : "", json_says(o, "vgpu"));
}

/* The largest type takes the whole card. */
static int add_types(struct json_object *types, struct json_object *possible, struct out *names)
{
	struct json_object *o;
	int total = 0;

	for (size_t i = 0; (o = json_object_array_get_idx(types, i)); i++) {
		total = mib(o) > total ? mib(o) : total;
		if (!strcmp(json_says(o, "available"), "0"))
			continue;
		json_object_array_add(possible, json_object_new_string(json_says(o, "name")));
		out_printf(names, "%s%s", names->len ? ", " : "", json_says(o, "name"));
	}
	return total;
}

int show_card(struct cli *cli, const struct target *t, struct out *out, struct json_object *o)
{
	const char *id = t->device->id, *what = strstr(device_says(t->device, "description"), ": ");
	struct json_object *vgpus = json_object_new_array(), *possible = json_object_new_array();
	struct json_object *types, *instances = device_lines(cli, t, "mig/instances");
	_free_ char *support = NULL;
	struct out names = { 0 };
	int total, used;

	json_object_object_add(o, "vgpus", vgpus);
	json_object_object_add(o, "possible", possible);
	json_object_object_add(o, "mig_instances", instances);
	/* Display controllers that are no VF. */
	if (strncmp(device_says(t->device, "class"), "0x03", 4) != 0 ||
	    *device_says(t->device, "physfn"))
		return 1;
	support = device_file(cli, t, "vgpu_support");
	types = device_lines(cli, t, "profiles");
	total = add_types(types, possible, &names);
	used = add_vgpus(&cli->inv, id, types, vgpus);
	json_text(o, "vgpu_support", support);
	json_number(o, "total_mib", total);
	json_number(o, "used_mib", used);
	out_printf(out, "%s  %s\n", id, what ? what + 2 : "");
	if (total)
		put_bar(vgpus, total, used, cli->width ?: 80, out);
	if (!strcmp(device_says(t->device, "mig_mode"), "1")) {
		struct json_object *profiles = device_lines(cli, t, "mig/profiles");

		put_instances(instances, profiles, out);
		json_object_put(profiles);
	}
	if (support && strcmp(support, "yes") != 0)
		out_printf(out, "  vGPUs: %s\n", support);
	if (total && (!support || !strcmp(support, "yes")))
		out_printf(out, "  possible now: %s\n", names.len ? names.data : "none");
	json_object_put(types);
	out_free(&names);
	return 0;
}
