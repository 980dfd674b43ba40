// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vGPU types: the list of the kernel's driver up to a NUL, behind it the lines that a card's
 * profiles has by then. What is taken of either is a name and an id that one line can show, each id
 * once; it is found again by its id, and read from profiles as it was written there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "backend/gpu/types.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct key card = { BUS_PCI, "0000:3b:00.0" };
static struct model *m;
static struct vgpu_types seen, known, again;

static void open_model(void)
{
	void *arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool found;

	check(arena != MAP_FAILED && !model_new(arena, model_arena_size(), &m, &found, NULL));
	model_lock(m);
	check(model_edit(m, &card, true) != NULL);
	model_publish(m);
	model_unlock(m);
}

static void check_type(const struct vgpu_types *types, const struct vgpu_type *t)
{
	char name[RESOURCE_NAME];
	bool twice;

	check(t->id[0] && t->name[0] && !strchr(t->name, '\n'));
	check(types_find(types, t->id, &twice) == t && !twice);
	check(types_find(types, t->name, NULL) != NULL);
	types_resource(t->name, name);
	check(!strncmp(name, "nvidia.com/", 11) && !strchr(name + 11, '/'));
}

static void check_types(const struct vgpu_types *types)
{
	char text[TYPES_TEXT];

	check(types->n <= TYPES_MAX);
	for (size_t i = 0; i < types->n; i++)
		check_type(types, &types->v[i]);
	types_available(types, text);
	check(text[0] && strlen(text) < sizeof(text));
}

/* Each type of the one is in the other. */
static void check_has(const struct vgpu_types *all, const struct vgpu_types *some)
{
	for (size_t i = 0; i < some->n; i++) {
		const struct vgpu_type *a = &some->v[i], *b = types_find(all, a->id, NULL);

		check(b && !strcmp(a->id, b->id) && !strcmp(a->name, b->name));
		check(a->available == b->available && a->max == b->max);
		check(a->framebuffer_mib == b->framebuffer_mib && !strcmp(a->why, b->why));
	}
}

static void kernel_list(const char *text)
{
	struct device *dev;

	types_parse(text, &seen);
	check_types(&seen);
	for (size_t i = 0; i < seen.n; i++)
		check(strspn(seen.v[i].id, "0123456789") == strlen(seen.v[i].id));
	model_lock(m);
	dev = model_edit(m, &card, false);
	types_name(m, dev, &seen, &(struct types_last){ 0 }); /* without a driver nothing is known of before */
	types_of(m, dev, &known);
	model_publish(m);
	model_unlock(m);
	check(known.n == seen.n);
	check_has(&known, &seen);
}

static void stored_lines(const char *text)
{
	static const struct vgpu_types none;
	struct device *dev;

	model_lock(m);
	dev = model_edit(m, &card, false);
	if (!model_set_text(m, &dev->facts.profiles, text, strlen(text))) {
		types_of(m, dev, &known);
		check_types(&known);
		STR_COPY(dev->facts.driver, "nvidia");
		types_name(m, dev, &none, &(struct types_last){ 0 });
		dev->facts.driver[0] = '\0';
		types_of(m, dev, &again);
		check(known.n == again.n);
		check_has(&again, &known);
	}
	model_publish(m);
	model_unlock(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	size_t n;

	if (!text)
		return 0;
	if (!m)
		open_model();
	memcpy(text, data, size);
	text[size] = '\0';
	kernel_list(text);
	n = strlen(text);
	if (n < size)
		stored_lines(text + n + 1);
	free(text);
	return 0;
}
