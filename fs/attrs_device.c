// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a device directory. Facts, then what can be asked, then how things stand. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "allocated.h"
#include "internal.h"
#include "offer.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "query.h"
#include "ring.h"

static void line(struct out *o, const char *text)
{
	out_printf(o, "%s\n", text[0] ? text : "none");
}

static void address_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->key.name);
}

static void vendor_show(const struct subject *s, struct out *o)
{
	out_printf(o, "0x%04x\n", s->dev->facts.vendor);
}

static void device_show(const struct subject *s, struct out *o)
{
	out_printf(o, "0x%04x\n", s->dev->facts.device);
}

static void class_show(const struct subject *s, struct out *o)
{
	out_printf(o, "0x%06x\n", s->dev->facts.class_code);
}

static void numa_node_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", (int)s->dev->facts.numa_node);
}

static void driver_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->facts.driver);
}

static void kind_show(const struct subject *s, struct out *o)
{
	line(o, kind_name(s->dev->kind));
}

static void description_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->names.description);
}

static void totalvfs_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", (int)s->dev->facts.total_vfs);
}

static void numvfs_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", (int)s->dev->facts.num_vfs);
}

static int numvfs_store(const struct subject *s, const char *text, struct wish *ret,
			struct err *err)
{
	uint64_t n;
	int r = parse_u64(text, UINT16_MAX, &n);

	if (r == -ERANGE)
		return fail(err, ERANGE, "sriov_numvfs: %s asked, %s has at most %d", text,
			    s->dev->key.name, (int)s->dev->facts.total_vfs);
	if (r || (text[0] == '0' && isdigit((unsigned char)text[1]))) /* octal in sysfs */
		return fail(
			err, EINVAL,
			"sriov_numvfs: \"%s\" is no number; write how many VFs %s shall have, 0 "
			"for none",
			text, s->dev->key.name);
	snprintf(ret->value, sizeof(ret->value), "%u", (unsigned int)n);
	return 0;
}

static void physfn_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../%s", s->dev->facts.parent.name);
}

static void iommu_group_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../../iommu_groups/%d", (int)s->dev->facts.iommu_group);
}

static void nodes_show(const struct subject *s, struct out *o)
{
	nodes_print(s->dev->facts.nodes, o);
}

static void claim_show(const struct subject *s, struct out *o)
{
	char claim[CLAIM_NAME];

	device_claim(s->dev, claim);
	line(o, claim);
}

#define LABEL_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/-"

static int claim_store(const struct subject *s, const char *text, struct wish *ret, struct err *err)
{
	const char *bad = text + strspn(text, LABEL_CHARS);
	bool yes;

	if (!text[0])
		return fail(
			err, EINVAL,
			"claim: nothing was written; write who claims %s, or none to release it",
			s->dev->key.name);
	if (!parse_bool(text, &yes) || (!strcasecmp(text, "none") && strcmp(text, "none")))
		return fail(
			err, EINVAL,
			"claim: \"%s\" is not a name; write who claims %s, such as alice, or none "
			"to release it",
			text, s->dev->key.name);
	if (*bad)
		return fail(
			err, EINVAL,
			"claim: \"%.64s\" cannot be who claims %s: a name has only letters, digits and . _ : @ / -",
			text, s->dev->key.name);
	if (strlen(text) >= CLAIM_NAME)
		return fail(
			err, EINVAL,
			"claim: \"%.32s...\" cannot be who claims %s: a name has at most %d characters, not %zu",
			text, s->dev->key.name, CLAIM_NAME - 1, strlen(text));
	if (!strcmp(text, ".") || !strcmp(text, ".."))
		return fail(
			err, EINVAL,
			"claim: \"%s\" cannot be who claims %s: claims/ can have no directory of that name",
			text, s->dev->key.name);
	STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return 0;
}

