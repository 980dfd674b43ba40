// SPDX-License-Identifier: GPL-2.0-or-later
/* Which directories show which devices. Each view is a row at the end of this file. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/util.h"

/* Can the name be an entry of a directory? */
static int is_entry(const char *name)
{
	return name[0] && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/');
}

static int in_claim(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	char claim[CLAIM_NAME];

	device_claim(dev, claim);
	STR_COPY(name[0], claim);
	for (char *c = name[0]; (c = strchr(c, '/'));)
		*c = '!'; /* as the kernel does in its own names */
	return is_entry(name[0]);
}

static int in_group(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	snprintf(name[0], OBJECT_NAME, "%d", (int)dev->facts.iommu_group);
	return !!(dev->caps & CAP_GROUP);
}

/* Offered devices: claimed functions, under the name by which kubelet counts them. */
static int in_resource(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	char full[RESOURCE_NAME], *slash;

	device_offered_as(dev, full);
	slash = strchr(full, '/');
	if (!dev->intent.claim[0] || !slash || key_withheld(&dev->key))
		return 0;
	*slash = '\0';
	STR_COPY(name[0], full);
	STR_COPY(name[1], slash + 1);
	return is_entry(name[0]) && is_entry(name[1]);
}

static int of_pf(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	STR_COPY(name[0], dev->facts.parent.name);
	return device_is_vf(dev) && dev->facts.index >= 0;
}

/* The link to the device's own directory; text: the way up from where it lies. */
static void link_show(const struct subject *s, struct out *o)
{
	const struct key *key = &s->dev->key;

	out_printf(o, "%s%s/%s", s->row->text, bus_dir(key->bus), key->name);
}

static void virtfn_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../%s", s->dev->key.name);
}

#define LASTING 0
#define BRIEF 1
#define LINKS(dir, life) (&(const struct entries){ .link = LINK_ID(dir), .brief = (life) })
#define CHILDREN(kind, life) (&(const struct entries){ .child = (kind), .brief = (life) })
#define DIR(number, called, has, from, about)                                                      \
	{                                                                                          \
		.name = (called), .id = (number), .mode = S_IFDIR | 0755, .entries = (has),        \
		.since = (from), .help = (about)                                                   \
	}
#define LINK(number, up)                                                                           \
	{                                                                                          \
		.name = "link", .id = LINK_ID(number), .mode = S_IFLNK | 0777, .show = link_show,  \
		.text = (up)                                                                       \
	}

/* A directory of links to the devices that have these caps. */
#define FLAT(number, called, has, lack, from, about)                                               \
	{                                                                                          \
		.dir = DIR(number, called, LINKS(number, LASTING), from, about),                   \
		.link = LINK(number, "../"), .caps = (has), .lacks = (lack)                        \
	}

/* A directory for each label that the rule gives, with links to the devices. */
#define LABELLED(number, called, rule, life, from, about)                                          \
	{                                                                                          \
		.dir = DIR(number, called, CHILDREN(OBJ_LABEL + (number), life), from, about),     \
		.link = LINK(number, "../../"), .path = { OBJ_LABEL + (number) },                  \
		.member = (rule), .label = {                                                       \
			.path = called "/<label>",                                                 \
			.tables = no_tables,                                                       \
			.home = (number),                                                          \
			.derived = 1,                                                              \
			.entries = LINKS(number, life)                                             \
		}                                                                                  \
	}

/* The kernel remembers ids over upgrades: an id must never be given to another view. */
const struct view views[] = {
	FLAT(23, "gpus", CAP_GPU, CAP_VF, "0.1", "links to display controllers that are no VF"),
	FLAT(24, "vgpus", CAP_VGPU | CAP_VF, 0, "0.1",
	     "links to VFs that can be a vGPU, whether they are one or not"),
	FLAT(25, "vfs", CAP_VF, 0, "0.1", "links to VFs"),
	FLAT(26, "nics", CAP_NIC, 0, "0.1", "links to network controllers"),
	LABELLED(27, "claims", in_claim, BRIEF, "0.1",
		 "a directory for each claimant, with links to what it holds; / in a name reads !"),
	LABELLED(28, "iommu_groups", in_group, LASTING, "0.1",
		 "a directory for each IOMMU group, with links to its members"),
	{ .dir = DIR(ROW_RESOURCES, "resources", CHILDREN(OBJ_VENDOR, BRIEF), "0.1",
		     "what is offered to pods: a directory VENDOR.com/NAME for each resource"),
	  .link = LINK(ROW_RESOURCES, "../../../../"),
	  .path = { OBJ_VENDOR, OBJ_RESOURCE },
	  .leaf = ROW_RES_DEVICES,
	  .member = in_resource },
	/* In the PF's own directory. */
	{ .dir = { .id = ROW_VIRTFN },
	  .link = { .name = "link",
		    .id = LINK_ID(ROW_VIRTFN),
		    .mode = S_IFLNK | 0777,
		    .show = virtfn_show },
	  .path = { OBJ_DEVICE },
	  .numbered = 1,
	  .member = of_pf },
};
const size_t n_views = ARRAY_SIZE(views);
_Static_assert(ARRAY_SIZE(views) <= VIEWS_MAX, "struct member has no room for so many");

/* What these views lead to. */
const struct entries resource_devices = { .link = LINK_ID(ROW_RESOURCES), .brief = BRIEF };
const struct entries virtfns = { .link = LINK_ID(ROW_VIRTFN), .prefix = "virtfn" };
