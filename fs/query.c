// SPDX-License-Identifier: GPL-2.0-or-later
/* `plan`: what a write would do, without doing it. */
#include "query.h"

#include <errno.h>
#include <string.h>

#include "internal.h"
#include "lines.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

static int parse_query(const struct subject *s, const char *text, struct wish *ret, struct err *err)
{
	const struct lines_of of = { .tree = s->tree, .file = "plan", .home = &s->dev->key };
	char line[sizeof(s->dev->plan_query)], label[LINE_LABEL];

	if (!STR_COPY(line, text))
		return fail(err, E2BIG, "plan: at most %zu characters", sizeof(line) - 1);
	return line_wish(&of, line, ret, label, err);
}

void plan_show(const struct subject *s, struct out *o)
{
	struct wish wish = { 0 };
	struct err err = { 0 };
	int r;

	if (!s->dev->plan_query[0]) {
		out_printf(o, "none\n");
		return;
	}
	r = parse_query(s, s->dev->plan_query, &wish, &err);
	if (!r)
		r = txn_check(s->tree->conf.engine, &wish, 1, o, &err);
	if (r)
		out_printf(o, "error %s %s\n", err_name(err.code), err.text);
}

int plan_store(const struct subject *s, const char *text, struct wish *ret, struct err *err)
{
	struct model *m = s->tree->conf.model;
	struct device *d;
	bool clear = !text[0] || !strcmp(text, "none");
	int r = 0;

	(void)ret; /* nothing is asked of the engine */
	if (!clear) {
		struct wish wish = { 0 };

		r = parse_query(s, text, &wish, err);
	}
	if (r)
		return r;
	model_lock(m);
	d = model_edit(m, &s->dev->key, false);
	if (d)
		STR_COPY(d->plan_query, clear ? "" : text);
	else
		r = fail(err, ENODEV, "plan: %s is gone", s->dev->key.name);
	model_publish(m);
	model_unlock(m);
	return r;
}
