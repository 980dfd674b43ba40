// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of an SR-IOV GPU and of its VFs: vGPUs. */
#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "fs/inventory.h"
#include "pcidevfs/err.h"
#include "pcidevfs/scheduler.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "rows.h"

static void enabled_show(const struct subject *s, struct out *o)
{
	const struct facts *f = &s->dev->facts;

	out_printf(o, "%d\n", s->dev->caps & CAP_VGPU ? f->profile_id[0] != '\0' : f->num_vfs > 0);
}

/* A vGPU: the profile that it has, or had last. */
static int enable_vgpu(const struct subject *s, bool yes, struct request *ret, struct err *err)
{
	const struct device *dev = s->dev;
	const char *name = dev->facts.profile_id[0] ? dev->facts.profile
						    : dev->intent.last_profile;

	if (yes && !name[0])
		return fail(err, EINVAL,
			    "enabled: %s has never been a vGPU; write a name from profiles to profile",
			    dev->key.name);
	STR_COPY(ret->file, "profile");
	STR_COPY(ret->value, yes ? name : "");
	return 0;
}

/* Another name for the file that says how: the number of VFs, or the profile. */
static int enabled_store(const struct subject *s, const char *text, struct request *ret,
			 struct err *err)
{
	bool yes;

	if (parse_bool(text, &yes))
		return fail(err, EINVAL, "enabled: \"%.64s\" is neither 1 nor 0", text);
	if (s->dev->caps & CAP_VGPU)
		return enable_vgpu(s, yes, ret, err);
	STR_COPY(ret->file, "sriov_numvfs");
	snprintf(ret->value, sizeof(ret->value), "%d", yes ? (int)s->dev->facts.total_vfs : 0);
	return 0;
}

static int profile_store(const struct subject *s, const char *text, struct request *ret,
			 struct err *err)
{
	if (!text[0])
		return fail(err, EINVAL,
			    "profile: the value is empty; write one of the profiles of %s, or none",
			    s->dev->key.name);
	if (strlen(text) >= PROFILE_NAME)
		return fail(err, EINVAL,
			    "profile: \"%.32s...\" cannot be a vGPU type of %s: a name has at most "
			    "%d characters",
			    text, s->dev->key.name, PROFILE_NAME - 1);
	STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return 0;
}

/* Of each line of profiles its name and id, if it is available. */
static void available_show(const struct subject *s, struct out *o)
{
	struct out all = { 0 };
	size_t before = o->len;
	struct type_line type;
	char *at;

	out_room(s, offsetof(struct device, facts.profiles), &all);
	for (at = all.data; type_next(&at, &type);) {
		if (!type.available)
			continue;
		out_pair(o, "name", type.name);
		out_pair(o, "id", type.id);
		out_put(o, "\n", 1);
	}
	o->failed |= all.failed;
	out_free(&all);
	if (o->len == before)
		out_line(o, "");
}

static void mdev_uuid_show(const struct subject *s, struct out *o)
{
	out_line(o, s->dev->key.bus == BUS_MDEV ? s->dev->key.name : s->dev->facts.mdev);
}

static int params_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
{
	if (strlen(text) >= VGPU_PARAMS)
		return fail(err, EINVAL, "vgpu_params: at most %d characters can be kept for %s",
			    VGPU_PARAMS - 1, s->dev->key.name);
	STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return 0;
}

static void support_show(const struct subject *s, struct out *o)
{
	const char *lack = device_vgpu_lack(s->dev);

	out_line(o, *lack ? lack : "yes");
}

static int mixed_sizes_store(const struct subject *s, const char *text, struct request *ret,
			     struct err *err)
{
	bool on;

	if (parse_bool(text, &on))
		return fail(err, EINVAL,
			    "mixed_sizes: \"%.64s\" is neither 1, with which vGPUs of different "
			    "sizes can share %s, nor 0",
			    text, s->dev->key.name);
	STR_COPY(ret->value, on ? "1" : "0");
	return 0;
}

static int scheduler_store(const struct subject *s, const char *text, struct request *ret,
			   struct err *err)
{
	struct scheduler sched;
	char value[SCHEDULER_TEXT];

	if (scheduler_parse(text, &sched))
		return fail(err, EINVAL,
			    "scheduler: \"%.64s\" is not a scheduler of vGPUs; write best-effort, "
			    "equal-share or fixed-share, the last two with timeslice_us=N and "
			    "arr=0 or arr=1 if you like, and with arr=1 avg_factor=N",
			    text);
	scheduler_print(&sched, value);
	STR_COPY(ret->value, value);
	return 0;
}

enum { UUID_TEXT = 36 };

/* Of a text without quotes: rest, behind its first blank, is not a UUID. */
static int refuse_unquoted(const char *text, const char *rest, struct err *err)
{
	const char *last = strrchr(text, ' ');
	size_t n = strlen(text);
	struct key key;

	if (last && key_make(BUS_MDEV, last + 1, &key))
		n = (size_t)(last - text);
	return fail(err, EINVAL,
		    "create: \"%.80s\" is not a UUID; a type that has blanks must be in quotes: "
		    "\"%.*s\"",
		    rest, n < PROFILE_NAME ? (int)n : PROFILE_NAME, text);
}

