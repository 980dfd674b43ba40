// SPDX-License-Identifier: GPL-2.0-or-later
/* What a test chooses of the GPUs: their world, their types, their driver's moods. */
#include "vgpu.h"
#include "func.h"
#include "sim.h"
#include "vgpu_mdev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Invented, in the shape of the vendor's; as labgpu has them. */
static struct vgpu_types default_types = {
	.n = 6,
	.list = {
		{ 741, 1, "NVIDIA LAB-1B" },
		{ 742, 2, "NVIDIA LAB-2B" },
		{ 745, 2, "NVIDIA LAB-2Q" },
		{ 747, 4, "NVIDIA LAB-4Q" },
		{ 748, 8, "NVIDIA LAB-8Q" },
		{ 749, 16, "NVIDIA LAB-16Q" },
	},
};

static const char *const styles[] = {
	[GPU_PLAIN] = "plain",
	[GPU_VFIO] = "vfio",
	[GPU_MDEV] = "mdev",
	[GPU_MDEV_PF] = "mdev-pf",
};

/* ---- the list of types */

/* "ID SIZE NAME", where NAME is all that follows. */
static int parse_type(char *line, struct vgpu_type *ret)
{
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%u %u %n", &ret->id, &ret->size, &at) < 2 || !at || !ret->size)
		return -EINVAL;
	ret->name = strdup(line + at);
	return ret->name ? 0 : -ENOMEM;
}

static int add_type(struct vgpu_types **types, char *line)
{
	size_t n = *types ? (*types)->n : 0;
	struct vgpu_types *more = realloc(*types, sizeof(*more) + (n + 1) * sizeof(more->list[0]));
	int r;

	if (!more)
		return -ENOMEM;
	*types = more;
	more->n = n;
	r = parse_type(line, &more->list[n]);
	if (!r)
		more->n++;
	return r;
}

static int read_types(const char *path, const struct vgpu_types **ret)
{
	FILE *f = fopen(path, "re");
	struct vgpu_types *types = NULL;
	char line[4096];
	int r = f ? 0 : -errno;

	while (!r && fgets(line, sizeof(line), f))
		r = add_type(&types, line);
	if (f)
		fclose(f);
	if (!r && !types)
		r = -EINVAL;
	if (r)
		free(types);
	else
		*ret = types;
	return r;
}

/* ---- options */

static int store_style(struct gpu_options *o, const char *text)
{
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (!strcmp(styles[i], text)) {
			o->style = (enum gpu_style)i;
			return 0;
		}
	return -EINVAL;
}

static int store_types(struct gpu_options *o, const char *text)
{
	return read_types(text, &o->types);
}

static int store_columns(struct gpu_options *o, const char *text)
{
	if (strcmp(text, "id") && strcmp(text, "name"))
		return -EINVAL;
	o->name_first = *text == 'n';
	return 0;
}

static int store_garbled(struct gpu_options *o, const char *text)
{
	char *copy = *text ? strdup(text) : NULL;

	if (*text && !copy)
		return -ENOMEM;
	free(o->garbled);
	o->garbled = copy;
	return 0;
}

static int store_number(unsigned int *ret, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || (*end && strcmp(end, "\n")) || n > 1000000)
		return -EINVAL;
	*ret = (unsigned int)n;
	return 0;
}

/* As the kernel reads a module's parameter. */
static int store_bool(bool *ret, const char *text)
{
	if (!*text || !strchr("01yYnN", *text) || (text[1] && strcmp(text + 1, "\n")))
		return -EINVAL;
	*ret = strchr("1yY", *text) != NULL;
	return 0;
}

#define NUMBER(field)                                                                              \
	static int store_##field(struct gpu_options *o, const char *text)                          \
	{                                                                                          \
		return store_number(&o->field, text);                                              \
	}
#define BOOL(field)                                                                                \
	static int store_##field(struct gpu_options *o, const char *text)                          \
	{                                                                                          \
		return store_bool(&o->field, text);                                                \
	}
NUMBER(fb)
NUMBER(delay_ms)
NUMBER(offset)
BOOL(mixed)
BOOL(numvfs)
BOOL(passthrough)
BOOL(lone_header)

