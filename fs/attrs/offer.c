// SPDX-License-Identifier: GPL-2.0-or-later
#include "offer.h"

#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/names.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "rows.h"

void resource_name_show(const struct subject *s, struct out *o)
{
	char name[RESOURCE_NAME];

	device_resource(s->dev, name);
	out_printf(o, "%s\n", name[0] ? name : "none");
}

void resource_override_show(const struct subject *s, struct out *o)
{
	out_line(o, s->dev->intent.resource);
}

/* kubelet reserves names below kubernetes.io, and puts "requests." in front of others. */
static bool is_extended(const char *name)
{
	return names_qualified(name) && strncmp(name, "requests.", 9) &&
	       !strstr(name, "kubernetes.io/");
}

int resource_name_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
{
	bool none = !strcmp(text, "none");

	(void)s;
	if (!none && !is_extended(text))
		return fail(
			err, EINVAL,
			"resource_name: kubelet does not accept the name \"%.128s\"; use a form "
			"such as example.com/MY_NIC (a domain in lower case, a slash, then at most "
			"63 letters, digits and - _ .), or none for the computed name",
			text);
	if (strlen(text) >= RESOURCE_NAME)
		return fail(err, EINVAL, "resource_name: a name has at most %d characters",
			    RESOURCE_NAME - 1);
	STR_COPY(ret->value, none ? "" : text);
	return 0;
}

/* Is another device than `but` offered under this name? */
static bool is_offered(struct tree *t, const char *name, const struct key *but)
{
	const char *slash = strchr(name, '/');
	const struct elem *e = NULL;
	char vendor[RESOURCE_NAME];
	struct key key = { 0 };
	uint32_t slot;
	size_t n = 0;
	bool found;

	if (!slash)
		return false;
	snprintf(vendor, sizeof(vendor), "%.*s", (int)(slash - name), name);
	pthread_mutex_lock(&t->lock);
	slot = objects_find(t->objects, OBJ_VENDOR, 0, vendor);
	if (slot != NO_SLOT)
		slot = objects_find(t->objects, OBJ_RESOURCE, slot, slash + 1);
	if (slot != NO_SLOT)
		e = set_from(t->sets, set_id(slot, ROW_RES_DEVICES), 0, &n);
	if (e)
		object_key(objects_at(t->objects, e->slot), &key);
	found = n > 1 || (e && !key_eq(&key, but));
	pthread_mutex_unlock(&t->lock);
	return found;
}

/* Under another name a pod that asked for other devices could get it. */
static int refuse_pool(const struct subject *s, const struct device *next, const char *file,
		       struct err *err)
{
	char was[RESOURCE_NAME], is[RESOURCE_NAME];

	device_resource(s->dev, was);
	device_resource(next, is);
	if (!strcmp(was, is) || !is_offered(s->tree, is, &s->dev->key))
		return 0;
	return fail(
		err, EACCES,
		"%s: other devices are offered as %s; to add one to them needs the group pcidevfs "
		"or CAP_DAC_OVERRIDE",
		file, is);
}

int resource_name_reaches(const struct subject *s, const struct request *request, struct err *err)
{
	struct device next = *s->dev;

	STR_COPY(next.intent.resource, request->value);
	return refuse_pool(s, &next, "resource_name", err);
}

void pooled_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", !s->dev->intent.single);
}

int pooled_store(const struct subject *s, const char *text, struct request *ret, struct err *err)
{
	bool pooled;

	if (parse_bool(text, &pooled))
		return fail(
			err, EINVAL,
			"pooled: \"%.64s\" is neither 1, which shares the resource name of %s with "
			"equal devices, nor 0, which gives it one of its own",
			text, s->dev->key.name);
	STR_COPY(ret->value, pooled ? "1" : "0");
	return 0;
}

int pooled_reaches(const struct subject *s, const struct request *request, struct err *err)
{
	struct device next = *s->dev;

	if (!strcmp(request->value, "0"))
		return 0; /* no other device has its own name */
	next.intent.single = false;
	return refuse_pool(s, &next, "pooled", err);
}

