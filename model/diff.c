// SPDX-License-Identifier: GPL-2.0-or-later
/* What a change touched. Each field of struct device is a row here; facts are in facts.def, intents
 * in intents.def. */
#include "diff.h"

#include <stddef.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/util.h"

#define ROW(type, field, bit, text)                                                                \
	{                                                                                          \
		offsetof(struct device, field), sizeof(((struct device *)0)->field), bit, text,    \
			#field, type                                                               \
	}
#define NUMBER(type, field, bit) ROW(#type, field, bit, false)
#define STRING(field, bit) ROW("", field, bit, true) /* bytes behind the NUL are ignored */

static const struct device_field fields[] = {
	NUMBER(uint32_t, caps, CH_RIGHTS),
	NUMBER(enum device_kind, kind, CH_KIND),
#define FACT(type, name, none, bit) NUMBER(type, facts.name, bit),
#define FACT_TEXT(name, size, bit) STRING(facts.name, bit),
#define FACT_KEY(fact, bit) NUMBER(enum bus, facts.fact.bus, bit), STRING(facts.fact.name, bit),
#define FACT_ROOM(name, bit) NUMBER(struct room, facts.name, bit),
#include "pcidevfs/facts.def"
	STRING(names.description, CH_DESCRIPTION),
	STRING(names.resource, CH_ASIDE),
#define INTENT(type, name, bit, whose) NUMBER(type, intent.name, bit),
#define INTENT_TEXT(name, size, bit, whose) STRING(intent.name, bit),
#define INTENT_ARRAY(type, name, n, bit, whose) NUMBER(type, intent.name, bit),
#include "pcidevfs/intents.def"
	STRING(intended, CH_BEHIND),
	NUMBER(int32_t, intended_vfs, CH_BEHIND),
	NUMBER(enum state, state, CH_STATE),
	NUMBER(bool, taken, CH_BEHIND),
	NUMBER(uint64_t, let_go, CH_INTERNAL),
	NUMBER(uint64_t, unbinds, CH_BEHIND),
	NUMBER(int32_t, refused_code, CH_CLAIMABLE),
	STRING(refused, CH_CLAIMABLE),
	STRING(reason, CH_REASON),
	STRING(busy, CH_BEHIND),
	STRING(stuck, CH_BEHIND),
	STRING(unmet, CH_UNSATISFIED),
	STRING(last_error, CH_ERROR),
	NUMBER(uint32_t, error_uid, CH_ERROR),
	STRING(plan_query, CH_PLAN),
};

#define SETTING(name, which)                                                                       \
	static void name##_of(const struct device *dev, char *buf)                                 \
	{                                                                                          \
		vfconf_get(dev->facts.vfconf, which, buf);                                         \
	}
SETTING(mac, VFCONF_MAC)
SETTING(vlan, VFCONF_VLAN)
SETTING(trust, VFCONF_TRUST)
SETTING(spoofchk, VFCONF_SPOOFCHK)

/* Derived from a field or several; often stays the same while they change. */
static const struct {
	void (*text)(const struct device *dev, char *buf);
	change_bits bit;
} derived[] = {
	{ device_claim, CH_CLAIM },
	{ device_resource, CH_NAME },
	{ device_former_driver, CH_FORMER },
	{ mac_of, CH_MAC },
	{ vlan_of, CH_VLAN },
	{ trust_of, CH_TRUST },
	{ spoofchk_of, CH_SPOOFCHK },
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

/* A type that is not known here has no valid value, so that nobody forgets it. */
static bool number_valid(const char *type, const void *at, size_t size)
{
	static const struct {
		const char *type;
		uint32_t values;
	} few[] = {
		{ "bool", 2 },
		{ "_Bool", 2 },
		{ "enum bus", BUS_COUNT },
		{ "enum device_kind", KIND_COUNT },
		{ "enum state", STATE_COUNT },
		{ "enum use", USE_COUNT },
		{ "enum liveness", LIVENESS_UNKNOWN },
		{ "enum reserved", RESERVED_COUNT },
	};
	uint32_t value = *(const unsigned char *)at;

	if (type[0] == 'u' || type[0] == 'i' || !strcmp(type, "struct room"))
		return true;
	if (size == sizeof(value))
		memcpy(&value, at, sizeof(value));
	for (size_t i = 0; i < ARRAY_SIZE(few); i++)
		if (!strcmp(few[i].type, type))
			return value < few[i].values;
	return false;
}

static bool keys_valid(const struct device *dev)
{
	bool valid = key_valid(&dev->key);

#define FACT_KEY(name, bit) valid = valid && (!dev->facts.name.bus || key_valid(&dev->facts.name));
#include "pcidevfs/facts.def"
	return valid;
}

bool device_valid(const struct device *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *at = (const char *)dev + fields[i].offset;

		if (fields[i].text ? !memchr(at, '\0', fields[i].size)
				   : !number_valid(fields[i].type, at, fields[i].size))
			return false;
	}
	return keys_valid(dev);
}

/* What stands before the first row: key, birth, generation. */
#define HEAD offsetof(struct device, caps)

size_t device_pack(const struct device *dev, char *buf)
{
	size_t n = HEAD, len;

	memcpy(buf, dev, n);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *at = (const char *)dev + fields[i].offset;

		len = fields[i].text ? strnlen(at, fields[i].size - 1) : fields[i].size;
		memcpy(buf + n, at, len);
		n += len;
		if (fields[i].text)
			buf[n++] = '\0';
	}
	return n;
}

bool device_unpack(struct device *dev, const char *buf, size_t len)
{
	const char *end = buf + len;

	if (len < HEAD)
		return false;
	memcpy(dev, buf, HEAD);
	buf += HEAD;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t left = (size_t)(end - buf), n = fields[i].size;

		if (fields[i].text)
			n = strnlen(buf, left) + 1;
		if (n > left || n > fields[i].size)
			return false;
		memcpy((char *)dev + fields[i].offset, buf, n);
		buf += n;
	}
	return buf == end;
}

const struct device_field *device_field(size_t i)
{
	return i < ARRAY_SIZE(fields) ? &fields[i] : NULL;
}
