// SPDX-License-Identifier: GPL-2.0-or-later
#include "vfconf.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "devpath.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "pcidevfs/vfconf.h"
#include "rtnl.h"

/* Interfaces of a PF. One with an embedded switch has those of its VFs too, made after its own. */
#define NICS_MAX 64

struct pf_nics {
	int v[NICS_MAX]; /* their indices, ascending */
	size_t n;
	bool named; /* its driver makes interfaces: there is a directory for them */
};

static int ascending(const void *left, const void *right)
{
	const int *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void find_nics(const struct sysfs *s, const struct key *pf, struct pf_nics *ret)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, PCI_DEVICES "/%s/net", pf->name);
	const struct dirent *e;
	int64_t index;

	*ret = (struct pf_nics){ .named = dir };
	while (dir && (e = readdir(dir)) && ret->n < NICS_MAX)
		if (e->d_name[0] != '.' &&
		    !sysfs_number(s, ROOT_SYS, 1, INT32_MAX, &index,
				  PCI_DEVICES "/%s/net/%s/ifindex", pf->name, e->d_name))
			ret->v[ret->n++] = (int)index;
	qsort(ret->v, ret->n, sizeof(ret->v[0]), ascending);
}

/* ---- reading */

struct vfs_told {
	char conf[INTENT_VFS][VFCONF_TEXT];
	unsigned int n;
	int rc; /* the PF did not tell */
};

static void note(void *ctx, unsigned int vf, const char *conf)
{
	struct vfs_told *told = ctx;

	if (vf >= INTENT_VFS)
		return;
	str_copy(told->conf[vf], VFCONF_TEXT, conf);
	told->n++;
}

struct vfconf_scan_job {
	const struct sysfs *s;
	int fd;
	const char *only;
	struct vfs_told *told;
	int failed; /* of one of the PFs */
	struct out *ret;
};

static void print_vf(void *ctx, int index, const struct key *vf)
{
	const struct vfconf_scan_job *l = ctx;
	const char *conf = l->told->rc		? VFCONF_UNKNOWN
			   : index < INTENT_VFS ? l->told->conf[index]
						: "";
	char id[KEY_NAME + 8];

	if (conf[0] && only_has(l->only, vf))
		out_printf(l->ret, "%s %s\n", key_id(vf, id), conf);
}

/* The first interface that tells of VFs is the PF's own. A PF that cannot be asked keeps nobody
 * from learning of the others. An interface that has just gone tells nothing. */
static void look_at(struct vfconf_scan_job *l, const struct key *pf)
{
	struct pf_nics nics;

	find_nics(l->s, pf, &nics);
	memset(l->told, 0, sizeof(*l->told));
	for (size_t i = 0; i < nics.n && !l->told->n && !l->told->rc; i++) {
		int rc = rtnl_vfs(l->fd, nics.v[i], note, l->told);

		l->told->rc = rc == -ENODEV ? 0 : rc;
	}
	l->failed = l->told->rc ?: l->failed;
	if (l->told->n || l->told->rc)
		pci_vfs(l->s, pf, print_vf, l);
}

static bool find_pf(const struct sysfs *s, const char *vf, struct key *ret)
{
	char name[KEY_NAME];

	return !sysfs_link(s, ROOT_SYS, name, sizeof(name), PCI_DEVICES "/%s/physfn", vf) &&
	       key_make(BUS_PCI, name, ret);
}

static int look_at_all(struct vfconf_scan_job *l)
{
	_closedir_ DIR *dir = sysfs_dir(l->s, ROOT_SYS, PCI_DEVICES);
	const struct dirent *e;
	struct key pf;

	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		if (key_make(BUS_PCI, e->d_name, &pf) &&
		    sysfs_exists(l->s, ROOT_SYS, PCI_DEVICES "/%s/virtfn0", pf.name))
			look_at(l, &pf);
	return 0;
}

