// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's function reset. An operation without a state: nothing is stored, nothing can undo
 * it. Only the function is reset: the kernel resets a bus or slot only if nothing else is on it. */
#include <errno.h>
#include <string.h>

#include "backend/steps.h"
#include "backend/gpu/mig_steps.h"
#include "backend/ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/plan.h"
#include "backend/use.h"

static int reset_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const char *name = step->dev.name;
	int rc = step_write(b, step, ms, "1", PCI_DEVICES "/%s/reset", name), r;

	if (!rc)
		return 0;
	r = step_trouble(b, step->verb->name, &step->dev, rc, ms, "it does not come back", err);
	if (r)
		return r;
	if (rc == -ENOTTY || rc == -ENOENT)
		return fail(
			err, EOPNOTSUPP,
			"the kernel cannot reset %s in its present state; its reset_method in "
			"sysfs names the methods that are tried",
			name);
	return fail(err, EIO, "reset of %s was refused by the kernel: %s; dmesg may say why", name,
		    strerror(-rc));
}

/* The kernel itself waits up to 60 s for a function to come back. */
static const struct verb reset_verb = { .of = "reset",
					.name = "reset",
					.deadline_ms = 70000,
					.refuse = refuse_step,
					.run = reset_run };

/* Only the owner of a claimed device may reset it. */
static int refuse_mismatch(const struct device *dev, const struct request *request,
			   const struct plan *plan, struct err *err)
{
	const struct request *claim = plan_requested(plan, &dev->key, "claim");
	char now[CLAIM_NAME];
	const char *who = claim ? claim->value : now;

	device_claim(dev, now);

	if (!strcmp(request->value, who[0] ? who : "1"))
		return 0;
	if (who[0])
		return fail(err, EBUSY, "%s is claimed by %s; write %s to reset it in that name",
			    dev->key.name, who, who);
	return fail(err, EINVAL, "reset: %s is not claimed by %s; write 1", dev->key.name,
		    request->value);
}

static int reset_expand(struct model *m, const struct device *dev, const struct request *request,
			struct plan *plan, struct err *err)
{
	int rc = refuse_mismatch(dev, request, plan, err);
	struct mig were = { 0 };

	rc = rc ? rc : refuse_use(dev, request, plan, err);
	rc = rc ? rc : plan_touch(plan, &dev->key, err);
	rc = rc ? rc : mig_plan_away(m, dev, "all are lost with a reset", plan, &were, err);
	rc = rc ? rc : plan_step_forced(plan, &reset_verb, &dev->key, "1", request->force, err);
	return rc ? rc : mig_plan_again(dev, &were, plan, err);
}

/* Last, because it cannot be undone if another step fails. */
static const struct method reset_method = {
	.file = "reset",
	.bus = BUS_PCI,
	.rank = 200,
	.guarded = true,
	.once = &reset_verb,
	.told = true, /* MIG mode may have waited for it */
	.caps = CAP_CLAIM | CAP_RESET,
	.expand = reset_expand,
};

static const struct method *const methods[] = { &reset_method, NULL };
static const struct verb *const verbs[] = { &reset_verb, NULL };

const struct backend_ops reset_ops = {
	.name = "reset",
	.help = "the kernel's reset of one function",
	.methods = methods,
	.verbs = verbs,
};
