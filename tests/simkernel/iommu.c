// SPDX-License-Identifier: GPL-2.0-or-later
/* IOMMU groups: functions that the IOMMU cannot distinguish share one; its number ends with
 * them. */
#include "device.h"
#include "func.h"
#include "iommu.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS "kernel/iommu_groups"

static struct node *group_dir(struct sim *s, int number)
{
	char path[64];

	snprintf(path, sizeof(path), GROUPS "/%d", number);
	return tree_walk(s->tree, s->tree->root, path);
}

struct group *group_each(struct sim *s, bool (*see)(const struct group *g, const void *arg),
			 const void *arg)
{
	for (size_t i = 0; i < GROUP_SETS; i++)
		for (struct group *g = s->group_sets[i]; g; g = g->next)
			if (see(g, arg))
				return g;
	return NULL;
}

static bool has_number(const struct group *g, const void *arg)
{
	return g->number == *(const int *)arg;
}

struct group *iommu_group_find(struct sim *s, int number)
{
	return group_each(s, has_number, &number);
}

static struct group **bucket(struct sim *s, int set)
{
	return &s->group_sets[(unsigned int)set % GROUP_SETS];
}

static struct group *same_set(struct sim *s, int set)
{
	struct group *g = *bucket(s, set);

	while (g && g->set != set)
		g = g->next;
	return g;
}

static int lowest_free(struct sim *s)
{
	while (group_dir(s, s->group_hint))
		s->group_hint++;
	return s->group_hint;
}

static struct node *make_dir(struct sim *s, int number)
{
	char path[64];
	struct node *dir;

	snprintf(path, sizeof(path), GROUPS "/%d/devices", number);
	if (!tree_mkdirs(s->tree, s->tree->root, path))
		return NULL;
	dir = group_dir(s, number);
	if (dir && !tree_find(s->tree, dir, "type")) {
		tree_file(s->tree, dir, "type", 0644, "DMA\n", 4);
		tree_file(s->tree, dir, "reserved_regions", 0444,
			  "0x00000000fee00000 0x00000000feefffff msi\n", 42);
	}
	return dir;
}

/* Empty groups are reused, so that a waiting thread may still read its group. */
static struct group *group_new(struct sim *s, int set, int number)
{
	struct group *g = s->empty_groups, **b = bucket(s, set);

	if (g)
		s->empty_groups = g->next;
	else
		g = malloc(sizeof(*g));
	if (!g)
		return NULL;
	*g = (struct group){ .set = set, .next = *b };
	g->number = number >= 0 ? number : lowest_free(s);
	*b = g;
	return g;
}

static void group_empty(struct sim *s, struct group *g)
{
	struct group **at = bucket(s, g->set);

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	g->next = s->empty_groups;
	s->empty_groups = g;
	if (g->number < s->group_hint)
		s->group_hint = g->number;
}

void group_join(struct sim *s, struct dev *d, int number)
{
	struct group *g = same_set(s, d->set);
	struct node *dir;

	/* A recorded function without a group is not served by the IOMMU. */
	if (number >= 0 && !record_field(d->rec, 'L', "iommu_group"))
		return;
	if (!g)
		g = group_new(s, d->set, number);
	dir = g ? make_dir(s, g->number) : NULL;
	if (!dir)
		return;
	g->members++;
	d->group = g;
	tree_link_to(s->tree, tree_dir(s->tree, dir, "devices"), d->name, d->dir);
	tree_link_to(s->tree, d->dir, "iommu_group", dir);
}

void group_leave(struct sim *s, struct dev *d)
{
	struct group *g = d->group;
	struct node *dir = g ? group_dir(s, g->number) : NULL;

	if (!dir)
		return;
	tree_remove_name(s->tree, tree_dir(s->tree, dir, "devices"), d->name);
	tree_remove_name(s->tree, d->dir, "iommu_group");
	d->group = NULL;
	if (--g->members)
		return;
	tree_remove(s->tree, dir);
	group_empty(s, g);
}

void group_record(struct sim *s, const struct record *r, struct node *dir)
{
	const char *target = record_text(r, 'L', "iommu_group");
	struct node *group;

	if (!target || !strchr(target, '/') || base_name(target)[0] < '0' ||
	    base_name(target)[0] > '9')
		return;
	group = make_dir(s, atoi(base_name(target)));
	if (group)
		tree_link_to(s->tree, tree_dir(s->tree, group, "devices"), dir->name, dir);
}
