// SPDX-License-Identifier: GPL-2.0-or-later
/* What a change touched: a new field of struct device is a row here. */
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
#define STRING(field, bit) ROW(field, bit, true) /* bytes after the NUL are noise */

static const struct {
	size_t offset;
	size_t size;
	change_bits bit;
	bool text;
	const char *name;
} fields[] = {
	NUMBER(caps, CH_RIGHTS),
	NUMBER(kind, CH_KIND),
	NUMBER(facts.seen, CH_INTERNAL),
	NUMBER(facts.vendor, CH_IDS),
	NUMBER(facts.device, CH_IDS),
	NUMBER(facts.subvendor, CH_INTERNAL),
	NUMBER(facts.subdevice, CH_INTERNAL),
	STRING(facts.garbled, CH_INTERNAL),
	NUMBER(facts.class_code, CH_IDS),
	NUMBER(facts.revision, CH_INTERNAL),
	NUMBER(facts.boot_vga, CH_INTERNAL),
	NUMBER(facts.has_reset, CH_INTERNAL),
	NUMBER(facts.numa_node, CH_NUMA),
	NUMBER(facts.iommu_group, CH_GROUP),
	NUMBER(facts.total_vfs, CH_TOTALVFS),
	NUMBER(facts.num_vfs, CH_NUMVFS),
	NUMBER(facts.index, CH_INTERNAL),
	NUMBER(facts.parent.bus, CH_PARENT),
	STRING(facts.parent.name, CH_PARENT),
	NUMBER(facts.autoprobe, CH_INTERNAL),
	NUMBER(facts.own_vfs, CH_INTERNAL),
	NUMBER(facts.has_way, CH_INTERNAL),
	STRING(facts.path, CH_INTERNAL),
	NUMBER(facts.serial, CH_INTERNAL),
	NUMBER(facts.serial_known, CH_INTERNAL),
	STRING(facts.driver, CH_DRIVER),
	NUMBER(facts.use, CH_INTERNAL),
	STRING(facts.nodes, CH_NODES),
	STRING(facts.vfio_driver, CH_INTERNAL),
	NUMBER(facts.vfio_ready, CH_INTERNAL),
	NUMBER(facts.mdevs, CH_MDEV),
	STRING(facts.mdev, CH_MDEV),
	STRING(facts.vgpu, CH_MDEV),
	NUMBER(facts.pulse, CH_BEHIND),
	STRING(facts.critical, CH_CRITICAL),
	STRING(facts.holders, CH_HOLDERS),
	STRING(names.description, CH_DESCRIPTION),
	STRING(names.resource, CH_ASIDE),
	STRING(want.claim, CH_ASIDE),
	STRING(want.former, CH_INTERNAL),
	NUMBER(want.former_known, CH_INTERNAL),
	NUMBER(want.owned, CH_RIGHTS),
	NUMBER(want.uid, CH_RIGHTS),
	NUMBER(want.gid, CH_RIGHTS),
	NUMBER(want.n_owners, CH_RIGHTS),
	NUMBER(want.vfs_wanted, CH_ASIDE),
	NUMBER(want.num_vfs, CH_ASIDE),
	NUMBER(want.vf_claims, CH_INTERNAL),
	NUMBER(want.autoprobe_off, CH_INTERNAL),
	NUMBER(want.unprobed, CH_INTERNAL),
	STRING(want.allocated, CH_ALLOCATED),
	STRING(want.given, CH_GIVEN),
	STRING(want.given_as, CH_GIVEN_AS),
	NUMBER(want.single, CH_POOLED),
	STRING(want.resource, CH_ASIDE),
	STRING(want.pinned, CH_ASIDE),
	STRING(intended, CH_BEHIND),
	NUMBER(state, CH_STATE),
	NUMBER(taken, CH_BEHIND),
	NUMBER(let_go, CH_INTERNAL),
	NUMBER(refused_code, CH_CLAIMABLE),
	STRING(refused, CH_CLAIMABLE),
	STRING(reason, CH_REASON),
	STRING(busy, CH_BEHIND),
	STRING(stuck, CH_BEHIND),
	STRING(unmet, CH_BEHIND),
	STRING(last_error, CH_ERROR),
	STRING(plan_query, CH_PLAN),
};

/* What follows from several fields, and often stays while they change. */
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
		h = fnv1a(h, "", 1); /* where one text ends and the next begins */
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
