// SPDX-License-Identifier: GPL-2.0-or-later
/* Changes as they happen: a line each, or a table that is drawn again. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/list.h"
#include "cli/out.h"
#include "client/watch.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

struct watching {
	struct cli *cli;
	struct tree_inventory now; /* sorted by id */
	bool known;		   /* an inventory was read before: what is new is news */
	bool lost;
};

static _Noreturn void give_up(const char *why)
{
	say("%s", why);
	exit(1);
}

static void device_clear(struct tree_device *d)
{
	free(d->own);
	free(d->pairs);
}

static int compare(const void *row, const void *key)
{
	return strcmp(((const struct tree_device *)row)->id, key);
}

static struct tree_device *find(struct watching *w, const char *id, size_t *ret_at)
{
	*ret_at = rows_first(w->now.devices, w->now.n, sizeof(*w->now.devices), id, compare);
	if (*ret_at == w->now.n || compare(&w->now.devices[*ret_at], id))
		return NULL;
	return &w->now.devices[*ret_at];
}

/* ---- a line for each change */

static void tell(struct watching *w, const char *action, const struct tree_device *before,
		 const struct tree_device *now)
{
	struct json_object *line = json_object_new_object(), *o = json_object_new_object();
	struct out text = { 0 };
	struct err err = { 0 };
	time_t at = time(NULL);
	struct tm tm;
	char clock[32];

	strftime(clock, sizeof(clock), "%FT%TZ", gmtime_r(&at, &tm));
	out_printf(&text, "%s %s %s", clock + 11, (now ?: before)->id, action);
	json_text(line, "time", clock);
	json_text(line, "id", (now ?: before)->id);
	json_text(line, "action", action);
	json_object_object_add(line, "changed", o);
	for (const struct pair *p = now ? now->pairs : NULL; p && p < now->pairs + now->n; p++) {
		const char *old = before ? device_get(before, p->key) : NULL;

		if (old && !strcmp(old, p->value))
			continue;
		json_text(o, p->key, p->value);
		/* Of a new one what it is, for people. */
		if (before || !strcmp(p->key, "kind") || !strcmp(p->key, "description"))
			out_pair(&text, p->key, p->value);
	}
	out_printf(&text, "\n");
	if (w->known && !w->cli->opt[OPT_TOP] &&
	    (list_has(w->cli, before) || list_has(w->cli, now)) &&
	    (!now || json_object_object_length(o)) &&
	    print_either(w->cli, 0, &text, json_object_get(line), &err))
		give_up(err.text);
	json_object_put(line);
	out_free(&text);
}

static struct tree_device parse(const char *id, const char *pairs)
{
	struct tree_device d = { 0 };
	struct out line = { 0 };
	struct pair *room;
	size_t n = 1;

	out_printf(&line, "%s %s", id, pairs);
	for (size_t i = 0; i < line.len; i++)
		n += line.data[i] == '=';
	room = calloc(n, sizeof(*room));
	if (line.failed || !room)
		give_up("no memory");
	if (device_parse(line.data, &d, room))
		give_up("an event of the tree has another form");
	d.own = line.data;
	d.seen = true;
	return d;
}

/* ---- what the tree tells */

static void on_begin(void *ctx)
{
	struct watching *w = ctx;

	for (size_t i = 0; i < w->now.n; i++)
		w->now.devices[i].seen = false;
}

static void on_device(void *ctx, const char *id, char *pairs)
{
	struct watching *w = ctx;
	struct tree_device now = parse(id, pairs), *more;
	size_t at;
	struct tree_device *before = find(w, id, &at);

	tell(w, before ? "change" : "add", before, &now);
	if (before) {
		device_clear(before);
		*before = now;
		return;
	}
	more = more_rows(w->now.devices, w->now.n, &w->now.cap, sizeof(*more));
	if (!more)
		give_up("no memory");
	w->now.devices = more;
	memmove(&more[at + 1], &more[at], (w->now.n++ - at) * sizeof(*more));
	more[at] = now;
}

static void on_removed(void *ctx, const char *id)
{
	struct watching *w = ctx;
	size_t at;
	struct tree_device *d = find(w, id, &at);

	if (!d)
		return;
	tell(w, "remove", d, NULL);
	device_clear(d);
	memmove(d, d + 1, (--w->now.n - at) * sizeof(*d));
}

/* As many lines as the terminal has; a file or a pipe gets all, one table after the other. */
static void draw(struct watching *w)
{
	struct out out = { 0 };
	struct winsize size = { 0 };
	struct err err = { 0 };

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row) {
		out_printf(&out, "\033[H\033[2J");
		w->cli->width = size.ws_col; /* which may change */
	}
	if (list_table(w->cli, &w->now, &out))
		give_up("no memory");
	for (size_t i = 0, rows = 0; i < out.len && size.ws_row > 1; i++)
		if (out.data[i] == '\n' && ++rows == size.ws_row - 1u) {
			out.len = i;
			break;
		}
	if (print_out(&out, &err))
		give_up(err.text);
}

static void on_settled(void *ctx)
{
	struct watching *w = ctx;

	for (size_t i = w->now.n; i-- > 0;)
		if (!w->now.devices[i].seen)
			on_removed(w, w->now.devices[i].id);
	w->known = true;
	w->lost = false;
	if (w->cli->opt[OPT_TOP])
		draw(w);
}

/* Called once more after each try. */
static void on_lost(void *ctx, const char *why)
{
	struct watching *w = ctx;

	if (!w->lost)
		say(w->known ? "the tree does not answer, and is tried again: %s"
			     : "%s; start pcidevfsd, or name the place with --tree",
		    why);
	if (!w->known)
		exit(1);
	w->lost = true;
}

int verb_watch(struct cli *cli, struct err *err)
{
	struct watching w = { .cli = cli };
	const struct watcher watcher = {
		.begin = on_begin,
		.device = on_device,
		.removed = on_removed,
		.settled = on_settled,
		.lost = on_lost,
		.ctx = &w,
	};

	if (cli->opt[OPT_TOP] && cli->opt[OPT_JSON])
		return wrong_use(cli->verb, "--top has no JSON");
	watch_run(cli->tree, &watcher, -1);
	return fail_nomem(err);
}
