// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of our client certificate, of which nobody hears until it is too late. */
#include <stdio.h>
#include <time.h>

#include "k8s-sync/api/expiry.h"
#include "k8s-sync/api/http.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	LOOK_MS = 20000, /* another one may be there */
	WARN_S = 30 * 86400,
};

static void on_look(struct source *source)
{
	struct sync *s = container_of(source, struct sync, certificate);
	uint64_t now = now_real_ns() / 1000000000, ends = expiry_of(api_certificate(s->api));
	char text[ERR_TEXT] = "", day[16];
	time_t t = (time_t)ends;
	struct tm tm;

	if (ends && ends < now + WARN_S && gmtime_r(&t, &tm)) {
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
		snprintf(text, sizeof(text),
			 "the client certificate of pcidevfs-sync %s on %s; make another one with sync-credential",
			 ends > now ? "ends" : "ended", day);
	}
	sync_say(s, SAY_CERTIFICATE, text);
	source->at = now_ms() + LOOK_MS;
}

int certificate_watch(struct sync *s, struct err *err)
{
	s->certificate = (struct source){ .fd = -1, .due = on_look, .at = 0 };
	return loop_add(&s->loop, &s->certificate, err);
}
