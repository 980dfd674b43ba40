// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cluster.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/http.h"

enum {
	AGAIN_MS = 50, /* somebody else was first: by then the watch tells what it did */
	AGAIN_MAX_MS = 60000,
};

/* What is to be done may be another thing by then. */
static void wait_until(struct patching *p, uint64_t at)
{
	p->at = at;
	source_by(&p->c->work, at);
}

static void on_patched(struct call *call, const struct reply *r)
{
	struct patching *p = call->ctx;

	call_free(call);
	p->call = NULL;
	if (r->away || r->status == 401) {
		cluster_touch(p->c);
	} else if (r->err.code) {
		p->tries++;
		wait_until(p, now_ms() + back_off(&p->pause, AGAIN_MS, AGAIN_MAX_MS));
	} else {
		p->tries = p->pause = 0;
		brake_taken(&p->brake, now_ms());
		cluster_touch(p->c);
	}
	p->done(p, r);
}

bool patching_send(struct patching *p, struct out *path, json_object *patch, uint64_t change)
{
	uint64_t calm = brake_until(&p->brake, change), at = calm > p->at ? calm : p->at;

	if (!p->call && now_ms() >= at) {
		p->call = call_new("PATCH", path, "application/json-patch+json",
				   strdup(js_line(patch)));
		if (p->call) {
			brake_send(&p->brake, change);
			p->call->ctx = p;
			p->call->done = on_patched;
			p->call->rank = RANK_SOON;
			api_send(p->c->api, p->call);
			return true;
		}
		at = now_ms() + AGAIN_MS;
	}
	out_free(path);
	if (!p->call)
		source_by(&p->c->work, at);
	return false;
}

void patching_close(struct patching *p)
{
	if (p->call)
		api_cancel(p->c->api, p->call);
}