/* A VMM can take only a claimed device whole, or a vGPU that its driver offers. */
static bool whole_address(const struct subject *s, struct pci_addr *ret)
{
	return (s->dev->intent.claim[0] || device_is_coming(s->dev) || s->dev->facts.profile_id[0]) && !s->dev->facts.mdevs &&
	       pci_addr_parse(s->dev->key.name, ret);
}

/* Its UUID; NULL: it is no mediated device and does not have exactly one. */
static const char *mdev_of(const struct subject *s)
{
	if (s->dev->key.bus == BUS_MDEV)
		return s->dev->key.name;
	return s->dev->facts.mdevs == 1 ? s->dev->facts.mdev : NULL;
}

/* A claimed USB device that is there. */
static bool whole_usb(const struct subject *s)
{
	const struct device *dev = s->dev;

	return dev->caps & CAP_USB && (dev->intent.claim[0] || device_is_coming(dev)) &&
	       dev->facts.devnum;
}

static void usb_hostdev(const struct facts *f, struct out *o)
{
	out_printf(o,
		   "<hostdev mode='subsystem' type='usb' managed='no'>\n"
		   "  <source>\n"
		   "    <vendor id='0x%04x'/>\n"
		   "    <product id='0x%04x'/>\n"
		   "    <address bus='%u' device='%u'/>\n"
		   "  </source>\n"
		   "</hostdev>\n",
		   f->vendor, f->device, f->busnum, f->devnum);
}

/* By its port, "1.2" of 3-1.2, where QEMU takes it again after it was plugged in anew. */
static void usb_qemu(const struct device *dev, struct out *o)
{
	const char *dash = strchr(dev->key.name, '-');

	out_printf(o, "-device usb-host,hostbus=%u,hostport=%s\n", dev->facts.busnum,
		   dash ? dash + 1 : "");
}

/* managed='no': the claim has bound it already and stays after the VM. libvirt knows
 * domains of 32 bits, and hands them to QEMU's host=, which does not. */
void hostdev_show(const struct subject *s, struct out *o)
{
	const char *mdev = mdev_of(s);
	struct pci_addr a;

	if (whole_usb(s))
		usb_hostdev(&s->dev->facts, o);
	else if (whole_address(s, &a) && a.domain <= 0xffff)
		out_printf(
			o,
			"<hostdev mode='subsystem' type='pci' managed='no'>\n"
			"  <driver name='vfio'/>\n"
			"  <source>\n"
			"    <address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'/>\n"
			"  </source>\n"
			"</hostdev>\n",
			a.domain, a.bus, a.dev, a.fn);
	else if (mdev)
		out_printf(o,
			   "<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>\n"
			   "  <source>\n"
			   "    <address uuid='%s'/>\n"
			   "  </source>\n"
			   "</hostdev>\n",
			   mdev);
	else
		out_printf(o, "none\n");
}

/* QEMU's host= takes domains of 16 bits; those behind Intel VMD are longer. Without a display, here
 * and above: only one vGPU of a VM can be its console, and which one nobody knows here. */
void qemu_show(const struct subject *s, struct out *o)
{
	const char *mdev = mdev_of(s);
	struct pci_addr a;
	bool whole = whole_address(s, &a);

	if (whole_usb(s))
		usb_qemu(s->dev, o);
	else if (whole && a.domain <= 0xffff)
		out_printf(o, "-device vfio-pci,host=%s\n", s->dev->key.name);
	else if (whole)
		out_printf(o, "-device vfio-pci,sysfsdev=/sys/bus/pci/devices/%s\n",
			   s->dev->key.name);
	else if (mdev)
		out_printf(o, "-device vfio-pci,sysfsdev=/sys/bus/mdev/devices/%s\n", mdev);
	else
		out_printf(o, "none\n");
}
