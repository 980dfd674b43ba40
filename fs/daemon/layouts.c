// SPDX-License-Identifier: GPL-2.0-or-later
#include "fs/ctl/ctl.h"
#include "layouts.h"

#include <errno.h>
#include <string.h>

#include "fs/files.h"
#include "fs/journal.h"
#include "fs/objects.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/region.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "fs/session/session.h"
#include "fs/stash.h"
#include "takeover.h"
#include "fs/tree.h"

/* By region, then those without a region. */
static const struct region_head *const layouts[] = {
	[STASH_SESSION] = &session_layout,
	[STASH_MODEL] = &model_layout,
	[STASH_OBJECTS] = &objects_layout,
	[STASH_CTL] = &ctl_layout,
	[STASH_EVENTS] = &events_layout,
	[STASH_LOG] = &record_layout,
	[STASH_FILES] = &files_layout,
	[STASH_JOURNAL] = &journal_layout,
	[STASH_INTENTS] = &copy_layout,
	[STASH_COUNT] = &stash_layout,
	&log_layout,
	&engine_layout,
	&estate_layout,
};

void layouts_print(char text[static LAYOUTS_TEXT])
{
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(layouts) && n < LAYOUTS_TEXT; i++)
		n += (size_t)snprintf(text + n, LAYOUTS_TEXT - n, "%s%.8s=%u/%u", i ? " " : "",
				      layouts[i]->magic, layouts[i]->abi, layouts[i]->size);
}

int layouts_check(const char *theirs, struct err *err)
{
	char text[LAYOUTS_TEXT];
	const char *ours = text;
	size_t n = 0;

	layouts_print(text);
	if (!strcmp(ours, theirs))
		return 0;
	/* Finds the beginning of the first word that differs. */
	for (size_t i = 0; ours[i] && ours[i] == theirs[i]; i++)
		if (ours[i] == ' ')
			n = i + 1;
	ours += n;
	theirs += n;
	return fail(err, EPROTO,
		    "it keeps %.*s where the mount has %.*s; end the daemon and start this "
		    "one",
		    (int)strcspn(ours, " "), ours, (int)strcspn(theirs, " "), theirs);
}
