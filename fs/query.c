// SPDX-License-Identifier: GPL-2.0-or-later
/* `plan`: what a write would do, without doing it. */
#include "query.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "fs/ctl/lines.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

static int parse_query(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	const struct lines_of of = { .tree = s->tree, .file = "plan", .home = &s->dev->key };
	char line[sizeof(s->dev->plan_query)], label[LINE_LABEL];

	if (!STR_COPY(line, text))
		return fail(err, E2BIG, "plan: at most %zu characters", sizeof(line) - 1);
	return line_request(&of, line, ret, label, err);
}

/* Does the requested file already read so? */
static bool reads_so(struct tree *t, const struct request *request)
{
	struct device dev = { 0 };
	const struct subject s = { .tree = t, .name = dev.key.name, .dev = &dev };
	const struct attr *row = attr_by_name(kind_of_bus(request->dev.bus), 0, request->file);
	struct model *m = t->conf.model;
	const struct device *found;
	struct out text = { 0 };
	struct request at;
	bool same = false;

	model_lock(m);
	request_resolve(m, request, &at);
	found = model_find(m, &at.dev);
	if (found)
		dev = *found;
	model_unlock(m);
	if (found && row && row->show) {
		row->show(&s, &text);
		if (text.len && text.data[text.len - 1] == '\n')
			text.data[text.len - 1] = '\0';
		same = !strcmp(out_text(&text), request->value[0] ? request->value : "none");
	}
	out_free(&text);
	return same;
}

static int print_steps(struct tree *t, const struct request *request, struct out *o,
		       struct err *err)
{
	struct out steps = { 0 };
	int r = txn_check(t->conf.engine, request, 1, &steps, err);
	bool none = !r && !isdigit((unsigned char)out_text(&steps)[0]);

	if (none && !reads_so(t, request))
		out_printf(o, "nothing to do in the kernel; the value is recorded\n");
	else
		out_printf(o, "%s", out_text(&steps));
	o->failed |= steps.failed;
	out_free(&steps);
	return r;
}

void plan_show(const struct subject *s, struct out *o)
{
	struct request request = { 0 };
	struct err err = { 0 };
	int r;

	if (!s->dev->plan_query[0]) {
		out_printf(o, "none\n");
		return;
	}
	r = parse_query(s, s->dev->plan_query, &request, &err);
	r = r ? r : print_steps(s->tree, &request, o, &err);
	if (r) {
		out_printf(o, "error %s ", err_name(err.code));
		out_for_all(o, err.text);
		out_printf(o, "\n");
	}
}

/* A text that is refused is stored too, so that reading shows the refusal instead of old steps. */
int plan_store(const struct subject *s, const char *text, struct request *ret, struct err *err)
{
	struct model *m = s->tree->conf.model;
	bool clear = !text[0] || !strcmp(text, "none");
	struct request request = { 0 };
	int r = clear ? 0 : parse_query(s, text, &request, err);
	struct device *d;

	(void)ret; /* nothing is requested from the engine */
	model_lock(m);
	d = model_edit(m, &s->dev->key, false);
	if (d)
		STR_COPY(d->plan_query, clear || r == -E2BIG ? "" : text);
	else
		r = fail(err, ENODEV, "plan: %s is gone", s->dev->key.name);
	model_publish(m);
	model_unlock(m);
	if (!r)
		err->idle = true; /* a question: it changes neither last_error nor the journal */
	return r;
}
