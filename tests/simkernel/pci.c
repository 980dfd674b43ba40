// SPDX-License-Identifier: GPL-2.0-or-later
/* PCI functions: how they come and go. */
#include "device.h"
#include "func.h"
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_MASK 0xffffu
#define BARS 6

bool func_parse(const char *addr, uint32_t *domain, uint32_t *rid)
{
	unsigned int d, bus, dev, fn;
	int end = 0;
	char again[ADDR_LEN + 8];

	if (strlen(addr) >= ADDR_LEN + 1 ||
	    sscanf(addr, "%8x:%2x:%2x.%1x%n", &d, &bus, &dev, &fn, &end) != 4 || addr[end])
		return false;
	*domain = d;
	*rid = bus << 8 | dev << 3 | fn;
	snprintf(again, sizeof(again), "%04x:%02x:%02x.%x", d, bus, dev, fn);
	return dev < 32 && fn < 8 && !strcmp(again, addr);
}

static struct func **bucket(struct sim *s, uint32_t domain, uint32_t rid)
{
	return &s->func_hash[(domain * 2654435761u ^ rid) & HASH_MASK];
}

struct func *func_find(struct sim *s, const char *addr)
{
	uint32_t domain, rid;
	struct func *f;

	if (!func_parse(addr, &domain, &rid))
		return NULL;
	for (f = *bucket(s, domain, rid); f; f = f->hash_next)
		if (f->domain == domain && f->rid == rid)
			break;
	return f;
}

static uint32_t number(const struct record *r, const char *name)
{
	const char *text = record_text(r, 'A', name);

	return text ? (uint32_t)strtoul(text, NULL, 0) : 0;
}

/* By the header type, byte 14 of config space; by the class if that was not recorded. */
static bool is_bridge(const struct func *f)
{
	const struct field *config = record_field(f->dev.rec, 'H', "config");

	if (config && config->len > 14 && (unsigned char)config->data[0] != 0xff)
		return (config->data[14] & 0x7f) != 0;
	return f->class_code >> 8 == 0x0604 || f->class_code >> 8 == 0x0607;
}

static void identify(struct func *f, const struct record *r)
{
	f->vendor = (uint16_t)number(r, "vendor");
	f->device = (uint16_t)number(r, "device");
	f->sub_vendor = (uint16_t)number(r, "subsystem_vendor");
	f->sub_device = (uint16_t)number(r, "subsystem_device");
	f->class_code = number(r, "class") & 0xffffff;
	f->bridge = is_bridge(f);
	snprintf(f->dev.modalias, sizeof(f->dev.modalias),
		 "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X", f->vendor, f->device, f->sub_vendor,
		 f->sub_device, f->class_code >> 16, f->class_code >> 8 & 0xff,
		 f->class_code & 0xff);
}

struct func *func_new(struct sim *s, const struct record *r)
{
	struct func *f = calloc(1, sizeof(*f)), **b;

	if (!f)
		return NULL;
	dev_init(s, &s->pci, &f->dev, r);
	func_parse(f->dev.name, &f->domain, &f->rid);
	f->autoprobe = true;
	identify(f, r);
	b = bucket(s, f->domain, f->rid);
	f->hash_next = *b;
	*b = f;
	return f;
}

/* resource0 and so on, of the sizes in "resource"; open descriptors show their holders. */
static void add_resources(struct sim *s, struct func *f)
{
	const char *line = record_text(f->dev.rec, 'A', "resource");
	uint64_t start, end, flags;

	for (int i = 0; line && *line && i < BARS; i++) {
		char name[16];
		struct node *n;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &start, &end, &flags) != 3)
			return;
		line += strcspn(line, "\n");
		line += *line == '\n';
		if (end <= start)
			continue;
		snprintf(name, sizeof(name), "resource%d", i);
		n = tree_file(s->tree, f->dev.dir, name, 0600, "", 0);
		if (n)
			n->size = end - start + 1;
	}
}

int func_appear(struct sim *s, struct func *f)
{
	int r = dev_appear(s, &f->dev);

	if (r)
		return r;
	sim_rows(s, f->dev.dir, func_rows, f);
	sim_rows(s, f->dev.dir, sriov_rows, f);
	add_resources(s, f);
	dev_event(s, &f->dev, "add");
	sriov_links(s, f);
	if (!s->quiet)
		dev_children_add(s, &f->dev, false);
	return 0;
}

void func_vanish_below(struct sim *s, struct func *f)
{
	size_t n = strlen(f->dev.rec->path);

	for_each_func(s, c)
		if (c->dev.dir && c != f && !strncmp(c->dev.rec->path, f->dev.rec->path, n) &&
		    c->dev.rec->path[n] == '/')
			func_vanish(s, c);
}

void func_vanish(struct sim *s, struct func *f)
{
	func_vanish_below(s, f);
	if (dev_lock(s, &f->dev))
		return;
	driver_release(s, &f->dev);
	if (f->num_vfs)
		sriov_disable(s, f);
	dev_vanish(s, &f->dev);
	f->autoprobe = true; /* as for a new function */
	f->enabled = 0;
	dev_unlock(s, &f->dev);
}

static void link_relatives(struct sim *s, struct func *f)
{
	for (size_t i = 0; i < f->dev.rec->n; i++) {
		const struct field *l = &f->dev.rec->fields[i];
		unsigned int index;
		struct func *vf;

		if (l->type != 'L' || sscanf(l->name, "virtfn%u", &index) != 1 ||
		    !strchr(l->data, '/'))
			continue;
		vf = func_find(s, base_name(l->data));
		if (!vf || vf == f || index >= f->total_vfs || f->vfs[index])
			continue;
		f->vfs[index] = vf;
		vf->pf = f;
		vf->vf_index = index;
		f->num_vfs++;
	}
}

void pci_build(struct sim *s)
{
	for (size_t i = 0; i < s->machine->n; i++)
		if (device_is_pci(&s->machine->records[i]))
			func_new(s, &s->machine->records[i]);
	for_each_func(s, f)
		sriov_init(s, f);
	for_each_func(s, f)
		link_relatives(s, f);
	for_each_func(s, f)
		if (!func_appear(s, f))
			pci_attach_recorded(s, f);
	/* Links between functions need both directories. */
	for_each_func(s, f)
		sriov_links(s, f);
}
