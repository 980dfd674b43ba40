// SPDX-License-Identifier: GPL-2.0-or-later
#include "types.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

/* ---- a list */

struct vgpu_type *types_find_id(const struct vgpu_types *types, const char *id)
{
	for (size_t i = 0; i < types->n; i++)
		if (!strcmp(types->v[i].id, id))
			return (struct vgpu_type *)&types->v[i];
	return NULL;
}

struct vgpu_types *types_new(void)
{
	struct vgpu_types *types = malloc(sizeof(*types)); /* most of it is never touched */

	if (types)
		types->n = 0;
	return types;
}

struct vgpu_types *types_shrink(struct vgpu_types *types)
{
	size_t size = offsetof(struct vgpu_types, v) + types->n * sizeof(types->v[0]);

	return realloc(types, size) ?: types;
}

void types_add(struct vgpu_types *types, const struct vgpu_type *type)
{
	struct vgpu_type *at = types_find_id(types, type->id);
	int32_t size = type->framebuffer_mib;

	if (!type->name[0] || !type->id[0] || type->name[str_clean_len(type->name, SIZE_MAX)])
		return;
	if (!at && types->n == TYPES_MAX)
		return;
	if (!at) {
		at = &types->v[types->n++];
		*at = (struct vgpu_type){ .max = -1, .framebuffer_mib = -1 };
		STR_COPY(at->id, type->id);
	}
	size = size < 0 ? types_framebuffer(type->name) : size;
	STR_COPY(at->name, type->name); /* another driver may give the id to another type */
	STR_COPY(at->why, type->why);
	if (type->gi[0])
		STR_COPY(at->gi, type->gi);
	if (type->details.class[0] || type->details.heads || type->details.max_per_vm)
		at->details = type->details;
	at->available = type->available;
	at->max = type->max < 0 ? at->max : type->max;
	at->framebuffer_mib = size < 0 ? at->framebuffer_mib : size;
}

/* In "NVIDIA RTXP6000-96C-24Q-VIRT" it is the last part of digits and a letter; "-0Q" has half a
 * GiB, and a digit may follow the letter ("-2B4"). */
int32_t types_framebuffer(const char *name)
{
	int32_t found = -1;

	for (const char *p = strchr(name, '-'); p; p = strchr(p + 1, '-')) {
		size_t digits = strspn(p + 1, "0123456789");

		if (digits && digits < 5 && strchr("ABCQ", p[1 + digits]) && p[1 + digits])
			found = p[1] == '0' && digits == 1 ? 512 : atoi(p + 1) * 1024;
	}
	return found;
}

static bool is_called(const char *name, const char *text)
{
	return !strcmp(name, text);
}

bool types_reads(const char *name, const char *text)
{
	const char *blank = strrchr(name, ' ');

	return is_called(name, text) || (blank && is_called(blank + 1, text));
}

static const struct vgpu_type *find_by(const struct vgpu_types *types, const char *text,
				       bool (*is)(const char *name, const char *text),
				       bool *ret_twice)
{
	const struct vgpu_type *found = NULL;

	for (size_t i = 0; i < types->n; i++) {
		const struct vgpu_type *t = &types->v[i];

		if (!is(t->name, text))
			continue;
		*ret_twice |= found != NULL;
		found = found && found->available > 0 ? found : t;
	}
	return found;
}

const struct vgpu_type *types_find(const struct vgpu_types *types, const char *name,
				   bool *ret_twice)
{
	const struct vgpu_type *found = types_find_id(types, name);
	bool twice = false;

	found = found ?: find_by(types, name, is_called, &twice);
	found = found ?: find_by(types, name, types_reads, &twice);
	if (ret_twice)
		*ret_twice = twice;
	return found;
}

const char *types_word(const struct vgpu_types *types, const struct vgpu_type *t)
{
	bool twice;

	return types_find(types, t->name, &twice) == t && !twice ? t->name : t->id;
}

