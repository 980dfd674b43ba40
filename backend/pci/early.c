// SPDX-License-Identifier: GPL-2.0-or-later
/* For udev: applies stored intents before a driver meets a function. No daemon, model or helper:
 * this process itself may be left hanging. */
#include <errno.h>
#include <string.h>

#include "backend/claim.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "serials.h"

static int look(const struct sysfs *s, const char *name, struct device *ret)
{
	char serial[TELL_MAX] = "";

	*ret = (struct device){ 0 };
	if (!key_make(BUS_PCI, name, &ret->key))
		return -EINVAL;
	if (pci_observe(s, NULL, &ret->key, &ret->facts))
		return -ENODEV;
	ret->facts.serial_known = !serial_tell(s, &ret->key, true, serial) && serial[0] != '-';
	if (ret->facts.serial_known)
		ret->facts.serial = strtoull(serial, NULL, 16);
	return 0;
}

/* The intent of a VF is found by its PF. */
static int find_claim(const struct sysfs *s, const char *state_dir, const char *address,
		      struct device *dev, char ret_with[static DRIVER_NAME], struct err *err)
{
	struct device pf;
	int rc = look(s, address, dev);

	if (rc)
		return fail(err, -rc, "%s: %s", address,
			    rc == -EINVAL ? "not an address of a PCI function"
					  : "there is no such function");
	if (!device_is_vf(dev))
		return intents_early(state_dir, dev, NULL, ret_with, err);
	rc = look(s, dev->facts.parent.name, &pf);
	rc = rc ? rc : pci_vf_index(s, &pf.key, dev->key.name);
	if (rc < 0)
		return fail(err, ENODEV, "%s: its physfn is not there", address);
	dev->facts.index = rc;
	return intents_early(state_dir, dev, &pf, ret_with, err);
}

int pci_early(const struct roots *roots, const char *state_dir, const char *address,
	      struct err *err)
{
	const struct claim_ops *way;
	char with[DRIVER_NAME] = "";
	struct device dev;
	struct sysfs s;
	int rc = sysfs_open(&s, roots->sysfs, roots->dev, roots->proc, err);

	if (rc)
		return rc;
	rc = find_claim(&s, state_dir, address, &dev, with, err);
	way = rc > 0 ? claim_way(claim_ways, &dev) : NULL;
	if (rc > 0)
		rc = way && way->early ? way->early(&s, &dev.key, with, err) : 0;
	sysfs_close(&s);
	return rc == -ENOENT ? 0 : rc;
}
