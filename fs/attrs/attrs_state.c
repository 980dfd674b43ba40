// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: its state, and the pod that has it. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "rows.h"

static void iommu_group_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../../iommu_groups/%d", (int)s->dev->facts.iommu_group);
}

static void state_show(const struct subject *s, struct out *o)
{
	out_line(o, state_name(s->dev->state));
}

/* Claims, names and rights have files that read what is stored. */
static void asked_show(const struct subject *s, struct out *o)
{
	const struct intent *in = &s->dev->intent;
	int32_t coming = s->dev->intended_vfs;
	size_t before = o->len;
	char n[16];

	snprintf(n, sizeof(n), "%d", (int)(in->vfs_wanted ? in->num_vfs : coming));
	if ((in->vfs_wanted || coming) && s->dev->facts.own_vfs)
		out_pair(o, "enabled", strcmp(n, "0") ? "1" : "0");
	else if (in->vfs_wanted || coming)
		out_pair(o, "sriov_numvfs", n);
	if (in->profile[0])
		out_pair(o, "profile", in->profile);
	if (in->mig_layout[0])
		out_pair(o, "mig/layout", in->mig_layout);
	out_printf(o, o->len > before ? "\n" : "none\n");
}

static void last_error_show(const struct subject *s, struct out *o)
{
	out_refusal(s, s->dev->last_error, s->dev->error_uid, o);
}

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* Exactly so many names, with a slash between two. */
static bool is_path(const char *text, unsigned int names)
{
	while (names--) {
		size_t n = strspn(text, NAME_CHARS);

		text += n;
		if (!n || *text != (names ? '/' : '\0'))
			return false;
		text += names > 0;
	}
	return true;
}

static_assert(ALLOCATED_NAME <= REQUEST_VALUE, "a request takes what the record does");

static int allocated_to_store(const struct subject *s, const char *text, struct request *ret,
			      struct err *err)
{
	bool known = !strcmp(text, "none") || !strcmp(text, "pending") || is_path(text, 3) ||
		     (!strncmp(text, "claim:", 6) && is_path(text + 6, 1));

	if (!known)
		return fail(err, EINVAL,
			    "allocated_to: \"%.128s\" is not one of pending, "
			    "NAMESPACE/POD/CONTAINER, claim:UID and none",
			    text);
	return name_store(s, text, ALLOCATED_NAME, ret, err);
}

/* An owner who clears it while the pod still has the device would let the next pod meet it there;
 * one who writes it would give the device to a pod in everybody's eyes. */
static int allocated_to_reaches(const struct subject *s, const struct request *request,
				struct err *err)
{
	const char *has = s->dev->intent.allocated;

	if (!strcmp(request->value, has))
		return 0;
	return fail(err, EACCES,
		    "allocated_to: %s is allocated to %s; to change that needs the group pcidevfs or "
		    "CAP_DAC_OVERRIDE",
		    s->dev->key.name, has[0] ? has : "nobody");
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_LINK("iommu_group", 15, iommu_group_show), .bits = CH_FACT(iommu_group), .caps = CAP_GROUP,
	  .help = "its IOMMU group, with the links to the members" },
	{ KEY_RO("nodes", 16, words_show), AT(facts.nodes), .bits = CH_FACT(nodes), .caps = CAP_CLAIM,
	  .help = "device nodes that a VMM needs now, one a line, or none" },
	{ KEY_RO("state", 17, state_show), .bits = CH_STATE,
	  .help = "stuck, busy, unhealthy, allocated, held, claimed, host or free: the first "
		  "that fits; host: a driver of the host uses it (a claim takes it away), or it can "
		  "never be claimed; claimable says which" },
	{ KEY_RO("reason", 18, sentence_show), AT(reason), .bits = CH_REASON,
	  .help = "the sentence behind state, or none" },
	{ KEY_RO("unsatisfied", 63, sentence_show), AT(unmet), .bits = CH_UNSATISFIED,
	  .help = "why what is stored of it does not hold now, as in intents, or none" },
	{ KEY_RO("asked", 64, asked_show), .bits = CH_ASKED,
	  .help = "sriov_numvfs= (of a GPU whose driver makes the VFs enabled=), profile= and "
		  "mig/layout= as stored, also while the kernel does not have them so, or none" },
	{ RO("last_error", 19, last_error_show), .bits = CH_ERROR, .flags = ATTR_HOLDER,
	  .help = "why the last write into this directory failed: FILE: SENTENCE; ok when it "
		  "did not" },
	{ KEY_RW_OF("allocated_to", 30, intent.allocated, allocated_to_store), .bits = CH_ALLOCATED,
	  .caps = CAP_CLAIM, .reaches = allocated_to_reaches,
	  .help = "which pod has it: none, pending (kubelet was told yes), "
		  "NAMESPACE/POD/CONTAINER or claim:UID. Written by pcidevfs-plugin. After a "
		  "restart or a reboot it reads pending until the pod or none is written, since "
		  "the pod is not known yet. A change needs the group pcidevfs" },
	{ KEY_RO("allocated_nodes", 31, words_show), AT(intent.given), .bits = CH_GIVEN, .caps = CAP_CLAIM,
	  .help = "the text of nodes when this device, or another of its IOMMU group, was last "
		  "given to a pod, or none. Kept with the claim: after a reboot kubelet gives its "
		  "pod the same again" },
	{ KEY_RO_OF("allocated_as", 32, intent.given_as), .bits = CH_GIVEN_AS, .caps = CAP_CLAIM,
	  .help = "the resource_name under which its pod got the device, or none. kubelet "
		  "counts the device under that name until the pod ends, even if resource_name "
		  "has changed. Stored with the claim; a stored name means that a pod has it" },
};
/* clang-format on */

const struct attr_table attrs_state = { rows, ARRAY_SIZE(rows) };