static int reset_store(const struct subject *s, const char *text, struct wish *ret, struct err *err)
{
	bool yes = false, flag = !parse_bool(text, &yes);

	if (!text[0] || (flag && !yes))
		return fail(err, EINVAL, "reset: write 1, or the name of who claims %s",
			    s->dev->key.name);
	if (strlen(text) >= CLAIM_NAME)
		return fail(err, EINVAL, "reset: a name has at most %d characters", CLAIM_NAME - 1);
	STR_COPY(ret->value, flag ? "1" : text);
	return 0;
}

static void state_show(const struct subject *s, struct out *o)
{
	line(o, state_name(s->dev->state));
}

static void reason_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->reason);
}

static void last_error_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->last_error[0] ? s->dev->last_error : "ok");
}

static void host_critical_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->facts.critical);
}

static void holders_show(const struct subject *s, struct out *o)
{
	line(o, s->dev->facts.holders);
}

/* Who opens a device node sends no event, so it is looked up when someone asks. */
static void holders_refresh(const struct subject *s)
{
	const struct world *w = engine_world(s->tree->conf.engine);

	if (w->observe_holders)
		w->observe_holders(w->backend, NULL, 0, now_us(), NULL);
}

static void log_show(const struct subject *s, struct out *o)
{
	char id[KEY_NAME + 8], where[KEY_NAME + 16];

	snprintf(where, sizeof(where), " id=%s ", key_id(&s->dev->key, id));
	ring_print(s->tree->log, where, o);
}

