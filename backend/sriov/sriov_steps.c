// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes that make and remove VFs. VFs are counted by virtfn links, because reading sriov_numvfs
 * may wait for the device's lock. */
#include "sriov.h"

#include <errno.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/program.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

static void count_one(void *ctx, int index, const struct key *vf)
{
	(*(unsigned int *)ctx)++;
}

int sriov_count(struct backend *b, const struct key *pf, unsigned int *ret, struct err *err)
{
	*ret = 0;
	return pci_vfs(&b->sys, pf, count_one, ret) ? fail(err, ENODEV, "%s is gone", pf->name) : 0;
}

static int write_number(struct backend *b, struct step *step, unsigned int n, unsigned int ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	return step_write(b, step, ms, text, PCI_DEVICES "/%s/sriov_numvfs", step->dev.name);
}

/* bnxt_en (which reports success) and bnx2x (EINVAL) make no VFs while the PF's interface is down. It
 * is not set up here: that is the administrator's, and comes at boot when the network is configured. */
static int refuse_down(struct backend *b, const struct step *step, unsigned int n,
		       const char *driver, struct err *err)
{
	char netdev[CALLED_NAME] = "";
	struct device dev;

	if (model_copy(b->model, &step->dev, &dev))
		STR_COPY(netdev, dev.facts.netdev);
	netdev[strcspn(netdev, " ")] = '\0';
	if (!pci_is_down(&b->sys, &step->dev, netdev))
		return 0;
	return fail(err, EAGAIN,
		    "%s makes none of the %u VFs of %s while its interface %s is down; set that up "
		    "first: ip link set %s up",
		    driver, n, step->dev.name, netdev, netdev);
}

/* Turns the kernel's errno into the cause, as far as it can be found. */
static int explain(struct backend *b, const struct step *step, unsigned int n, int rc,
		   unsigned int ms, struct err *err)
{
	int r = step_trouble(b, step->verb->name, &step->dev, rc, ms,
			     n ? "its driver is still at work" : "a process seems to hold a VF",
			     err);
	const char *name = step->dev.name;
	char driver[DRIVER_NAME];

	if (r)
		return r;
	if (sysfs_link(&b->sys, ROOT_SYS, driver, sizeof(driver), PCI_DEVICES "/%s/driver", name))
		return fail(err, EOPNOTSUPP,
			    "%s has no driver, and only its driver can make VFs; bind one first",
			    name);
	if (rc == -ENOENT)
		return fail(err, EOPNOTSUPP,
			    "%s of %s makes no VFs; is there another driver for it?", driver, name);
	if (rc == -EBUSY)
		return fail(err, EBUSY,
			    "the VFs of %s are in use, or were changed meanwhile; write again",
			    name);
	if (n && (rc == -ENOMEM || rc == -ENOSPC))
		return fail(
			err, EIO,
			"there is no room for %u VFs of %s: %s; turn on SR-IOV in the firmware or boot with "
			"pci=realloc",
			n, name, strerror(-rc));
	if (n && (rc == -EINVAL || rc == -ENETDOWN))
		r = refuse_down(b, step, n, driver, err);
	return r ? r
		 : fail(err, EIO, "sriov_numvfs %u of %s was refused by %s: %s; dmesg may say why",
			n, name, driver, strerror(-rc));
}

/* Some cards report success and show fewer. */
static int refuse_fewer(struct backend *b, const struct step *step, unsigned int n,
			unsigned int has, struct err *err)
{
	int rc = has ? 0 : refuse_down(b, step, n, "its driver", err);

	return rc ? rc
		  : fail(err, EIO,
			 "%u VFs of %s were requested, and %u appeared; dmesg may say why", n,
			 step->dev.name, has);
}

/* Any write removes the existing VFs. */
static int numvfs_refuse(struct model *m, const struct step *step, struct err *err)
{
	const struct device *vfs[VFS_MAX], *pf = model_find(m, &step->dev);
	size_t n = pf ? model_children(m, &step->dev, BUS_PCI, vfs, VFS_MAX) : 0;
	int rc = 0;

	for (size_t i = 0; i < n && i < VFS_MAX && !rc; i++)
		rc = sriov_refuse_vf(pf, vfs[i], step->force, err);
	return rc;
}

/* From had to n, one of which is 0. If it fails half way the VFs are removed again. */
static int write_checked(struct backend *b, struct step *step, unsigned int had, unsigned int n,
			 unsigned int ms, struct err *err)
{
	/* ms, and a tenth of that for each VF. */
	unsigned int more = (n > had ? n : had) * (ms / 10), has;
	int rc;

	ms = more < UINT32_MAX / 2 - ms ? ms + more : UINT32_MAX / 2;
	rc = write_number(b, step, n, ms);
	if (rc)
		rc = explain(b, step, n, rc, ms, err);
	if (rc == -ETIMEDOUT || rc == -ENODEV || !n)
		return rc;
	if (!rc)
		rc = sriov_count(b, &step->dev, &has, err);
	if (!rc && has != n)
		rc = refuse_fewer(b, step, n, has, err);
	if (rc)
		write_number(b, step, 0, ms);
	return rc;
}

