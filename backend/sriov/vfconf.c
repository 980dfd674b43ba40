// SPDX-License-Identifier: GPL-2.0-or-later
/* Settings of a NIC's VF that the driver of its PF holds: address, VLAN, trust, spoof check. Each
 * is a file. What was there before the first request comes back with none; so it does with the
 * release of the VF's claim if that request came during the claim. */
#include <errno.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/ops.h"
#include "backend/use.h"
#include "backend/vfio/vfio.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

/* The kernel tells nothing. */
#define NOTHING "none"

static const struct fields {
	size_t asked, before, claimed; /* in struct intent */
} fields[VFCONF_COUNT] = {
#define FIELDS(name)                                                                               \
	{                                                                                          \
		offsetof(struct intent, name), offsetof(struct intent, name##_before),             \
			offsetof(struct intent, name##_claimed)                                    \
	}
	[VFCONF_MAC] = FIELDS(mac),
	[VFCONF_VLAN] = FIELDS(vlan),
	[VFCONF_TRUST] = FIELDS(trust),
	[VFCONF_SPOOFCHK] = FIELDS(spoofchk),
};

/* A text of it, or the flag. */
#define FIELD(intent, which, field) ((char *)(intent) + fields[which].field)

static bool *claimed_of(struct intent *w, enum vfconf which)
{
	return (bool *)FIELD(w, which, claimed);
}

static bool ends_with_claim(const struct device *dev, enum vfconf which)
{
	return dev->intent.claim[0] &&
	       *(const bool *)((const char *)&dev->intent + fields[which].claimed);
}

static const char *had(const struct device *dev, enum vfconf which)
{
	return (const char *)&dev->intent + fields[which].before;
}

static void now_of(const struct device *dev, enum vfconf which, char ret[static VFCONF_VALUE])
{
	vfconf_get(dev->facts.vfconf, which, ret);
	if (!ret[0])
		str_copy(ret, VFCONF_VALUE, NOTHING);
}

/* What the kernel must hold for the request; "": anything. */
static const char *target_of(const struct device *dev, const struct request *request)
{
	return request->value[0] ? request->value : had(dev, vfconf_find(request->file));
}

static bool holds(const struct device *dev, enum vfconf which, const char *target)
{
	char now[VFCONF_VALUE];

	now_of(dev, which, now);
	/* Only an address can be made none again. */
	return !target[0] || !strcmp(now, target) ||
	       (which != VFCONF_MAC && !strcmp(target, NOTHING));
}

/* ---- plan */

static int refuse_untold(struct model *m, const struct device *dev, enum vfconf which,
			 struct err *err)
{
	const struct device *pf = model_parent(m, dev);
	const char *name = pf ? pf->key.name : dev->facts.parent.name;
	char now[VFCONF_VALUE];

	vfconf_get(dev->facts.vfconf, which, now);
	if (now[0] || (which == VFCONF_MAC && dev->facts.vfconf[0]))
		return 0;
	if (dev->facts.vfconf[0])
		return fail(err, EOPNOTSUPP,
			    "%s cannot be set: the driver %s of its PF %s has no such setting",
			    dev->key.name, pf ? pf->facts.driver : "", name);
	if (pf && !pf->facts.driver[0])
		return fail(
			err, EOPNOTSUPP,
			"%s cannot be set: its PF %s has no driver, and only that could; bind one "
			"first",
			dev->key.name, name);
	return fail(
		err, EOPNOTSUPP,
		"%s cannot be set: its PF %s has no network interface that tells the settings of "
		"its VFs; it may be in another network namespace",
		dev->key.name, name);
}

static int refuse(struct model *m, const struct device *dev, const struct request *request,
		  const struct plan *plan, struct err *err)
{
	int rc = refuse_doubt("", dev, err);

	if (!rc && !request->restores)
		rc = refuse_coming("", dev, err);
	if (!rc && request->value[0] && vfio_released(m, plan, dev))
		return fail(err, EINVAL,
			    "the release of %s ends what is set during its claim; write its %s in "
			    "another transaction",
			    dev->key.name, request->file);
	rc = rc ? rc : refuse_untold(m, dev, vfconf_find(request->file), err);
	rc = rc ? rc : refuse_needed(dev, request->force, err);
	return rc ? rc : refuse_holder("", dev, err);
}

static const struct verb vfconf_verb, vfconf_back_verb;

static int expand(struct model *m, const struct device *dev, const struct request *request,
		  struct plan *plan, struct err *err)
{
	enum vfconf which = vfconf_find(request->file);
	char text[VFCONF_TEXT] = "";
	const char *target = target_of(dev, request);
	int rc = plan_touch(plan, &dev->key, err);

	if (rc || holds(dev, which, target) ||
	    (!request->value[0] && ends_with_claim(dev, which) && vfio_released(m, plan, dev)))
		return rc;
	rc = refuse(m, dev, request, plan, err);
	vfconf_add(text, which, target);
	return rc ? rc : plan_step_forced(plan, &vfconf_verb, &dev->key, text, request->force, err);
}

static int predict(struct model *m, const struct device *pf, const struct request *request,
		   struct plan *plan, struct err *err)
{
	char text[VFCONF_TEXT] = "";

	if (!request->value[0])
		return 0;
	vfconf_add(text, vfconf_find(request->file), request->value);
	return plan_step(plan, &vfconf_verb, &request->dev, text, err);
}

static int prepare(struct model *m, struct device *dev, const struct request *request,
		   struct err *err)
{
	enum vfconf which = vfconf_find(request->file);

	if (request->value[0] && !FIELD(&dev->intent, which, asked)[0] &&
	    !FIELD(&dev->intent, which, before)[0]) {
		now_of(dev, which, FIELD(&dev->intent, which, before));
		*claimed_of(&dev->intent, which) = dev->intent.claim[0];
	}
	return 0;
}

static int settle(struct model *m, struct device *dev, const struct request *request,
		  struct err *err)
{
	enum vfconf which = vfconf_find(request->file);
	char now[VFCONF_VALUE];

	now_of(dev, which, now);
	if (request->value[0] && strcmp(now, request->value))
		return fail(err, EIO,
			    "%s of %s is %s and not %s although the kernel reported success; dmesg "
			    "may say why",
			    request->file, dev->key.name, now, request->value);
	str_copy(FIELD(&dev->intent, which, asked), VFCONF_VALUE, request->value);
	if (!request->value[0]) {
		FIELD(&dev->intent, which, before)[0] = '\0';
		*claimed_of(&dev->intent, which) = false;
	}
	return 0;
}

/* Behind the VFs, before the claim: no guest meets a VF with other settings. */
#define METHOD(name)                                                                               \
	{                                                                                          \
		.file = (name), .bus = BUS_PCI, .rank = 70, .guarded = true,                       \
		.caps = CAP_VF | CAP_NIC,                                                          \
		.down = request_is_none, .expand = expand, .predict = predict, .prepare = prepare, \
		.settle = settle                                                                   \
	}

static const struct method mac = METHOD("mac"), vlan = METHOD("vlan"), trust = METHOD("trust"),
			   spoofchk = METHOD("spoofchk");

/* One step for all that were set during the claim. What root set before keeps the guest in its
 * place whoever has the VF: the owner of a claim may end it, and claim anew. */
static int give_back(const struct device *dev, bool force, struct plan *plan, struct err *err)
{
	char text[VFCONF_TEXT] = "";

	for (enum vfconf which = 0; which < VFCONF_COUNT; which++)
		if (ends_with_claim(dev, which) && !holds(dev, which, had(dev, which)))
			vfconf_add(text, which, had(dev, which));
	return text[0] ? plan_step_forced(plan, &vfconf_back_verb, &dev->key, text, force, err) : 0;
}

/* ---- steps */

/* The devices were just looked at. */
static int learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char text[VFCONF_TEXT] = "", value[VFCONF_VALUE];
	struct device dev;

	if (!model_copy(b->model, &step->dev, &dev))
		return fail(err, ENODEV, "%s is gone", step->dev.name);
	for (enum vfconf which = 0; which < VFCONF_COUNT; which++) {
		vfconf_get(step->value, which, value);
		if (!value[0])
			continue;
		now_of(&dev, which, value);
		vfconf_add(text, which, value);
	}
	STR_COPY(step->former, text);
	step->recorded = true;
	return 0;
}

static bool shows(struct backend *b, const struct key *key, const char *conf)
{
	char target[VFCONF_VALUE];
	struct device dev;
	bool all = true, there = model_copy(b->model, key, &dev);

	for (enum vfconf which = 0; which < VFCONF_COUNT && there; which++) {
		vfconf_get(conf, which, target);
		all &= holds(&dev, which, target);
	}
	return all;
}

/* Blocks until the tree shows what the kernel holds then; *ret_told is false if that cannot be
 * read. */
static int set(struct backend *b, struct step *step, const char *conf, unsigned int ms,
	       bool *ret_told, struct err *err)
{
	const char *const argv[] = { "vfconf_set", step->dev.name, conf, NULL };
	struct out said = { 0 };
	int rc = io_call(b->io, argv, ms, &said, &step->late, &step->helper);

	if (rc && said.len)
		fail(err, -rc, "%s", out_text(&said));
	else if (rc && !step_trouble(b, conf, &step->dev, rc, ms,
				     "the driver of its PF is still at work", err))
		fail(err, -rc, "%s of %s: %s", conf, step->dev.name, strerror(-rc));
	out_free(&said);
	confine_tell(io_lacks(b->io, argv[0]), rc, err);
	if (!step->late)
		*ret_told = !ask_now(b, &ask_vfconf, &step->dev, 1, 0, NULL) ||
			    shows(b, &step->dev, conf);
	return rc;
}

static int set_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	bool told = true;
	int rc = set(b, step, step->value, ms, &told, err);

	if (rc || told)
		return rc;
	/* The engine undoes what succeeded. */
	rc = set(b, step, step->former, ms, &told, err);
	if (rc)
		return fail_wrap(err, "%s of %s can be neither read back nor undone", step->value,
				 step->dev.name);
	return fail(
		err, EIO,
		"%s of %s was set, but its PF does not tell its settings any more (see health), "
		"so that was undone",
		step->value, step->dev.name);
}