static const struct option_row {
	const char *name, *values, *help;
	int (*store)(struct gpu_options *o, const char *text);
} rows[] = {
	{ "style", "vfio|mdev|mdev-pf|plain",
	  "a VF is a vGPU; or a VF, or the card, makes mdevs; when it is bound next", store_style },
	{ "fb", "N", "framebuffer of a card (16)", store_fb },
	{ "mixed", "0|1", "vGPUs of different sizes may share any card (0); see \"mix\"",
	  store_mixed },
	{ "delay_ms", "N", "each change takes so long (0)", store_delay_ms },
	{ "numvfs", "0|1", "0: sriov_numvfs is refused, as by the vendor's driver (1)",
	  store_numvfs },
	{ "columns", "id|name", "what comes first in creatable_vgpu_types (id)", store_columns },
	{ "lone_header", "0|1", "an empty list of types keeps its header (0)", store_lone_header },
	{ "garbled", "TEXT", "a line of that list is so; empty: none", store_garbled },
	{ "types", "FILE", "lines \"ID SIZE NAME\" instead of LAB-1B ... LAB-16Q", store_types },
	{ "offset", "N", "added to all ids, of a card that is bound next (0)", store_offset },
	{ "passthrough", "0|1", "0: vfio-pci refuses the VFs by EINVAL (1)", store_passthrough },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

void gpu_help(void)
{
	puts("\nOptions for --gpu, and for the command \"gpu\":");
	for (size_t i = 0; i < N_ROWS; i++)
		printf("  %s=%s\n      %s\n", rows[i].name, rows[i].values, rows[i].help);
}

static struct gpu_options *options(struct sim *s)
{
	if (s->gpu)
		return s->gpu;
	s->gpu = calloc(1, sizeof(*s->gpu));
	if (s->gpu)
		*s->gpu = (struct gpu_options){
			.fb = 16, .numvfs = true, .passthrough = true, .types = &default_types
		};
	return s->gpu;
}

int gpu_option(struct sim *s, const char *text)
{
	struct gpu_options *o = options(s);
	const char *value = strchr(text, '=');

	if (!o)
		return -ENOMEM;
	if (!value)
		return store_style(o, text);
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strncmp(rows[i].name, text, (size_t)(value - text)) &&
		    !rows[i].name[value - text])
			return rows[i].store(o, value + 1);
	return -EINVAL;
}

int gpu_options(struct sim *s, const char *text)
{
	char *copy = strdup(text), *at = copy;
	int r = copy ? 0 : -ENOMEM;

	for (char *word; !r && (word = strsep(&at, " "));)
		if (*word)
			r = gpu_option(s, word);
	free(copy);
	return r;
}

void gpu_delay(struct sim *s)
{
	if (s->gpu && s->gpu->delay_ms && !s->quiet)
		sim_sleep(s, (long)s->gpu->delay_ms);
}

/* ---- the same as parameters of the module, for what runs in the lab too */

static ssize_t numvfs_show(struct sim *s, void *obj, char *page)
{
	(void)obj;
	return snprintf(page, PAGE_TEXT, "%c\n", s->gpu->numvfs ? 'Y' : 'N');
}

static int numvfs_store(struct sim *s, void *obj, const char *text, size_t len)
{
	(void)obj, (void)len;
	return store_bool(&s->gpu->numvfs, text);
}

static ssize_t mixed_show(struct sim *s, void *obj, char *page)
{
	(void)obj;
	return snprintf(page, PAGE_TEXT, "%c\n", s->gpu->mixed ? 'Y' : 'N');
}

static int mixed_store(struct sim *s, void *obj, const char *text, size_t len)
{
	(void)obj, (void)len;
	return store_bool(&s->gpu->mixed, text);
}

static ssize_t delay_show(struct sim *s, void *obj, char *page)
{
	(void)obj;
	return snprintf(page, PAGE_TEXT, "%u\n", s->gpu->delay_ms);
}

static int delay_store(struct sim *s, void *obj, const char *text, size_t len)
{
	(void)obj, (void)len;
	return store_number(&s->gpu->delay_ms, text);
}

static const struct reaction parameters[] = {
	{ .name = "numvfs", .mode = 0644, .show = numvfs_show, .store = numvfs_store },
	{ .name = "mixed", .mode = 0644, .show = mixed_show, .store = mixed_store },
	{ .name = "delay_ms", .mode = 0644, .show = delay_show, .store = delay_store },
	{ .name = NULL },
};

int vgpu_build(struct sim *s)
{
	struct driver *drv;

	if (!s->gpu || s->gpu->style == GPU_PLAIN)
		return 0;
	drv = driver_get(s, &s->pci, vgpu_driver.name);
	if (!drv || driver_alias(drv, "pci:v000010DEd*bc03*"))
		return -ENOMEM;
	drv->kind = &vgpu_driver;
	if (!tree_walk(s->tree, s->tree->root, "module/labgpu"))
		sim_rows(s, tree_mkdirs(s->tree, s->tree->root, "module/labgpu/parameters"),
			 parameters, s);
	return s->gpu->style == GPU_VFIO ? 0 : mdev_build(s);
}
