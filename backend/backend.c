// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/backend.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bus.h"
#include "claim.h"
#include "host.h"
#include "internal.h"
#include "look.h"
#include "listen.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/util.h"
#include "ops.h"
#include "ready.h"
#include "backend/gpu/mig_ask.h"
#include "backend/gpu/mig_seen.h"
#include "backend/guard/guards.h"
#include "backend/known.h"
#include "backend/pci/variant.h"
#include "backend/vfio/vfio.h"

/* Each is a file that ends with its row. Vendors come last: they know better than the common
 * rows. */
const struct backend_ops *const backends[] = {
	&vfio_ops, &vgpu_ops, &mdev_ops, &usb_ops, &sriov_ops, &vfconf_ops, &reset_ops, &offer_ops, &allocation_ops, &nvidia_ops, &mig_ops, &settings_ops, NULL,
};

const struct method *const *backend_methods(const struct backend *b)
{
	return b->methods;
}

const struct verb *const *backend_verbs(const struct backend *b)
{
	return b->verbs;
}

/* Collects the methods and the verbs of all rows into one list each, for the engine, and what is
 * watched for them. */
static int gather(struct backend *b, struct err *err)
{
	bool fits = asker_watch(&b->asker, guards_watch);
	size_t m = 0, v = 0;

	for (enum bus bus = 0; bus < BUS_COUNT; bus++)
		fits &= !buses[bus] || asker_watch(&b->asker, buses[bus]->watch);

	for (const struct backend_ops *const *ops = backends; *ops; ops++) {
		const struct method *const *method = (*ops)->methods;
		const struct verb *const *verb = (*ops)->verbs;

		while (method && *method && m < METHODS_MAX)
			b->methods[m++] = *method++;
		while (verb && *verb && v < VERBS_MAX)
			b->verbs[v++] = *verb++;
		fits &= asker_watch(&b->asker, (*ops)->watch);
		if (!fits || (method && *method) || (verb && *verb))
			return fail(err, E2BIG, "backend %s: too many methods, verbs or questions",
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
	b->roots.log = roots->log;
	atomic_store(&b->log_error, roots->log < 0 ? roots->log : 0);
	b->roots.usb_owner = roots->usb_owner;
	if (!b->roots.sysfs || !b->roots.dev || !b->roots.proc)
		return fail(err, errno, "the roots cannot be resolved: %s", strerror(errno));
	return 0;
}

static void init_locks(struct backend *b)
{
	pthread_mutex_init(&b->ends.lock, NULL);
	pthread_mutex_init(&b->owning, NULL);
	pthread_mutex_init(&b->looks.lock, NULL);
	asker_open(&b->asker);
}

/* An operation needs one look at a time, and the listener one more. */
#define LOOKERS_MAX 64

static int open_parts(struct backend *b, const struct roots *roots, struct err *err)
{
	int rc = sysfs_open(&b->sys, roots->sysfs, roots->dev, roots->proc, err);
	struct statfs fs = { 0 };

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
	/* A simulated kernel gives no inode twice either. */
	if (sizeof(ino_t) == 8 && (b->real || fs.f_type == FUSE_SUPER_MAGIC))
		b->known = known_new();
	b->variants = b->real ? variants_load() : strdup("");
	if (!b->variants)
		return fail_nomem(err);
	b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->stop_fd < 0)
		return fail(err, errno, "eventfd: %s", strerror(errno));
	rc = pool_new(LOOKERS_MAX, &b->lookers, err);
	return rc ? rc : io_new(&b->roots, &b->io, err);
}

int backend_open(const struct roots *roots, struct backend **ret, struct err *err)
{
	struct backend *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return fail_nomem(err);
	*b = (struct backend){ .buses = buses,
			       .ways = claim_ways,
			       .sys.fd = { -1, -1, -1 },
			       .stop_fd = -1,
			       .uevent_fd = -1,
			       .daemons = { DAEMON_UNKNOWN, DAEMON_UNKNOWN,
					    DAEMON_UNKNOWN },
			       .ears = { -1, -1, -1 },
			       .ends.epoll = -1 };
	init_locks(b);
	rc = gather(b, err);
	rc = rc ? rc : open_parts(b, roots, err);
	if (rc) {
		backend_free(b);
		return rc;
	}
	*ret = b;
	return 0;
}

void backend_use(struct backend *b, struct model *m)
{
	b->model = m;
	model_lock(m);
	model_judge(m, &claim_rules);
	model_unlock(m);
	asker_hear(b);
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
	pthread_mutex_destroy(&b->ends.lock);
	pthread_mutex_destroy(&b->owning);
	pthread_mutex_destroy(&b->looks.lock);
	pci_slots_unref(b->looks.slots);
	free(b->looks.seen.v);
	free(b->looks.extra.v);
	asker_free(b);
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
	for (size_t i = 0; i < b->asker.n; i++) {
		const struct ask_row *row = b->asker.of[i].row;

		if (row->first)
			ask_now(b, row, NULL, 0, 0, NULL);
		else if (row->follows)
			ask_soon(b, row, NULL, 0);
	}
	return 0;
}

void backend_stop(struct backend *b)
{
	looks_stop(&b->looks);
	event_ring(b->stop_fd);
}

int backend_state(void *backend, const char *what, const char *text)
{
	const char *const argv[] = { "state", what, text, NULL };
	struct backend *b = backend;

	/* Like a write of our own it has no deadline: one that is late must not meet the next. */
	return io_call(b->io, argv, INT_MAX, NULL, NULL, NULL);
}

void backend_ask_drivers(void *backend, const struct key *devs, size_t n)
{
	ask_now(backend, &ask_mig, devs, n, 0, NULL);
}

void backend_opened(void *backend, const struct key *dev)
{
	mig_opened(backend, dev);
}

int backend_observe_holders(void *backend, const struct key *devs, size_t n, uint64_t since,
			    struct err *err)
{
	return ask_now(backend, &ask_holders, devs, n, since, err);
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
	return io_await(&step->helper, (int)deadline_ms);
}

static void guard_health(struct backend *b, const struct ask_row *row, const char *name,
			 struct out *o)
{
	int rc = atomic_load(&ask_state(b, row)->result);

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

bool backend_has_iommu(struct backend *b)
{
	bool has;

	model_lock(b->model);
	has = model_has_iommu(b->model);
	model_unlock(b->model);
	return has;
}

void backend_health(struct backend *b, struct out *o)
{
	int uevent_fd = b->uevent_fd, vf_settings = atomic_load(&ask_state(b, &ask_vfconf)->result);
	char uevents[64], unseen[UNSEEN_TEXT];
	bool iommu = backend_has_iommu(b);
	unsigned int unknown;

	pthread_mutex_lock(&b->asker.lock);
	STR_COPY(unseen, b->unseen);
	unknown = b->unknown;
	pthread_mutex_unlock(&b->asker.lock);
	if (uevent_fd >= 0)
		snprintf(uevents, sizeof(uevents), "uevents=ok overflows=%u",
			 atomic_load(&b->overflows));
	else
		snprintf(uevents, sizeof(uevents), "uevents=none error=%s", err_name(-uevent_fd));
	ready_health(b, o);
	health_line(o, iommu, "iommu=on", "iommu=off", iommu ? "" : host_iommu_hint(&b->sys));
	health_line(o, uevent_fd >= 0, uevents, uevents,
		    "changes are seen only every 10 s; run in the host's user namespace");
	guard_health(b, &ask_critical, "host_critical", o);
	guard_health(b, &ask_holders, "holders", o);
	unseen_health(unseen, io_lacks(b->io, "holders"), o);
	if (vf_settings)
		out_printf(
			o,
			"vf_settings=failed error=%s hint=\"mac, vlan, trust and spoofchk of VFs may "
			"be old; their PF does not tell them, dmesg may say why\"\n",
			err_name(-vf_settings));
	if (unknown)
		out_printf(o,
			   "holders_unknown=%u hint=\"that many processes have too many files "
			   "open, or one that hangs; holders of the devices that they could open "
			   "names them as unsure\"\n",
			   unknown);
	mig_health(b, o);
	log_health(b, o);
	health_line(o, !atomic_load(&b->names_missing[BUS_PCI]), "pci_ids=ok", "pci_ids=none",
		    "install pci.ids or hwdata; names are made of ids");
	if (atomic_load(&b->names_missing[BUS_USB]))
		health_line(o, false, "", "usb_ids=none",
			    "install usb.ids or hwdata; USB devices are called by their own words, "
			    "or by their ids");
	health_line(o, sysfs_exists(&b->sys, ROOT_SYS, "bus/pci/drivers/vfio-pci"), "vfio=ok",
		    "vfio=none", "modprobe vfio-pci");
}

void backend_metrics(struct backend *b, void (*tell)(struct out *, const char *, const char *),
		     struct out *o)
{
	tell(o, "kernel_log", log_lacks(b) ? "none" : "ok");
	tell(o, "iommu", backend_has_iommu(b) ? "on" : "off");
	ready_each(b, tell, o);
}

void backend_print(FILE *to)
{
	fprintf(to,
		"\n"
		"## Backends\n"
		"\n"
		"The backends behind the writable files (backend/backend.c lists them).\n"
		"\n"
		"| backend | what it knows | files | steps |\n"
		"|---|---|---|---|\n");
	for (const struct backend_ops *const *ops = backends; *ops; ops++) {
		fprintf(to, "| %s | %s |", (*ops)->name, (*ops)->help);
		for (const struct method *const *m = (*ops)->methods; m && *m; m++)
			fprintf(to, " `%s`", (*m)->file);
		fprintf(to, " |");
		for (const struct verb *const *v = (*ops)->verbs; v && *v; v++)
			fprintf(to, " `%s`", (*v)->name);
		fprintf(to, " |\n");
	}
}