/* "TYPE" [UUID] */
static int create_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
{
	char uuid[KEY_NAME];
	const char *end = text[0] == '"' ? strchr(text + 1, '"') : text + strcspn(text, " ");
	size_t from = text[0] == '"', n = end ? (size_t)(end - text) - from : 0;

	if (!n || n >= PROFILE_NAME)
		return fail(err, EINVAL,
			    "create: \"%.80s\" is not a type; write the name of one of the profiles "
			    "of %s in quotes, and a UUID behind it if it must be a certain one",
			    text, s->dev->key.name);
	snprintf(ret->value, sizeof(ret->value), "%.*s", (int)n, text + from);
	end += from;
	end += strspn(end, " ");
	if (!*end)
		key_random_uuid(uuid);
	if (!key_make(BUS_MDEV, *end ? end : uuid, &ret->dev) && !from &&
	    strlen(end) != UUID_TEXT)
		return refuse_unquoted(text, end, err);
	if (!key_make(BUS_MDEV, *end ? end : uuid, &ret->dev))
		return fail(err, EINVAL,
			    "create: \"%.80s\" is not a UUID of 32 hexadecimal digits in lower case "
			    "with dashes, such as 4b20d080-1b54-4048-85b3-a6a62d165c01",
			    end);
	ret->parent = s->dev->key;
	STR_COPY(ret->file, "profile");
	STR_COPY(ret->made_by, "create");
	return 0;
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_RW("enabled", 50, enabled_show, enabled_store),
	  .bits = CH_NUMVFS | CH_FACT(profile_id), .flags = ATTR_ALIAS, .caps = CAP_ENABLE,
	  .help = "of a GPU: 1 makes its VFs, 0 removes them, with their vGPUs; refused while one is "
		  "held or allocated. Of a VF: 1 while it is a vGPU; 0 ends that, 1 makes it what it "
		  "was last (docs/VGPU.md)" },
	{ KEY_RW_OF("profile", 51, facts.profile, profile_store), .bits = CH_FACT(profile),
	  .caps = CAP_VGPU,
	  .help = "the vGPU type, by name, as the kernel holds it. A name of its profiles makes the VF "
		  "a vGPU, claimed by admin where it has no claim; another name makes it another; none "
		  "ends vGPU and claim. Refused while it is held or allocated" },
	{ ROW("create", 59, 0664), .store = create_store,
	  FIXED("write the name of a type in quotes, and a UUID if you like\n"),
	  .bits = CH_PROFILES, .flags = ATTR_ALIAS, .caps = CAP_CREATE,
	  .help = "makes a mediated device: \"TYPE\", one of its profiles, and a UUID if it must be a "
		  "certain one. It appears in mdevs, claimed by admin; none in its profile ends it. "
		  "log has the line with the UUID that it got" },
	{ RO_OF("profiles", 52, facts.profiles), .bits = CH_PROFILES, .caps = CAP_TYPES,
	  .help = "a line for each vGPU type that the card is known to have: name, id, how many are "
		  "available now, max, framebuffer_mib, gpu_instance_profile (the MIG instance that it "
		  "needs), class, license, max_per_vm, heads and frame_rate_limit as far as the "
		  "driver's library tells them, and the reason why none is available" },
	{ KEY_RO("profiles_available", 61, available_show), .bits = CH_PROFILES, .caps = CAP_VGPU,
	  .help = "a line for each of the profiles that it can have now: name and id" },
	{ KEY_RO_OF("profile_id", 53, facts.profile_id), .bits = CH_FACT(profile_id),
	  .caps = CAP_VGPU,
	  .help = "the id of that type as the kernel has it now; none: it is not a vGPU" },
	{ RW_OF("vgpu_params", 55, facts.vgpu_params, params_store), .bits = CH_FACT(vgpu_params),
	  .caps = CAP_VGPU,
	  .help = "parameters of the vGPU for its VMM, such as frame_rate_limiter=0; kept with the "
		  "profile. The driver takes them only while no VM has the vGPU" },
	{ RO_OF("placement_id", 56, facts.placement_id), .bits = CH_FACT(placement_id),
	  .caps = CAP_VGPU,
	  .help = "where the vGPU lies in the card's framebuffer, as the driver says; else none" },
	{ RO_OF("gpu_instance_id", 57, facts.gpu_instance_id), .bits = CH_FACT(gpu_instance_id),
	  .caps = CAP_VGPU, .help = "the MIG GPU instance that the vGPU lies in; else none" },
	{ RO("vgpu_support", 58, support_show), .bits = CH_FACT(vgpu_lack) | CH_PROFILES | CH_MIG,
	  .caps = CAP_VGPU_HOST, .help = "yes, or what is missing before the card can have vGPUs" },
	{ KEY_RW_OF("mixed_sizes", 75, facts.mixed_sizes, mixed_sizes_store), .bits = CH_MIG,
	  .caps = CAP_VGPU_HOST | CAP_ENABLE,
	  .help = "1: vGPUs of different framebuffer sizes can share the card; 0: all have one size; "
		  "none: its driver does not tell. Set while the card has VFs and no vGPU; kept, and "
		  "set again behind enabled" },
	{ KEY_RW_OF("scheduler", 76, facts.scheduler, scheduler_store), .bits = CH_MIG,
	  .caps = CAP_VGPU_HOST | CAP_ENABLE,
	  .help = "how vGPUs take turns: best-effort, equal-share or fixed-share, the last two with "
		  "timeslice_us=N and arr=1 (adaptive round robin, with avg_factor=N) or arr=0; none: its "
		  "driver does not tell. Set and kept as mixed_sizes" },
	{ RO_OF("mdevctl", 60, facts.mdevctl), .bits = CH_FACT(mdevctl), .caps = CAP_VGPU,
	  .help = "auto or manual: mdevctl has a definition for that UUID, so the mediated device is "
		  "mdevctl's, which makes it at boot or when told to. Read when the device is looked "
		  "at, as before each operation. Else none" },
	{ KEY_RO("mdev_uuid", 54, mdev_uuid_show), .bits = CH_MDEV, .caps = CAP_VGPU,
	  .help = "UUID of the mediated device that the vGPU is; none where the VF itself is the vGPU" },
};
/* clang-format on */

const struct attr_table attrs_vgpu = { rows, ARRAY_SIZE(rows) };
