// SPDX-License-Identifier: GPL-2.0-or-later
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/ops.h"
#include "budget.h"
#include "mig_plan.h"
#include "nvml_ask.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/scheduler.h"
#include "pcidevfs/util.h"

#define SETTING_MS 30000

struct card_setting {
	const struct verb *verb; /* called as the file */
	size_t fact, intent;	 /* where a device has its text */
	const char *initial;	 /* of a driver that was loaded anew */
	const char *called;
};

static const struct card_setting settings[] = {
	{ &vgpu_mixed_sizes, offsetof(struct device, facts.mixed_sizes),
	  offsetof(struct device, intent.mixed_sizes), "0", "vGPUs of different sizes" },
	{ &vgpu_scheduler, offsetof(struct device, facts.scheduler),
	  offsetof(struct device, intent.scheduler), SCHEDULER_INITIAL, "a scheduler of vGPUs" },
};

static const char *text_at(const struct device *dev, size_t at)
{
	return (const char *)dev + at;
}

static bool reads(const struct card_setting *k, const char *now, const char *asked)
{
	return k->verb == &vgpu_scheduler ? scheduler_fits(now, asked) : !strcmp(now, asked);
}

static const struct card_setting *setting_of(const char *file)
{
	size_t i = 0;

	while (strcmp(settings[i].verb->name, file))
		i++;
	return &settings[i];
}

/* ---- steps */

/* ARR: 0 for what the driver likes, 1 off, 2 on. With it a frequency stands for the time slice, and
 * 0 is the driver's own value of each number (spec/nvml.md 3.3, the NVML reference). */
static int print_request(const struct step *step, const char *value, char *ret, size_t size)
{
	struct scheduler s;

	if (step->verb == &vgpu_mixed_sizes) {
		snprintf(ret, size, "set-mixed-sizes %s %s", step->dev.name, value);
		return 0;
	}
	if (scheduler_parse(value, &s))
		return -EINVAL;
	if (s.arr == 1)
		snprintf(ret, size, "set-scheduler %s %s 2 %u %u", step->dev.name, s.policy,
			 s.factor, s.timeslice_us ? 1000000 / s.timeslice_us : 0);
	else
		snprintf(ret, size, "set-scheduler %s %s %d %u 0", step->dev.name, s.policy,
			 s.arr + 1, s.timeslice_us * 1000);
	return 0;
}

static int set(struct backend *b, struct step *step, const char *value, unsigned int ms,
	       struct err *err)
{
	struct out answer = { 0 };
	char request[160];
	int rc = print_request(step, value, request, sizeof(request));

	if (rc)
		return fail(err, -rc, "\"%s\" is not a value of %s", value, step->verb->name);
	rc = nvml_ask(b, step, ms, request, &answer, err);
	out_free(&answer);
	return rc;
}

void settings_record(struct backend *b, struct step *step, size_t fact)
{
	struct device dev;

	if (model_copy(b->model, &step->dev, &dev))
		STR_COPY(step->former, text_at(&dev, fact));
	step->recorded = true;
}

static int learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	settings_record(b, step, setting_of(step->verb->name)->fact);
	return 0;
}

static int run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return set(b, step, step->value, ms, err);
}

/* Whatever refused it may refuse that too, where nothing has changed. */
static int undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const uint64_t until = now_ms() + ms;
	char request[64], mixed[2], scheduler[SCHEDULER_TEXT];
	struct out lines = { 0 };
	int rc;

	if (!step->former[0])
		return 0;
	snprintf(request, sizeof(request), "card %s", step->dev.name);
	rc = nvml_ask(b, step, ms, request, &lines, err);
	settings_read(out_text(&lines), mixed, scheduler);
	out_free(&lines);
	if (rc || !strcmp(step->verb == &vgpu_scheduler ? scheduler : mixed, step->former))
		return rc;
	return set(b, step, step->former, until > now_ms() ? (unsigned int)(until - now_ms()) : 1,
		   err);
}

#define SETTING_VERB(file)                                                                         \
	{                                                                                          \
		.of = "settings", .name = (file), .deadline_ms = SETTING_MS, .records = true,      \
		.partial = true, .lanes = true, .learn = learn, .run = run, .undo = undo           \
	}

const struct verb vgpu_mixed_sizes = SETTING_VERB("mixed_sizes"),
		  vgpu_scheduler = SETTING_VERB("scheduler");

/* ---- around the making of VFs */

