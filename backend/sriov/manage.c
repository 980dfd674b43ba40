// SPDX-License-Identifier: GPL-2.0-or-later
/* VFs that the driver's own tool makes: NVIDIA's sriov-manage (spec/peers.md 1.12, 1). It takes
 * the GPU from its driver for a moment, which fails while anybody has it open, and can leave it
 * without one (spec/users.md 2.6). */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/gpu/mig_ask.h"
#include "backend/program.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"
#include "sriov.h"

/* NVIDIA's own operator tries as often; a monitor that polls the GPU lets go in between. */
#define TRIES 5
#define PAUSE_MS 1000

/* What ends by itself: the lock that somebody holds, and races with udev and the driver. */
static bool is_passing(const char *said)
{
	static const char *const texts[] = { "unbindLock", "File exists", "No such device",
					     "not initialized yet", "Device or resource busy" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strstr(said, texts[i]))
			return true;
	return false;
}

static bool has_driver(struct backend *b, const struct key *pf)
{
	return sysfs_exists(&b->sys, ROOT_SYS, PCI_DEVICES "/%s/driver", pf->name);
}

/* The tool has let go of the PF and not given it back; without a driver it can do nothing more. */
static void heal(struct backend *b, struct step *step, unsigned int ms)
{
	if (!has_driver(b, &step->dev) && !step->late)
		step_write(b, step, ms, step->dev.name, PCI_PROBE);
}

static int run_tool(struct backend *b, struct step *step, unsigned int n, unsigned int ms,
		    struct err *err)
{
	const uint64_t until = now_ms() + ms;
	int rc = -EIO;

	ask_settle(b, &ask_mig);
	for (int i = 0; i < TRIES && rc; i++) {
		uint64_t now = now_ms();

		if (i && (rc != -EIO || !is_passing(err->text) || now + PAUSE_MS >= until))
			break;
		if (i) {
			heal(b, step, (unsigned int)(until - now));
			nanosleep(&(struct timespec){ PAUSE_MS / 1000 }, NULL);
		}
		if (step->late)
			break;
		*err = (struct err){ 0 };
		rc = program_run(b->io, "sriov-manage", n ? "-e" : "-d", step->dev.name,
				 (unsigned int)(until - now), &step->late,
				 &step->helper, err);
	}
	return rc;
}

static int check(struct backend *b, struct step *step, unsigned int n, struct err *err)
{
	const char *name = step->dev.name;
	unsigned int has;
	int rc = sriov_count(b, &step->dev, &has, err);

	if (rc)
		return rc;
	if (!has_driver(b, &step->dev))
		return fail(err, EIO,
			    "sriov-manage has left %s without its driver; dmesg may say why", name);
	if (!n == !has)
		return 0;
	return fail(err, EIO,
		    "sriov-manage reported success for %s, which has %u VFs now and not %u; dmesg may "
		    "say why",
		    name, has, n);
}

int sriov_run_tool(struct backend *b, struct step *step, unsigned int had, unsigned int n,
		   unsigned int ms, struct err *err)
{
	struct err said = { 0 };
	int rc;

	if (!n == !had)
		return 0;
	rc = run_tool(b, step, n, ms, &said);
	heal(b, step, ms);
	if (step->late)
		return fail(err, ETIMEDOUT, "%s", said.text);
	if (!rc || !check(b, step, n, NULL)) /* it may fail, or be killed, although it is done */
		return check(b, step, n, err);
	if (strstr(said.text, "unbindLock"))
		return fail(err, EBUSY,
			    "somebody has the GPU %s open, for example nvidia-smi or "
			    "nvidia-persistenced; stop that and write again (%s)",
			    step->dev.name, said.text);
	if (rc == -EIO && is_passing(said.text))
		return fail(err, EAGAIN,
			    "the driver of %s is not ready, or others are at it; write again (%s)",
			    step->dev.name, said.text);
	return fail(err, -rc, "%s", said.text);
}
