// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 255
#define PATH_MAX_LEN 3000

struct parser {
	char *pos, *end; /* unread text; lines are changed in place */
	unsigned int line;
	struct machine *m;
	size_t fields, fields_max, records_max;
	struct machine_err *why;
};

__attribute__((format(printf, 2, 3))) static int bad(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	p->why->line = p->line;
	va_start(ap, fmt);
	vsnprintf(p->why->text, sizeof(p->why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A relative path of plain components: nothing that leads elsewhere, no control characters. */
static bool sane_path(const char *path)
{
	if (strlen(path) > PATH_MAX_LEN)
		return false;
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p < ' ' || *p == 0x7f)
			return false;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!n || n > NAME_MAX_LEN ||
		    (path[0] == '.' && (n == 1 || (n == 2 && path[1] == '.'))))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Both decoders write over their input, which is never shorter than the result. */
static int decode_hex(char *text, size_t *len)
{
	char *out = text;

	if (*len % 2)
		return -EINVAL;
	for (size_t i = 0; i < *len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		*out++ = (char)(high << 4 | low);
	}
	*len /= 2;
	return 0;
}

static void decode_escapes(char *text, size_t *len)
{
	char *out = text;

	for (size_t i = 0; i < *len; i++) {
		if (text[i] == '\\' && i + 1 < *len) {
			i++;
			*out++ = text[i] == 'n' ? '\n' : text[i];
		} else {
			*out++ = text[i];
		}
	}
	*len = (size_t)(out - text);
	*out = 0;
}

static int add_record(struct parser *p, char *path)
{
	struct machine *m = p->m;

	if (strncmp(path, "/devices/", 9) || !sane_path(path + 1))
		return bad(p, "not a path below /devices/: %.60s", path);
	if (m->n == p->records_max) {
		size_t max = p->records_max ? p->records_max * 2 : 256;
		struct record *more = reallocarray(m->records, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		m->records = more;
		p->records_max = max;
	}
	/* Fields may still move now; settle() turns the index into a pointer. */
	m->records[m->n++] = (struct record){ .path = path, .n = p->fields };
	return 0;
}

static int add_field(struct parser *p, const struct field *f)
{
	if (p->fields == p->fields_max) {
		size_t max = p->fields_max ? p->fields_max * 2 : 4096;
		struct field *more = reallocarray(p->m->fields, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->m->fields = more;
		p->fields_max = max;
	}
	p->m->fields[p->fields++] = *f;
	return 0;
}

static int parse_field(struct parser *p, char type, char *text, size_t len)
{
	char *eq = strchr(text, '=');
	struct field f = { .type = type, .name = text, .data = "" };

	if (!p->m->n)
		return bad(p, "a machine begins with a \"P: /devices/...\" line");
	if (!eq && type != 'N' && type != 'S')
		return bad(p, "\"%c:\" line without \"=\"", type);
	if (eq) {
		*eq++ = 0;
		f.data = eq;
		f.len = len - (size_t)(eq - text);
	}
	if (!sane_path(text) || (type == 'E' && strchr(text, '/')))
		return bad(p, "not a name: %.60s", text);
	if (type == 'A')
		decode_escapes(eq, &f.len);
	if (type == 'H' && decode_hex(eq, &f.len))
		return bad(p, "%.60s: not hexadecimal", text);
	if (type == 'L' && (!f.len || f.len > PATH_MAX_LEN))
		return bad(p, "%.60s: a link needs a target", text);
	return add_field(p, &f);
}

static int parse_line(struct parser *p, char *line, size_t len)
{
	if (!len)
		return 0;
	if (memchr(line, 0, len))
		return bad(p, "a NUL byte");
	if (len < 3 || line[1] != ':' || line[2] != ' ' || !strchr("PAHLENS", line[0]))
		return bad(p, "not a line of a umockdev recording: %.40s", line);
	if (line[0] == 'P')
		return add_record(p, line + 3);
	return parse_field(p, line[0], line + 3, len - 3);
}

static int by_path(const void *a, const void *b)
{
	const unsigned char *x = (const unsigned char *)((const struct record *)a)->path;
	const unsigned char *y = (const unsigned char *)((const struct record *)b)->path;

	while (*x && *x == *y)
		x++, y++;
	/* '/' below all else, so that "a/b" follows "a" and not "a-1". */
	return (*x == '/' ? 1 : *x) - (*y == '/' ? 1 : *y);
}

static int settle(struct parser *p)
{
	struct machine *m = p->m;

	for (size_t i = 0; i < m->n; i++) {
		size_t first = m->records[i].n,
		       last = i + 1 < m->n ? m->records[i + 1].n : p->fields;

		m->records[i].fields = m->fields ? m->fields + first : NULL;
		m->records[i].n = last - first;
	}
	if (!m->n)
		return bad(p, "the machine is empty");
	qsort(m->records, m->n, sizeof(*m->records), by_path);
	for (size_t i = 1; i < m->n; i++)
		if (!strcmp(m->records[i - 1].path, m->records[i].path)) {
			p->line = 0;
			return bad(p, "recorded twice: %.80s", m->records[i].path);
		}
	return 0;
}

int machine_parse(const char *buf, size_t len, struct machine **ret, struct machine_err *why)
{
	struct parser p = { .why = why };
	int r = 0;

	*why = (struct machine_err){ 0 };
	if (len > MACHINE_MAX_SIZE)
		return -E2BIG;
	p.m = calloc(1, sizeof(*p.m));
	if (!p.m)
		return -ENOMEM;
	p.m->text = malloc(len + 1);
	if (!p.m->text) {
		machine_free(p.m);
		return -ENOMEM;
	}
	if (len)
		memcpy(p.m->text, buf, len);
	p.pos = p.m->text;
	p.end = p.pos + len;
	while (p.pos < p.end && !r) {
		char *line = p.pos, *eol = memchr(line, '\n', (size_t)(p.end - line));

		if (!eol)
			eol = p.end;
		*eol = 0;
		p.pos = eol + 1;
		p.line++;
		r = parse_line(&p, line, (size_t)(eol - line));
	}
	if (!r)
		r = settle(&p);
	if (r) {
		machine_free(p.m);
		return r;
	}
	*ret = p.m;
	return 0;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	free(m->records);
	free(m->fields);
	free(m->text);
	free(m);
}

const struct record *machine_find(const struct machine *m, const char *path)
{
	struct record key = { .path = path };

	return bsearch(&key, m->records, m->n, sizeof(key), by_path);
}

const struct field *record_field(const struct record *r, char type, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->fields[i].type == type && !strcmp(r->fields[i].name, name))
			return &r->fields[i];
	return NULL;
}

const char *record_text(const struct record *r, char type, const char *name)
{
	const struct field *f = record_field(r, type, name);

	return f ? f->data : NULL;
}
