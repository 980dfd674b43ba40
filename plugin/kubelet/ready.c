// SPDX-License-Identifier: GPL-2.0-or-later
#include "ready.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/inventory.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

struct ready_card {
	char *id;
	bool whole; /* a GPU, and no VF of one */
	bool vfio;  /* it is with a driver for guests */
	bool vgpu;  /* it is configured */
	bool here;  /* seen since the inventory began */
};

/* vfio-pci and its variants, nvgrace_gpu_vfio_pci for one. */
static bool is_for_guests(const char *driver)
{
	size_t n = strlen(driver);

	return n >= 8 &&
	       (!strcmp(driver + n - 8, "vfio-pci") || !strcmp(driver + n - 8, "vfio_pci"));
}

static bool is_set(const char *value)
{
	return strcmp(value, "none") != 0;
}

/* Returns whether it is one. The line is overwritten. A mediated device has no vendor of its own,
 * but a type with a name of NVIDIA's. */
static bool read_card(char *line, struct ready_card *ret)
{
	bool nvidia = false, gpu = false, vf = false;
	struct pair p;
	int r;

	while ((r = pair_next(&line, &p)) == 1) {
		if (!strcmp(p.key, "vendor"))
			nvidia |= !strcmp(p.value, INV_NVIDIA);
		else if (!strcmp(p.key, "class"))
			gpu = class_is_gpu(p.value);
		else if (!strcmp(p.key, "physfn") || !strcmp(p.key, "parent"))
			vf = is_set(p.value);
		else if (!strcmp(p.key, "driver"))
			ret->vfio = is_for_guests(p.value);
		else if (!strcmp(p.key, "profile_id")) {
			ret->vgpu = is_set(p.value);
			nvidia |= !strncmp(p.value, "nvidia-", 7);
		}
	}
	ret->whole = gpu && !vf;
	return !r && nvidia && (ret->whole || ret->vgpu);
}

static struct ready_card *find(const struct ready_cards *c, const char *id)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].id, id))
			return &c->v[i];
	return NULL;
}

static void remove_card(struct ready_cards *c, struct ready_card *card)
{
	free(card->id);
	*card = c->v[--c->n];
}

void ready_drop(struct ready_cards *c, const char *id)
{
	struct ready_card *card = find(c, id);

	if (card)
		remove_card(c, card);
}

int ready_take(struct ready_cards *c, const char *id, const char *pairs)
{
	bool may_be = strstr(pairs, INV_NVIDIA) || strstr(pairs, "=nvidia-");
	_free_ char *line = may_be ? strdup(pairs) : NULL;
	struct ready_card card = { .here = true }, *was = find(c, id);
	struct ready_card *v;

	if (may_be && !line)
		return -ENOMEM;
	if (!may_be || !read_card(line, &card)) {
		if (was)
			remove_card(c, was);
		return 0;
	}
	if (was) {
		card.id = was->id;
		*was = card;
		return 0;
	}
	v = more_rows(c->v, c->n, &c->cap, sizeof(*v));
	if (v)
		c->v = v;
	if (!v || !(card.id = strdup(id)))
		return -ENOMEM;
	v[c->n++] = card;
	return 0;
}

void ready_begin(struct ready_cards *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->v[i].here = false;
}

void ready_settle(struct ready_cards *c)
{
	for (size_t i = c->n; i-- > 0;)
		if (!c->v[i].here)
			remove_card(c, &c->v[i]);
}

void ready_free(struct ready_cards *c)
{
	while (c->n)
		remove_card(c, &c->v[0]);
	free(c->v);
	*c = (struct ready_cards){ 0 };
}

/* A node of both kinds is one of vGPUs: that all GPUs are passed through would not be so. */
void ready_files(const struct ready_cards *c, struct ready_file ret[static READY_FILES])
{
	size_t gpus = 0, vfio = 0, vgpus = 0;
	const char *type = NULL;

	for (size_t i = 0; i < c->n; i++) {
		gpus += c->v[i].whole;
		vfio += c->v[i].whole && c->v[i].vfio;
		vgpus += c->v[i].vgpu;
	}
	if (vgpus)
		type = "vm-vgpu\n";
	else if (vfio)
		type = "vm-passthrough\n";
	ret[0] =
		(struct ready_file){ "vfio-pci-ready", !vgpus && vfio && vfio == gpus ? "" : NULL };
	ret[1] = (struct ready_file){ "vgpu-devices-ready", vgpus ? "" : NULL };
	ret[2] = (struct ready_file){ "workload-type", type };
}