int settings_plan_away(const struct device *dev, struct plan *plan, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !rc; i++) {
		const struct card_setting *k = &settings[i];
		const char *now = text_at(dev, k->fact);

		if (now[0] && strcmp(now, k->initial))
			rc = plan_step(plan, k->verb, &dev->key, k->initial, err);
	}
	return rc;
}

int settings_plan_back(const struct device *dev, struct plan *plan, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !rc; i++) {
		const struct card_setting *k = &settings[i];
		const char *now = text_at(dev, k->fact), *asked = text_at(dev, k->intent);

		asked = asked[0] ? asked : now;
		if (now[0] && strcmp(asked, k->initial) &&
		    !plan_requested(plan, &dev->key, k->verb->name))
			rc = plan_step(plan, k->verb, &dev->key, asked, err);
	}
	return rc;
}

/* ---- requests */

/* Of the card as a whole, not of what is asked. */
static int refuse_lack(const struct device *dev, const struct card_setting *k, struct err *err)
{
	const struct facts *f = &dev->facts;
	const char *name = dev->key.name;

	if (f->mig_lack[0] || !f->mig.len)
		return mig_refuse_unknown(dev, k->verb->name, err);
	if (f->mig_mode[0] == '1')
		return fail(err, EOPNOTSUPP,
			    "MIG mode of %s is on, and its driver has no %s then; write 0 to its "
			    "mig/mode first",
			    name, k->verb->name);
	if (!text_at(dev, k->fact)[0])
		return fail(err, EOPNOTSUPP, "%s, or its driver, does not offer %s", name,
			    k->called);
	return 0;
}

static int refuse_vgpus(struct model *m, const struct device *dev, const struct card_setting *k,
			const struct plan *plan, struct err *err)
{
	_free_ struct budget *b = budget_new(m, dev, plan);
	const char *name = dev->key.name;

	if (!b)
		return fail_nomem(err);
	if (b->n)
		return fail(err, EBUSY,
			    "%s of %s changes only without vGPUs, and %s is %s; write none to its "
			    "profile first",
			    k->verb->name, name, b->v[0].name, b->v[0].type);
	if (dev->facts.num_vfs <= 0 && !plan_requested(plan, &dev->key, "sriov_numvfs"))
		return fail(err, EOPNOTSUPP,
			    "%s has no VFs, and %s would be lost with making them; write 1 to its "
			    "enabled first",
			    name, k->verb->name);
	return 0;
}

/* Of what its driver tells that it can. */
struct scheduler_can {
	unsigned int min_ns, max_ns, arr, min_hz, max_hz, min_factor, max_factor;
	char policies[64];
};

static bool scheduler_can(struct model *m, const struct device *dev, struct scheduler_can *ret)
{
	struct out lines = { 0 };
	const char *line;
	bool told;

	model_text(m, &dev->facts.mig, &lines);
	line = strstr(out_text(&lines), "\nscheduler_can ");
	told = line && sscanf(line + 1, "scheduler_can %10u %10u %9u %10u %10u %10u %10u %63[^\n]",
			      &ret->min_ns, &ret->max_ns, &ret->arr, &ret->min_hz, &ret->max_hz,
			      &ret->min_factor, &ret->max_factor, ret->policies) == 8;
	out_free(&lines);
	return told;
}

/* With ARR the driver has bounds of the frequency, of which it may tell none. */
static int refuse_slice(const char *name, const struct scheduler *s,
			const struct scheduler_can *can, struct err *err)
{
	unsigned int min = can->min_ns / 1000, max = can->max_ns / 1000;

	if (s->arr == 1 && can->min_hz && can->max_hz) {
		min = (1000000 + can->max_hz - 1) / can->max_hz;
		max = 1000000 / can->min_hz;
	}
	if (!s->timeslice_us || (s->timeslice_us >= min && s->timeslice_us <= max))
		return 0;
	return fail(err, ERANGE, "a time slice of %s is from %u to %u us%s, not %u", name, min, max,
		    s->arr == 1 ? " with arr=1" : "", s->timeslice_us);
}

/* A driver that does not tell decides by itself. */
static int refuse_scheduler(struct model *m, const struct device *dev, const char *value,
			    struct err *err)
{
	const char *name = dev->key.name;
	struct scheduler_can can;
	struct scheduler s;

