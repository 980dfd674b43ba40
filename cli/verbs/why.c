// SPDX-License-Identifier: GPL-2.0-or-later
/* Why devices are as they are, and what can be done. */
#include <json-c/json.h>
#include <string.h>

#include "cli/access.h"
#include "cli/cli.h"
#include "cli/out.h"
#include "pcidevfs/util.h"

static bool reads(const struct tree_device *d, const char *key, const char *value)
{
	return !strcmp(device_says(d, key), value);
}

/* What fits a device that reads so: "" stands for none, "*" for anything else. */
static const struct {
	const char *keys[2], *values[2];
	const char *verb, *word;
} ways[] = {
	{ { "claimable", "claim" }, { "yes", "" }, "claim", " NAME" },
	{ { "claim", "profile" }, { "*", "" }, "release", "" },
	{ { "kind", "profile" }, { "vgpu", "" }, "profile", " TYPE" },
	{ { "profile", "profile" }, { "*", "*" }, "profile", " none" },
	{ { "kind", "enabled" }, { "sriov-gpu", "0" }, "enable", "" },
};

static bool fits(const struct tree_device *d, size_t way)
{
	for (size_t i = 0; i < 2; i++) {
		const char *value = ways[way].values[i];

		if (*value == '*' ? reads(d, ways[way].keys[i], "")
				  : !reads(d, ways[way].keys[i], value))
			return false;
	}
	return true;
}

static const char *const files[] = { "claimable", "unsatisfied", "last_error", "holders",
				     "vgpu_support" };

static void put_line(struct out *out, const char *name, const char *text)
{
	if (*text && strcmp(text, "none") != 0 && strcmp(text, "ok") != 0)
		out_printf(out, "    %-14s%s\n", name, text);
}

int show_why(struct cli *cli, const struct target *t, struct out *out, struct json_object *o)
{
	struct json_object *list = json_object_new_array();
	const struct tree_device *d = t->device;
	char line[160];

	out_printf(out, "%s is %s%s%s\n", d->id, device_says(d, "state"),
		   reads(d, "reason", "") ? "" : ": ", device_says(d, "reason"));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_free_ char *text = device_file(cli, t, files[i]);

		json_text(o, files[i], text);
		put_line(out, files[i], text ?: "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!fits(d, i))
			continue;
		snprintf(line, sizeof(line), "pcidevfs %s %s%s", ways[i].verb, d->id, ways[i].word);
		put_line(out, "possible", line);
		json_object_array_add(list, json_object_new_string(line));
	}
	json_object_object_add(o, "possible", list);
	return 0;
}

/* A line of health; false: it is about something else. */
static bool put_prerequisite(struct out *out, struct json_object *o)
{
	bool iommu = !strcmp(json_says(o, "iommu"), "off");
	const char *name = iommu ? "iommu" : json_says(o, "missing");
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s%s%s", json_says(o, "device"), iommu ? "" : ": ",
		 strcmp(json_says(o, "needed"), "no") ? "" : "(nothing is asked of it) ",
		 json_says(o, "hint"), *json_says(o, "hint") ? "" : "see health");
	if (*name)
		put_line(out, name, text);
	return *name;
}

/* Of the node: what health says of prerequisites. Returns 1 if one is missing that is needed. */
static int why_node(struct cli *cli, struct err *err)
{
	struct json_object *all = json_object_new_object(), *list, *missing;
	struct out lines = { 0 }, out = { 0 };
	_free_ char *text = NULL;
	int r = tree_read(cli, "health", &text, err);
	bool ready = text && strstr(text, "\nready=yes\n");

	out_printf(&lines, "%s\n", ready ? "ready" : "not ready");
	list = lines_json(text ?: "");
	missing = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (put_prerequisite(&out, o))
			json_object_array_add(missing, json_object_get(o));
	}
	out_printf(&lines, "%s", out_text(&out));
	lines.failed |= out.failed;
	out_free(&out);
	json_object_put(list);
	json_object_object_add(all, "ready", json_object_new_boolean(ready));
	json_object_object_add(all, "missing", missing);
	return print_either(cli, r, &lines, all, err) ?: !ready;
}

int verb_why(struct cli *cli, struct err *err)
{
	return cli->argc ? verb_showing(cli, err) : why_node(cli, err);
}
