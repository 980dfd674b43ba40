// SPDX-License-Identifier: GPL-2.0-or-later
/* The question of udev before a driver may meet a device: reads only the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "intent_file.h"
#include "persist.h"
#include "pcidevfs/err.h"

int intents_early(const char *state_dir, const struct device *dev, const struct device *pf,
		  char ret[static DRIVER_NAME], struct err *err)
{
	_close_ int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct records rs = { 0 };
	const struct device *card = pf ? pf : dev;
	struct identity id;
	char *text = NULL;
	size_t len = 0;
	int found = 0, rc = dir < 0 ? -errno : intent_read(dir, &text, &len);

	if (rc)
		return fail(err, -rc, "%s/" INTENT_FILE ": %s", state_dir, strerror(-rc));
	rc = intent_parse(text, len, &rs, err);
	free(text);
	if (rc)
		return fail_wrap(err, "%s/" INTENT_FILE, state_dir);
	identity_of(&id, dev, pf);
	ret[0] = '\0';
	/* A card that moved is left to the daemon, which knows whether its serial is unique. */
	for (size_t i = 0; i < rs.n; i++) {
		const struct record *r = rs.v[i];

		/* if it does not answer it may be the same card */
		if (!card->facts.serial_known)
			id.serial = r->id.serial;

		for (size_t k = 0; persists[k] && identity_eq(&r->id, &id); k++)
			if (persists[k]->early && persist_has(persists[k], &r->intent)) {
				str_copy(ret, DRIVER_NAME, persists[k]->early(r));
				found = 1;
			}
	}
	records_free(&rs);
	return found;
}
