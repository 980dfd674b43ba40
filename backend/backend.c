// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/backend.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bus.h"
#include "claim.h"
#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"
#include "ops.h"
#include "backend/known.h"
#include "backend/pci/serials.h"
#include "backend/pci/variant.h"
#include "backend/vfio/vfio.h"

/* Each is a file that ends with its row. Vendors come last: they know better than the common
 * rows. */
const struct backend_ops *const backends[] = {
	&vfio_ops, &vgpu_ops, &mdev_ops, &usb_ops, &sriov_ops, &reset_ops, &offer_ops, &allocation_ops, &nvidia_ops, NULL,
};

const struct method *const *backend_methods(const struct backend *b)
{
	return b->methods;
}

const struct verb *const *backend_verbs(const struct backend *b)
{
	return b->verbs;
}

/* Collects the methods and the verbs of all rows into one list each, for the engine. */
static int gather(struct backend *b, struct err *err)
{
	size_t m = 0, v = 0;

	for (const struct backend_ops *const *ops = backends; *ops; ops++) {
		const struct method *const *method = (*ops)->methods;
		const struct verb *const *verb = (*ops)->verbs;

		while (method && *method && m < METHODS_MAX)
			b->methods[m++] = *method++;
		while (verb && *verb && v < VERBS_MAX)
			b->verbs[v++] = *verb++;
		if ((method && *method) || (verb && *verb))
			return fail(err, E2BIG, "backend %s: too many methods or verbs",
				    (*ops)->name);
	}
	return 0;
}

static int resolve_roots(struct backend *b, const struct roots *roots, struct err *err)
{
	const char *const *given = b->sys.path;

	b->roots.sysfs = realpath(given[ROOT_SYS], NULL);
	b->roots.dev = realpath(given[ROOT_DEV], NULL);
	b->roots.proc = realpath(given[ROOT_PROC], NULL);
	b->roots.spawner = roots->spawner;
	b->roots.watch = roots->watch;
	b->roots.usb_owner = roots->usb_owner;
	if (!b->roots.sysfs || !b->roots.dev || !b->roots.proc)
		return fail(err, errno, "the roots cannot be resolved: %s", strerror(errno));
	return 0;
}

static void init_locks(struct backend *b)
{
	cond_init(&b->guards.wake);
	cond_init(&b->guards.ended);
	pthread_mutex_init(&b->guards.lock, NULL);
	pthread_mutex_init(&b->ends.lock, NULL);
	pthread_mutex_init(&b->owning, NULL);
	pthread_mutex_init(&b->views.lock, NULL);
	for (int i = 0; i < GUARD_COUNT; i++)
		pthread_mutex_init(&b->guards.views[i].lock, NULL);
	liveness_open(b);
	pthread_mutex_init(&b->serials.lock, NULL);
}

/* An operation needs one look at a time, and the listener one more. */
#define LOOKERS_MAX 64

static int open_parts(struct backend *b, const struct roots *roots, struct err *err)
{
	int rc = sysfs_open(&b->sys, roots->sysfs, roots->dev, roots->proc, err);
	struct statfs fs;

	if (rc)
		return rc;
	if (!sysfs_exists(&b->sys, ROOT_SYS, PCI_DEVICES))
		return fail(err, ENOENT, "%s has no " PCI_DEVICES "; give the root of a sysfs",
			    b->sys.path[ROOT_SYS]);
	rc = resolve_roots(b, roots, err);
	if (rc)
		return rc;
	ends_open(&b->ends, &b->sys);
	b->real = !fstatfs(b->sys.fd[ROOT_SYS], &fs) && fs.f_type == SYSFS_MAGIC;
	b->known = b->real && sizeof(ino_t) == 8 ? known_new() : NULL;
	b->variants = b->real ? variants_load() : strdup("");
	if (!b->variants)
		return fail(err, ENOMEM, "no memory for the names of vfio drivers");
	b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->stop_fd < 0)
		return fail(err, errno, "eventfd: %s", strerror(errno));
	rc = pool_new(LOOKERS_MAX, &b->lookers, err);
	return rc ? rc : io_new(&b->roots, &b->io, err);
}

