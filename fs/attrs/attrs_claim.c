// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: who claims it, and how it is offered. */
#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "rows.h"

static void claim_show(const struct subject *s, struct out *o)
{
	char claim[CLAIM_NAME];

	device_claim(s->dev, claim);
	out_line(o, claim);
}

static void former_driver_show(const struct subject *s, struct out *o)
{
	char driver[DRIVER_NAME];

	device_former_driver(s->dev, driver);
	out_line(o, driver);
}

static int former_driver_store(const struct subject *s, const char *text, struct request *ret,
			       struct err *err)
{
	if (!valid_driver(text))
		return fail(
			err, EINVAL,
			"former_driver: \"%.64s\" is not the name of a driver; write for example nvme",
			text);
	STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return 0;
}

/* With that line whoever has the device open is not in the claim's way. */
static int former_driver_reaches(const struct subject *s, const struct request *request,
				 struct err *err)
{
	return fail(err, EACCES,
		    "former_driver: to take over %s as others have bound it, and may have it open, "
		    "needs the group pcidevfs or CAP_DAC_OVERRIDE",
		    s->dev->key.name);
}

#define LABEL_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/- "

#define ONLY_CHARS "a name has only letters, digits, blanks and . _ : @ / -"

/* A name that the rule allows; claims/ has a directory of that name. */
static int check_label(const struct subject *s, const char *text, struct err *err)
{
	const char *of = s->dev->key.name, *why = NULL;
	size_t n = strlen(text);

	if (text[strspn(text, LABEL_CHARS)])
		why = strpbrk(text, "\"'") ? ONLY_CHARS "; write it without quotes" : ONLY_CHARS;
	else if (n >= CLAIM_NAME)
		return fail(
			err, EINVAL,
			"claim: \"%.32s...\" cannot be the claimant of %s: a name has at most %d "
			"characters, not %zu",
			text, of, CLAIM_NAME - 1, n);
	else if (text[0] == ' ' || text[n - 1] == ' ')
		why = "a name has no blank at its beginning or end";
	else if (text[0] == '.')
		why = "a name does not begin with a dot, because ls would hide its directory in "
		      "claims/";
	else if (text[0] == '-')
		why = "a name does not begin with -, because commands would take it for an option";
	return why ? fail(err, EINVAL, "claim: \"%.64s\" cannot be the claimant of %s: %s", text,
			  of, why)
		   : 0;
}

static int claim_store(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	bool yes;
	int r;

	if (!text[0])
		return fail(
			err, EINVAL,
			"claim: the value is empty; write the name of the claimant of %s, or none "
			"to release it",
			s->dev->key.name);
	if (!parse_bool(text, &yes) || (!strcasecmp(text, "none") && strcmp(text, "none")))
		return fail(
			err, EINVAL,
			"claim: \"%s\" is reserved; write the name of the claimant of %s, for "
			"example alice, or none to release it",
			text, s->dev->key.name);
	r = check_label(s, text, err);
	if (!r)
		STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return r;
}

static void resource_name_show(const struct subject *s, struct out *o)
{
	char name[RESOURCE_NAME];

	device_resource(s->dev, name);
	out_line(o, name);
}

static int resource_name_store(const struct subject *s, const char *text, struct request *ret,
			       struct err *err)
{
	int r = name_store(s, text, RESOURCE_NAME, ret, err);

	if (!r && strcmp(text, "none") && !valid_resource(text))
		return fail(
			err, EINVAL,
			"%s: kubelet does not accept the name \"%.128s\"; use a form such as "
			"example.com/MY_NIC (a domain in lower case, a slash, then at most 63 "
			"letters, digits and - _ .), or none for the computed name",
			s->row->name, text);
	return r;
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

/* Each line of a transaction is judged alone, and another one may remove what hides this name
 * now: an override, or pooled 0. So the written name is judged as if neither were there. */
static int name_reaches(const struct subject *s, const struct request *request, struct err *err)
{
	struct device next = *s->dev;

	STR_COPY(next.intent.resource, request->value);
	return refuse_pool(s, &next, request->file, err);
}

static void pooled_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", !s->dev->intent.single);
}

static int pooled_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
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

static int pooled_reaches(const struct subject *s, const struct request *request, struct err *err)
{
	struct device next = *s->dev;

	if (!strcmp(request->value, "0"))
		return 0; /* no other device has its own name */
	next.intent.single = false;
	next.intent.resource[0] = '\0'; /* as in name_reaches() */
	return refuse_pool(s, &next, "pooled", err);
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_RW("resource_name", 10, resource_name_show, resource_name_store), .bits = CH_NAME,
	  .caps = CAP_NAMED, .write_caps = CAP_CLAIM, .reaches = name_reaches,
	  .help = "the extended resource it is, or would be, offered as; write another name, "
		  "or none for the computed one, which stays as it is while it is claimed. A "
		  "name that other devices are offered as needs the group pcidevfs. What is not "
		  "claimable has the computed one" },
	{ KEY_RO_OF("resource_override", 62, intent.resource), .bits = CH_OVERRIDE,
	  .caps = CAP_CLAIM,
	  .help = "the name that was written to resource_name, or none" },
	{ RW_OF("offered_as", 89, intent.pinned, resource_name_store), .bits = CH_OFFERED_AS,
	  .caps = CAP_CLAIM, .reaches = name_reaches,
	  .help = "while it is claimed: the name that counts as the computed one until the release; "
		  "none otherwise. It is the one computed at the claim, or, of a device that was "
		  "offered before, the one that is written with the claim, by lines of one "
		  "transaction of ctl" },
	{ KEY_RW("former_driver", 88, former_driver_show, former_driver_store), .bits = CH_FORMER,
	  .caps = CAP_PCI | CAP_CLAIM, .reaches = former_driver_reaches,
	  .help = "the driver from which its claim took it, and to which a release gives it back; "
		  "none where it had none or that is not known. Of a device that was on vfio-pci "
		  "before, it can be told with the claim, by lines of one transaction of ctl; if that "
		  "driver does not take it at the release the kernel chooses. Needs the group "
		  "pcidevfs, or root" },
	{ KEY_RW("pooled", 24, pooled_show, pooled_store), .bits = CH_POOLED, .caps = CAP_CLAIM,
	  .reaches = pooled_reaches,
	  .help = "1: it shares its computed resource name with equal devices; 0: it has one "
		  "of its own, made of its address at that moment, for example "
		  "nvidia.com/0000_08_00_4. That name is stored and goes where the device goes. No "
		  "two devices have one: if another one, here or stored, has it, .2 (.3 ...) is "
		  "added" },
	{ KEY_RW("claim", 11, claim_show, claim_store), .bits = CH_CLAIM, .flags = ATTR_GROUP,
	  .caps = CAP_CLAIM,
	  .help = "who holds it for passthrough, none when free; the whole IOMMU group goes "
		  "along. Writing a name binds it to vfio-pci, none gives it back. A vGPU is "
		  "claimed by its profile; a name written here replaces admin. Its nodes "
		  "in /dev go to the owner of the claim files where all claimed members of the "
		  "group have the same, else to root. A stored claim reads so from the "
		  "moment its device is seen; until it is restored, state is busy" },
};
/* clang-format on */

const struct attr_table attrs_claim = { rows, ARRAY_SIZE(rows) };
