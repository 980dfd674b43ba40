// SPDX-License-Identifier: GPL-2.0-or-later
/* Who uses a device of any bus, and which operations that forbids: one sentence each. */
#include "use.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"

/* Nobody knows what would be taken, so `force` does not help. */
int refuse_doubt(const char *before, const struct device *dev, struct err *err)
{
	char doubt[DOUBT_TEXT];

	device_doubt(dev, doubt);
	return doubt[0] ? fail(err, EOPNOTSUPP, "%s%s", before, doubt) : 0;
}

int refuse_needed(const struct device *dev, bool force, struct err *err)
{
	char id[KEY_NAME + 8];

	if (!dev->facts.critical[0] || dev->facts.use == USE_GUEST || force)
		return 0;
	return fail(
		err, EPERM,
		"the host needs %s: %s; it stays with the host unless ctl has a line \"force %s\"",
		key_id(&dev->key, id), dev->facts.critical, key_id(&dev->key, id));
}

/* Writes "held by qemu (pid 7)"; false: no process holds it. The first holder is pid=N comm=NAME,
 * with the name quoted if necessary. */
static bool holder_of(const struct device *dev, char buf[static USER_TEXT])
{
	const char *line = dev->facts.holder, *comm = strstr(line, "comm=");
	const bool unsure = !strncmp(line, HOLDER_UNSURE, strlen(HOLDER_UNSURE));
	int len = comm ? (int)strcspn(comm + 5, "\n") : 0;
	long pid = 0;

	if (!line[0])
		return false;
	if (len > 1 && comm[5] == '"') {
		comm++;
		len -= 2;
	}
	line += unsure ? strlen(HOLDER_UNSURE) : 0;
	if (sscanf(line, "pid=%ld", &pid) != 1 || !comm || !len)
		snprintf(buf, USER_TEXT, "held by a process (%.*s)", (int)strcspn(line, "\n"),
			 line);
	else
		snprintf(buf, USER_TEXT, "%sheld by %.*s (pid %ld)%s", unsure ? "perhaps " : "",
			 len, comm + 5, pid, unsure ? ", whose open files are unknown" : "");
	return true;
}

static bool is_pending(const struct device *dev)
{
	return !strcmp(dev->intent.allocated, "pending");
}

/* "a/b/c", or that it is not known yet. */
static const char *pod_of(const struct device *dev)
{
	return is_pending(dev) ? "a pod that is not known yet" : dev->intent.allocated;
}

/* Likewise, or "allocated to a/b/c"; false: nobody uses it. */
bool use_text(const struct device *dev, char buf[static USER_TEXT])
{
	if (!device_is_allocated(dev))
		return holder_of(dev, buf);
	snprintf(buf, USER_TEXT, "allocated to %s", pod_of(dev));
	return true;
}

int refuse_given(const struct device *dev, struct err *err)
{
	if (!dev->intent.allocated[0])
		return 0;
	return fail(
		err, EBUSY,
		"%s is allocated to %s, which gets it back with its claim; if no pod has it, write none to its "
		"allocated_to first",
		dev->key.name, pod_of(dev));
}

int refuse_open(const struct device *dev, struct err *err)
{
	char user[USER_TEXT];

	if (!holder_of(dev, user))
		return 0;
	return fail(err, EBUSY, "%s is %s; stop it and write again", dev->key.name, user);
}

int refuse_holder(const char *before, const struct device *dev, struct err *err)
{
	char user[USER_TEXT];

	if (!use_text(dev, user))
		return 0;
	return fail(
		err, EBUSY, "%s%s is %s; %s", before, dev->key.name, user,
		!device_is_allocated(dev) ? "stop it and write again"
		: is_pending(dev)
			? "end that pod first, or write none to its allocated_to if no pod has it"
			: "end that pod first");
}

/* The driver lets go only when all mediated devices are closed, and removes them. That of a VF has no
 * directory of its own. */
static int refuse_shared(const char *before, const struct device *dev, struct err *err)
{
	const struct facts *f = &dev->facts;
	const char *name = dev->key.name;

	if (f->mdevs && dev->caps & CAP_VF)
		return fail(err, EBUSY,
			    "%s%s is the parent of mediated device %s; write none to its profile",
			    before, name, f->mdev);
	if (f->mdevs > 1)
		return fail(err, EBUSY,
			    "%s%s is the parent of mediated device %s and %u more; write none to "
			    "profile in mdevs/%s and the others",
			    before, name, f->mdev, f->mdevs - 1u, f->mdev);
	if (f->mdevs)
		return fail(err, EBUSY,
			    "%s%s is the parent of mediated device %s; write none to profile in "
			    "mdevs/%s",
			    before, name, f->mdev, f->mdev);
	if (f->profile_id[0])
		return fail(err, EBUSY, "%s%s is a vGPU, %s; write none to its profile first",
			    before, name, f->profile);
	return 0;
}

/* The kernel would take the interface from whoever is there, without asking. */
static int refuse_elsewhere(const char *before, const struct device *dev, struct err *err)
{
	if (!dev->facts.net_elsewhere || dev->facts.use != USE_HOST)
		return 0;
	return fail(err, EBUSY,
		    "%s%s: its interface is in another network namespace, such as a container's; end "
		    "that container, or move the interface back, and write again",
		    before, dev->key.name);
}

int refuse_used(const char *before, const struct device *dev, struct err *err)
{
	int rc = refuse_holder(before, dev, err);

	rc = rc ? rc : refuse_elsewhere(before, dev, err);
	return rc ? rc : refuse_shared(before, dev, err);
}

int refuse_coming(const char *before, const struct device *dev, struct err *err)
{
	if (!device_is_coming(dev))
		return 0;
	return fail(err, EBUSY, "%s%s is stored as claimed by %.100s, %s; write again", before,
		    dev->key.name, dev->intended,
		    device_is_known(dev) ? "which is being restored" : "and its card is not identified yet");
}

/* vfio-pci refuses a PF that has VFs and leaves it driverless; some drivers remove the VFs. */
int refuse_parent(const char *before, const struct device *dev, const struct plan *plan,
		  struct err *err)
{
	const struct request *vfs = plan_requested(plan, &dev->key, "sriov_numvfs");

	if (dev->facts.num_vfs <= 0 || (vfs && !strcmp(vfs->value, "0")))
		return 0;
	return fail(err, EBUSY, "%s%s has %d VFs; write 0 to its %s first", before, dev->key.name,
		    dev->facts.num_vfs, dev->facts.own_vfs ? "enabled" : "sriov_numvfs");
}

int refuse_use(const struct device *dev, const struct request *request, const struct plan *plan,
	       struct err *err)
{
	int rc = refuse_doubt("", dev, err);

	rc = rc ? rc : refuse_needed(dev, request->force, err);
	rc = rc ? rc : refuse_parent("", dev, plan, err);
	return rc ? rc : refuse_used("", dev, err);
}

int refuse_taken_away(const struct device *dev, bool force, struct err *err)
{
	int rc = refuse_needed(dev, force, err);

	return rc ? rc : refuse_used("", dev, err);
}

int refuse_step(struct model *m, const struct step *step, struct err *err)
{
	const struct device *dev = model_find(m, &step->dev);

	return dev ? refuse_taken_away(dev, step->force || is_forced(m, dev), err) : 0;
}

int refuse_step_held(struct model *m, const struct step *step, struct err *err)
{
	const struct device *dev = model_find(m, &step->dev);

	return dev ? refuse_holder("", dev, err) : 0;
}
