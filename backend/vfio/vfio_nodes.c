// SPDX-License-Identifier: GPL-2.0-or-later
/* The owner of a claimed group's device nodes: that of the claim file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/bus.h"
#include "backend/internal.h"
#include "backend/steps.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "vfio.h"

/* Owners of a function's nodes. */
struct node_owners {
	struct node_owner group, cdev;
};

struct nodes {
	char group[32], cdev[64]; /* below /dev; "" if there is none */
};

bool vfio_owner(const struct vfio_group *g, struct node_owner *ret)
{
	const struct intent *w = &g->members[0]->intent;
	bool owned = false, shared = true;

	for (size_t i = 0; i < g->n; i++) {
		owned |= g->members[i]->intent.owned;
		shared &= device_shares_owner(g->members[0], g->members[i]);
	}
	*ret = shared ? (struct node_owner){ w->uid, w->gid } : (struct node_owner){ 0 };
	return owned;
}

static int find_nodes(struct backend *b, const struct key *dev, struct nodes *ret, struct err *err)
{
	char *save = NULL;
	struct facts f;
	int rc = b->buses[dev->bus]->observe(b, dev, &f);

	*ret = (struct nodes){ 0 };
	if (rc)
		return fail(err, -rc, "%s is gone", dev->name);
	for (char *node = f.use == USE_GUEST ? strtok_r(f.nodes, " ", &save) : NULL; node;
	     node = strtok_r(NULL, " ", &save)) {
		node += strlen("/dev/");
		if (!strncmp(node, "vfio/devices/", 13))
			STR_COPY(ret->cdev, node);
		else if (strcmp(node, "vfio/vfio") && strcmp(node, "iommu"))
			STR_COPY(ret->group, node);
	}
	return 0;
}

/* devtmpfs: nothing here waits for a device. */
static int own_nodes(struct backend *b, const struct key *dev, const struct node_owners *own,
		     struct err *err)
{
	const int dir = b->sys.fd[ROOT_DEV], flags = AT_SYMLINK_NOFOLLOW;
	struct nodes n;
	int rc = find_nodes(b, dev, &n, err);

	if (!rc && n.group[0])
		rc = node_own(dir, n.group, flags, n.group, own->group, err);
	if (!rc && n.cdev[0])
		rc = node_own(dir, n.cdev, flags, n.cdev, own->cdev, err);
	return rc;
}

/* Allocates the keys of the members whose nodes change owner: in an operation all, because they will
 * be claimed; else the claimed ones, since nodes of another tool's vfio-pci stay as they are. Finds
 * their requested owner as of now, because chown may have come after the plan. Returns 0; -ENODATA
 * (without a sentence): in an operation, nobody was given the nodes. */
static int find_recipients(struct backend *b, const struct key *asked, bool in_op,
			   struct key **ret, size_t *ret_n, struct node_owners *ret_own,
			   struct err *err)
{
	const struct device *dev;
	struct node_owner own = { 0 };
	struct vfio_group g;
	size_t n = 0;
	int rc;

	model_lock(b->model);
	dev = model_find(b->model, asked);
	rc = dev ? vfio_find_group(b->model, dev, &g, err)
		 : fail(err, ENODEV, "%s is gone", asked->name);
	for (size_t i = 0; !rc && i < g.n; i++)
		if (in_op || g.members[i]->intent.claim[0] || g.members[i]->intent.former_known)
			g.members[n++] = g.members[i];
	g.n = n;
	if (!rc && (!n || (!vfio_owner(&g, &own) && in_op)))
		rc = -ENODATA;
	*ret = rc ? NULL : calloc(n, sizeof(**ret));
	for (size_t i = 0; *ret && i < n; i++)
		(*ret)[i] = g.members[i]->key;
	model_unlock(b->model);
	*ret_n = *ret ? n : 0;
	*ret_own = (struct node_owners){ own, own };
	return rc || *ret ? rc : fail_nomem(err);
}

/* own NULL: the requested owner. */
static int give(struct backend *b, const struct key *asked, bool in_op,
		const struct node_owners *own, struct err *err)
{
	_free_ struct key *keys = NULL;
	struct node_owners requested;
	size_t n = 0;
	int rc;

	/* One critical section, so that an older owner never overwrites a newer one. */
	pthread_mutex_lock(&b->owning);
	rc = find_recipients(b, asked, in_op, &keys, &n, &requested, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = own_nodes(b, &keys[i], own ? own : &requested, err);
	pthread_mutex_unlock(&b->owning);
	return rc == -ENODATA ? 0 : rc;
}

int vfio_give_nodes(struct backend *b, const struct key *dev, struct err *err)
{
	return give(b, dev, false, NULL, err);
}

static struct node_owner owner_of(struct backend *b, const char *path)
{
	struct stat st;

	if (!path[0] || fstatat(b->sys.fd[ROOT_DEV], path, &st, AT_SYMLINK_NOFOLLOW))
		return (struct node_owner){ 0 };
	return (struct node_owner){ st.st_uid, st.st_gid };
}

/* If the claim stays after an undo, the nodes go to its owner, which may have changed. */
#define STAYS "claimed"

static int record_owners(struct backend *b, struct step *step, struct err *err)
{
	struct node_owner group, cdev;
	struct device dev;
	struct nodes n;
	int rc = find_nodes(b, &step->dev, &n, err);

	if (rc)
		return rc;
	group = owner_of(b, n.group);
	cdev = owner_of(b, n.cdev);
	if (model_copy(b->model, &step->dev, &dev) && dev.intent.claim[0])
		STR_COPY(step->former, STAYS);
	else
		snprintf(step->former, sizeof(step->former), "%u:%u %u:%u", group.uid, group.gid,
			 cdev.uid, cdev.gid);
	step->recorded = true;
	return 0;
}

static int own_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = record_owners(b, step, err);

	return rc ? rc : give(b, &step->dev, true, NULL, err);
}

/* Unreadable text means root. */
static struct node_owners parse_owners(const char *text)
{
	struct node_owners o;
	int n = sscanf(text, "%u:%u %u:%u", &o.group.uid, &o.group.gid, &o.cdev.uid, &o.cdev.gid);

	return n == 4 ? o : (struct node_owners){ 0 };
}

static int own_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const struct node_owners former = parse_owners(step->former);

	return give(b, &step->dev, true, strcmp(step->former, STAYS) ? &former : NULL, err);
}

const struct verb vfio_own = { .of = "vfio",
			       .name = "own",
			       .deadline_ms = 10000,
			       .records = true,
			       .run = own_run,
			       .undo = own_undo };
