// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may open the device nodes of a claimed group: whose the claim file is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"
#include "vfio.h"

struct owner {
	uid_t uid;
	gid_t gid;
};

const struct want *vfio_owner(const struct device *dev, const struct vfio_group *g)
{
	const struct want *w = &dev->want;

	for (size_t i = 0; i < g->n && !w->owned; i++)
		w = &g->members[i]->want;
	return w->owned ? w : NULL;
}

static int own_node(struct backend *b, const char *path, const struct owner *own, struct err *err)
{
	/* It went away with its driver meanwhile: there is nothing to own. */
	if (!fchownat(b->sys.fd[ROOT_DEV], path, own->uid, own->gid, AT_SYMLINK_NOFOLLOW) ||
	    errno == ENOENT)
		return 0;
	return fail(err, errno, "/dev/%s cannot be given to user %u: %s", path,
		    (unsigned int)own->uid, strerror(errno));
}

/* devtmpfs: nothing waits for a device here. */
static int own_nodes(struct backend *b, const struct key *dev, const struct owner *own,
		     struct err *err)
{
	struct facts f;
	char path[64];
	int rc = pci_observe(&b->sys, dev, &f);

	if (rc)
		return fail(err, -rc, "%s is gone", dev->name);
	if (!driver_is_vfio(f.driver))
		return 0;
	if (f.vfio_node) {
		snprintf(path, sizeof(path), "vfio/%d", f.iommu_group);
		rc = own_node(b, path, own, err);
	}
	if (!rc && f.vfio_cdev[0]) {
		snprintf(path, sizeof(path), "vfio/devices/%s", f.vfio_cdev);
		rc = own_node(b, path, own, err);
	}
	return rc;
}

/* The members, allocated, and their owner as it is wished now: chown may have come after the plan. 0, -ENODATA
 * (no sentence): nobody was given them. */
static int find_recipients(struct backend *b, const struct key *asked, struct key **ret,
			   size_t *ret_n, struct owner *ret_own, struct err *err)
{
	const struct want *w = NULL;
	const struct device *dev;
	struct vfio_group g;
	struct key *keys;
	int rc;

	model_lock(b->model);
	dev = model_find(b->model, asked);
	rc = dev ? vfio_find_group(b->model, dev, &g, err)
		 : fail(err, ENODEV, "%s is gone", asked->name);
	/* Another tool's vfio-pci is not ours to give. */
	if (!rc && (dev->want.claim[0] || dev->want.former_known))
		w = vfio_owner(dev, &g);
	if (!rc && !w)
		rc = -ENODATA;
	keys = rc ? NULL : calloc(g.n, sizeof(*keys));
	for (size_t i = 0; keys && i < g.n; i++)
		keys[i] = g.members[i]->key;
	if (!rc)
		*ret_own = (struct owner){ w->uid, w->gid };
	model_unlock(b->model);
	if (rc || !keys)
		return rc ? rc : fail(err, ENOMEM, "no memory for the nodes of %s", asked->name);
	*ret = keys;
	*ret_n = g.n;
	return 0;
}

/* own: NULL: as is wished. */
static int give(struct backend *b, const struct key *asked, const struct owner *own,
		struct err *err)
{
	_free_ struct key *keys = NULL;
	struct owner wished;
	size_t n = 0;
	int rc;

	/* Looked up and done in one, so that no older owner comes after a newer one. */
	pthread_mutex_lock(&b->owning);
	rc = find_recipients(b, asked, &keys, &n, &wished, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = own_nodes(b, &keys[i], own ? own : &wished, err);
	pthread_mutex_unlock(&b->owning);
	return rc == -ENODATA ? 0 : rc;
}

int backend_give_nodes(void *backend, const struct key *dev, struct err *err)
{
	return give(backend, dev, NULL, err);
}

static int own_run(void *backend, struct step *step, unsigned int ms, struct err *err)
{
	(void)ms;
	return give(backend, &step->dev, NULL, err);
}

static int own_undo(void *backend, struct step *step, unsigned int ms, struct err *err)
{
	static const struct owner root;

	(void)ms;
	return give(backend, &step->dev, &root, err);
}

const struct verb vfio_own = {
	.name = "own", .deadline_ms = 10000, .run = own_run, .undo = own_undo
};
