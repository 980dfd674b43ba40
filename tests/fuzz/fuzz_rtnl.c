// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a datagram of rtnetlink: what is told is of an interface, and is a reason; a way out
 * that is told is news when it comes unasked. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "backend/guard/rtnl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	size_t n, ways;
};

static void check(void *ctx, const struct rtnl_use *use)
{
	struct told *told = ctx;

	if (use->index <= 0 || (!use->is_default && !use->is_global))
		abort();
	told->n++;
	told->ways += use->is_default;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool apart = false;
	struct told told = { 0 };
	char function[KEY_NAME];
	struct pci_addr addr;
	int rc = rtnl_parse(data, size, &apart, check, &told);

	/* A way takes at least a next hop's header. */
	if (rc > 1 || rc < -4095 || told.n > size / 8 ||
	    (told.ways && !rtnl_is_news(data, size, function)))
		abort();
	if (rtnl_is_news(data, size, function) ? function[0] && !pci_addr_parse(function, &addr)
					       : function[0])
		abort();
	return 0;
}
