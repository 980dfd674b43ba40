// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "match.h"
#include "pcidevfs/device.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct candidate candidate(const char *path, uint64_t ids, uint64_t serial, int vf)
{
	struct candidate s = { .id = { .ids = ids, .serial = serial, .vf = vf }, .birth = 1 };

	STR_COPY(s.id.path, path);
	return s;
}

static enum match match(const struct candidate *wanted, const struct candidate *candidates,
			size_t n, size_t *at)
{
	*at = 99;
	return identity_match(&wanted->id, candidates, n, at);
}

DEFINE_TEST(identity_without_serial_is_its_place)
{
	struct candidate wanted = candidate("0000:00/1c.4/00.0", 1, 0, -1);
	struct candidate candidates[] = { candidate("0000:00/1c.5/00.0", 1, 0, -1),
				candidate("0000:00/1c.4/00.0", 1, 0, -1) };
	size_t at;

	CHECK_EQ(match(&wanted, candidates, 2, &at), MATCH_HERE);
	CHECK_EQ(at, 1);
	candidates[1].id.ids = 2; /* another card in the slot */
	CHECK_EQ(match(&wanted, candidates, 2, &at), MATCH_MISMATCH);
	CHECK_EQ(at, 1);
	candidates[1] = candidate("0000:00/1c.4/00.0", 1, 77, -1);
	CHECK_EQ(match(&wanted, candidates, 2, &at), MATCH_MISMATCH);
	CHECK_EQ(match(&wanted, candidates, 1, &at), MATCH_NONE);
	CHECK_EQ(match(&wanted, NULL, 0, &at), MATCH_NONE);
}

DEFINE_TEST(identity_with_serial_is_followed)
{
	struct candidate wanted = candidate("0000:00/1c.4/00.1", 1, 77, -1);
	struct candidate moved = candidate("0000:00/01.0/00.1", 1, 77, -1),
		    other = candidate("0000:00/1c.4/00.1", 1, 78, -1);
	struct candidate candidates[] = { candidate("0000:00/01.0/00.0", 1, 77, -1), moved, other };
	size_t at;

	/* The card's other function has the same serial. */
	CHECK_EQ(match(&wanted, candidates, 3, &at), MATCH_HERE);
	CHECK_EQ(at, 1);
	wanted.id.cloned = true; /* two had it once */
	CHECK_EQ(match(&wanted, candidates, 2, &at), MATCH_NONE);
	wanted.id.cloned = false;
	/* Cloned serials tell nothing: only the same place does. */
	candidates[2] = candidate("0000:00/02.0/00.1", 1, 77, -1);
	CHECK_EQ(match(&wanted, candidates, 3, &at), MATCH_NONE);
	candidates[2] = candidate("0000:00/1c.4/00.1", 1, 77, -1);
	CHECK_EQ(match(&wanted, candidates, 3, &at), MATCH_HERE);
	CHECK_EQ(at, 2);
	candidates[1] = candidate("0000:00/01.0/00.1", 1, 79, -1);
	candidates[2] = candidate("0000:00/1c.4/00.1", 1, 80, -1);
	CHECK_EQ(match(&wanted, candidates, 3, &at), MATCH_MISMATCH);
	CHECK_EQ(at, 2);
	/* A serial that is not read yet may still be the one. */
	candidates[2] = candidate("0000:00/1c.4/00.1", 1, 0, -1);
	candidates[2].serial_unknown = true;
	CHECK_EQ(match(&wanted, candidates, 3, &at), MATCH_NONE);
}

DEFINE_TEST(identity_of_vf_is_its_pf_and_index)
{
	struct device pf = { .key = { BUS_PCI, "0000:02:00.0" },
			     .facts = { .index = -1, .vendor = 0x8086 } };
	struct device vf = { .key = { BUS_PCI, "0000:02:10.3" },
			     .facts = { .index = 3, .vendor = 0x8086 } };
	struct identity id, twin;
	char text[IDENTITY_TEXT];

	STR_COPY(pf.facts.path, "0000:00/03.0/00.0");
	pf.facts.serial = 0xa0369fffff123456;
	pf.facts.device = 0x10fb;
	identity_of(&id, &vf, &pf);
	CHECK_STR(identity_text(&id, text),
		  "0000:00/03.0/00.0,8086:10fb:0000:0000,a0369fffff123456,vf3");
	vf.facts.index = 2;
	identity_of(&twin, &vf, &pf);
	CHECK(!identity_eq(&id, &twin));
	CHECK(identity_hash(&id) != identity_hash(&twin));
	identity_of(&id, &pf, NULL);
	CHECK_EQ(id.vf, -1);
	pf.facts.path[0] = '\0';
	identity_of(&id, &pf, NULL);
	CHECK_STR(id.path, "@0000:02:00.0");
}

