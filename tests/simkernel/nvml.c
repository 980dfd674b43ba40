// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvml.h"
#include "tests/nvml/card.h"
#include "vgpu.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Locks it, and brings it up to date. */
static int begin(struct nvml_device *c)
{
	int lock = card_lock(c);

	card_read(c);
	return lock;
}

static void end(struct nvml_device *c, int lock)
{
	card_write(c);
	close(lock);
}

static void forget_instances(struct nvml_device *c)
{
	memset(c->instances, 0, sizeof(c->instances));
	memset(c->computes, 0, sizeof(c->computes));
	if (c->mixed_sizes > 0)
		c->mixed_sizes = 0;
}

/* The tables of spec/nvml.md 2.1 and 5. */
static void boot(struct nvml_device *c)
{
	int lock = begin(c);

	forget_instances(c);
	c->n_vgpus = c->vfs = 0;
	c->mig[0] = c->mig[1] = c->keeps ? c->mig[1] : 0;
	if (c->scheduler.policy)
		c->scheduler = (struct nvml_scheduler){ .policy = NVML_BEST_EFFORT };
	end(c, lock);
}

struct nvml_device *nvml_card(const char *cards, const char *addr)
{
	struct nvml_device *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	snprintf(c->file, sizeof(c->file), "%s/%s", cards, addr);
	if (card_read(c))
		return c;
	free(c);
	return NULL;
}

int nvml_boot(const char *cards)
{
	DIR *dir = opendir(cards);
	struct dirent *e;

	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		struct nvml_device *c = strchr(e->d_name, ':') ? nvml_card(cards, e->d_name) : NULL;

		if (c)
			boot(c);
		free(c);
	}
	closedir(dir);
	return 0;
}

void nvml_proc(const char *path)
{
	card_set_proc(path);
}

void nvml_show(struct nvml_device *c)
{
	card_read(c);
	card_show_instances(c);
}

void nvml_driver(const char *cards, char *buf, size_t size)
{
	struct nvml_device *all = nvml_card(cards, "all");

	snprintf(buf, size, "%s", all ? all->driver : "");
	free(all);
}

const struct vgpu_types *nvml_types(const struct nvml_device *c)
{
	struct vgpu_types *ret = malloc(sizeof(*ret) + c->n_types * sizeof(ret->list[0]));

	if (!ret)
		return NULL;
	ret->n = c->n_types;
	for (size_t i = 0; i < ret->n; i++)
		ret->list[i] = (struct vgpu_type){ c->types[i].id, c->types[i].mib / 1024,
						   strdup(c->types[i].name), c->types[i].max };
	return ret;
}

unsigned int nvml_room(struct nvml_device *c, unsigned int type)
{
	const struct type *t;
	int gi;

	card_read(c);
	t = card_type(c, type);
	return t ? card_vgpu_room(c, t, &gi) : 0;
}

int nvml_take(struct nvml_device *c, unsigned int type, const char *owner, int *ret_gi)
{
	int lock = begin(c), gi = -1;
	const struct type *t = card_type(c, type);

	if (!t || !card_vgpu_room(c, t, &gi) || c->n_vgpus == ROWS) {
		close(lock);
		return -ENOSPC;
	}
	c->vgpu[c->n_vgpus] = (struct card_vgpu){ .type = type, .gi = gi };
	snprintf(c->vgpu[c->n_vgpus++].owner, sizeof(c->vgpu->owner), "%s", owner);
	end(c, lock);
	*ret_gi = gi;
	return 0;
}

static struct card_vgpu *find(struct nvml_device *c, const char *owner)
{
	for (struct card_vgpu *v = c->vgpu; v < c->vgpu + c->n_vgpus; v++)
		if (!strcmp(v->owner, owner))
			return v;
	return NULL;
}

void nvml_give(struct nvml_device *c, const char *owner)
{
	int lock = begin(c);
	struct card_vgpu *v = find(c, owner);

	if (v)
		*v = c->vgpu[--c->n_vgpus];
	end(c, lock);
}

void nvml_active(struct nvml_device *c, const char *owner, bool on)
{
	int lock = begin(c);
	struct card_vgpu *v = find(c, owner);

	if (v)
		v->active = on;
	end(c, lock);
}

void nvml_rebound(struct nvml_device *c, unsigned int vfs)
{
	int lock = begin(c);

	forget_instances(c);
	c->vfs = vfs;
	end(c, lock);
}

void nvml_reset(struct nvml_device *c)
{
	int lock = begin(c);

	forget_instances(c);
	c->mig[0] = c->mig[1];
	end(c, lock);
}