const struct attr attrs_device[] = {
	{ .name = "address",
	  .id = 2,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_IDENTITY,
	  .show = address_show,
	  .since = "0.1",
	  .help = "its address on its bus, as the directory is called" },
	{ .name = "vendor",
	  .caps = CAP_PCI,
	  .id = 3,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_IDS,
	  .show = vendor_show,
	  .key = "vendor",
	  .since = "0.1",
	  .help = "vendor id, as in sysfs" },
	{ .name = "device",
	  .caps = CAP_PCI,
	  .id = 4,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_IDS,
	  .show = device_show,
	  .key = "device",
	  .since = "0.1",
	  .help = "device id, as in sysfs" },
	{ .name = "class",
	  .caps = CAP_PCI,
	  .id = 5,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_IDS,
	  .show = class_show,
	  .key = "class",
	  .since = "0.1",
	  .help = "class code, as in sysfs" },
	{ .name = "numa_node",
	  .id = 6,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_NUMA,
	  .show = numa_node_show,
	  .key = "numa_node",
	  .since = "0.1",
	  .help = "NUMA node, -1 when the kernel knows none" },
	{ .name = "driver",
	  .id = 7,
	  .mode = 0444,
	  .bits = CH_DRIVER,
	  .show = driver_show,
	  .key = "driver",
	  .since = "0.1",
	  .help = "the driver that is bound, or none" },
	{ .name = "kind",
	  .id = 8,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_KIND,
	  .show = kind_show,
	  .key = "kind",
	  .since = "0.1",
	  .help = "pci, sriov-gpu, sriov-nic, sriov, vf or bridge; follows identity. vgpu, mdev and usb are names for "
		  "what is not told from others, or not read, yet" },
	{ .name = "description",
	  .id = 9,
	  .mode = 0444,
	  .flags = ATTR_CONST,
	  .bits = CH_DESCRIPTION,
	  .show = description_show,
	  .key = "description",
	  .since = "0.1",
	  .help = "class: vendor product, from pci.ids" },
	{ .name = "resource_name",
	  .id = 10,
	  .mode = 0664,
	  .caps = CAP_CLAIM,
	  .bits = CH_NAME,
	  .show = resource_name_show,
	  .store = resource_name_store,
	  .reaches = resource_name_reaches,
	  .key = "resource_name",
	  .since = "0.1",
	  .help = "the extended resource it is, or would be, offered as; write another name, or none for the "
		  "computed one, which stays as it is while it is claimed. A name that other devices are offered as "
		  "needs the group pcidevfs" },
	{ .name = "pooled",
	  .id = 24,
	  .mode = 0664,
	  .caps = CAP_CLAIM,
	  .bits = CH_POOLED,
	  .show = pooled_show,
	  .store = pooled_store,
	  .reaches = pooled_reaches,
	  .key = "pooled",
	  .since = "0.1",
	  .help = "1: it shares its computed resource name with equal devices; 0: it has one of its own, such as "
		  "nvidia.com/0000_08_00_4" },
	{ .name = "claim",
	  .id = 11,
	  .mode = 0664,
	  .flags = ATTR_GROUP,
	  .caps = CAP_CLAIM,
	  .bits = CH_CLAIM,
	  .show = claim_show,
	  .store = claim_store,
	  .key = "claim",
	  .since = "0.1",
	  .help = "who holds it for passthrough, none when free; the whole IOMMU group goes along. "
		  "Writing a name binds it to vfio-pci, none gives it back. Its nodes in /dev go to the owner of the "
		  "claim files where all claimed members of the group have the same, else to root. A stored claim reads "
		  "so from the moment its device is seen; until it is restored, state is busy" },
	{ .name = "sriov_totalvfs",
	  .id = 12,
	  .mode = 0444,
	  .caps = CAP_SRIOV,
	  .bits = CH_TOTALVFS,
	  .show = totalvfs_show,
	  .key = "sriov_totalvfs",
	  .since = "0.1",
	  .help = "how many VFs it can have" },
	{ .name = "sriov_numvfs",
	  .id = 13,
	  .mode = 0664,
	  .caps = CAP_SRIOV,
	  .write_caps = CAP_NUMVFS,
	  .bits = CH_NUMVFS,
	  .show = numvfs_show,
	  .store = numvfs_store,
	  .key = "sriov_numvfs",
	  .since = "0.1",
	  .help = "how many VFs it has; the links virtfn<N> lead to them. Writing a number makes so many; "
		  "those there are go first, and none that is claimed or held. Read only where the driver "
		  "makes the VFs itself" },
	{ .name = "physfn",
	  .id = 14,
	  .mode = S_IFLNK | 0777,
	  .caps = CAP_VF,
	  .bits = CH_PARENT,
	  .show = physfn_show,
	  .key = "physfn",
	  .since = "0.1",
	  .help = "its PF" },
	{ .name = "iommu_group",
	  .id = 15,
	  .mode = S_IFLNK | 0777,
	  .caps = CAP_GROUP,
	  .bits = CH_GROUP,
	  .show = iommu_group_show,
	  .key = "iommu_group",
	  .since = "0.1",
	  .help = "its IOMMU group, with the links to the members" },
	{ .name = "nodes",
	  .id = 16,
	  .mode = 0444,
	  .caps = CAP_CLAIM,
	  .bits = CH_NODES,
	  .show = nodes_show,
	  .key = "nodes",
	  .since = "0.1",
	  .help = "device nodes that a VMM needs now, one a line, or none" },
	{ .name = "state",
	  .id = 17,
	  .mode = 0444,
	  .bits = CH_STATE,
	  .show = state_show,
	  .key = "state",
	  .since = "0.1",
	  .help = "stuck, busy, unhealthy, allocated, held, claimed, host or free: the first that fits" },
	{ .name = "reason",
	  .id = 18,
	  .mode = 0444,
	  .bits = CH_REASON,
	  .show = reason_show,
	  .key = "reason",
	  .since = "0.1",
	  .help = "the sentence behind state, or none" },
	{ .name = "last_error",
	  .id = 19,
	  .mode = 0444,
	  .bits = CH_ERROR,
	  .show = last_error_show,
	  .since = "0.1",
	  .help = "why the last write into this directory failed: FILE: SENTENCE; ok when it did not" },
	{ .name = "allocated_to",
	  .id = 30,
	  .mode = 0664,
	  .caps = CAP_CLAIM,
	  .bits = CH_ALLOCATED,
	  .show = allocated_to_show,
	  .store = allocated_to_store,
	  .reaches = allocated_to_reaches,
	  .key = "allocated_to",
	  .since = "0.1",
	  .help = "which pod has it: none, pending (kubelet was told yes), NAMESPACE/POD/CONTAINER or claim:UID. "
		  "Written by pcidevfs-plugin. After a restart or a reboot it reads pending, to whom is not known yet, "
		  "until none or a name is written. To end what a pod has needs the group pcidevfs" },
	{ .name = "allocated_nodes",
	  .id = 31,
	  .mode = 0444,
	  .caps = CAP_CLAIM,
	  .bits = CH_GIVEN,
	  .show = allocated_nodes_show,
	  .key = "allocated_nodes",
	  .since = "0.1",
	  .help = "what nodes read when last a pod was given it or another of its IOMMU group, one a line, or none. "
		  "Kept with the claim: after a reboot kubelet gives its pod the same again" },
	{ .name = "allocated_as",
	  .id = 32,
	  .mode = 0444,
	  .caps = CAP_CLAIM,
	  .bits = CH_GIVEN_AS,
	  .show = allocated_as_show,
	  .key = "allocated_as",
	  .since = "0.1",
	  .help = "what resource_name read when the pod that has it was given it, or none: by that name kubelet "
		  "counts it until the pod ends, whatever it is called since. Kept with the claim: while it is "
		  "stored, a pod has it" },
	{ .name = "plan",
	  .id = 20,
	  .mode = 0664,
	  .flags = ATTR_SLOW | ATTR_SNAPSHOT | ATTR_ASIDE,
	  .bits = CH_PLAN,
	  .show = plan_show,
	  .store = plan_store,
	  .since = "0.1",
	  .help = "write what you would, such as: claim alice; read the steps, or the refusal; none "
		  "forgets it. Nothing is done" },
	{ .name = "host_critical",
	  .id = 21,
	  .mode = 0444,
	  .bits = CH_CRITICAL,
	  .show = host_critical_show,
	  .key = "host_critical",
	  .since = "0.1",
	  .help = "why the host itself needs it, or none" },
	{ .name = "holders",
	  .id = 22,
	  .mode = 0440,
	  .flags = ATTR_SLOW,
	  .bits = CH_HOLDERS,
	  .show = holders_show,
	  .refresh = holders_refresh,
	  .since = "0.1",
	  .help = "processes that hold it open, for root and the group pcidevfs; a line each: pid= comm=, unsure before one whose open "
		  "files are unknown and that could; or none" },
	{ .name = "log",
	  .id = 23,
	  .mode = 0444,
	  .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .bits = CH_LOG,
	  .show = log_show,
	  .since = "0.1",
	  .help = "past writes into this directory, as in the root's log" },
	{ .name = "hostdev.xml",
	  .id = 25,
	  .mode = 0444,
	  .caps = CAP_CLAIM,
	  .bits = CH_CLAIM | CH_MDEV,
	  .show = hostdev_show,
	  .since = "0.1",
	  .help = "how libvirt takes it: a hostdev element, managed='no', of the function if it is claimed or, with its own driver, a vGPU; of its mdev if it has one; else none. A vGPU type written past the tree is seen when the function is looked at next" },
	{ .name = "qemu",
	  .id = 26,
	  .mode = 0444,
	  .caps = CAP_CLAIM,
	  .bits = CH_CLAIM | CH_MDEV,
	  .show = qemu_show,
	  .since = "0.1",
	  .help = "how QEMU takes it, likewise: its arguments, or none" },
	{ .name = "reset",
	  .id = 28,
	  .mode = 0220,
	  .caps = CAP_CLAIM | CAP_RESET,
	  .store = reset_store,
	  .since = "0.1",
	  .help = "1 resets the function as the kernel can, the claimant's name one that is claimed; not while the "
		  "host needs it, it has VFs or a process holds it. Cannot be taken back" },
	{ .name = "ctl",
	  .id = 27,
	  .mode = 0664,
	  .flags = ATTR_CTL,
	  .since = "0.1",
	  .help = "as in the root, for this device alone: lines FILE VALUE, or virtfn<N>/FILE VALUE" },
};
const size_t n_attrs_device = ARRAY_SIZE(attrs_device);
