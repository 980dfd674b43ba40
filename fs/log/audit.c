// SPDX-License-Identifier: GPL-2.0-or-later
#include "audit.h"

#include <stdio.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/say.h"

void audit_line(const char *line, size_t len, const struct err *err, uint64_t again)
{
	char count[32] = "";

	if ((!err->code && err->idle) || !say_journals())
		return;
	if (again)
		snprintf(count, sizeof(count), " again=%llu", (unsigned long long)again);
	say_at(err->code ? SAY_WARNING : SAY_NOTICE, "%.*s%s", (int)len - 1, line + 1, count);
}

static bool is_sick(const struct device *dev)
{
	return dev->state == STATE_UNHEALTHY || dev->state == STATE_STUCK;
}

void audit_note(struct member *m, const struct device *dev)
{
	m->claimed = dev->intent.claim[0];
	/* An operation tells nothing about the device's health. */
	if (!m->claimed || dev->state != STATE_BUSY)
		m->sick = m->claimed && is_sick(dev);
}

void audit_change(struct member *m, const struct change *c, const struct device *dev)
{
	const struct member was = *m;
	char id[KEY_NAME + 8];

	if (dev)
		audit_note(m, dev);
	else
		m->claimed = m->sick = false;
	if (!say_journals())
		return;
	key_id(&c->key, id);
	if (!dev && was.claimed)
		say_at(SAY_WARNING,
		       "%s is gone although it is claimed; intents shows what is stored of it", id);
	else if (m->sick && !was.sick)
		say_at(SAY_WARNING, "%s, claimed by %s, is %s: %s", id, dev->intent.claim,
		       state_name(dev->state), dev->reason);
	else if (was.sick && !m->sick && m->claimed)
		say_at(SAY_NOTICE, "%s, claimed by %s, is well again", id, dev->intent.claim);
}
