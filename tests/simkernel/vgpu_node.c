// SPDX-License-Identifier: GPL-2.0-or-later
/* Who has a card open, and what that forbids: its files are those of facts.h, so others write them. */
#include "facts.h"
#include "func.h"
#include "nvml.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu.h"

#include <errno.h>
#include <stdio.h>

static bool is_open(const struct func *pf)
{
	bool open = pf->card->open || pf->card->clients;

	for (unsigned int i = 0; i < pf->total_vfs && !open; i++)
		open = pf->vfs[i] && is_vgpu(pf->vfs[i]) && vfio_is_open(&pf->vfs[i]->dev);
	return open;
}

static void card_path(char *buf, size_t size, const struct func *pf, const char *name)
{
	snprintf(buf, size, "proc/driver/nvidia/gpus/%s%s", pf->dev.name, name);
}

/* What is written to it is kept, so it is given; but not where somebody has the card open: then it
 * is a node that takes all and gives nothing. */
static void show_lock(struct sim *s, const struct func *pf)
{
	char path[128];

	card_path(path, sizeof(path), pf, "/unbindLock");
	facts_remove(s, path);
	if (is_open(pf))
		facts_node(s, path);
	else
		facts_file(s, path, "0\n");
}

bool card_has_lock(struct sim *s, const struct func *pf)
{
	char path[128], text[8];

	card_path(path, sizeof(path), pf, "/unbindLock");
	return facts_read(s, path, text, sizeof(text)) > 0 && *text == '1';
}

/* A driver has the directory as long as it has the card, and in it a directory for each MIG
 * instance. */
static void capabilities(char *buf, size_t size, const struct func *pf)
{
	snprintf(buf, size, "proc/driver/nvidia/capabilities/gpu%u/mig", pf->card->minor);
}

void card_show(struct sim *s, const struct func *pf)
{
	char path[128], text[200];

	card_path(path, sizeof(path), pf, "/information");
	snprintf(text, sizeof(text),
		 "Model: \t\t NVIDIA LAB\nBus Type: \t PCIe\nBus Location: \t %s\n"
		 "Device Minor: \t %u\n",
		 pf->dev.name, pf->card->minor);
	facts_file(s, path, text);
	snprintf(path, sizeof(path), "dev/nvidia%u", pf->card->minor);
	facts_node(s, path);
	show_lock(s, pf);
	if (!pf->card->nvml)
		return;
	capabilities(path, sizeof(path), pf);
	facts_dir(s, path);
	nvml_show(pf->card->nvml);
}

void card_hide(struct sim *s, const struct func *pf)
{
	char path[128];

	card_path(path, sizeof(path), pf, "");
	facts_remove(s, path);
	capabilities(path, sizeof(path), pf);
	facts_remove(s, path);
	snprintf(path, sizeof(path), "dev/nvidia%u", pf->card->minor);
	facts_remove(s, path);
}

/* As a real one has it (spec/nvml.md 9), but for who built it. */
static void show_driver(struct sim *s)
{
	char version[80], text[200];

	nvml_driver(s->gpu->cards, version, sizeof(version));
	if (!*version)
		return;
	snprintf(text, sizeof(text),
		 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\n",
		 version);
	facts_file(s, "proc/driver/nvidia/version", text);
}

void vgpu_facts(struct sim *s)
{
	char proc[64];

	if (s->gpu && s->gpu->cards) {
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d/proc", s->base);
		nvml_proc(s->base < 0 ? "" : proc);
		show_driver(s);
	}
	for_each_func(s, f) if (f->card && f->card->loaded) card_show(s, f);
}

void vgpu_opened(struct sim *s, const struct func *f)
{
	if (!is_vgpu(f))
		return;
	show_lock(s, f->pf);
	if (f->vgpu->card->nvml)
		nvml_active(f->vgpu->card->nvml, f->dev.name, vfio_is_open(&f->dev));
}

void vgpu_reset(const struct func *f)
{
	if (f->card && f->card->nvml)
		nvml_reset(f->card->nvml);
}

/* Stands in for /dev/nvidiaN, which a client of NVML has open: its driver counts them, and lets nobody in while
 * somebody has its lock (spec/nvml.md 4). */
static int client_opened(struct sim *s, void *obj, bool on)
{
	struct func *pf = obj;

	if (on && card_has_lock(s, pf))
		return -ENODEV;
	pf->card->clients += on ? 1 : -1U;
	if (pf->dev.drv)
		show_lock(s, pf);
	pthread_cond_broadcast(&s->changed);
	return 0;
}

static bool has_nvml(const void *obj)
{
	return ((const struct func *)obj)->card->nvml;
}

const struct reaction card_client_rows[] = {
	{ .name = "clients", .mode = 0222, .has = has_nvml, .opened = client_opened },
	{ .name = NULL },
};

int card_open(struct sim *s, const char *addr, bool on)
{
	const struct func *f = func_find(s, addr);

	if (!f || !f->card || !f->card->loaded)
		return -ENODEV;
	f->card->open = on;
	if (f->dev.drv)
		show_lock(s, f);
	pthread_cond_broadcast(&s->changed);
	return 0;
}
