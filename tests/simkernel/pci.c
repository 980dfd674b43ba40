// SPDX-License-Identifier: GPL-2.0-or-later
/* PCI functions: how they come, and how they go. */
#include "device.h"
#include "driver.h"
#include "effects.h"
#include "func.h"
#include "iommu.h"
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

/* Header type, byte 14 of the configuration space; the class where that was not recorded. */
static bool is_bridge(const struct func *f)
{
	const struct field *config = record_field(f->rec, 'H', "config");

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
	snprintf(f->modalias, sizeof(f->modalias), "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		 f->vendor, f->device, f->sub_vendor, f->sub_device, f->class_code >> 16,
		 f->class_code >> 8 & 0xff, f->class_code & 0xff);
}

struct func *func_new(struct sim *s, const struct record *r)
{
	struct func *f = calloc(1, sizeof(*f)), **b;
	const char *group = record_text(r, 'L', "iommu_group");

	if (!f)
		return NULL;
	f->rec = r;
	func_parse(base_name(r->path), &f->domain, &f->rid);
	snprintf(f->addr, sizeof(f->addr), "%s", base_name(r->path));
	f->vfio_dev = -1;
	f->autoprobe = true;
	f->set = group && strrchr(group, '/') ? atoi(base_name(group)) : ++s->next_set;
	identify(f, r);
	b = bucket(s, f->domain, f->rid);
	f->hash_next = *b;
	*b = f;
	*s->funcs_tail = f;
	s->funcs_tail = &f->next;
	return f;
}

size_t func_env(const struct func *f, char *buf, size_t size)
{
	int n = 0;

	if (f->drv)
		n = snprintf(buf, size, "DRIVER=%s\n", driver_name(f->drv));
	n += snprintf(buf + n, size - (size_t)n,
		      "PCI_CLASS=%04X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
		      "PCI_SLOT_NAME=%s\nMODALIAS=%s\n",
		      f->class_code, f->vendor, f->device, f->sub_vendor, f->sub_device, f->addr,
		      f->modalias);
	return (size_t)n;
}

void func_event(struct sim *s, struct func *f, const char *action)
{
	char env[1024];
	size_t n = (size_t)snprintf(env, sizeof(env), "SUBSYSTEM=pci\n");

	func_env(f, env + n, sizeof(env) - n);
	/* As the kernel does, lest udev loads the driver again that was just taken off. */
	if (!strcmp(action, "unbind"))
		*strstr(env, "MODALIAS=") = '\0';
	uevent(s, action, f->rec->path, env);
}

int func_lock(struct sim *s, struct func *f)
{
	while (f->busy)
		if (sim_wait(s))
			return -EINTR;
	if (!f->dir)
		return -ENODEV;
	f->busy = true;
	return 0;
}

int func_read_lock(struct sim *s, struct func *f)
{
	int r = 0;

	f->readers++;
	while (f->busy && !f->readable && !r)
		r = sim_wait(s);
	f->readers--;
	pthread_cond_broadcast(&s->changed);
	return r ? r : f->dir ? 0 : -ENODEV;
}

/* Its files go when nobody is in them any more. */
static void let_read(struct sim *s, struct func *f)
{
	f->readable = true;
	pthread_cond_broadcast(&s->changed);
	while (f->readers && !sim_wait(s))
		;
	f->readable = false;
}

void func_unlock(struct sim *s, struct func *f)
{
	f->busy = false;
	pthread_cond_broadcast(&s->changed);
}

/* resource0 and so on, as large as "resource" says; a holder's open descriptor names them. */
static void add_resources(struct sim *s, struct func *f)
{
	const char *line = record_text(f->rec, 'A', "resource");
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
		n = tree_file(s->tree, f->dir, name, 0600, "", 0);
		if (n)
			n->size = end - start + 1;
	}
}

/* Is r below f, with no other function between? *deeper tells that it is below, but not so. */
static bool is_child(const struct func *f, const struct record *r, bool *deeper)
{
	size_t n = strlen(f->rec->path);
	const char *p = r->path + n;
	uint32_t domain, rid;
	char part[ADDR_LEN + 1];

	*deeper = false;
	if (strncmp(r->path, f->rec->path, n) || *p != '/')
		return false;
	while (*p++ == '/') {
		size_t len = strcspn(p, "/");

		snprintf(part, sizeof(part), "%.*s", (int)(len < ADDR_LEN ? len : ADDR_LEN), p);
		if (len < ADDR_LEN && func_parse(part, &domain, &rid)) {
			*deeper = true;
			return false;
		}
		p += len;
	}
	return true;
}