void types_available(const struct vgpu_types *types, char buf[static TYPES_TEXT])
{
	size_t n = 0;

	for (size_t i = 0; i < types->n && n < TYPES_TEXT - PROFILE_NAME - 8; i++)
		if (types->v[i].available > 0)
			n += (size_t)snprintf(buf + n, TYPES_TEXT - n, "%s%s", n ? ", " : "",
					      types_word(types, &types->v[i]));
	if (!n)
		str_copy(buf, TYPES_TEXT, "none");
	else if (n >= TYPES_TEXT - PROFILE_NAME - 8)
		str_copy(buf + n, TYPES_TEXT - n, ", ...");
}

void types_resource(const char *name, char buf[static RESOURCE_NAME])
{
	size_t n = 0;

	name += strspn(name, " \t");
	n = (size_t)snprintf(buf, RESOURCE_NAME, "nvidia.com/");
	for (; *name && n < RESOURCE_NAME - 1; name++) {
		bool blank = isspace((unsigned char)*name);

		if (!blank || !isspace((unsigned char)name[1]))
			buf[n++] = blank || *name == '/' || *name == '.' ? '_' : *name;
	}
	while (n && buf[n - 1] == '_')
		n--;
	buf[n] = '\0';
}

/* ---- the kernel's list */

static bool is_id(const char *text, size_t n)
{
	return n && n < 10 && strspn(text, "0123456789") >= n;
}

static void set_name(struct vgpu_type *type, const char *name, size_t n)
{
	while (n && isspace((unsigned char)name[n - 1]))
		n--;
	type->name[0] = '\0'; /* too long for one */
	if (n && n < sizeof(type->name)) {
		memcpy(type->name, name, n);
		type->name[n] = '\0';
	}
}

/* "747   : NVIDIA A2-4Q" */
static bool id_first(const char *line, struct vgpu_type *ret)
{
	int n = 0;

	if (sscanf(line, "%9[0-9] : %n", ret->id, &n) != 1 || !n)
		return false;
	set_name(ret, line + n, strlen(line + n));
	return true;
}

/* "NVIDIA A2-4Q   747" */
static bool name_first(const char *line, struct vgpu_type *ret)
{
	size_t len = strlen(line), at = len;

	while (at && isdigit((unsigned char)line[at - 1]))
		at--;
	if (!is_id(line + at, len - at) || !at || !isspace((unsigned char)line[at - 1]))
		return false;
	snprintf(ret->id, sizeof(ret->id), "%.*s", (int)(len - at), line + at);
	while (at && (isspace((unsigned char)line[at - 1]) || line[at - 1] == ':'))
		at--;
	set_name(ret, line, at);
	return true;
}

/* Not the end of "NVIDIA". */
static const char *find_word(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	while (at && at > line && isalpha((unsigned char)at[-1]))
		at = strstr(at + 1, word);
	return at;
}

/* Which column a head line names first; without one, lines tell by themselves. */
static bool is_head(const char *line, bool *ret_id_first)
{
	const char *id = find_word(line, "ID"), *name = find_word(line, "Name");

	if (!id || !name || strpbrk(line, "0123456789"))
		return false;
	*ret_id_first = id < name;
	return true;
}

void types_parse(const char *text, struct vgpu_types *ret)
{
	bool head = false, first = true;

	ret->n = 0;
	while (*text) {
		struct vgpu_type type = { .available = 1, .max = -1, .framebuffer_mib = -1 };
		size_t n = strcspn(text, "\n"), from = strspn(text, " \t\r");
		char line[256];
		int len = n < sizeof(line) && from < n ? (int)(n - from) : 0;

		snprintf(line, sizeof(line), "%.*s", len, text + from);
		while (len && isspace((unsigned char)line[len - 1]))
			line[--len] = '\0';
		text += n + (text[n] == '\n');
		if (!head && is_head(line, &first)) {
			head = true;
			continue;
		}
		if (((!head || first) && id_first(line, &type)) ||
		    ((!head || !first) && name_first(line, &type)))
			types_add(ret, &type);
	}
}

/* ---- the lines of the file profiles */

static void print_number(struct out *o, const char *key, int32_t n)
{
	if (n >= 0)
		out_printf(o, " %s=%d", key, (int)n);
}