int backend_open(const struct roots *roots, struct model *m, struct backend **ret, struct err *err)
{
	struct backend *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return fail(err, ENOMEM, "no memory for the backend");
	*b = (struct backend){ .buses = buses,
			       .ways = claim_ways,
			       .sys.fd = { -1, -1, -1 },
			       .model = m,
			       .stop_fd = -1,
			       .uevent_fd = -1,
			       .ears = { -1, -1, -1 },
			       .ends.epoll = -1 };
	init_locks(b);
	rc = gather(b, err);
	rc = rc ? rc : open_parts(b, roots, err);
	if (rc) {
		backend_free(b);
		return rc;
	}
	model_lock(m);
	model_judge(m, &claim_rules);
	model_unlock(m);
	liveness_hear(b);
	guards_hear(b);
	*ret = b;
	return 0;
}

bool backend_free(struct backend *b)
{
	if (!b || atomic_load(&b->left))
		return !b;
	if (b->lookers && pool_end(b->lookers))
		pool_free(b->lookers);
	io_free(b->io);
	closep(&b->stop_fd);
	if (b->uevent_fd >= 0)
		close(b->uevent_fd);
	closep(&b->ears.mounts);
	closep(&b->ears.swaps);
	closep(&b->ears.network);
	ends_close(&b->ends);
	sysfs_close(&b->sys);
	free((char *)b->roots.sysfs);
	free((char *)b->roots.dev);
	free((char *)b->roots.proc);
	free(b->variants);
	known_free(b->known);
	pthread_cond_destroy(&b->guards.wake);
	pthread_mutex_destroy(&b->guards.lock);
	pthread_mutex_destroy(&b->ends.lock);
	pthread_mutex_destroy(&b->owning);
	pthread_mutex_destroy(&b->views.lock);
	free(b->views.listed);
	for (int i = 0; i < GUARD_COUNT; i++)
		pthread_mutex_destroy(&b->guards.views[i].lock);
	pthread_cond_destroy(&b->guards.ended);
	liveness_free(b);
	pthread_mutex_destroy(&b->serials.lock);
	free(b);
	return true;
}

int backend_scan(struct backend *b, struct err *err)
{
	int rc;

	/* First, so that changes during the scan are heard afterwards. */
	if (b->uevent_fd < 0)
		b->uevent_fd = listen_open();
	rc = look_at(b, NULL, 0, PATIENCE_MS);
	if (rc && rc != -ETIMEDOUT)
		return fail(err, -rc, "%s/" PCI_DEVICES " cannot be read: %s",
			    b->sys.path[ROOT_SYS], strerror(-rc));
	/* No reader may see "not critical" before that was asked. Failures are shown in health and
	 * asked again before any operation. */
	guard_run(b, GUARD_CRITICAL, NULL, 0);
	guard_run(b, GUARD_HOLDERS, NULL, 0);
	return 0;
}

void backend_stop(struct backend *b)
{
	views_stop(&b->views);
	event_ring(b->stop_fd);
}

struct around {
	struct touched *v;
	size_t n, cap;
	/* the last group whose members were added: members tend to follow each other */
	int32_t group;
	bool failed; /* no memory: some are missing */
	bool lists; /* of those that are added, only vGPU types are to be read */
};

static void add(struct around *a, const struct key *key)
{
	struct touched *rows = more_rows(a->v, a->n, &a->cap, sizeof(*rows));

	if (!rows) {
		a->failed = true;
		return;
	}
	a->v = rows;
	rows[a->n++] = (struct touched){ .key = *key, .lists = a->lists };
}

static void add_vf(void *ctx, int index, const struct key *vf)
{
	(void)index;
	add(ctx, vf);
}

