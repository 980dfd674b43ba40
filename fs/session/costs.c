// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of requests: how many took how long, and the longest one. */
#include "costs.h"

#include <time.h>

#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

uint64_t costs_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void costs_note(struct costs *c, uint32_t opcode, uint64_t node, uint64_t ns)
{
	c->requests++;
	c->of_us[ns / 1000 < COST_US ? ns / 1000 : COST_US]++;
	if (ns <= c->longest_ns)
		return;
	c->longest_ns = ns;
	c->opcode = opcode;
	c->node = node;
}

/* The time that 999 of 1000 requests do not exceed. */
static unsigned int cost_p999(const struct costs *c)
{
	uint64_t seen = 0;
	unsigned int us = 0;

	while (us < COST_US && (seen += c->of_us[us]) * 1000 < c->requests * 999)
		us++;
	return us + 1;
}

void costs_tell(const struct costs *c)
{
	if (c->requests)
		say("requests=%llu p999_us=%u longest_us=%.1f opcode=%u node=%llx",
		    (unsigned long long)c->requests, cost_p999(c), (double)c->longest_ns / 1e3,
		    c->opcode, (unsigned long long)c->node);
}
