// SPDX-License-Identifier: GPL-2.0-or-later
/* Why the host needed a device that was claimed by force: restore may take it again for these
 * causes, and for no others. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "use.h"

#define CAUSE_MAX 80

/* Takes the next cause of facts.causes. */
static bool next_cause(const char **text, char ret[static CAUSE_MAX])
{
	const char *at = strstr(*text, "\n" CRITICAL_CAUSE);
	size_t n;

	if (!at)
		return false;
	at += strlen("\n" CRITICAL_CAUSE);
	n = strcspn(at, "\n");
	snprintf(ret, CAUSE_MAX, "%.*s", (int)n, at);
	*text = at + n;
	return true;
}

static bool has_cause(const char *forced, const char *cause)
{
	size_t n = strlen(cause);

	while (*forced) {
		size_t len = strcspn(forced, ";");

		if (len == n && !strncmp(forced, cause, n))
			return true;
		forced += len;
		forced += strspn(forced, "; ");
	}
	return false;
}

/* The first cause that was not forced; false: all were. */
static bool find_other(struct model *m, const struct device *dev, char ret[static CAUSE_MAX])
{
	struct out o = { 0 };
	const char *text;
	bool any = false, other = false;

	model_text(m, &dev->facts.causes, &o);
	for (text = out_text(&o); !other && next_cause(&text, ret); any = true)
		other = !has_cause(dev->intent.forced, ret);
	if (!any)
		snprintf(ret, CAUSE_MAX, "unknown");
	other |= !any || o.failed;
	out_free(&o);
	return other;
}

void note_forced(struct model *m, struct device *edit, const struct request *request)
{
	char *forced = edit->intent.forced, cause[CAUSE_MAX];
	struct out o = { 0 };
	const char *text;
	size_t n = 0;

	if (request->restores || (edit->intent.claim[0] && !request->force))
		return;
	if (!request->force || !edit->facts.critical[0] || edit->facts.use == USE_GUEST) {
		if (!edit->intent.claim[0])
			forced[0] = '\0';
		return;
	}
	forced[0] = '\0';
	model_text(m, &edit->facts.causes, &o);
	for (text = out_text(&o); next_cause(&text, cause);) {
		if (has_cause(forced, cause))
			continue;
		/* Too many: restore will ask for force again. */
		if (n + strlen(cause) + 3 > FORCED_TEXT)
			break;
		n += (size_t)sprintf(forced + n, "%s%s", n ? "; " : "", cause);
	}
	out_free(&o);
}

int refuse_needed_claim(struct model *m, const struct device *dev, const struct request *request,
			struct err *err)
{
	const char *forced = dev->intent.forced;
	bool asks = request->restores && forced[0];
	size_t first = strcspn(forced, ";");
	int rc = refuse_needed(dev, request->force, asks ? NULL : err);
	char other[CAUSE_MAX], id[KEY_NAME + 8];

	if (!rc || !asks)
		return rc;
	if (!find_other(m, dev, other))
		return 0;
	return fail(
		err, EPERM,
		"the host needs %s for another reason now (%s) than when its claim was forced (%.*s%s); "
		"it stays with the host unless ctl has a line \"force %s\"",
		dev->key.name, other, (int)first, forced, forced[first] ? " and others" : "",
		key_id(&dev->key, id));
}

bool is_forced(struct model *m, const struct device *dev)
{
	char other[CAUSE_MAX];

	return dev->intent.forced[0] && !find_other(m, dev, other);
}
