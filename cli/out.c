// SPDX-License-Identifier: GPL-2.0-or-later
#include "out.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "access.h"
#include "client/name.h"

int print_out(struct out *out, struct err *err)
{
	int r = 0;

	if (out->failed)
		r = fail_nomem(err);
	else if (fwrite(out_text(out), 1, out->len, stdout) != out->len || fflush(stdout))
		r = fail(err, errno, "stdout: %s", strerror(errno));
	out_free(out);
	return r;
}

const char *json_line(struct json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

int print_either(struct cli *cli, int r, struct out *out, struct json_object *o, struct err *err)
{
	if (r || cli->opt[OPT_JSON])
		out_free(out);
	if (!r && cli->opt[OPT_JSON])
		out_printf(out, "%s\n", json_line(o));
	json_object_put(o);
	return r ?: print_out(out, err);
}

static struct json_object *value_json(const char *value)
{
	return value && strcmp(value, "none") != 0 ? json_object_new_string(value) : NULL;
}

void json_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value_json(value));
}

void json_number(struct json_object *o, const char *key, int n)
{
	json_object_object_add(o, key, json_object_new_int(n));
}

/* Keys lie in the inventory, which outlives the object. */
struct json_object *device_json(const struct tree_device *d)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "id", json_object_new_string(d->id));
	for (size_t i = 0; i < d->n; i++)
		json_object_object_add_ex(o, d->pairs[i].key, value_json(d->pairs[i].value),
					  JSON_C_OBJECT_KEY_IS_CONSTANT);
	return o;
}

int inventory_read(struct cli *cli, struct err *err)
{
	char *text = NULL;
	int r = cli->inv.text ? 0 : tree_read(cli, "inventory", &text, err);

	return r || cli->inv.text ? r : tree_inventory_parse(text, &cli->inv, err);
}

int inventory_read_all(struct cli *cli, struct err *err)
{
	_free_ char *inventory = NULL, *intents = NULL;
	struct out all = { 0 };
	int r = tree_read(cli, "inventory", &inventory, err)
			?: tree_read(cli, "intents", &intents, err);

	if (r)
		return r;
	out_printf(&all, "%s", inventory);
	for (char *rest = intents, *line; (line = line_next(&rest));)
		if (strstr(line, " device=none ") && strstr(line, " claim="))
			out_printf(&all, "%s\n", line);
	return all.failed ? fail_nomem(err) : tree_inventory_parse(all.data, &cli->inv, err);
}

/* Nothing has the name: if list shows it of a device that is not there, err says why it is not. */
static int refuse_absent(struct cli *cli, const char *name, int code, struct err *err)
{
	struct err none = { 0 };
	const struct tree_device *d;

	targets_free(&cli->targets);
	tree_inventory_free(&cli->inv);
	if (inventory_read_all(cli, &none) || target_find(&cli->inv, name, &cli->targets, &none))
		return code;
	d = cli->targets.v[0].device;
	if (!d || !device_get(d, "identity")) /* which only intents has */
		return code;
	return fail(err, -code,
		    "%s is %s: %s; to drop what is stored of it, write \"forget %s\" to ctl", d->id,
		    device_says(d, "state"), device_says(d, "reason"), d->id);
}

/* The last target, if it is a VF of a PF that is there already. */
static int settle(struct cli *cli, struct err *err)
{
	struct targets *t = &cli->targets;
	struct target *vf = &t->v[t->n - 1];
	_free_ char *address = NULL;

	if (!vf->device)
		address = tree_text(cli, "%s/%saddress", vf->dir, vf->within);
	if (!address)
		return 0;
	t->n--;
	return target_find(&cli->inv, address, t, err);
}

int targets_read(struct cli *cli, char **names, int n, struct err *err)
{
	int r = inventory_read(cli, err);

	for (int i = 0; i < n && !r; i++) {
		size_t before = cli->targets.n;
		_free_ char *events = NULL;

		r = target_find(&cli->inv, names[i], &cli->targets, err);
		if (r == -ENODEV && cli->targets.n == before && (events = tree_text(cli, "events")))
			r = target_find_former(&cli->inv, events, names[i], &cli->targets, err);
		if (r == -ENODEV || r == -ENOENT)
			return refuse_absent(cli, names[i], r, err);
		r = r ?: settle(cli, err);
	}
	return r;
}

struct json_object *lines_json(const char *text)
{
	struct json_object *list = json_object_new_array();
	_free_ char *copy = strdup(text);

	for (char *rest = copy, *line; (line = line_next(&rest));) {
		struct json_object *o;
		struct pair p;

		if (!strcmp(line, "none"))
			continue;
		o = json_object_new_object();
		while (pair_next(&line, &p) == 1) {
			str_clean(p.value);
			json_text(o, *p.key ? p.key : "id", p.value);
		}
		json_object_array_add(list, o);
	}
	return list;
}

const char *json_says(struct json_object *o, const char *key)
{
	return json_object_get_string(json_object_object_get(o, key)) ?: "";
}

char *device_file(struct cli *cli, const struct target *t, const char *name)
{
	char *text = tree_text(cli, "%s/%s", t->dir, name);

	if (text)
		tree_text_clean(text);
	return text;
}

struct json_object *device_lines(struct cli *cli, const struct target *t, const char *name)
{
	_free_ char *text = device_file(cli, t, name);

	return lines_json(text ?: "");
}

int verb_showing(struct cli *cli, struct err *err)
{
	struct json_object *all = json_object_new_object(), *list = json_object_new_array(), *o;
	struct targets *t = &cli->targets;
	struct out out = { 0 };
	int r = targets_read(cli, cli->argv, cli->argc, err);

	for (size_t i = 0; i < cli->inv.n && !cli->argc && !r; i++)
		r = target_add(t, &cli->inv.devices[i], err);
	for (size_t i = 0; i < t->n && !r; i++) {
		if (!t->v[i].device) {
			r = fail(err, ENODEV, "%s does not exist yet", t->v[i].id);
			break;
		}
		o = device_json(t->v[i].device);
		if (!cli->verb->show(cli, &t->v[i], &out, o)) {
			json_object_array_add(list, o);
			continue;
		}
		json_object_put(o);
		if (cli->argc)
			r = fail(err, EOPNOTSUPP, "%s is not a graphics card", t->v[i].id);
	}
	json_object_object_add(all, "devices", list);
	return print_either(cli, r, &out, all, err);
}
