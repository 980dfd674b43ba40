// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of bus/pci itself. */
#include "device.h"
#include "driver.h"
#include "func.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Success says nothing: what a driver's probe answers is lost, and nothing bound is no error. */
static int drivers_probe_store(struct sim *s, void *obj, const char *text, size_t len)
{
	char name[ADDR_LEN + 8];
	struct func *f;
	int r;

	(void)obj, (void)len;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "\n"), text);
	f = func_find(s, name);
	if (!f || !f->dir)
		return -ENODEV;
	r = func_lock(s, f);
	if (r)
		return r;
	driver_probe_all(s, f);
	func_unlock(s, f);
	return 0;
}

static ssize_t drivers_autoprobe_show(struct sim *s, void *obj, char *page)
{
	(void)obj;
	return snprintf(page, PAGE_TEXT, "%d\n", s->autoprobe);
}

static int drivers_autoprobe_store(struct sim *s, void *obj, const char *text, size_t len)
{
	(void)obj, (void)len;
	s->autoprobe = *text != '0';
	return 0;
}

static bool parent_is_there(struct sim *s, const struct func *f)
{
	char up[TREE_PATH_MAX];
	uint32_t domain, rid;

	snprintf(up, sizeof(up), "%.*s", (int)(base_name(f->rec->path) - f->rec->path - 1),
		 f->rec->path);
	if (!func_parse(base_name(up), &domain, &rid))
		return true;
	return tree_walk(s->tree, s->tree->root, up) != NULL;
}

void pci_offer(struct sim *s, struct func *f)
{
	f->added = true;
	if (!s->autoprobe || func_lock(s, f))
		return;
	if (!f->drv)
		driver_probe_all(s, f);
	func_unlock(s, f);
}

void pci_rescan(struct sim *s)
{
	/* The list has parents before children. */
	for (struct func *f = s->funcs; f; f = f->next)
		if (!f->dir && !f->unplugged && !f->pf && parent_is_there(s, f))
			func_appear(s, f);
	for (struct func *f = s->funcs; f; f = f->next)
		if (f->dir && !f->added)
			pci_offer(s, f);
}

int rescan_lock(struct sim *s)
{
	unsigned int mine = s->rescans.next++;

	while (mine != s->rescans.now)
		if (sim_wait(s))
			return -EINTR;
	return 0;
}

void rescan_unlock(struct sim *s)
{
	s->rescans.now++;
	pthread_cond_broadcast(&s->changed);
}

static int rescan_store(struct sim *s, void *obj, const char *text, size_t len)
{
	char *end;
	unsigned long yes = strtoul(text, &end, 0);
	int r;

	(void)obj, (void)len;
	if (end == text || (*end && *end != '\n'))
		return -EINVAL;
	if (!yes)
		return 0;
	r = rescan_lock(s);
	if (r)
		return r;
	pci_rescan(s);
	rescan_unlock(s);
	return 0;
}

const struct reaction pci_bus_rows[] = {
	{ .name = "drivers_probe",
	  .mode = 0200,
	  .flags = ROW_SHARED,
	  .store = drivers_probe_store },
	{ .name = "drivers_autoprobe",
	  .mode = 0644,
	  .show = drivers_autoprobe_show,
	  .store = drivers_autoprobe_store },
	{ .name = "rescan", .mode = 0200, .flags = ROW_SHARED, .store = rescan_store },
	{ .name = NULL },
};
