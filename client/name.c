// SPDX-License-Identifier: GPL-2.0-or-later
/* How people name devices. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pcidevfs/err.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"
#include "name.h"

#define CLAIMS "claims/"
#define VF "/virtfn"
#define CANDIDATES 5

/* By what a device is known besides its id. */
static const char *const known_by[] = { "netdev", "disk", "drm", "serial", "mdev_uuid" };
enum { OF_DRIVER = 3 }; /* the first ones are made by a driver */

bool device_dir(const char *id, char ret[static TARGET_DIR])
{
	struct key key;

	/* Only what is an id becomes part of a path. */
	if (!key_parse(id, &key))
		return false;
	snprintf(ret, TARGET_DIR, "%s/%s",
		 key.bus == BUS_PCI   ? "devices"
		 : key.bus == BUS_USB ? "usb"
				      : "mdevs",
		 key.name);
	return true;
}

bool is_device_kind(const char *text)
{
	for (const char *p = DEVICE_KINDS; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == strlen(text) && !strncasecmp(p, text, strlen(text)))
			return true;
	return false;
}

int target_add(struct targets *t, const struct tree_device *d, struct err *err)
{
	struct target *more = more_rows(t->v, t->n, &t->cap, sizeof(*more));
	char dir[TARGET_DIR];

	if (!more)
		return fail_nomem(err);
	t->v = more;
	if (!device_dir(d->id, dir))
		return fail(err, EBADMSG, "\"%s\" in inventory is not a device", d->id);
	more += t->n++;
	*more = (struct target){ .device = d };
	STR_COPY(more->id, d->id);
	STR_COPY(more->dir, dir);
	return 0;
}

/* "5:2.0" and "05:02.0" of lspci mean domain 0, as there. */
static bool is_address(const char *id, const char *name)
{
	unsigned int domain = 0, bus, dev, fn;
	char full[32];
	int end = 0;

	if (sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &dev, &fn, &end) != 4 || name[end]) {
		domain = 0;
		end = 0;
		if (sscanf(name, "%2x:%2x.%1x%n", &bus, &dev, &fn, &end) != 3 || name[end])
			return false;
	}
	snprintf(full, sizeof(full), "%04x:%02x:%02x.%x", domain, bus, dev, fn);
	return !strcmp(id, full);
}

/* The first of "enp2s0 +2" is one of its names. */
static bool is_called(const char *value, const char *name)
{
	size_t len = strlen(name);

	return !strncasecmp(value, name, len) && (!value[len] || !strncmp(value + len, " +", 2));
}

/* The address is the better name: the serial number of a USB controller's root hub is one. */
static bool is_addressed(const struct tree_device *d, const char *name)
{
	const char *slash = strchr(d->id, '/');

	return !strcasecmp(d->id, name) || (slash && !strcasecmp(slash + 1, name)) ||
	       is_address(d->id, name);
}

/* The name by which the device is known, as `is` tells; NULL: it is another one. */
static const char *known_as(const struct tree_device *d, const char *name,
			    bool (*is)(const char *value, const char *name))
{
	for (size_t i = 0; i < ARRAY_SIZE(known_by); i++)
		if (is(device_says(d, known_by[i]), name))
			return device_says(d, known_by[i]);
	return is(d->id, name) ? d->id : NULL;
}

static bool is_named(const struct tree_device *d, const char *name)
{
	return known_as(d, name, is_called);
}

/* ---- refusals */

/* Is the name, or all of it but the last letter, a part? */
static bool is_like(const char *value, const char *name)
{
	size_t len = strlen(name);
	char head[64];

	snprintf(head, sizeof(head), "%.*s", (int)(len > 3 ? len - 1 : len), name);
	return *value && len > 1 && strcasestr(value, head);
}

static void put_candidate(struct out *out, size_t n, const char *name)
{
	if (n <= CANDIDATES)
		out_printf(out, "%s%s", n ? ", " : "", n == CANDIDATES ? "..." : name);
}

/* Nothing, or several devices from this one of the targets on, have the name. */
static int refuse(const struct tree_inventory *inv, const struct targets *t, size_t from,
		  const char *name, struct err *err)
{
	struct out text = { 0 };
	size_t n = 0, several = t->n - from;

	for (size_t i = from; i < t->n; i++)
		put_candidate(&text, n++, t->v[i].id);
	for (size_t i = 0; i < inv->n && !several; i++) {
		const char *value = known_as(&inv->devices[i], name, is_like);

		if (value)
			put_candidate(&text, n++, value);
	}
	fail(err, ENODEV, "%s \"%.100s\"; %s%s",
	     several ? "several devices are called" : "no device is called", name,
	     several ? "write one of "
	     : n     ? "did you mean "
		     : "`pcidevfs list` has the devices",
	     out_text(&text));
	out_free(&text);
	return -ENODEV;
}

/* ---- forms of names */