/* A bus and a wake-up source are there whatever the driver. */
static bool of_driver(const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");

	return !subsystem || (strcmp(subsystem, "pci_bus") && strcmp(subsystem, "wakeup"));
}

/* The records below f are one range; its first, and how many. */
static const struct record *below(const struct sim *s, const struct func *f, size_t *n)
{
	const struct record *first = machine_find(s->machine, f->rec->path);
	const struct record *end = s->machine->records + s->machine->n, *r = first;
	size_t len = strlen(f->rec->path);

	*n = 0;
	if (!first || first != f->rec)
		return NULL;
	for (r++; r < end && !strncmp(r->path, f->rec->path, len) && r->path[len] == '/'; r++)
		++*n;
	return first + 1;
}

void func_children_add(struct sim *s, struct func *f, bool drivers)
{
	size_t n;
	const struct record *r = below(s, f, &n);
	bool deeper;

	for (size_t i = 0; i < n; i++)
		if (is_child(f, &r[i], &deeper) && of_driver(&r[i]) == drivers)
			device_add(s, &r[i]);
}

/* The directory a class makes between a device and its parent goes with its last child. */
static void remove_glue(struct sim *s, const struct func *f, const char *path)
{
	char up[TREE_PATH_MAX];
	struct node *n;

	snprintf(up, sizeof(up), "%.*s", (int)(base_name(path) - path - 1), path);
	n = tree_walk(s->tree, s->tree->root, up);
	if (n && n != f->dir && S_ISDIR(n->mode) && !n->dir.first)
		tree_remove(s->tree, n);
}

void func_children_remove(struct sim *s, struct func *f, bool drivers)
{
	size_t n;
	const struct record *r = below(s, f, &n);
	bool deeper;

	while (n--) {
		if (!is_child(f, &r[n], &deeper) || of_driver(&r[n]) != drivers)
			continue;
		device_remove(s, &r[n]);
		remove_glue(s, f, r[n].path);
	}
}

int func_appear(struct sim *s, struct func *f)
{
	f->dir = tree_mkdirs(s->tree, s->tree->root, f->rec->path);
	if (!f->dir)
		return -ENOMEM;
	f->added = s->quiet;
	device_fill(s, f->dir, f->rec, true);
	sim_rows(s, f->dir, func_rows, f);
	sim_rows(s, f->dir, sriov_rows, f);
	add_resources(s, f);
	tree_link_to(s->tree, f->dir, "subsystem", s->bus_pci);
	tree_link_to(s->tree, s->bus_pci_devices, f->addr, f->dir);
	if (s->iommu)
		group_join(s, f, s->quiet ? f->set : -1);
	func_event(s, f, "add");
	sriov_links(s, f);
	if (!s->quiet)
		func_children_add(s, f, false);
	return 0;
}

static void vanish_below(struct sim *s, struct func *f)
{
	size_t n = strlen(f->rec->path);

	for (struct func *c = s->funcs; c; c = c->next)
		if (c->dir && c != f && !strncmp(c->rec->path, f->rec->path, n) &&
		    c->rec->path[n] == '/')
			func_vanish(s, c);
}

void func_vanish(struct sim *s, struct func *f)
{
	vanish_below(s, f);
	if (func_lock(s, f))
		return;
	driver_release(s, f);
	if (f->num_vfs)
		sriov_disable(s, f);
	let_read(s, f);
	func_children_remove(s, f, false);
	tree_remove_name(s->tree, s->bus_pci_devices, f->addr);
	func_event(s, f, "remove");
	group_leave(s, f);
	tree_remove(s->tree, f->dir);
	f->dir = NULL;
	free(f->override);
	f->override = NULL;
	f->autoprobe = true; /* as of a function that is found anew */
	f->enabled = 0;
	func_unlock(s, f);
}

static void link_relatives(struct sim *s, struct func *f)
{
	for (size_t i = 0; i < f->rec->n; i++) {
		const struct field *l = &f->rec->fields[i];
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
	for (struct func *f = s->funcs; f; f = f->next)
		sriov_init(s, f);
	for (struct func *f = s->funcs; f; f = f->next)
		link_relatives(s, f);
	for (struct func *f = s->funcs; f; f = f->next)
		if (!func_appear(s, f))
			driver_attach_recorded(s, f);
	/* Links between functions need both directories. */
	for (struct func *f = s->funcs; f; f = f->next)
		sriov_links(s, f);
}
