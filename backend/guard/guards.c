// SPDX-License-Identifier: GPL-2.0-or-later
#include "guards.h"

#include <stdio.h>
#include <string.h>

#include "backend/guard/vfconf.h"
#include "backend/internal.h"
#include "backend/look.h"
#include "backend/listen.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* A VF that waits to become a vGPU has no node that anybody could open (backend/gpu/vgpu.c). */
static bool may_be_held(const struct device *dev)
{
	return !(dev->facts.caps & CAP_VGPU) || dev->facts.mdevs || dev->facts.nodes[0] ||
	       dev->facts.use != USE_NONE;
}

/* The host needs nothing below a VF that waits to be a vGPU. */
static enum ask_which which_critical(struct backend *b, const struct device *dev)
{
	return may_be_held(dev) || dev->facts.critical[0] ? ASK_IT : ASK_NOT;
}

static enum ask_which which_held(struct backend *b, const struct device *dev)
{
	return may_be_held(dev) || dev->facts.holder[0] || dev->let_go ? ASK_IT : ASK_NOT;
}

static enum ask_which which_vfconf(struct backend *b, const struct device *dev)
{
	return device_is_vf(dev) && dev->caps & CAP_NIC ? ASK_IT : ASK_NOT;
}

/* Rather nothing is known than what was true before: restore believes the causes that it finds. */
static void set_room(struct model *m, struct room *edit, const struct out *text)
{
	if (text->failed || model_set_text(m, edit, out_text(text), text->len))
		*edit = (struct room){ 0 };
}

/* Stores the first line in a text of the facts, and all in a room. */
static void store(struct model *m, const struct device *dev, const struct told *t, size_t at,
		  size_t size, size_t room)
{
	const char *facts = (const char *)&dev->facts;
	const char *first = t->line ? t->line->text : "";
	struct out all = { 0 };

	for (size_t i = 0; i < t->lines; i++)
		out_printf(&all, "%s%s", i ? "\n" : "", t->line[i].text);
	if (strncmp(first, facts + at, size - 1) != 0 ||
	    !room_is((const struct room *)(facts + room), out_text(&all), all.len)) {
		char *edit = (char *)&model_edit(m, &dev->key, false)->facts;

		str_copy(edit + at, size, first);
		set_room(m, (struct room *)(edit + room), &all);
	}
	out_free(&all);
}

static int apply_critical(struct backend *b, const struct device *dev, const struct told *t)
{
	store(b->model, dev, t, offsetof(struct facts, critical), CRITICAL_TEXT,
	      offsetof(struct facts, causes));
	return 0;
}

static int apply_holders(struct backend *b, const struct device *dev, const struct told *t)
{
	store(b->model, dev, t, offsetof(struct facts, holder), HOLDER_NAME,
	      offsetof(struct facts, holders));
	/* A question from before the release says nothing about processes that still hold it. */
	if (dev->let_go && dev->let_go < t->began_us)
		model_edit(b->model, &dev->key, false)->let_go = 0;
	return 0;
}

static int apply_vfconf(struct backend *b, const struct device *dev, const struct told *t)
{
	const char *conf = t->line ? t->line->text : "";

	if (strcmp(conf, VFCONF_UNKNOWN) != 0 && strcmp(conf, dev->facts.vfconf) != 0)
		STR_COPY(model_edit(b->model, &dev->key, false)->facts.vfconf, conf);
	return 0;
}

/* The pid in a line such as "unsure pid=812 comm=...", or 0. */
static pid_t pid_of(const char *text)
{
	const size_t n = strlen(HOLDER_UNSURE);
	const char *p = strncmp(text, HOLDER_UNSURE, n) ? text : text + n;
	char number[12] = "";
	uint64_t pid;

	if (sscanf(p, "pid=%11[0-9] ", number) != 1 || parse_u64(number, INT32_MAX, &pid))
		return 0;
	return (pid_t)pid;
}

/* A process that ends closes its devices. */
static void hear_holders(struct backend *b, bool all, const struct told *t)
{
	pid_t pids[ENDS_MAX];
	uint64_t unknown = 0;
	size_t k = 0;

	for (size_t i = 0; i < t->n && k < ENDS_MAX; i++) {
		pids[k] = pid_of(t->v[i].text);
		k += pids[k] > 0;
	}
	ends_watch(&b->ends, pids, k, all);
	parse_u64(told_value(t, "unknown=") ?: "", UINT32_MAX, &unknown);
	pthread_mutex_lock(&b->asker.lock);
	b->unknown = (unsigned int)unknown;
	STR_COPY(b->unseen, told_value(t, "unseen=") ?: "");
	pthread_mutex_unlock(&b->asker.lock);
}

