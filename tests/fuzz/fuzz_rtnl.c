// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a datagram of rtnetlink: what is told is of an interface, and is a reason; a way out
 * that is told is news when it comes unasked; and as the answer about VFs. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/guard/rtnl.h"
#include "pcidevfs/vfconf.h"

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

static void check_vf(void *ctx, unsigned int vf, const char *conf)
{
	char text[VFCONF_TEXT] = "", value[VFCONF_VALUE], again[VFCONF_VALUE];

	for (enum vfconf which = 0; which < VFCONF_COUNT; which++) {
		vfconf_get(conf, which, value);
		if (value[0])
			vfconf_add(text, which, value);
		/* Each could have been written, but for a group's address and a reserved VLAN. */
		if (value[0] && vfconf_parse(which, value, again) && which > VFCONF_VLAN)
			abort();
	}
	if (vf > UINT16_MAX || strcmp(text, conf) != 0)
		abort();
	(*(size_t *)ctx)++;
}

/* The first four bytes are the request's number. */
static void check_answer(const uint8_t *data, size_t size)
{
	size_t n = 0;
	struct rtnl_answer answer = { .found = check_vf, .ctx = &n };
	uint32_t seq;
	int rc;

	if (size < sizeof(seq))
		return;
	memcpy(&seq, data, sizeof(seq));
	rc = rtnl_parse_answer(data + sizeof(seq), size - sizeof(seq), seq, &answer);
	if (rc > 1 || rc < -4095 || n > size / sizeof(struct ifla_vf_mac) ||
	    memchr(answer.said, 0, sizeof(answer.said)) == NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool apart = false;
	struct told told = { 0 };
	char function[KEY_NAME];
	struct pci_addr addr;
	int rc = rtnl_parse(data, size, &apart, check, &told);

	check_answer(data, size);
	/* A way takes at least a next hop's header. */
	if (rc > 1 || rc < -4095 || told.n > size / 8 ||
	    (told.ways && !rtnl_is_news(data, size, function)))
		abort();
	if (rtnl_is_news(data, size, function) ? function[0] && !pci_addr_parse(function, &addr)
					       : function[0])
		abort();
	return 0;
}
