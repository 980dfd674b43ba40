// SPDX-License-Identifier: GPL-2.0-or-later
/* What a test chooses of the GPUs: their world, their types, their driver's moods. */
#include "vgpu.h"
#include "func.h"
#include "nvml.h"
#include "sim.h"
#include "vgpu_mdev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Invented, in the shape of the vendor's; as labgpu has them. */
static const struct vgpu_types invented = {
	.n = 16,
	.list = {
		{ 741, 1, "NVIDIA LAB-1B" },
		{ 742, 2, "NVIDIA LAB-2B" },
		{ 745, 2, "NVIDIA LAB-2Q" },
		{ 747, 4, "NVIDIA LAB-4Q" },
		{ 748, 8, "NVIDIA LAB-8Q" },
		{ 749, 16, "NVIDIA LAB-16Q" },
		{ 750, 32, "NVIDIA LAB-32Q" },
		{ 751, 48, "NVIDIA LAB-48Q" },
		{ 752, 1, "NVIDIA LAB-1A" },
		{ 753, 2, "NVIDIA LAB-2A" },
		{ 754, 4, "NVIDIA LAB-4A" },
		{ 755, 8, "NVIDIA LAB-8A" },
		{ 756, 16, "NVIDIA LAB-16A" },
		{ 757, 4, "NVIDIA LAB-4C" },
		{ 758, 8, "NVIDIA LAB-8C" },
		{ 759, 16, "NVIDIA LAB-16C" },
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
	more->list[n] = (struct vgpu_type){ 0 };
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

static int store_number(unsigned int *ret, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || (*end && strcmp(end, "\n")) || n > 1000000)
		return -EINVAL;
	*ret = (unsigned int)n;
	return 0;
}

/* A number, of those above; or a file. */
static int store_types(struct gpu_options *o, const char *text)
{
	struct vgpu_types *some;
	unsigned int n;

	if (store_number(&n, text))
		return read_types(text, &o->types);
	n = n < invented.n ? n : (unsigned int)invented.n;
	some = malloc(sizeof(*some) + n * sizeof(some->list[0]));
	if (!some)
		return -ENOMEM;
	some->n = n;
	memcpy(some->list, invented.list, n * sizeof(some->list[0]));
	o->types = some;
	return 0;
}

static int store_order(struct gpu_options *o, const char *text)
{
	size_t len = strcspn(text, "\n");

	if ((len != 2 || strncmp(text, "id", len)) && (len != 4 || strncmp(text, "name", len)))
		return -EINVAL;
	o->name_first = len == 4;
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

/* The machine has the cards from its start on. */
static int store_cards(struct gpu_options *o, const char *text)
{
	char *path = realpath(text, NULL);

	if (!path)
		return -errno;
	free(o->cards);
	o->cards = path;
	return nvml_boot(path);
}

int gpu_bool(bool *ret, const char *text)
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
		return gpu_bool(&o->field, text);                                                  \
	}
NUMBER(fb)
NUMBER(delay_ms)
NUMBER(ids)
BOOL(mixed)
BOOL(numvfs)
BOOL(passthrough)
BOOL(header)

static const struct option_row {
	const char *name, *values, *help;
	int (*store)(struct gpu_options *o, const char *text);
} rows[] = {
	{ "style", "vfio|mdev|mdev-pf|plain",
	  "a VF is a vGPU; or a VF, or the card, makes mdevs; when it is bound next", store_style },
	{ "fb", "N", "framebuffer of a card (16)", store_fb },
	{ "mixed", "0|1",
	  "nvidia/heterogeneous_mode of a PF is so after each change of its VFs (0)", store_mixed },
	{ "delay_ms", "N", "each change takes so long (0)", store_delay_ms },
	{ "numvfs", "0|1", "0: sriov_numvfs is refused but to who has unbindLock (1)",
	  store_numvfs },
	{ "order", "id|name", "what comes first in creatable_vgpu_types (id)", store_order },
	{ "header", "0|1", "an empty list of types keeps its header (0)", store_header },
	{ "garbled", "TEXT", "a line of that list is so; empty: none", store_garbled },
	{ "types", "N|FILE", "how many of LAB-1B, ... there are (6); or lines \"ID SIZE NAME\"",
	  store_types },
	{ "ids", "N", "is added to all ids, of a card that is bound next (0)", store_ids },
	{ "cards", "DIR",
	  "cards of tests/nvml/card.h by address, which the library shares: with MIG, and with types of their own",
	  store_cards },
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
	if (!s->gpu)
		return NULL;
	*s->gpu = (struct gpu_options){ .fb = 16, .numvfs = true, .passthrough = true };
	if (store_types(s->gpu, "6")) {
		free(s->gpu);
		s->gpu = NULL;
	}
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

#define PARAMETER(field, how, value)                                                               \
	static ssize_t field##_show(struct sim *s, void *obj, char *page)                          \
	{                                                                                          \
		(void)obj;                                                                         \
		return snprintf(page, PAGE_TEXT, how "\n", value);                                 \
	}                                                                                          \
	static int field##_store(struct sim *s, void *obj, const char *text, size_t len)           \
	{                                                                                          \
		(void)obj, (void)len;                                                              \
		return store_##field(s->gpu, text);                                                \
	}
PARAMETER(numvfs, "%c", s->gpu->numvfs ? 'Y' : 'N')
PARAMETER(mixed, "%c", s->gpu->mixed ? 'Y' : 'N')
PARAMETER(header, "%c", s->gpu->header ? 'Y' : 'N')
PARAMETER(delay_ms, "%u", s->gpu->delay_ms)
PARAMETER(order, "%s", s->gpu->name_first ? "name" : "id")

#define ROW(field)                                                                                 \
	{                                                                                          \
		.name = #field, .mode = 0644, .show = field##_show, .store = field##_store         \
	}
static const struct reaction parameters[] = {
	ROW(numvfs), ROW(mixed), ROW(header), ROW(delay_ms), ROW(order), { .name = NULL },
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
	tree_mkdirs(s->tree, s->tree->root,
		    "module/nvidia_vgpu_vfio"); /* as its vGPU host driver has */
	if (!tree_walk(s->tree, s->tree->root, "module/labgpu"))
		sim_rows(s, tree_mkdirs(s->tree, s->tree->root, "module/labgpu/parameters"),
			 parameters, s);
	return s->gpu->style == GPU_VFIO ? 0 : mdev_build(s);
}
