// SPDX-License-Identifier: GPL-2.0-or-later
#include "rows.h"

#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "fs/inventory.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"

void out_line(struct out *o, const char *text)
{
	out_printf(o, "%s\n", text[0] ? text : "none");
}

void out_line_for_all(struct out *o, const char *text)
{
	out_for_all(o, text[0] ? text : "none");
	out_put(o, "\n", 1);
}

void out_refusal(const struct subject *s, const char *text, uid_t uid, struct out *o)
{
	const struct creds *reader = s->reader;
	bool told = !reader || reader->reserve || (uid && reader->uid == uid);

	if (told || !text[0])
		out_printf(o, "%s\n", text[0] ? text : "ok");
	else
		out_line_for_all(o, text);
}

static const void *field(const struct subject *s)
{
	return (const char *)s->dev + s->row->at;
}

void text_show(const struct subject *s, struct out *o)
{
	out_line(o, field(s));
}

void sentence_show(const struct subject *s, struct out *o)
{
	out_line_for_all(o, field(s));
}

void words_show(const struct subject *s, struct out *o)
{
	const char *words = field(s);

	if (!words[0])
		out_printf(o, "none");
	for (; *words; words++)
		out_put(o, *words == ' ' ? "\n" : words, 1);
	out_put(o, "\n", 1);
}

void number_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", (int)*(const int32_t *)field(s));
}

void count_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%u\n", *(const uint16_t *)field(s));
}

void place_show(const struct subject *s, struct out *o)
{
	int64_t place = *(const int64_t *)field(s);

	if (place < 0)
		out_line(o, "");
	else
		out_printf(o, "%lld\n", (long long)place);
}

void out_room(const struct subject *s, size_t at, struct out *o)
{
	size_t before = o->len;

	device_text(s->tree->conf.model, &s->dev->key, at, o);
	out_printf(o, o->len > before ? "\n" : "none\n");
}

void room_show(const struct subject *s, struct out *o)
{
	out_room(s, s->row->at, o);
}

void fixed_show(const struct subject *s, struct out *o)
{
	out_put(o, s->row->text, strlen(s->row->text));
}

int name_store(const struct subject *s, const char *text, size_t size, struct request *ret,
	       struct err *err)
{
	if (strlen(text) >= size)
		return fail(err, EINVAL, "%s: a name has at most %zu characters", s->row->name,
			    size - 1);
	STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return 0;
}
