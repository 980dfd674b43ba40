// SPDX-License-Identifier: GPL-2.0-or-later
/* Files in mig/ of a card: how it is, and can be, divided into instances. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "rows.h"

/* False, and all zeros: what the driver tells of MIG is not known. */
static bool card_of(const struct subject *s, struct mig *ret)
{
	struct model *m = s->tree->conf.model;
	const struct device *dev;
	bool known;

	model_lock(m);
	dev = model_find(m, &s->dev->key);
	known = dev && !mig_of(m, dev, ret);
	model_unlock(m);
	if (!known)
		*ret = (struct mig){ 0 };
	return known;
}

static void driver_refresh(const struct subject *s)
{
	const struct engine_world *w = engine_world(s->tree->conf.engine);

	if (w->opened)
		w->opened(w->backend, &s->dev->key);
}

static void support_show(const struct subject *s, struct out *o)
{
	const struct facts *f = &s->dev->facts;

	if (f->mig_lack[0])
		out_line(o, f->mig_lack);
	else
		out_line(o, f->mig.len ? "yes" : "not known: the driver has not been asked yet");
}

static int mode_store(const struct subject *s, const char *text, struct request *ret,
		      struct err *err)
{
	bool on;

	if (parse_bool(text, &on))
		return fail(err, EINVAL,
			    "mig/mode: \"%.64s\" is neither 1, with which %s can be divided into "
			    "instances, nor 0",
			    text, s->dev->key.name);
	STR_COPY(ret->value, on ? "1" : "0");
	return 0;
}

static void layout_show(const struct subject *s, struct out *o)
{
	struct mig m;

	if (card_of(s, &m))
		mig_print(&m, o);
	else
		out_put(o, "none", 4);
	out_put(o, "\n", 1);
}

/* Of a card whose profiles are not known the planner judges the names: the driver may come, or tell
 * them, only in the course of the transaction. */
static int layout_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
{
	struct mig_wanted wanted;
	struct out o = { 0 };
	struct mig m;
	int r = 0;

	card_of(s, &m);
	if (!text[strspn(text, " ")])
		return fail(
			err, EINVAL,
			"mig/layout: the value is empty; write profiles of %s with how often, for "
			"example 1g.10gb*2, or none",
			s->dev->key.name);
	if (!m.n_profiles)
		out_printf(&o, "%s", text);
	else if (mig_parse(&m, text, &wanted, err))
		r = fail_wrap(err, "mig/layout");
	else
		mig_print_wanted(&m, &wanted, &o);
	if (!r && (o.failed || o.len >= MIG_LAYOUT))
		r = fail(err, EINVAL, "mig/layout: a layout has at most %d characters",
			 MIG_LAYOUT - 1);
	if (!r)
		STR_COPY(ret->value, strcmp(out_text(&o), "none") ? out_text(&o) : "");
	out_free(&o);
	return r;
}

static void profiles_show(const struct subject *s, struct out *o)
{
	struct mig m;

	card_of(s, &m);
	for (size_t i = 0; i < m.n_profiles; i++) {
		const struct mig_profile *p = &m.profiles[i];
		const char *sep = "";

		out_pair(o, "name", p->name);
		out_printf(o, " id=%u max=%u", p->id, p->max);
		if (p->available >= 0)
			out_printf(o, " available=%d", p->available);
		out_printf(o, " memory_mib=%u slices=%u placements=", p->mib, p->compute);
		for (unsigned int at = 0; at < MIG_SLICES; at++)
			if (p->starts & 1u << at) {
				out_printf(o, "%s%u", sep, at);
				sep = ",";
			}
		out_printf(o, ":%u\n", p->size);
	}
	if (!m.n_profiles)
		out_line(o, "");
}

/* As a layout names them: "1c.3g.40gb*2", or the profile itself for one of the whole. */
static void print_computes(const struct mig_instance *in, const struct mig_profile *p,
			   struct out *o)
{
	struct out text = { 0 };

