// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a PCI function that operation. */
#include "func.h"
#include "sim.h"
#include "vgpu.h"
#include "vfio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static ssize_t driver_override_show(struct sim *s, void *obj, char *page)
{
	struct func *f = obj;

	return snprintf(page, PAGE_TEXT, "%s\n", f->dev.override ? f->dev.override : "(null)");
}

static int driver_override_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	char *name;
	int r;

	if (len >= PAGE_TEXT - 1)
		return -EINVAL;
	r = s->free_override ? 0 : dev_lock(s, &f->dev);
	if (r)
		return r;
	name = strndup(text, strcspn(text, "\n"));
	free(f->dev.override);
	f->dev.override = name;
	if (name && !*name) {
		free(name);
		f->dev.override = NULL;
	}
	if (!s->free_override)
		dev_unlock(s, &f->dev);
	return 0;
}

/* A host driver enables its function, vfio-pci only while it is open, and each write to
 * "enable". */
static int times_enabled(const struct func *f)
{
	const char *recorded = record_text(f->dev.rec, 'A', "enable");
	bool on = f->dev.drv && (vfio_is_open(&f->dev) || f->dev.vfio_dev < 0);

	if (recorded && f->dev.drv == f->dev.rec_drv && f->dev.vfio_dev < 0)
		return atoi(recorded) + f->enabled;
	return on + f->enabled;
}

static ssize_t enable_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%d\n", times_enabled(obj));
}

static bool parse_number(const char *text, unsigned long *ret)
{
	char *end;

	*ret = strtoul(text, &end, 0);
	return end != text && (!*end || *end == '\n');
}

static int enable_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	unsigned long yes;
	int r;

	if (!parse_number(text, &yes))
		return -EINVAL;
	r = dev_lock(s, &f->dev);
	if (r)
		return r;
	if (f->dev.drv)
		r = -EBUSY;
	else if (!yes && times_enabled(f) < 1)
		r = -EIO;
	else
		f->enabled += yes ? 1 : -1;
	dev_unlock(s, &f->dev);
	return r;
}

static int remove_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	unsigned long yes;
	int r;

	if (!parse_number(text, &yes))
		return -EINVAL;
	if (!yes)
		return 0;
	/* Only once. */
	tree_remove_name(s->tree, f->dev.dir, "remove");
	r = rescan_lock(s);
	if (r)
		return r;
	func_vanish(s, f);
	rescan_unlock(s);
	return 0;
}

static bool can_reset(const void *obj)
{
	const char *how = record_text(((const struct dev *)obj)->rec, 'A', "reset_method");

	return how && *how > ' ';
}

/* A bus is reset only for a function that is alone on it, but the method is listed before the
 * others are known. */
static bool shares_bus(const struct sim *s, const struct func *f)
{
	for_each_func(s, o)
		if (o != f && o->dev.dir && o->domain == f->domain && o->rid >> 8 == f->rid >> 8)
			return true;
	return false;
}

static int reset_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	int r;

	if (strcmp(text, "1") && strcmp(text, "1\n"))
		return -EINVAL;
	r = dev_lock(s, &f->dev);
	if (r)
		return r;
	if (!strcmp(record_text(f->dev.rec, 'A', "reset_method"), "bus\n") && shares_bus(s, f))
		r = -ENOTTY;
	if (!r)
		vgpu_reset(f);
	dev_unlock(s, &f->dev);
	return r;
}

/* The kernel does not remove a single VF. */
static bool is_no_vf(const void *obj)
{
	const struct func *f = obj;

	return !f->pf;
}

const struct reaction func_rows[] = {
	{ .name = "driver_override",
	  .mode = 0644,
	  .flags = ROW_LOCKED_OLD,
	  .show = driver_override_show,
	  .store = driver_override_store },
	{ .name = "enable", .mode = 0644, .show = enable_show, .store = enable_store },
	{ .name = "remove", .mode = 0220, .has = is_no_vf, .store = remove_store },
	{ .name = "reset", .mode = 0200, .has = can_reset, .store = reset_store },
	{ .name = NULL },
};