/* Call it with the model locked. */
static void add_members(struct model *m, const struct device *d, struct around *a)
{
	const struct device *none[1];
	size_t n = model_group(m, d->facts.iommu_group, none, 0);
	_free_ const struct device **found = calloc(n + 1, sizeof(*found));

	a->failed |= !found;
	if (found)
		model_group(m, d->facts.iommu_group, found, n);
	for (size_t i = 0; i < n && found; i++)
		add(a, &found[i]->key);
}

/* Adds the children that the model knows. Call it with the model locked. */
static void add_children(struct model *m, const struct device *dev, struct around *a)
{
	const struct device *none[1];
	size_t n = model_children(m, &dev->key, BUS_NONE, none, 0);
	_free_ const struct device **found = calloc(n + 1, sizeof(*found));

	a->failed |= !found;
	if (found && n)
		model_children(m, &dev->key, BUS_NONE, found, n);
	for (size_t i = 0; i < n && found; i++)
		add(a, &found[i]->key);
}

/* The device, its group, its present and former children: what an operation on it would touch.
 * after: one has ended; what other VFs of its card can still become is told by no event. */
static void add_around(struct backend *b, const struct key *dev, bool after, struct around *a)
{
	const struct device *d;
	bool pf;

	add(a, dev);
	model_lock(b->model);
	d = model_find(b->model, dev);
	pf = d && d->caps & CAP_SRIOV;
	if (d) {
		if (d->facts.iommu_group != a->group)
			add_members(b->model, d, a);
		a->group = d->facts.iommu_group;
		add_children(b->model, d, a);
	}
	d = after && d && d->caps & CAP_VGPU ? model_parent(b->model, d) : NULL;
	a->lists = true;
	if (d)
		add_children(b->model, d, a);
	a->lists = false;
	model_unlock(b->model);
	if (pf)
		pci_vfs(&b->sys, dev, add_vf, a);
}

static int by_key(const void *left, const void *right)
{
	const struct touched *a = left, *b = right;

	return key_cmp(&a->key, &b->key) ?: a->lists - b->lists;
}

/* All that an operation on these touches, each once: members of one group add each other. */
static int collect_around(struct backend *b, const struct key *devs, size_t n_devs, bool after,
			  struct around *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < n_devs; i++)
		add_around(b, &devs[i], after, ret);
	if (ret->failed)
		return -ENOMEM;
	qsort(ret->v, ret->n, sizeof(*ret->v), by_key);
	for (size_t i = 0; i < ret->n; i++)
		if (!n || !key_eq(&ret->v[n - 1].key, &ret->v[i].key))
			ret->v[n++] = ret->v[i];
	ret->n = n;
	return 0;
}

static int observe(struct backend *b, const struct key *devs, const struct around *a, bool guards,
		   struct err *err)
{
	int rc = look_at(b, a->v, a->n, ACT_PATIENCE_MS);

	if (rc == -ETIMEDOUT)
		return fail(
			err, ETIMEDOUT,
			"%s cannot be examined: it, or a device that goes along with it, does not "
			"answer the kernel",
			devs[0].name);
	if (rc)
		return fail(err, -rc, "%s cannot be examined: %s", devs[0].name, strerror(-rc));
	serials_of(b, a->v, a->n); /* an intent for a card is stored with its serial */
	return guards ? guards_ask(b, a->v, a->n, err) : 0;
}

int backend_observe(void *backend, const struct key *devs, size_t n_devs, bool guards,
		    struct err *err)
{
	struct around a = { .group = -1 };
	int rc = collect_around(backend, devs, n_devs, !guards, &a);

	rc = rc ? fail(err, ENOMEM, "no memory to examine the devices")
		: observe(backend, devs, &a, guards, err);
	free(a.v);
	return rc;
}