	for (unsigned int slices = 1; slices <= p->compute && slices < MIG_SLICES; slices++) {
		if (!in->computes[slices])
			continue;
		if (text.len)
			out_put(&text, " ", 1);
		if (slices < p->compute)
			out_printf(&text, "%uc.", slices);
		out_printf(&text, "%s", p->name);
		if (in->computes[slices] > 1)
			out_printf(&text, "*%u", in->computes[slices]);
	}
	out_pair(o, "compute", text.len ? out_text(&text) : "none");
	o->failed |= text.failed;
	out_free(&text);
}

/* "0000:41:00.4,0000:41:00.5"; "" for none */
static void find_vgpus(const struct subject *s, unsigned int instance, struct out *o)
{
	const struct device *vfs[INTENT_VFS];
	struct model *m = s->tree->conf.model;
	size_t n;

	model_lock(m);
	n = model_children(m, &s->dev->key, BUS_NONE, vfs, INTENT_VFS);
	for (size_t i = 0; i < n && i < INTENT_VFS; i++)
		if (vfs[i]->facts.profile_id[0] && vfs[i]->facts.gpu_instance_id == instance)
			out_printf(o, "%s%s", o->len ? "," : "", vfs[i]->key.name);
	model_unlock(m);
}

static void instances_show(const struct subject *s, struct out *o)
{
	struct mig m;

	card_of(s, &m);
	for (size_t i = 0; i < m.n_instances; i++) {
		const struct mig_instance *in = &m.instances[i];
		const struct mig_profile *p = &m.profiles[in->profile];
		struct out vgpus = { 0 };

		find_vgpus(s, in->id, &vgpus);
		out_printf(o, "id=%u", in->id);
		out_pair(o, "profile", p->name);
		out_printf(o, " placement=%u:%u", in->start, p->size);
		print_computes(in, p, o);
		out_printf(o, " used=%d", in->used || vgpus.len);
		if (vgpus.len)
			out_pair(o, "vgpu", out_text(&vgpus));
		out_put(o, "\n", 1);
		o->failed |= vgpus.failed;
		out_free(&vgpus);
	}
	if (!m.n_instances)
		out_line(o, "");
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ ROW("mig", 65, S_IFDIR | 0755), .refresh = driver_refresh, .caps = CAP_MIG,
	  .help = "how a card is divided into instances" },
	{ RO("mig/support", 66, support_show), .key = "mig_support", .bits = CH_MIG,
	  .caps = CAP_MIG,
	  .help = "yes, or why the files of mig cannot be read or written now; they read none then, "
		  "and a write is refused with the same words" },
	{ RW_OF("mig/mode", 67, facts.mig_mode, mode_store), .key = "mig_mode", .bits = CH_MIG,
	  .caps = CAP_MIG,
	  .help = "1: the card can be divided into instances; 0: it is whole; none: see support. A "
		  "change may need a reset of the card or a reboot; reason says so until then" },
	{ RO("mig/profiles", 68, profiles_show), .key = "mig_profiles", .bits = CH_MIG,
	  .caps = CAP_MIG,
	  .help = "a line for each profile: name, the driver's id, how many instances of it the card "
		  "can have (max) and could have besides those it has now (available), memory_mib, "
		  "compute slices, and placements: the memory slices at which it may begin, and how "
		  "many it takes" },
	{ RO("mig/instances", 69, instances_show), .key = "mig_instances", .bits = CH_MIG,
	  .flags = ATTR_SNAPSHOT, .caps = CAP_MIG,
	  .help = "a line for each GPU instance: the driver's id, which another one may get later, "
		  "profile, placement (first memory slice and how many), compute instances, used "
		  "(by a process or a vGPU), and the vGPUs that lie in it" },
	{ RW("mig/layout", 74, layout_show, layout_store), .key = "mig_layout", .bits = CH_MIG,
	  .caps = CAP_MIG,
	  .help = "the instances, by profile: \"3g.40gb 1g.10gb*2\", or none. Writing makes and "
		  "removes instances until the card has these, in an order that fits, and keeps those "
		  "that can stay. \"1c.3g.40gb\" is a compute instance of one slice; else each "
		  "instance has one of its own size" },
};
/* clang-format on */

const struct attr_table attrs_mig = { rows, ARRAY_SIZE(rows) };
