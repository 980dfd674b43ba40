// SPDX-License-Identifier: GPL-2.0-or-later
#include "retry.h"

#include "pcidevfs/util.h"

enum {
	FREE = 3, /* failures without a pause */
	FORGET_AFTER = 3,
	FORGET_AFTER_KILLS = 20, /* a few can be anybody's, and nothing is lost by them */
	PAUSE_MS = 20,		 /* the first pause; each next one doubles */
};

struct patience {
	unsigned int pause_max_ms, last;
};

static const struct patience for_failed = { 5000, 20 };
/* Not a fault of the program: somebody kills faster than it can start, which will end, or there is
 * no memory, which may not end. A try costs little, and readers of the tree wait. */
static const struct patience for_killed = { 200, 100 };

void retry_note(struct retry *r, enum server_end how)
{
	if (how == SERVER_SERVED)
		*r = (struct retry){ 0 };
	else if (how == SERVER_KILLED)
		r->killed++;
	else
		r->failed++;
	if (how == SERVER_UNBORN)
		r->unborn++;
	r->last = how;
}

static unsigned int pause_of(const struct patience *p, unsigned int n)
{
	unsigned int pause = 0;

	for (; n > FREE; n--)
		back_off(&pause, PAUSE_MS, p->pause_max_ms);
	return pause;
}

unsigned int retry_pause_ms(const struct retry *r)
{
	unsigned int failed = pause_of(&for_failed, r->failed);
	unsigned int killed = pause_of(&for_killed, r->killed);

	return failed > killed ? failed : killed;
}

enum to_forget retry_forget(const struct retry *r)
{
	/* The kernel may have killed them because what they took over made them grow. */
	if (r->last == SERVER_KILLED)
		return r->killed == FORGET_AFTER_KILLS ? FORGET_MODEL : FORGET_NOTHING;
	if (r->unborn == FORGET_AFTER || r->failed == 2 * FORGET_AFTER)
		return FORGET_MODEL;
	return r->unborn == 3 * FORGET_AFTER || r->failed == 4 * FORGET_AFTER ? FORGET_OPERATIONS
									      : FORGET_NOTHING;
}

bool retry_hopeless(const struct retry *r)
{
	return r->failed >= for_failed.last || r->killed >= for_killed.last;
}
