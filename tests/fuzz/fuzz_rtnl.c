// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a datagram of rtnetlink: what is told is of an interface, and is a reason. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../backend/rtnl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *ctx, const struct rtnl_use *use)
{
	size_t *told = ctx;

	if (use->index <= 0 || (!use->is_default && !use->is_global))
		abort();
	++*told;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool apart = false;
	size_t told = 0;
	int rc = rtnl_parse(data, size, &apart, check, &told);

	/* A way takes at least a next hop's header. */
	if (rc > 1 || rc < -4095 || told > size / 8)
		abort();
	return 0;
}
