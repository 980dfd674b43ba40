// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: questions about it, and operations on it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/internal.h"
#include "offer.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "fs/query.h"
#include "fs/ring.h"
#include "rows.h"

static int reset_store(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	bool yes = false, flag = !parse_bool(text, &yes);

	if (!text[0] || (flag && !yes))
		return fail(err, EINVAL, "reset: write 1, or the name of the claimant of %s",
			    s->dev->key.name);
	if (strlen(text) >= CLAIM_NAME)
		return fail(err, EINVAL, "reset: a name has at most %d characters", CLAIM_NAME - 1);
	STR_COPY(ret->value, flag ? "1" : text);
	return 0;
}

static void reset_show(const struct subject *s, struct out *o)
{
	const char *claim = s->dev->intent.claim;

	out_printf(o, "write %s to reset it\n", claim[0] ? claim : "1");
}

static void host_critical_show(const struct subject *s, struct out *o)
{
	out_line(o, s->dev->facts.critical);
}

static void claimable_show(const struct subject *s, struct out *o)
{
	out_line_for_all(o, s->dev->refused_code ? s->dev->refused : "yes");
}

void out_room(const struct subject *s, size_t fact, struct out *o)
{
	struct model *m = s->tree->conf.model;
	const struct device *dev;
	size_t before = o->len;

	model_lock(m);
	dev = model_find(m, &s->dev->key);
	if (dev)
		model_text(m, (const struct room *)((const char *)&dev->facts + fact), o);
	model_unlock(m);
	out_printf(o, o->len > before ? "\n" : "none\n");
}

static void holders_show(const struct subject *s, struct out *o)
{
	out_room(s, offsetof(struct facts, holders), o);
}

/* Opening a device node makes no event, so holders are looked up when somebody reads. */
static void holders_refresh(const struct subject *s)
{
	const struct world *w = engine_world(s->tree->conf.engine);

	if (w->observe_holders)
		w->observe_holders(w->backend, NULL, 0, now_us(), NULL);
}

static void log_show(const struct subject *s, struct out *o)
{
	char id[KEY_NAME + 8], where[KEY_NAME + 16];

	snprintf(where, sizeof(where), " id=%s ", key_id(&s->dev->key, id));
	ring_print(s->tree->log, where, o);
}

static void ctl_show(const struct subject *s, struct out *o)
{
	(void)s;
	out_printf(o, "write lines FILE VALUE, then commit, check or abort; answers are read from "
		      "the same open file\n");
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ RW("plan", 20, plan_show, plan_store), .bits = CH_PLAN,
	  .flags = ATTR_SLOW | ATTR_SNAPSHOT | ATTR_ASIDE,
	  .help = "write what you would, such as: claim alice; read the steps, or the refusal; "
		  "none forgets it. Nothing is done. The write succeeds also if the plan is a "
		  "refusal: then it reads error ERRNO FILE: SENTENCE" },
	{ KEY_RO("host_critical", 21, host_critical_show), .bits = CH_CRITICAL,
	  .help = "why the host itself needs it, or none" },
	{ KEY_RO("claimable", 33, claimable_show), .bits = CH_CLAIMABLE,
	  .help = "yes, or the sentence with which a claim by somebody new would be refused "
		  "now: the host, its IOMMU group, who has it. Whether the claim could be stored on disk is in health" },
	{ ROW("holders", 22, 0440), .show = holders_show, .bits = CH_HOLDERS,
	  .flags = ATTR_SLOW | ATTR_SNAPSHOT,
	  .refresh = holders_refresh,
	  .help = "processes that hold it open, for the directory's owner, root and the group pcidevfs; a line each: "
		  "pid= comm=; unsure stands before a process that may hold it, but whose open "
		  "files are unknown; or none" },
	{ ROW("log", 23, 0440), .show = log_show, .bits = CH_LOG, .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .help = "past writes into this directory, as in the root's log, for the directory's owner, root and the "
		  "group pcidevfs" },
	{ RO("hostdev.xml", 25, hostdev_show), .bits = CH_CLAIM | CH_MDEV | CH_IDS, .caps = CAP_CLAIM,
	  .help = "a libvirt hostdev element (managed='no') for the claimed function, for a "
		  "vGPU on its own driver, or for its mdev; else none. For the one mdev vGPU that is "
		  "the VM's console, add display='on' ramfb='on' to the element (docs/VGPU.md). A vGPU "
		  "type that is set outside the tree shows at the next look at the function" },
	{ RO("qemu", 26, qemu_show), .bits = CH_CLAIM | CH_MDEV | CH_IDS, .caps = CAP_CLAIM,
	  .help = "how QEMU takes it, likewise: its arguments, or none. The console is "
		  "-device vfio-pci-nohotplug with ,display=on,ramfb=on behind the rest" },
	{ RW("reset", 28, reset_show, reset_store), .bits = CH_CLAIM, .caps = CAP_CLAIM | CAP_RESET,
	  .help = "reading says what to write: 1, or the claimant's name if the function is "
		  "claimed; the kernel then resets it. Refused while the host needs it, it has "
		  "VFs or a process holds it. Cannot be undone" },
	{ ROW("ctl", 27, 0664), .show = ctl_show, .flags = ATTR_CTL,
	  .help = "as in the root, for this device alone: lines FILE VALUE, or virtfn<N>/FILE "
		  "VALUE" },
};
/* clang-format on */

const struct attr_table attrs_device = { rows, ARRAY_SIZE(rows) };