static int set_number(struct backend *b, struct step *step, unsigned int had, unsigned int n,
		      unsigned int ms, struct err *err)
{
	int rc = 0;

	if (step->verb == &sriov_manage)
		return sriov_run_tool(b, step, had, n, ms, err);
	if (had && had != n)
		rc = write_checked(b, step, had, 0, ms, err);
	if (!rc && n && had != n)
		rc = write_checked(b, step, 0, n, ms, err);
	return rc;
}

/* Stores the VFs' claims with the PF. Restore writes them to disk a moment after the claim; once a
 * VF is gone nothing else tells of it. */
static void note_claims(struct model *m, const struct key *pf)
{
	const struct device *vfs[VFS_MAX];
	struct device *dev;
	size_t n;

	model_lock(m);
	n = model_children(m, pf, BUS_PCI, vfs, VFS_MAX);
	dev = model_edit(m, pf, false);
	for (size_t i = 0; dev && i < n && i < VFS_MAX; i++) {
		unsigned int vf = (unsigned int)vfs[i]->facts.index;

		if (vfs[i]->intent.claim[0] && vf < INTENT_VFS)
			dev->intent.vf_claims[vf / 64] |= UINT64_C(1) << vf % 64;
	}
	model_publish(m);
	model_unlock(m);
}

/* An interrupted operation on the VFs is over when they are gone. */
static void end_stuck(struct model *m, const struct key *pf)
{
	struct device *dev;

	model_lock(m);
	dev = model_edit(m, pf, false);
	if (dev)
		dev->stuck[0] = '\0';
	model_publish(m);
	model_unlock(m);
}

/* A log may be one of a process that ran foreign code. */
static int number_of(const char *text, unsigned int *ret, struct err *err)
{
	uint64_t n = 0;
	int rc = parse_u64(text, UINT16_MAX, &n);

	*ret = (unsigned int)n;
	return rc ? fail(err, EINVAL, "%s is not a number of VFs", text) : 0;
}

static int numvfs_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	unsigned int n = 0, had = 0;
	int rc = number_of(step->value, &n, err);

	rc = rc ? rc : sriov_count(b, &step->dev, &had, err);
	if (rc)
		return rc;
	note_claims(b->model, &step->dev);
	snprintf(step->former, sizeof(step->former), "%u", had);
	step->recorded = true;
	rc = set_number(b, step, had, n, ms, err);
	if (!rc)
		end_stuck(b->model, &step->dev);
	return rc;
}

static int read_autoprobe(struct backend *b, const struct key *pf, char *ret, size_t size)
{
	return sysfs_read(&b->sys, ROOT_SYS, ret, size, PCI_DEVICES "/%s/sriov_drivers_autoprobe",
			  pf->name);
}

/* Records that the 0 is ours, as long as it may be there. */
static void remember(struct model *m, const struct key *pf, bool off)
{
	struct device *dev;

	model_lock(m);
	dev = model_edit(m, pf, false);
	if (dev)
		dev->intent.autoprobe_off = off;
	model_publish(m);
	model_unlock(m);
}

static int write_autoprobe(struct backend *b, struct step *step, const char *value,
			   unsigned int ms, struct err *err)
{
	int rc = step_write(b, step, ms, value, PCI_DEVICES "/%s/sriov_drivers_autoprobe",
			    step->dev.name);

	if (rc == -ETIMEDOUT)
		return fail(err, ETIMEDOUT,
			    "sriov_drivers_autoprobe of %s did not end within %u ms",
			    step->dev.name, ms);
	if (rc)
		return fail(err, EIO, "sriov_drivers_autoprobe %s of %s was refused: %s", value,
			    step->dev.name, strerror(-rc));
	return 0;
}

static int set_autoprobe(struct backend *b, struct step *step, const char *value, unsigned int ms,
			 struct err *err)
{
	bool off = value[0] == '0';
	int rc;

	if (off)
		remember(b->model, &step->dev, true);
	rc = write_autoprobe(b, step, value, ms, err);
	if (!rc && !off)
		remember(b->model, &step->dev, false);
	return rc;
}

