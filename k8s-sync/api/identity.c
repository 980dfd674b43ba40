// SPDX-License-Identifier: GPL-2.0-or-later
#include "identity.h"

#include "credential.h"
#include "exec.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

enum {
	DEADLINE_MS = 30000,
	LIFE_MIN_MS = 60000, /* of a credential, whatever the clock says of its end */
};

static uint64_t until(uint64_t ends)
{
	uint64_t now = now_real_ns() / 1000000000;

	if (!ends)
		return UINT64_MAX;
	return now_ms() + (ends > now + LIFE_MIN_MS / 1000 ? (ends - now) * 1000 : LIFE_MIN_MS);
}

static void on_credential(void *ctx, const char *text, size_t size, const struct err *why)
{
	struct identity *i = ctx;
	struct err err = why ? *why : (struct err){ 0 };
	uint64_t ends = 0;

	i->run = NULL;
	if (!why && credential_take(&i->access, text, size, &ends, &err))
		fail_wrap(&err, "exec: %.128s", i->access.exec->argv[0]);
	if (!err.code) {
		i->number++;
		i->until = until(ends);
	}
	i->done(i, err.code ? &err : NULL);
}

bool identity_ready(struct identity *i)
{
	struct err err = { 0 };

	i->number += access_refresh(&i->access);
	if (!i->access.exec || now_ms() < i->until)
		return true;
	if (!i->run &&
	    exec_start(i->loop, i->access.exec, DEADLINE_MS, on_credential, i, &i->run, &err))
		i->done(i, &err);
	return false;
}

bool identity_renew(struct identity *i, unsigned int refused)
{
	if (refused != i->number)
		return true;
	i->until = 0;
	i->access.files[SECRET_TOKEN].ino = 0;
	i->number += access_refresh(&i->access);
	return i->access.exec || refused != i->number;
}

void identity_free(struct identity *i)
{
	exec_cancel(i->run);
	access_free(&i->access);
}
