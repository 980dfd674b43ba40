// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process that was killed had begun is carried on by the next. */
#include <string.h>

#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

static void nobody_waits(void *ctx, const struct err *err)
{
	(void)ctx;
	(void)err;
}

/* With the model locked: the wish that a former process was carrying out on this device. */
static bool unfinished(const struct device *d, struct wish *ret)
{
	const char *blank = strchr(d->busy, ' ');

	if (!d->busy_wish || !blank || blank - d->busy >= WISH_FILE)
		return false;
	*ret = (struct wish){ .dev = d->key, .force = d->busy_force };
	memcpy(ret->file, d->busy, (size_t)(blank - d->busy));
	STR_COPY(ret->value, strcmp(blank + 1, "none") ? blank + 1 : "");
	return true;
}

void engine_recover(struct engine *e)
{
	struct model *m = engine_model(e);
	struct actor us = { .comm = "pcidevfsd" };
	struct wish wishes[64];
	const struct device *found;
	size_t n = 0, pos = 0;

	model_lock(m);
	while ((found = model_next(m, &pos))) {
		struct key key = found->key;
		struct device *d;

		if (!found->busy[0])
			continue;
		if (n < ARRAY_SIZE(wishes) && unfinished(found, &wishes[n]))
			n++;
		d = model_edit(m, &key, false);
		d->busy[0] = '\0';
		d->busy_wish = d->busy_force = false;
	}
	model_publish(m);
	model_unlock(m);
	for (size_t i = 0; i < n; i++)
		txn_submit(e, &wishes[i], 1, &us, nobody_waits, NULL);
}
