// SPDX-License-Identifier: GPL-2.0-or-later
/* What a change touched. Each field of struct device is a row here; facts are in facts.def, intents
 * in intents.def. */
#include "diff.h"

#include <stddef.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/util.h"

#define ROW(field, bit, text)                                                                      \
	{                                                                                          \
		offsetof(struct device, field), sizeof(((struct device *)0)->field), bit, text,    \
			#field                                                                     \
	}
#define NUMBER(field, bit) ROW(field, bit, false)
#define STRING(field, bit) ROW(field, bit, true) /* bytes behind the NUL are ignored */

static const struct {
	size_t offset;
	size_t size;
	change_bits bit;
	bool text;
	const char *name;
} fields[] = {
	NUMBER(caps, CH_RIGHTS),
	NUMBER(kind, CH_KIND),
#define FACT(type, name, none, bit) NUMBER(facts.name, bit),
#define FACT_TEXT(name, size, bit) STRING(facts.name, bit),
#define FACT_KEY(fact, bit) NUMBER(facts.fact.bus, bit), STRING(facts.fact.name, bit),
#define FACT_ROOM(name, bit) NUMBER(facts.name, bit),
#include "pcidevfs/facts.def"
	STRING(names.description, CH_DESCRIPTION),
	STRING(names.resource, CH_ASIDE),
#define INTENT(type, name, bit, whose) NUMBER(intent.name, bit),
#define INTENT_TEXT(name, size, bit, whose) STRING(intent.name, bit),
#define INTENT_ARRAY(type, name, n, bit, whose) NUMBER(intent.name, bit),
#include "pcidevfs/intents.def"
	STRING(intended, CH_BEHIND),
	NUMBER(intended_vfs, CH_BEHIND),
	NUMBER(state, CH_STATE),
	NUMBER(taken, CH_BEHIND),
	NUMBER(let_go, CH_INTERNAL),
	NUMBER(unbinds, CH_BEHIND),
	NUMBER(refused_code, CH_CLAIMABLE),
	STRING(refused, CH_CLAIMABLE),
	STRING(reason, CH_REASON),
	STRING(busy, CH_BEHIND),
	STRING(stuck, CH_BEHIND),
	STRING(unmet, CH_UNSATISFIED),
	STRING(last_error, CH_ERROR),
	STRING(plan_query, CH_PLAN),
};

/* Derived from several fields; often stays the same while they change. */
static const struct {
	void (*text)(const struct device *dev, char *buf);
	change_bits bit;
} derived[] = {
	{ device_claim, CH_CLAIM },
	{ device_resource, CH_NAME },
};

static bool reads_same(void (*text)(const struct device *dev, char *buf), const struct device *a,
		       const struct device *b)
{
	char x[RESOURCE_NAME + CLAIM_NAME], y[sizeof(x)];

	text(a, x);
	text(b, y);
	return !strcmp(x, y);
}

change_bits device_diff(const struct device *a, const struct device *b)
{
	change_bits bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *x = (const char *)a + fields[i].offset;
		const char *y = (const char *)b + fields[i].offset;

		if (fields[i].text ? strncmp(x, y, fields[i].size) : memcmp(x, y, fields[i].size))
			bits |= fields[i].bit;
	}
	/* It is shown, and is no reason for another try of restore: not in the digest. */
	if (a->intended_vfs != b->intended_vfs)
		bits |= CH_ASKED;
	for (size_t i = 0; i < ARRAY_SIZE(derived) && bits; i++)
		if (!reads_same(derived[i].text, a, b))
			bits |= derived[i].bit;
	return bits;
}

uint64_t device_digest(const struct device *dev, change_bits bits)
{
	uint64_t h = FNV1A;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *x = (const char *)dev + fields[i].offset;

		if (!(fields[i].bit & bits))
			continue;
		h = fnv1a(h, x, fields[i].text ? strnlen(x, fields[i].size) : fields[i].size);
		h = fnv1a(h, "", 1); /* separates the texts */
	}
	return h;
}

uint64_t device_layout(void)
{
	uint64_t sum = sizeof(struct device);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const size_t place[] = { fields[i].offset, fields[i].size };
		uint64_t h = fnv1a(FNV1A, fields[i].name, strlen(fields[i].name));

		sum += fnv1a(h, (const char *)place, sizeof(place));
	}
	return sum;
}

bool device_diff_knows(size_t offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (offset >= fields[i].offset && offset < fields[i].offset + fields[i].size)
			return true;
	return false;
}