/* Is there a device that somebody may open or close unheard: a claimed one, or one that is on a
 * vfio driver without a claim, as DPDK and SPDK have theirs? */
static bool holders_may_come(struct model *m)
{
	const struct device *dev;
	bool again = false;
	size_t pos = 0;

	model_lock(m);
	while (!again && (dev = model_next(m, &pos)))
		again = dev->intent.claim[0] ||
			(dev->facts.use == USE_GUEST && dev->facts.nodes[0]);
	model_unlock(m);
	return again;
}

/* A device that a guest can have, or a VF before it is a vGPU, has nothing below it that the host
 * could need. */
static bool is_guarded(const struct ask_row *row, const struct device *dev)
{
	return dev->caps & CAP_CLAIM &&
	       (row == &ask_holders || (dev->facts.use != USE_GUEST && may_be_held(dev)));
}

int guards_now(struct backend *b, const struct touched *v, size_t n, struct err *err)
{
	int rc = ask_touched(b, &ask_critical, v, n, is_guarded, err);

	return rc ? rc : ask_touched(b, &ask_holders, v, n, is_guarded, err);
}

static void ask_children(struct backend *b, const struct ask_row *row, const struct key *parent,
			 enum bus bus)
{
	const struct device *found[GROUP_MAX];
	size_t n;

	model_lock(b->model);
	n = model_children(b->model, parent, bus, found, GROUP_MAX);
	for (size_t i = 0; i < n && i < GROUP_MAX; i++)
		ask_soon(b, row, &found[i]->key, 0);
	model_unlock(b->model);
}

void host_use_changed(struct backend *b, const char *function)
{
	struct pci_addr addr;
	struct key key;
	bool one = pci_addr_parse(function, &addr) && addr.domain <= UINT16_MAX &&
		   key_make(BUS_PCI, function, &key);

	ask_soon(b, &ask_critical, one ? &key : NULL, 0);
	if (one)
		ask_children(b, &ask_critical, &key, BUS_USB);
}

void network_changed(void *backend, const char *function)
{
	struct key pf;

	host_use_changed(backend, function ? function : "");
	if (!function)
		ask_soon(backend, &ask_vfconf, NULL, 0);
	else if (key_make(BUS_PCI, function, &pf))
		ask_children(backend, &ask_vfconf, &pf, BUS_PCI);
}

void node_used(struct backend *b, const char *node)
{
	const struct device *found[GROUP_MAX], *dev;
	size_t n = 0;
	int32_t group;

	model_lock(b->model);
	if (node_group(node, &group))
		n = model_group(b->model, group, found, GROUP_MAX);
	else if ((dev = node_device(b->model, node)))
		found[n++] = dev;
	for (size_t i = 0; i < n; i++)
		ask_soon(b, &ask_holders, n > GROUP_MAX ? NULL : &found[i]->key, 0);
	model_unlock(b->model);
}

/* ---- what health says of processes that could not be looked at: how many, and the remedy */

static void tell_why(uint64_t lacks, struct out *o)
{
	out_printf(o, " hint=\"the open files of that many processes cannot be seen; ");
	if (lacks)
		out_printf(o, "give the daemon %s", confine_name(lacks));
	else
		out_printf(o, "the daemon has the capabilities for that, but a process whose user "
			      "namespace is not below the daemon's (process 1 of a container, for "
			      "example), or that a security module hides, stays unseen");
	while (lacks &= lacks - 1)
		out_printf(o, " and %s", confine_name(lacks));
	out_printf(o, "\"\n");
}

void unseen_health(const char *text, uint64_t lacks, struct out *o)
{
	char number[11] = "";

	if (sscanf(text, "%10[0-9]", number) < 1 || !strcmp(number, "0"))
		return;
	out_printf(o, "holders_unseen=%s", number);
	tell_why(lacks, o);
}

/* ---- */

const struct ask_row ask_critical = { "critical", "what the host itself needs",
				      .deadline_ms = 5000, .follows = true, .first = true,
				      .which = which_critical, .apply = apply_critical };

/* Again, for closes of nodes that cannot be watched (no inotify, a process killed). */
const struct ask_row ask_holders = { "holders", "which processes hold the devices",
				     .deadline_ms = 5000, .follows = true, .first = true,
				     .period_ms = 30000, .again = holders_may_come,
				     .which = which_held, .apply = apply_holders,
				     .heard = hear_holders };

const struct ask_row ask_vfconf = { "vfconf", "the settings of the VFs",
				    .deadline_ms = 5000, .follows = true, .first = true,
				    .which = which_vfconf, .apply = apply_vfconf };

const struct ask_row *const guards_watch[] = { &ask_critical, &ask_holders, &ask_vfconf, NULL };