static bool holds(const struct tree_device *d, const char *claimant)
{
	const char *claim = device_says(d, "claim");
	size_t i = 0;

	/* As the view has it: a / in a name reads ! there. */
	while (claim[i] && claim[i] == (claimant[i] == '!' && claim[i] == '/' ? '/' : claimant[i]))
		i++;
	return *claim && !claim[i] && !claimant[i];
}

static int find_by(const struct tree_inventory *inv, const char *name,
		   bool (*is)(const struct tree_device *d, const char *name), struct targets *t,
		   struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < inv->n && !r && *name; i++)
		if (is(&inv->devices[i], name))
			r = target_add(t, &inv->devices[i], err);
	return r;
}

static int find_claimed(const struct tree_inventory *inv, const char *name, struct targets *t,
			struct err *err)
{
	size_t before = t->n;
	int r = find_by(inv, name, holds, t, err);

	if (r || t->n > before)
		return r;
	return fail(err, ENOENT, "\"%.100s\" holds no device; `pcidevfs list --claimed` has them",
		    name);
}

static int find_one(const struct tree_inventory *inv, const char *name, struct targets *t,
		    struct err *err)
{
	size_t before = t->n;
	/* As programs name it, which may ask for thousands. */
	const struct tree_device *d = device_by_id(inv, name);
	int r = d ? target_add(t, d, err) : 0;

	if (!r && t->n == before)
		r = find_by(inv, name, is_addressed, t, err);
	if (!r && t->n == before)
		r = find_by(inv, name, is_named, t, err);
	if (r)
		return r;
	/* A disk on a USB port is also that of its controller: the nearer one is meant. */
	if (t->n == before + 2 &&
	    !strcmp(device_says(t->v[before + 1].device, "controller"), t->v[before].id)) {
		t->v[before] = t->v[before + 1];
		t->n--;
	}
	return t->n == before + 1 ? 0 : refuse(inv, t, before, name, err);
}

/* The VF with this number of the last target, which is there only if the VF is. */
static int find_vf(const char *number, struct targets *t, struct err *err)
{
	struct target *pf = &t->v[t->n - 1];
	const char *vfs = device_says(pf->device, "sriov_totalvfs");

	if (!*vfs)
		return fail(err, ENODEV, "%s has no VFs", pf->id);
	snprintf(pf->within, sizeof(pf->within), "virtfn%.9s/", number);
	snprintf(pf->id + strlen(pf->id), sizeof(pf->id) - strlen(pf->id), VF "%.9s", number);
	pf->device = NULL;
	return 0;
}

int target_find(const struct tree_inventory *inv, const char *name, struct targets *t,
		struct err *err)
{
	const char *vf = strstr(name, VF), *number = vf ? vf + strlen(VF) : "";
	char head[256];
	int r;

	if (!strncmp(name, "devices/", 8) || !strncmp(name, "mdevs/", 6))
		name = strchr(name, '/') + 1;
	if (!strncmp(name, CLAIMS, strlen(CLAIMS)))
		return find_claimed(inv, name + strlen(CLAIMS), t, err);
	if (!*number || number[strspn(number, "0123456789")] || strlen(number) > 5)
		return find_one(inv, name, t, err);
	snprintf(head, sizeof(head), "%.*s", (int)(vf - name), name);
	r = find_one(inv, head, t, err);
	return r ?: find_vf(number, t, err);
}

/* ---- names of before */

/* What the line of events has of a device that has no such name now, since its claim took its driver
 * away. Returns the device; NULL: it has nothing. */
static const struct tree_device *had_name(const struct tree_inventory *inv, char *line,
					  const char *name, bool *ret_is)
{
	const struct tree_device *d = NULL, *has = NULL;
	struct pair p;

	*ret_is = false;
	while (pair_next(&line, &p) == 1) {
		if (!*p.key && !d)
			d = device_by_id(inv, p.value);
		if (!d || !*device_says(d, "claim") || !strcmp(p.value, "none"))
			continue;
		for (size_t i = 0; i < OF_DRIVER; i++)
			if (!strcmp(known_by[i], p.key) && !*device_says(d, p.key)) {
				*ret_is |= is_called(p.value, name);
				has = d;
			}
	}
	return has;
}

int target_find_former(const struct tree_inventory *inv, char *events, const char *name,
		       struct targets *t, struct err *err)
{
	_free_ bool *had = calloc(inv->n + 1, sizeof(*had));
	size_t before = t->n;
	int r = 0;
	bool is;

	for (char *line; had && (line = strsep(&events, "\n"));) {
		const struct tree_device *d = had_name(inv, line, name, &is);

		if (d)
			had[d - inv->devices] = is; /* the last one counts */
	}
	for (size_t i = 0; i < inv->n && !r && had; i++)
		if (had[i])
			r = target_add(t, &inv->devices[i], err);
	return r || t->n == before + 1 ? r : refuse(inv, t, before, name, err);
}

void targets_free(struct targets *t)
{
	free(t->v);
	*t = (struct targets){ 0 };
}
