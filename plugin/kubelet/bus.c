// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.h"

#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

/* KubeVirt finds it by the numbers of the moment, without leading zeros. */
static bool usb_value(const struct dev *d, struct out *o)
{
	out_printf(o, "%d:%d", d->busnum, d->devnum);
	return d->busnum > 0 && d->devnum > 0;
}

/* PCI is last, because its prefix matches every id; before it, functions that are one mediated
 * device, by which kubelet and VMs know them. */
static const struct bus_row buses[] = {
	{ "mdev/", "mdevs", "MDEV_PCI" },
	{ "usb/", "usb", "USB", .value = usb_value },
	{ "", "devices", "MDEV_PCI", .by_uuid = true },
	{ "", "devices", "PCI" },
};

const struct bus_row *bus_at(size_t i)
{
	return i < ARRAY_SIZE(buses) ? &buses[i] : NULL;
}

static const char *uuid_of(const struct dev *d)
{
	return d->mdev[0] ? d->mdev : d->last_mdev;
}

const struct bus_row *bus_of(const struct dev *d)
{
	const struct bus_row *b = buses;

	while (strncmp(d->id, b->prefix, strlen(b->prefix)) || (b->by_uuid && !uuid_of(d)[0]))
		b++;
	return b;
}

const char *dev_kubelet_id(const struct dev *d)
{
	return bus_of(d)->by_uuid ? uuid_of(d) : d->id + strlen(bus_of(d)->prefix);
}

static struct dev *find_by_uuid(const struct devices *t, const char *uuid)
{
	for (size_t i = 0; i < t->n; i++)
		if (uuid_of(t->v[i])[0] && !strcmp(uuid_of(t->v[i]), uuid))
			return t->v[i];
	return NULL;
}

struct dev *devices_of_kubelet(const struct devices *t, const char *resource,
			       const char *kubelet_id)
{
	const struct bus_row *b;

	for (size_t i = 0; (b = bus_at(i)); i++) {
		char id[128];
		struct dev *d;

		if ((size_t)snprintf(id, sizeof(id), "%s%s", b->prefix, kubelet_id) >= sizeof(id))
			return NULL;
		d = b->by_uuid ? find_by_uuid(t, kubelet_id) : devices_find(t, id);
		if (d && bus_of(d) == b && (!resource || !strcmp(dev_resource(d), resource)))
			return d;
	}
	return NULL;
}

bool dev_comes(const struct dev *d)
{
	return !d->announced && !d->nodes[0] && !strcmp(d->state, "busy");
}

/* Its driver is away, or others have ended it, and we have not seen it before: the driver that comes
 * may make a mediated device of it or not. */
static bool is_unknown(const struct dev *d)
{
	return !strcmp(d->kind, "vgpu") && !d->profile_id[0] && !uuid_of(d)[0] && !d->by_address;
}

const char *dev_withheld(const struct dev *d)
{
	struct key key;

	if (d->gone)
		return "it is not there any more";
	if (!d->claim[0])
		return "nobody claims it";
	if (dev_comes(d))
		return "its claim is being restored";
	if (is_unknown(d))
		return "it is not a vGPU now, and only its driver tells whether kubelet would know it by "
		       "its address or by a UUID";
	if (!d->resource[0])
		return "it has no resource_name";
	return key_parse(d->id, &key) ? key_withheld(&key) : NULL;
}

bool dev_offered(const struct dev *d)
{
	return !dev_withheld(d);
}

const char *dev_resource(const struct dev *d)
{
	return d->as[0] ? d->as : d->resource;
}