/* The next process probes the VFs that this one has not reached. */
static void mark_unprobed(struct model *m, const struct key *pf)
{
	const struct device *vfs[VFS_MAX];
	size_t n;

	model_lock(m);
	n = model_children(m, pf, BUS_PCI, vfs, VFS_MAX);
	for (size_t i = 0; i < n && i < VFS_MAX; i++)
		model_edit(m, &vfs[i]->key, false)->intent.unprobed = !vfs[i]->facts.driver[0];
	model_publish(m);
	model_unlock(m);
}

static bool any_stored(const struct intent *pf)
{
	uint64_t any = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pf->vf_claims); i++)
		any |= pf->vf_claims[i];
	return any;
}

struct hosts_vfs {
	const struct intent *pf;
	struct backend *b;
	struct step *step;
	unsigned int ms;
};

static void probe_hosts(void *ctx, int index, const struct key *vf)
{
	const struct hosts_vfs *h = ctx;

	if (!h->step->late && !sriov_claim_stored(h->pf, (unsigned int)index))
		step_write(h->b, h->step, h->ms, vf->name, PCI_PROBE);
}

static bool reads_on(struct backend *b, const struct key *pf)
{
	char text[8];

	return read_autoprobe(b, pf, text, sizeof(text)) > 0 && text[0] == '1';
}

/* VFs that the next steps of the undo claim again never meet their host driver; the others do. A
 * second call, after a late one or a killed process, starts again if VFs may be unprobed. */
static int make_again(struct backend *b, struct step *step, unsigned int had, unsigned int n,
		      unsigned int ms, struct err *err)
{
	struct device pf = { 0 };
	struct hosts_vfs hosts = { &pf.intent, b, step, ms };
	int rc = 0, on = 0;
	bool off;

	model_copy(b->model, &step->dev, &pf);
	/* Of a GPU's VFs only their own driver can make vGPUs. */
	off = step->verb != &sriov_manage &&
	      (pf.intent.autoprobe_off ||
	       (any_stored(&pf.intent) && had != n && reads_on(b, &step->dev)));
	if (off)
		rc = set_autoprobe(b, step, "0", ms, err);
	if (!rc && off) /* that may have taken a while */
		rc = sriov_count(b, &step->dev, &had, err);
	rc = rc ? rc : set_number(b, step, had, n, ms, err);
	if (off && !step->late)
		on = write_autoprobe(b, step, "1", ms, rc ? NULL : err);
	rc = rc ? rc : on;
	if (rc || !off)
		return rc;
	rc = pci_vfs(&b->sys, &step->dev, probe_hosts, &hosts);
	if (step->late)
		return fail(err, ETIMEDOUT,
			    "drivers_probe of the VFs of %s did not end within %u ms",
			    step->dev.name, ms);
	remember(b->model, &step->dev, false);
	return rc;
}

static int numvfs_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	unsigned int n = 0, had = 0;
	int rc = number_of(step->former, &n, err);

	rc = rc ? rc : sriov_count(b, &step->dev, &had, err);

	if (!rc && had && had != n) /* the kernel would wait for a holder without end */
		rc = step_refuse_undo(b, step, numvfs_refuse, err);
	return rc ? rc : make_again(b, step, had, n, ms, err);
}

static int autoprobe_learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	if (step->value[0] == '0')
		remember(b->model, &step->dev, true);
	return 0;
}

static int autoprobe_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int n = read_autoprobe(b, &step->dev, step->former, sizeof(step->former));

	if (n < 0)
		return fail(err, EIO, "sriov_drivers_autoprobe of %s cannot be read: %s",
			    step->dev.name, strerror(-n));
	step->recorded = true;
	if (step->value[0] == '1')
		mark_unprobed(b->model, &step->dev);
	return set_autoprobe(b, step, step->value, ms, err);
}

static int autoprobe_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return set_autoprobe(b, step, step->former, ms, err);
}

#define NUMVFS_MS 10000

const struct verb sriov_set_numvfs = { .of = "sriov", .name = "sriov_numvfs",
				       .deadline_ms = NUMVFS_MS,
				       .records = true,
				       .lanes = true,
				       .remakes = true,
				       .refuse = numvfs_refuse,
				       .run = numvfs_run,
				       .undo = numvfs_undo };
/* sriov-manage waits for the driver, which loads firmware for each VF. */
const struct verb sriov_manage = { .of = "sriov", .name = "sriov-manage",
				   .deadline_ms = PROGRAM_MS,
				   .records = true,
				   .lanes = true,
				   .remakes = true,
				   .refuse = numvfs_refuse,
				   .run = numvfs_run,
				   .undo = numvfs_undo };
const struct verb sriov_set_autoprobe = { .of = "sriov", .name = "sriov_drivers_autoprobe",
					  .deadline_ms = NUMVFS_MS,
					  .records = true,
					  .lanes = true,
					  .learn = autoprobe_learn,
					  .run = autoprobe_run,
					  .undo = autoprobe_undo };