	if (scheduler_parse(value, &s))
		return fail(err, EINVAL, "\"%s\" is not a scheduler of vGPUs", value);
	if (!scheduler_can(m, dev, &can))
		return 0;
	if (!strstr(can.policies, s.policy))
		return fail(err, EOPNOTSUPP, "%s has no scheduler %s; it has %s", name, s.policy,
			    can.policies);
	if (s.arr == 1 && !can.arr)
		return fail(err, EOPNOTSUPP, "%s has no adaptive round robin; leave out arr=1",
			    name);
	if (s.factor && (s.factor < can.min_factor || s.factor > can.max_factor))
		return fail(err, ERANGE, "avg_factor of %s is from %u to %u, not %u", name,
			    can.min_factor, can.max_factor, s.factor);
	return refuse_slice(name, &s, &can, err);
}

/* How the other one is behind the plan. */
static const char *other_behind(const struct device *dev, const struct plan *plan,
				const struct card_setting *k)
{
	const struct card_setting *other = &settings[k == &settings[0]];
	const struct request *r = plan_requested(plan, &dev->key, other->verb->name);

	return r ? r->value : text_at(dev, other->fact);
}

/* NVIDIA's vGPU guide: fixed shares are for vGPUs of one size (spec/nvml.md 3.3). */
static int refuse_both(const struct device *dev, const struct card_setting *k, const char *value,
		       const struct plan *plan, struct err *err)
{
	const char *other = other_behind(dev, plan, k);
	const char *scheduler = k->verb == &vgpu_scheduler ? value : other;

	if (strncmp(scheduler, "fixed-share", 11) || *(scheduler == value ? other : value) != '1')
		return 0;
	return fail(err, EINVAL,
		    "%s cannot have mixed_sizes together with the scheduler fixed-share; %s",
		    dev->key.name,
		    scheduler == value ? "write equal-share, or 0 to mixed_sizes first"
				       : "write equal-share to scheduler first");
}

static int expand(struct model *m, const struct device *dev, const struct request *request,
		  struct plan *plan, struct err *err)
{
	const struct card_setting *k = setting_of(request->file);
	const char *now = text_at(dev, k->fact);
	int rc = plan_touch(plan, &dev->key, err) ?: mig_refuse(dev, request, err);

	if (rc || reads(k, now, request->value))
		return rc;
	if (!now[0] && !strcmp(request->value, k->initial) && dev->facts.mig.len)
		return 0; /* it has nothing else */
	rc = refuse_lack(dev, k, err);
	if (!rc && k->verb == &vgpu_scheduler)
		rc = refuse_scheduler(m, dev, request->value, err);
	rc = rc ? rc : refuse_both(dev, k, request->value, plan, err);
	rc = rc ? rc : refuse_vgpus(m, dev, k, plan, err);
	return rc ? rc : plan_step(plan, k->verb, &dev->key, request->value, err);
}

static bool down(struct model *m, const struct request *request)
{
	return !strcmp(request->value, setting_of(request->file)->initial);
}

static int settle(struct model *m, struct device *dev, const struct request *request,
		  struct err *err)
{
	const struct card_setting *k = setting_of(request->file);
	const char *now = text_at(dev, k->fact);
	bool initial = down(m, request);

	if (!reads(k, now, request->value) && (now[0] || !initial))
		return fail(err, EIO,
			    "%s of %s is %s and not %s although the driver reported success; dmesg "
			    "may say why",
			    k->verb->name, dev->key.name, now[0] ? now : "none", request->value);
	/* What a driver begins with is not stored. */
	str_copy((char *)dev + k->intent,
		 k->verb == &vgpu_scheduler ? SCHEDULER_TEXT : sizeof(dev->intent.mixed_sizes),
		 initial ? "" : request->value);
	return 0;
}

/* Behind the VFs, and before instances and types. */
#define SETTING_METHOD(name)                                                                       \
	{                                                                                          \
		.file = (name), .bus = BUS_PCI, .rank = 54, .barrier = true, .told = true,         \
		.caps = CAP_SETTINGS, .down = down, .expand = expand, .settle = settle             \
	}
static const struct method mixed_sizes_method = SETTING_METHOD("mixed_sizes"),
			   scheduler_method = SETTING_METHOD("scheduler");

static const struct method *const methods[] = { &mixed_sizes_method, &scheduler_method, NULL };
static const struct verb *const verbs[] = { &vgpu_mixed_sizes, &vgpu_scheduler, NULL };

const struct backend_ops settings_ops = {
	.name = "settings",
	.help = "mixed vGPU sizes and the vGPU scheduler of a GPU, by the driver's library NVML",
	.methods = methods,
	.verbs = verbs,
};