static void print_details(const struct type_details *d, struct out *o)
{
	if (d->class[0])
		out_pair(o, "class", d->class);
	if (d->license[0])
		out_pair(o, "license", d->license);
	print_number(o, "max_per_vm", d->max_per_vm ?: -1);
	print_number(o, "heads", d->heads ?: -1);
	print_number(o, "frame_rate_limit", d->frame_rate_limit ?: -1);
}

static void print(const struct vgpu_types *types, struct out *o)
{
	for (size_t i = 0; i < types->n; i++) {
		const struct vgpu_type *t = &types->v[i];

		if (i)
			out_put(o, "\n", 1);
		out_pair(o, "name", t->name);
		out_pair(o, "id", t->id);
		print_number(o, "available", t->available);
		print_number(o, "max", t->max);
		print_number(o, "framebuffer_mib", t->framebuffer_mib);
		if (t->gi[0])
			out_pair(o, "gpu_instance_profile", t->gi);
		print_details(&t->details, o);
		if (t->why[0])
			out_pair(o, "reason", t->why);
	}
}

static void read_pair(const struct pair *p, struct vgpu_type *ret)
{
	const struct {
		const char *key;
		int32_t *number;
	} numbers[] = { { "available", &ret->available },
			{ "max", &ret->max },
			{ "framebuffer_mib", &ret->framebuffer_mib },
			{ "max_per_vm", &ret->details.max_per_vm },
			{ "heads", &ret->details.heads },
			{ "frame_rate_limit", &ret->details.frame_rate_limit } };
	int64_t n;

	/* Half of one would be another. */
	if (!strcmp(p->key, "name") && !STR_COPY(ret->name, p->value))
		ret->name[0] = '\0';
	if (!strcmp(p->key, "id") && !STR_COPY(ret->id, p->value))
		ret->id[0] = '\0';
	if (!strcmp(p->key, "gpu_instance_profile"))
		STR_COPY(ret->gi, p->value);
	if (!strcmp(p->key, "class"))
		STR_COPY(ret->details.class, p->value);
	if (!strcmp(p->key, "license"))
		STR_COPY(ret->details.license, p->value);
	if (!strcmp(p->key, "reason"))
		STR_COPY(ret->why, p->value);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(p->key, numbers[i].key) && !parse_i64(p->value, -1, INT32_MAX, &n))
			*numbers[i].number = (int32_t)n;
}

void types_of(struct model *m, const struct device *dev, struct vgpu_types *ret)
{
	struct out o = { 0 };
	char *save = NULL;

	ret->n = 0;
	model_text(m, &dev->facts.profiles, &o);
	for (char *line = o.data ? strtok_r(o.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct vgpu_type t = { .available = -1, .max = -1, .framebuffer_mib = -1 };
		struct pair p;

		while (pair_next(&line, &p) == 1)
			read_pair(&p, &t);
		types_add(ret, &t);
	}
	out_free(&o);
}

bool types_can(const struct vgpu_types *types)
{
	for (size_t i = 0; i < types->n; i++)
		if (types->v[i].available > 0)
			return true;
	return false;
}

bool types_any(struct model *m, const struct device *dev)
{
	_free_ struct vgpu_types *types = types_noted(m, dev);

	return !types || types_can(types);
}

void *types_noted(struct model *m, const struct device *dev)
{
	struct vgpu_types *types = types_new();

	if (types)
		types_of(m, dev, types);
	return types;
}

/* "nvidia-63" before "nvidia-222". */
static int by_id(const void *left, const void *right)
{
	const struct vgpu_type *a = left, *b = right;
	size_t n = strlen(a->id), len = strlen(b->id);

	return n != len ? (n > len) - (n < len) : strcmp(a->id, b->id);
}

/* In the order of ids, which both worlds share; directories have none. */
void types_keep(struct model *m, struct device *dev, struct vgpu_types *types)
{
	struct out o = { 0 };

	qsort(types->v, types->n, sizeof(*types->v), by_id);
	print(types, &o);
	model_set_text(m, &dev->facts.profiles, out_text(&o), o.len);
	out_free(&o);
}
