// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct record *machine_record_new(const char *path)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->path = strdup(path);
	if (!r->path) {
		free(r);
		return NULL;
	}
	return r;
}

int record_add(struct record *r, char type, const char *name, const char *fmt, ...)
{
	struct field *more = reallocarray(r->fields, r->n + 1, sizeof(*more));
	char *text;
	va_list ap;
	int len;

	if (!more)
		return -ENOMEM;
	r->fields = more;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return -ENOMEM;
	more[r->n] = (struct field){ type, strdup(name), text, (size_t)len };
	if (!more[r->n].name) {
		free(text);
		return -ENOMEM;
	}
	r->n++;
	return 0;
}

void machine_record_free(struct record *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		free((char *)r->fields[i].name);
		free((char *)r->fields[i].data);
	}
	free(r->fields);
	free((char *)r->path);
	free(r);
}
