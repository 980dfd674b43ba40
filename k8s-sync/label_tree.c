// SPDX-License-Identifier: GPL-2.0-or-later
/* What a value of a label asks of the tree as it is, read in a thread of the mirror's. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/file.h"
#include "client/inventory.h"
#include "client/name.h"
#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/nvidia/labels.h"
#include "sync.h"

static char *text_at(const char *tree, const char *dir, const char *file)
{
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s/%s/%s", tree, dir, file);
	text = file_text(AT_FDCWD, path);
	if (text)
		tree_text_clean(text);
	return text;
}

static char *view_text(void *tree, const char *id, const char *file)
{
	char dir[TARGET_DIR] = ".";

	return !id || device_dir(id, dir) ? text_at(tree, dir, file) : NULL;
}

/* By these a device comes to be free, or able. */
static const char *const keys[] = { "state",	    "claim",	 "driver",
				    "sriov_numvfs", "profile",	 "profiles_available",
				    "mig_support",  "mig_layout" };

static uint64_t add_text(uint64_t sum, const char *text)
{
	return fnv1a(sum, text, strlen(text) + 1);
}

/* Adds a device, in any order. False: an operation of it runs. */
static bool add_device(uint64_t *all, const char *id,
		       const char *says(const void *d, const char *key), const void *d)
{
	uint64_t sum = add_text(FNV1A, id);

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
		sum = add_text(sum, says(d, keys[k]));
	*all += sum;
	return strcmp(says(d, "state"), "busy") != 0;
}

static const char *mirror_says(const void *d, const char *key)
{
	return dev_get(d, key);
}

static const char *tree_says(const void *d, const char *key)
{
	return device_says(d, key);
}

uint64_t label_world(const struct inventory *inv)
{
	uint64_t all = 0;

	for (size_t i = 0; i < inv->n; i++)
		if (!add_device(&all, inv->v[i]->id, mirror_says, inv->v[i]))
			return 0;
	return all ?: 1;
}

/* Likewise of what was read, which the mirror may not have heard of yet. */
static uint64_t world_read(const struct tree_inventory *inv)
{
	uint64_t all = 0;

	for (size_t i = 0; i < inv->n; i++)
		if (!add_device(&all, inv->devices[i].id, tree_says, &inv->devices[i]))
			return 0;
	return all ?: 1;
}

static int read_inventory(const char *tree, struct tree_inventory *ret, struct err *err)
{
	char *text = text_at(tree, ".", "inventory");

	return text ? tree_inventory_parse(text, ret, err)
		    : fail(err, ENOTCONN, "%s cannot be read", tree);
}

int label_plan_from(const char *tree, int id, const char *value, const struct label_asked *asked,
		    struct label_plan *plan, struct err *err)
{
	_free_ char *events = text_at(tree, ".", "events");
	_free_ char *text = NULL;
	struct err unread = { 0 };
	struct tree_inventory inv = { 0 };
	int r = read_inventory(tree, &inv, err);
	struct label_source source = {
		.path = asked->path,
		.why = unread.text,
		.note = asked->note,
		.nvswitches = asked->nvswitches,
		.view = { &inv, view_text, (void *)tree, events },
	};

	if (!r && asked->path)
		small_file(asked->path, &text, &unread);
	source.text = text;
	if (!r)
		label_plan((enum label_id)id, value, &source, plan);
	plan->world = r ? 0 : world_read(&inv);
	tree_inventory_free(&inv);
	return r;
}

/* Its VFs go with the claim; a vGPU that has been made since stays. */
static int check_free(const char *tree, const char *id, struct err *err)
{
	struct tree_inventory inv = { 0 };
	const struct tree_device *d;
	int r = read_inventory(tree, &inv, err);

	d = r ? NULL : device_by_id(&inv, id);
	if (d && label_has_vgpus(&inv, d))
		r = fail(err, EBUSY, "%s is left: " LABEL_VGPUS, id);
	tree_inventory_free(&inv);
	return r;
}

int label_check(const char *tree, const char *lines, struct err *err)
{
	char id[TARGET_DIR];
	_free_ char *claim = NULL;

	snprintf(id, sizeof(id), "%.*s", (int)strcspn(lines, "/"), lines);
	if (strcmp(lines + strcspn(lines, "/"), "/claim none\n"))
		return check_free(tree, id, err);
	claim = view_text((void *)tree, id, "claim");
	if (!claim || !strcmp(claim, LABEL_OWNER))
		return 0;
	return fail(err, EBUSY, "%s is left: it is claimed by %s now", id, claim);
}
