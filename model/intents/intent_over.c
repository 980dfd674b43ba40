// SPDX-License-Identifier: GPL-2.0-or-later
/* That a pod has a device is on the disk before the pod has it. That the pod is over is written
 * some seconds later, so the next pod, which mostly comes at once, does not wait for the disk.
 * After a crash in between the device still counts as allocated, to an unknown pod. */
#include "intents.h"

#define OVER_US 3000000

static bool is_due(const struct record *r, bool last)
{
	return r->over && (last || now_us() - r->over >= OVER_US);
}

void over_put_off(struct intents *in)
{
	pthread_mutex_lock(&in->turn);
	in->over = true;
	pthread_mutex_unlock(&in->turn);
	pthread_cond_signal(&in->asks);
}

void over_write(struct intents *in, bool last)
{
	struct rewrite w;
	bool any = false;

	for (size_t i = 0; i < in->rs.n; i++)
		any |= is_due(in->rs.v[i], last);
	if (!any || rewrite_begin(&w, in, NULL))
		return;
	for (size_t i = 0; i < in->rs.n; i++) {
		struct record *r = is_due(in->rs.v[i], last) ? rewrite_edit(&w, i) : NULL;

		if (!r)
			continue;
		r->intent.given_as[0] = '\0';
		r->over = 0;
	}
	rewrite_commit(&w, NULL); /* the next pass retries after an error */
}
