// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that come and go by command. */
#include "device.h"
#include "effects.h"
#include "func.h"
#include "sim.h"
#include "usb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PER_DOMAIN 256

static int come(struct sim *s, struct func *f)
{
	int r = func_appear(s, f);

	if (r)
		return r;
	bus_offer(s, &f->dev);
	return 0;
}

/* A copy is placed beside its model, with its own group. */
static struct func *copy_of(struct sim *s, const char *addr, const struct func *model)
{
	const char *path = model->dev.rec->path;
	char beside[TREE_PATH_MAX];
	uint32_t domain, rid;
	struct record *r;

	if (!func_parse(addr, &domain, &rid))
		return NULL;
	snprintf(beside, sizeof(beside), "%.*s%s", (int)(base_name(path) - path), path, addr);
	r = machine_record_new(beside);
	if (!r)
		return NULL;
	for (size_t i = 0; i < model->dev.rec->n; i++) {
		const struct field *f = &model->dev.rec->fields[i];

		if (f->type == 'A' || (f->type == 'E' && !strcmp(f->name, "SUBSYSTEM")))
			record_add(r, f->type, f->name, "%s", f->data);
	}
	return func_new(s, r);
}

int plug(struct sim *s, const char *addr, const char *from)
{
	struct func *f = func_find(s, addr), *model = from ? func_find(s, from) : NULL;

	if (usb_is_name(addr))
		return usb_plug(s, addr, from);
	if (f && f->dev.dir)
		return -EEXIST;
	if (from && !f) {
		if (!model)
			return -ENODEV;
		f = copy_of(s, addr, model);
		if (!f)
			return -EINVAL;
		sriov_init(s, f);
	}
	if (!f)
		return -ENODEV;
	f->dev.unplugged = false;
	return come(s, f);
}

int unplug(struct sim *s, const char *addr)
{
	struct func *f = func_find(s, addr);

	if (usb_is_name(addr))
		return usb_unplug(s, addr);
	if (!f || !f->dev.dir)
		return -ENODEV;
	f->dev.unplugged = true;
	func_vanish(s, f);
	return 0;
}

/* One description for all: only their places differ. */
static struct field plain[] = {
	{ 'E', "SUBSYSTEM", "pci", 3 },
	{ 'A', "vendor", "0x8086\n", 7 },
	{ 'A', "device", "0x0d58\n", 7 },
	{ 'A', "subsystem_vendor", "0x8086\n", 7 },
	{ 'A', "subsystem_device", "0x0000\n", 7 },
	{ 'A', "class", "0x120000\n", 9 },
	{ 'A', "revision", "0x01\n", 5 },
	{ 'A', "numa_node", "-1\n", 3 },
	{ 'A', "irq", "0\n", 2 },
	{ 'A', "modalias", "pci:v00008086d00000D58sv00008086sd00000000bc12sc00i00\n", 54 },
	{ 'A', "ari_enabled", "0\n", 2 },
	{ 'A', "broken_parity_status", "0\n", 2 },
	{ 'A', "d3cold_allowed", "1\n", 2 },
	{ 'A', "msi_bus", "1\n", 2 },
	{ 'A', "power_state", "D0\n", 3 },
	{ 'A', "reset_method", "flr bus\n", 8 },
	{ 'A', "local_cpulist", "0-3\n", 4 },
	{ 'A', "local_cpus", "f\n", 2 },
};

int func_mute(struct sim *s, const char *addr, bool on)
{
	const struct func *f = func_find(s, addr);
	const struct field *config =
		f && f->dev.dir ? record_field(f->dev.rec, 'H', "config") : NULL;
	struct node *n = config ? tree_find(s->tree, f->dev.dir, "config") : NULL;
	char *ff;
	int r;

	if (!n)
		return -ENOENT;
	if (!on)
		return node_set(n, config->data, config->len);
	ff = malloc(config->len);
	if (!ff)
		return -ENOMEM;
	memset(ff, 0xff, config->len);
	r = node_set(n, ff, config->len);
	free(ff);
	return r;
}

/* Every fourth domain is like one of VMD: wider than 16 bits. */
static uint32_t domain_of(unsigned int block)
{
	return block % 4 ? block - block / 4 : 0x10000 + block / 4;
}

int plug_many(struct sim *s, unsigned int n)
{
	static unsigned int next;

	for (unsigned int end = next + n; next < end; next++) {
		uint32_t domain = domain_of(next / PER_DOMAIN);
		unsigned int rid = next % PER_DOMAIN;
		struct record *r;
		struct func *f;
		char path[80];

		snprintf(path, sizeof(path), "/devices/pci%04x:00/%04x:00:%02x.%x", domain, domain,
			 rid >> 3, rid & 7);
		if (func_find(s, base_name(path)))
			continue;
		r = machine_record_new(path);
		if (!r)
			return -ENOMEM;
		r->fields = plain;
		r->n = sizeof(plain) / sizeof(plain[0]);
		f = func_new(s, r);
		if (!f)
			return -ENOMEM;
		come(s, f);
	}
	return 0;
}

int make_file(struct sim *s, const char *path)
{
	char dir[TREE_PATH_MAX];
	char *name;
	struct node *n;

	snprintf(dir, sizeof(dir), "%s", path);
	name = strrchr(dir, '/');
	if (!name || !name[1])
		return -EINVAL;
	*name = 0;
	n = tree_mkdirs(s->tree, s->tree->root, dir);
	return n && tree_file(s->tree, n, name + 1, 0444, "", 0) ? 0 : -ENOMEM;
}

int plug_module(struct sim *s, const char *name, bool on)
{
	struct node *all = tree_walk(s->tree, s->tree->root, "module");
	char path[TREE_PATH_MAX];

	if (!all || strchr(name, '/'))
		return -EINVAL;
	if (on && !tree_dir(s->tree, all, name))
		return -ENOMEM;
	if (!on)
		tree_remove_name(s->tree, all, name);
	snprintf(path, sizeof(path), "/module/%s", name);
	uevent(s, on ? "add" : "remove", path, "SUBSYSTEM=module\n");
	return 0;
}
