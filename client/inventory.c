// SPDX-License-Identifier: GPL-2.0-or-later
#include "inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static size_t count(const char *text, char c)
{
	size_t n = 0;

	for (; (text = strchr(text, c)); text++)
		n++;
	return n;
}

static int parse_head(char *line, struct tree_inventory *inv, struct err *err)
{
	struct pair p;

	if (pair_next(&line, &p) != 1 || p.key[0] || strcmp(p.value, "pcidevfs-inventory") ||
	    pair_next(&line, &p) != 1 || p.key[0] || strcmp(p.value, "1"))
		return fail(err, EBADMSG, "inventory does not begin like one of version 1");
	while (pair_next(&line, &p) == 1)
		if (!strcmp(p.key, "generation"))
			STR_COPY(inv->generation, p.value);
	return 0;
}

int device_parse(char *line, struct tree_device *d, struct pair *pairs)
{
	struct pair p;
	int r;

	str_clean(line);
	r = pair_next(&line, &p);
	if (r != 1 || p.key[0])
		return -EBADMSG;
	*d = (struct tree_device){ .id = p.value, .pairs = pairs };
	while ((r = pair_next(&line, &p)) == 1) {
		if (!p.key[0])
			return -EBADMSG;
		if (p.quoted) /* escapes that are undone may bring any byte */
			str_clean(p.value);
		pairs[d->n++] = p;
	}
	return r;
}

static int parse_lines(struct tree_inventory *inv, struct err *err)
{
	struct pair *at = inv->pairs;
	char *rest = inv->text, *line = line_next(&rest);

	if (!line)
		return fail(err, EBADMSG, "inventory is empty");
	inv->sorted = true;
	str_clean(line);
	if (parse_head(line, inv, err))
		return -EBADMSG;
	for (; (line = line_next(&rest)); inv->n++) {
		struct tree_device *d = &inv->devices[inv->n];

		if (device_parse(line, d, at))
			return fail(err, EBADMSG, "line %zu of inventory has another form",
				    inv->n + 2);
		at += d->n;
		inv->sorted &= !inv->n || strcmp(d[-1].id, d->id) < 0;
	}
	return 0;
}

int tree_inventory_parse(char *text, struct tree_inventory *ret, struct err *err)
{
	int r;

	*ret = (struct tree_inventory){ .text = text };
	/* A pair has a "=", a line a newline: there are not more than that. */
	ret->pairs = calloc(count(text, '=') + 1, sizeof(*ret->pairs));
	ret->devices = calloc(count(text, '\n') + 1, sizeof(*ret->devices));
	r = ret->pairs && ret->devices ? parse_lines(ret, err) : fail_nomem(err);
	if (r)
		tree_inventory_free(ret);
	return r;
}

void tree_inventory_free(struct tree_inventory *inv)
{
	free(inv->text);
	free(inv->pairs);
	free(inv->devices);
	*inv = (struct tree_inventory){ 0 };
}

static int compare_id(const void *row, const void *key)
{
	return strcmp(((const struct tree_device *)row)->id, key);
}

const struct tree_device *device_by_id(const struct tree_inventory *inv, const char *id)
{
	const struct tree_device *d = inv->devices;
	size_t at = 0;

	if (inv->sorted)
		at = rows_first(d, inv->n, sizeof(*d), id, compare_id);
	while (!inv->sorted && at < inv->n && strcmp(d[at].id, id))
		at++;
	return at < inv->n && !strcmp(d[at].id, id) ? &d[at] : NULL;
}

const char *device_get(const struct tree_device *d, const char *key)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->pairs[i].key, key))
			return d->pairs[i].value;
	return NULL;
}

const char *device_says(const struct tree_device *d, const char *key)
{
	const char *value = device_get(d, key);

	return value && strcmp(value, "none") != 0 ? value : "";
}

bool device_is_of(const struct tree_device *d, const char *id)
{
	return !strcmp(device_says(d, "physfn"), id) || !strcmp(device_says(d, "parent"), id);
}

void tree_text_clean(char *text)
{
	size_t n = strlen(text);

	if (n && text[n - 1] == '\n')
		text[n - 1] = '\0';
	for (char *at = text; *(at += str_clean_len(at, SIZE_MAX)); at++)
		if (*at != '\n')
			*at = '?';
}

bool class_is_gpu(const char *class)
{
	return !strcmp(class, "0x030000") || !strcmp(class, "0x030200");
}
