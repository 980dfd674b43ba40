// SPDX-License-Identifier: GPL-2.0-or-later
/* When all records are matched again, and who waits for that. Takes only the lock `turn`. */
#include <errno.h>

#include "intents.h"
#include "pcidevfs/model.h"
#include "pcidevfs/thread.h"

#define LOOK_MS 30000

/* The engine is called with turn held: after a stop nobody calls it. */
void intents_kick(struct intents *in)
{
	const struct actor self = { .opener.reserve = true };
	bool start;

	pthread_mutex_lock(&in->turn);
	start = in->e && !in->passing && !in->stopped;
	in->again = !start;
	if (start) /* without memory the next change tries again */
		in->passing = !engine_defer(in->e, &self, in->run_passes, in);
	pthread_mutex_unlock(&in->turn);
}

void intents_changed(void *ctx, const struct change *changes, size_t n)
{
	bool kick = false;

	for (size_t i = 0; i < n; i++)
		kick |= changes[i].action != ACTION_CHANGE || (changes[i].bits & ~CH_WRITTEN);
	if (kick)
		intents_kick(ctx);
}

int intents_await_look(struct intents *in, struct err *err)
{
	struct timespec until = in_ms(LOOK_MS);
	bool looked;
	int rc = 0;

	pthread_mutex_lock(&in->turn);
	while (!in->looked && !in->stopped && !rc)
		rc = pthread_cond_timedwait(&in->quiet, &in->turn, &until);
	looked = in->looked;
	pthread_mutex_unlock(&in->turn);
	return looked ? 0
		      : fail(err, EAGAIN,
			     "it is not known yet which of the stored devices are here; write again");
}

bool intents_settled(struct intents *in, unsigned int ms)
{
	struct timespec until = in_ms(ms);
	bool settled;
	int rc = 0;

	pthread_mutex_lock(&in->turn);
	while ((!in->passed || in->passing || in->restoring) && !in->stopped && !rc)
		rc = pthread_cond_timedwait(&in->quiet, &in->turn, &until);
	settled = in->passed && !in->passing && !in->restoring;
	pthread_mutex_unlock(&in->turn);
	return settled;
}