/* A PF is asked once for all of its VFs. */
static int look_at_some(struct vfconf_scan_job *l)
{
	const char *only = l->only;
	struct key vf, pf, *seen = NULL;
	size_t n = 0, cap = 0;
	int rc = 0;

	while (only_next(&only, &vf)) {
		struct key *rows;
		size_t i = 0;

		if (vf.bus != BUS_PCI || !find_pf(l->s, vf.name, &pf))
			continue;
		while (i < n && !key_eq(&seen[i], &pf))
			i++;
		if (i < n)
			continue;
		rows = more_rows(seen, n, &cap, sizeof(*seen));
		if (!rows) { /* else its VFs would read as if nothing were set */
			rc = -ENOMEM;
			break;
		}
		seen = rows;
		seen[n++] = pf;
		look_at(l, &pf);
	}
	free(seen);
	return rc;
}

int vfconf_scan(const struct sysfs *s, int fd, const char *only, struct out *ret)
{
	_free_ struct vfs_told *told = fd < 0 ? NULL : malloc(sizeof(*told));
	struct vfconf_scan_job l = { s, fd, only, told, 0, ret };
	int rc;

	if (!told)
		return fd < 0 ? fd : -ENOMEM;
	rc = only ? look_at_some(&l) : look_at_all(&l);
	if (l.failed)
		out_printf(ret, "- failed=%d\n", -l.failed);
	return rc;
}

/* ---- setting */

static int refuse_pf(const struct sysfs *s, const struct key *pf, bool named, struct err *err)
{
	char driver[DRIVER_NAME];

	if (sysfs_link(s, ROOT_SYS, driver, sizeof(driver), PCI_DEVICES "/%s/driver", pf->name))
		return fail(err, EOPNOTSUPP,
			    "its PF %s has no driver, and only that could set it; bind one first",
			    pf->name);
	if (named)
		return fail(err, EOPNOTSUPP,
			    "the network interface of its PF %s is in another network namespace; "
			    "move it back to that of process 1 and write again",
			    pf->name);
	return fail(err, EOPNOTSUPP,
		    "the driver %s of its PF %s makes no network interface, so "
		    "nothing can set it",
		    driver, pf->name);
}

static int explain(const char *vf, const char *conf, const struct key *pf, int rc, const char *said,
		   struct err *err)
{
	const char *colon = said[0] ? ": " : "";

	if (rc == -EOPNOTSUPP)
		return fail(err, EOPNOTSUPP,
			    "%s of %s: the driver of its PF %s cannot set that%s%s", conf, vf,
			    pf->name, colon, said);
	if (rc == -EBUSY)
		return fail(err, EBUSY, "%s of %s: its PF %s is busy%s%s; write again", conf, vf,
			    pf->name, colon, said);
	return fail(err, rc == -EPERM ? EPERM : EIO,
		    "%s of %s was refused by the driver of its PF %s: %s%s%s; dmesg may say why",
		    conf, vf, pf->name, strerror(-rc), colon, said);
}

/* As for reading, the interface that knows of VFs is the PF's own. */
static int set(const struct sysfs *s, int fd, const char *vf, const char *conf, struct err *err)
{
	char said[96] = "";
	struct pf_nics nics;
	struct key pf;
	int rc = -EOPNOTSUPP, index;

	if (fd < 0)
		return fail(err, -fd, "rtnetlink of process 1 cannot be reached: %s",
			    strerror(-fd));
	index = find_pf(s, vf, &pf) ? pci_vf_index(s, &pf, vf) : -ENODEV;
	if (index < 0)
		return fail(err, ENODEV, "%s is gone", vf);
	find_nics(s, &pf, &nics);
	if (!nics.n)
		return refuse_pf(s, &pf, nics.named, err);
	for (size_t i = 0; i < nics.n && (rc == -EOPNOTSUPP || rc == -ENODEV); i++)
		rc = rtnl_set_vf(fd, nics.v[i], (unsigned int)index, conf, said,
				 sizeof(said));
	return rc ? explain(vf, conf, &pf, rc, said, err) : 0;
}

int vfconf_set(const struct sysfs *s, int fd, const char *vf, const char *conf, struct out *said)
{
	struct err err = { 0 };
	int rc = set(s, fd, vf, conf, &err);

	if (rc)
		out_put(said, err.text, strlen(err.text));
	return rc;
}