/* The kernel says that it has done it. */
static int set_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	bool told;

	return set(b, step, step->former, ms, &told, err);
}

static int back_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	bool told;
	int rc = set(b, step, step->value, ms, &told, err);

	if (!rc || rc == -ETIMEDOUT || rc == -ENODEV)
		return rc;
	return step->force ? 0
			   : fail(err, -rc,
				  "%s; force in ctl releases it with the settings that it has",
				  err->text);
}

#define VFCONF_MS 10000

static const struct verb vfconf_verb = { .of = "vfconf",
					 .name = "rtnetlink",
					 .deadline_ms = VFCONF_MS,
					 .records = true,
					 .refuse = refuse_step,
					 .learn = learn,
					 .run = set_run,
					 .undo = set_undo };
static const struct verb vfconf_back_verb = { .of = "vfconf",
					      .name = "rtnetlink_back",
					      .deadline_ms = VFCONF_MS,
					      .records = true,
					      .learn = learn,
					      .run = back_run,
					      .undo = set_undo };

static const struct method *const methods[] = { &mac, &vlan, &trust, &spoofchk, NULL };
static const struct verb *const verbs[] = { &vfconf_verb, &vfconf_back_verb, NULL };

const struct backend_ops vfconf_ops = {
	.name = "vfconf",
	.help = "address, VLAN, trust and spoof check of a NIC's VFs, which the driver of the PF sets",
	.methods = methods,
	.verbs = verbs,
	.give_back = give_back,
};
