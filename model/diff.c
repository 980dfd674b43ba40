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
	uint32_t bit;
	bool text;
	const char *name;
} fields[] = {
	NUMBER(caps, CH_IDENTITY),
	NUMBER(kind, CH_IDENTITY),
	NUMBER(facts.seen, CH_INTERNAL),
	NUMBER(facts.vendor, CH_IDENTITY),
	NUMBER(facts.device, CH_IDENTITY),
	NUMBER(facts.subvendor, CH_IDENTITY),
	NUMBER(facts.subdevice, CH_IDENTITY),
	NUMBER(facts.class_code, CH_IDENTITY),
	NUMBER(facts.revision, CH_IDENTITY),
	NUMBER(facts.boot_vga, CH_IDENTITY),
	NUMBER(facts.has_reset, CH_IDENTITY),
	NUMBER(facts.numa_node, CH_NUMA),
	NUMBER(facts.iommu_group, CH_GROUP | CH_NODES),
	NUMBER(facts.total_vfs, CH_VFS),
	NUMBER(facts.num_vfs, CH_VFS),
	NUMBER(facts.vf_index, CH_VFS),
	STRING(facts.physfn, CH_VFS),
	NUMBER(facts.autoprobe, CH_INTERNAL),
	NUMBER(facts.own_vfs, CH_INTERNAL),
	STRING(facts.path, CH_IDENTITY),
	NUMBER(facts.serial, CH_IDENTITY),
	NUMBER(facts.serial_known, CH_INTERNAL),
	STRING(facts.driver, CH_DRIVER),
	STRING(facts.vfio_driver, CH_INTERNAL),
	NUMBER(facts.vfio_ready, CH_INTERNAL),
	STRING(facts.vfio_cdev, CH_NODES),
	NUMBER(facts.vfio_node, CH_NODES),
	NUMBER(facts.iommufd, CH_NODES),
	STRING(facts.critical, CH_CRITICAL),
	STRING(facts.holders, CH_HOLDERS),
	STRING(names.description, CH_NAME),
	STRING(names.resource, CH_NAME),
	STRING(want.claim, CH_CLAIM),
	STRING(want.former_driver, CH_INTERNAL),
	STRING(want.former_override, CH_INTERNAL),
	NUMBER(want.former_known, CH_INTERNAL),
	NUMBER(want.owned, CH_INTERNAL),
	NUMBER(want.uid, CH_INTERNAL),
	NUMBER(want.gid, CH_INTERNAL),
	NUMBER(want.n_owners, CH_INTERNAL),
	NUMBER(want.vfs_wanted, CH_VFS),
	NUMBER(want.num_vfs, CH_VFS),
	NUMBER(want.vf_claims, CH_INTERNAL),
	NUMBER(want.autoprobe_off, CH_INTERNAL),
	STRING(want.allocated, CH_ALLOCATED),
	STRING(want.given, CH_GIVEN),
	STRING(want.given_as, CH_GIVEN),
	NUMBER(want.single, CH_NAME),
	STRING(want.resource, CH_NAME),
	STRING(want.pinned, CH_NAME),
	NUMBER(state, CH_STATE),
	NUMBER(taken, CH_STATE),
	STRING(reason, CH_STATE),
	STRING(busy, CH_STATE),
	STRING(stuck, CH_STATE),
	STRING(unmet, CH_STATE),
	STRING(last_error, CH_ERROR),
	STRING(plan_query, CH_PLAN),
};

uint32_t device_diff(const struct device *a, const struct device *b)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *x = (const char *)a + fields[i].offset;
		const char *y = (const char *)b + fields[i].offset;

		if (fields[i].text ? strncmp(x, y, fields[i].size) : memcmp(x, y, fields[i].size))
			bits |= fields[i].bit;
	}
	return bits;
}

uint64_t device_digest(const struct device *dev, uint32_t bits)
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