int backend_guard(void *backend, const struct key *devs, size_t n, struct err *err)
{
	struct around a = { 0 };
	struct backend *b = backend;
	const struct device *d;
	int rc;

	model_lock(b->model);
	for (size_t i = 0; i < n; i++) {
		add(&a, &devs[i]);
		d = model_find(b->model, &devs[i]);
		if (d)
			add_children(b->model, d, &a);
	}
	model_unlock(b->model);
	rc = a.failed ? fail(err, ENOMEM, "no memory to examine the devices")
		      : guards_ask(b, a.v, a.n, err);
	free(a.v);
	return rc;
}

int backend_observe_holders(void *backend, const struct key *devs, size_t n, uint64_t since,
			    struct err *err)
{
	if (guard_await(backend, GUARD_HOLDERS, devs, n, since))
		return 0;
	return guard_or_fail(backend, GUARD_HOLDERS, devs, n, err);
}

int backend_late(void *backend, struct step *step)
{
	struct backend *b = backend;
	int rc;

	/* A program that was killed for its lateness may have done it all: it counts as done. */
	if (step->late) {
		rc = io_late(b->io, step->late, NULL);
		return rc == -ETIMEDOUT ? 0 : rc;
	}
	/* The helper of a former process: nobody is left to read its result. */
	io_await(&step->helper, -1);
	return -EIO;
}

int backend_await(void *backend, const struct step *step, unsigned int deadline_ms)
{
	(void)backend;
	return io_await(&step->helper, (int)deadline_ms);
}

static void guard_health(struct backend *b, enum guard guard, const char *name, struct out *o)
{
	int rc = atomic_load(&b->guards.results[guard]);

	if (!rc)
		out_printf(o, "%s=ok\n", name);
	else
		out_printf(o,
			   "%s=failed error=%s hint=\"claims are refused until this works; see the "
			   "daemon's log\"\n",
			   name, err_name(-rc));
}

/* One line: the state and, if something is missing, what to do. */
static void health_line(struct out *o, bool good, const char *good_text, const char *bad_text,
			const char *hint)
{
	if (good)
		out_printf(o, "%s\n", good_text);
	else
		out_printf(o, "%s hint=\"%s\"\n", bad_text, hint);
}

void backend_health(struct backend *b, struct out *o)
{
	int uevent_fd = b->uevent_fd;
	char uevents[64];
	bool iommu;

	model_lock(b->model);
	iommu = model_has_iommu(b->model);
	model_unlock(b->model);
	if (uevent_fd >= 0)
		snprintf(uevents, sizeof(uevents), "uevents=ok overflows=%u",
			 atomic_load(&b->overflows));
	else
		snprintf(uevents, sizeof(uevents), "uevents=none error=%s", err_name(-uevent_fd));
	health_line(o, iommu, "iommu=on", "iommu=off",
		    "turn on VT-d or AMD-Vi in the firmware and boot with intel_iommu=on or "
		    "amd_iommu=on");
	health_line(o, uevent_fd >= 0, uevents, uevents,
		    "changes are seen only every 10 s; run in the host's user namespace");
	guard_health(b, GUARD_CRITICAL, "host_critical", o);
	guard_health(b, GUARD_HOLDERS, "holders", o);
	if (atomic_load(&b->guards.unseen))
		out_printf(
			o,
			"holders_unseen=%u hint=\"the open files of that many processes cannot be "
			"seen; give the daemon CAP_SYS_PTRACE and the host's pid namespace\"\n",
			atomic_load(&b->guards.unseen));
	if (atomic_load(&b->guards.unknown))
		out_printf(o,
			   "holders_unknown=%u hint=\"that many processes have too many files "
			   "open, or one that hangs; holders of the devices that they could open "
			   "names them as unsure\"\n",
			   atomic_load(&b->guards.unknown));
	health_line(o, !atomic_load(&b->names_missing), "pci_ids=ok", "pci_ids=none",
		    "install libpci and pci.ids or hwdata; names are made of ids");
	health_line(o, sysfs_exists(&b->sys, ROOT_SYS, "bus/pci/drivers/vfio-pci"), "vfio=ok",
		    "vfio=none", "modprobe vfio-pci");
}