/* Their PF is not in the model, or has no links yet: only their path is known, and is equal. */
DEFINE_TEST(identity_of_a_vf_without_its_pf_is_its_own)
{
	struct device a = { .key = { BUS_PCI, "0000:02:10.3" }, .facts = { .index = 3 } }, b;
	struct device pf = { .key = { BUS_PCI, "0000:02:00.0" }, .facts = { .index = -1 } };
	struct identity one, two;

	key_make(BUS_PCI, "0000:02:00.0", &a.facts.parent);
	STR_COPY(a.facts.path, "0000:00/03.0/00.0");
	STR_COPY(pf.facts.path, "0000:00/03.0/00.0");
	b = a;
	STR_COPY(b.key.name, "0000:02:10.4");
	b.facts.index = 4;
	identity_of(&one, &a, NULL);
	identity_of(&two, &b, NULL);
	CHECK(!identity_eq(&one, &two));
	a.facts.index = b.facts.index = -1;
	identity_of(&one, &a, &pf);
	identity_of(&two, &b, &pf);
	CHECK(!identity_eq(&one, &two));
}

/* A stored identity is never made that of another card. */
DEFINE_TEST(identity_is_completed_and_not_replaced)
{
	const uint64_t ids = 0x8086152180860001;
	const struct identity card = candidate("0000:00/1c.4/00.0", ids, 77, -1).id;
	struct candidate others[] = { candidate("0000:00/1c.4/00.0", ids + 1, 77, -1),
				      candidate("0000:00/1c.4/00.0", ids, 78, -1),
				      candidate("0000:00/1c.4/00.0", ids, 77, 3) };
	struct identity id = card, now = card;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		CHECK(!identity_complete(&id, &others[i].id));
		CHECK(identity_eq(&id, &card));
	}
	CHECK(!identity_complete(&id, &card));
	STR_COPY(now.path, "0000:00/01.0/00.0");
	id.cloned = true;
	CHECK(identity_complete(&id, &now));
	CHECK(identity_eq(&id, &now) && id.cloned);
	/* What could not be read says nothing. */
	now.ids &= ~UINT64_C(0xffffffff);
	now.serial = 0;
	CHECK(!identity_complete(&id, &now));
	CHECK_EQ(id.serial, 77);
	CHECK_EQ(id.ids, ids);
	CHECK(identity_complete(&now, &id));
	CHECK(identity_eq(&id, &now) && !now.cloned);
	now = (struct identity){ .ids = 5, .vf = IDENTITY_HALF, .path = "@0000:02:10.3" };
	CHECK(identity_complete(&now, &others[2].id));
	CHECK(identity_eq(&now, &others[2].id));
}

DEFINE_TEST(identity_parts_are_strict)
{
	struct identity id = { 0 };

	CHECK_EQ(identity_parse_ids("8086:10fb:0000:ffff", &id), 0);
	CHECK_EQ(id.ids, 0x808610fb0000ffff);
	CHECK_EQ(identity_parse_ids("8086:10FB:0000:ffff", &id), -EINVAL);
	CHECK_EQ(identity_parse_ids("8086:10fb:0000:fff", &id), -EINVAL);
	CHECK_EQ(identity_parse_ids("8086:10fb:0000:ffff0", &id), -EINVAL);
	CHECK_EQ(identity_parse_ids("8086-10fb-0000-ffff", &id), -EINVAL);
	CHECK_EQ(identity_parse_serial("none", &id), 0);
	CHECK_EQ(id.serial, 0);
	CHECK_EQ(identity_parse_serial("00000000000000ff", &id), 0);
	CHECK_EQ(id.serial, 0xff);
	CHECK_EQ(identity_parse_serial("0000000000000000", &id), -EINVAL);
	CHECK_EQ(identity_parse_serial("ff", &id), -EINVAL);
	CHECK_EQ(identity_parse_vf("65535", &id), 0);
	CHECK(identity_parse_vf("65536", &id));
	CHECK(identity_parse_vf("-1", &id));
	CHECK_EQ(identity_parse_path("0000:00/1c.4", &id), 0);
	CHECK_EQ(identity_parse_path("", &id), -EINVAL);
}

DEFINE_TEST(identity_of_a_usb_device_that_falls_from_super_speed)
{
	static const struct {
		const char *a, *b;
		bool may;
	} rows[] = {
		{ "0000:00/14.0/ss/1", "0000:00/14.0/hs/1", true },
		{ "0000:00/14.0/fs/7", "0000:00/14.0/ss/1", true }, /* ports of two root hubs */
		{ "0000:00/14.0/ss/1-4-2", "0000:00/14.0/hs/3-4-2", true },
		{ "0000:00/14.0/ss/1-4-2", "0000:00/14.0/hs/1-4-1", false },
		{ "0000:00/14.0/ss/1", "0000:00/14.0/hs/1-4", false },
		{ "0000:00/14.0/hs/1", "0000:00/14.0/hs/2", false },
		{ "0000:00/14.0/hs/1", "0000:00/14.0/fs/2", false },
		{ "0000:00/14.0/ss/1", "0000:00/15.0/hs/1", false },
		{ "0000:00/1c.4/00.0", "0000:00/1c.5/00.0", false },
		{ "ss/1", "hs/1", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct identity a = { 0 }, b = { 0 };

		STR_COPY(a.path, rows[i].a);
		STR_COPY(b.path, rows[i].b);
		CHECK_EQ(identity_may_fall(&a, &b), rows[i].may);
		CHECK_EQ(identity_may_fall(&b, &a), rows[i].may);
	}
}
