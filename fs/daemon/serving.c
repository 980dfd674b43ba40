// SPDX-License-Identifier: GPL-2.0-or-later
#include "serving.h"

#include "confined.h"
#include "fs/session/session.h"
#include "fs/tree.h"
#include "options.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

void serving_health(void *ctx, struct out *o)
{
	struct daemon *d = ctx;

	session_health(d->session, o);
	out_printf(o, "restarts=%u", d->from.restarts);
	if (d->from.restarted_at) {
		out_put(o, " ", 1);
		out_time(o, "last", (uint64_t)d->from.restarted_at * 1000000000);
		out_pair(o, "cause", d->from.restarted_for);
	}
	out_printf(o, "\nmount");
	out_pair(o, "path", d->o->mountpoint);
	out_printf(o, " version=%s\n", VERSION);
	instance_health(&d->instance, o);
	confined_health(o);
	backend_health(d->backend, o);
	intents_health(d->intents, o);
	engine_health(d->engine, o);
}

void serving_metrics(void *ctx, struct out *o)
{
	struct daemon *d = ctx;

	health_metric(o, "state", intents_state(d->intents));
	health_metric(o, "iommu", backend_has_iommu(d->backend) ? "on" : "off");
	confined_metrics(o);
}

int serving_tell_damaged(const struct daemon *d)
{
	char text[600];

	if (!d->intents || !intents_damaged(d->intents, text, sizeof(text)))
		return 0;
	say("%s", text);
	return 1;
}

void serving_tell_unusable(const struct daemon *d)
{
	char text[ERR_TEXT];

	if (intents_unusable(d->intents, text, sizeof(text)))
		say("%s", text);
}
