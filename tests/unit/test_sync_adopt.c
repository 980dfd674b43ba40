// SPDX-License-Identifier: GPL-2.0-or-later
/* What a claim takes over that another controller made before: its driver, its name. */
#include <errno.h>
#include <string.h>

#include "k8s-sync/agree/agree.h"
#include "pcidevfs/util.h"
#include "syncworld.h"

#define OLD "samsung.com/NVME_SSD_CONTROLLER_OLD"
#define IDS(id, more)                                                                              \
	"vendor=0x144d device=" id " class=0x010802 kind=pci claimable=yes state=free "            \
	"reason=none iommu_group=37 resource_name=samsung.com/SM981 resource_override=none " more
#define BOUND IDS("0xa808", "driver=vfio-pci former_driver=none claim=none")
#define OBJECT(annotations, status)                                                                \
	"{\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"D\",\"annotations\":{" annotations         \
	"}},\"status\":{" status "}}"
#define DRIVER(name) "\"" FIRST_DRIVER "\":\"" name "\""
#define OVERRIDE(name) "\"" RESOURCE_OVERRIDE "\":\"" name "\""
#define SM981(name) "\"vendorId\":\"144d\",\"deviceId\":\"a808\",\"resourceName\":\"" name "\""
#define LINES(more) "ctl pcideviceclaims/" NAME " " more NVME "/claim admin\n"
#define RESOURCE "\"fieldsV1\":{\"f:status\":{\"f:resourceName\":{}}}"
#define FORMER(driver) NVME "/former_driver " driver "\n"
#define AS(name) NVME "/offered_as " name "\n"

static const char *name_of(struct syncworld *s)
{
	return js_text(object_find(&s->w, PCI_DEVICE, NAME), "status.resourceName");
}

static void begin(struct syncworld *s, const char *device, const char *object)
{
	syncworld_init(s);
	syncworld_device(s, NVME, device);
	syncworld_object(s, PCI_DEVICE, object);
	syncworld_object(s, PCI_CLAIM, CLAIM("admin"));
}

DEFINE_TEST(sync_adoption_takes_over_what_others_had)
{
	static const struct {
		const char *device, *object, *lines;
	} rows[] = {
		{ BOUND, OBJECT(DRIVER("nvme"), SM981(OLD)), LINES(FORMER("nvme") AS(OLD)) },
		/* The same name; the tree's own driver, or another's that the tree knows. */
		{ BOUND, OBJECT(DRIVER("nvme"), SM981("samsung.com/SM981")),
		  LINES(FORMER("nvme")) },
		{ IDS("0xa808", "driver=nvme former_driver=none claim=none"),
		  OBJECT(DRIVER("nvme"), SM981(OLD)), LINES(AS(OLD)) },
		/* Another card has the address. */
		{ IDS("0xa809", "driver=vfio-pci former_driver=none claim=none"),
		  OBJECT(DRIVER("nvme"), SM981(OLD)), LINES("") },
		/* A name of its own is a user's. */
		{ BOUND, OBJECT(DRIVER("nvme") "," OVERRIDE("a.com/MINE"), SM981(OLD)),
		  LINES(FORMER("nvme") NVME "/resource_name a.com/MINE\n") },
		{ BOUND, OBJECT("", SM981("samsung.com/" NAME)), LINES("") },
		/* A vGPU that others have made, of a device that others have bound. */
		{ "kind=vgpu vendor=0x144d device=0xa808 state=free driver=vfio-pci profile=A2-4Q "
		  "former_driver=none claim=none resource_name=nvidia.com/A2-4Q",
		  OBJECT(DRIVER("nvidia"), SM981(OLD)), LINES("") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;

		begin(&s, rows[i].device, rows[i].object);
		expect(syncworld_settle(&s), rows[i].lines);
		syncworld_free(&s);
	}
}

/* Anybody may have written it who may write a PCIDevice; a claim must not be refused for it. */
DEFINE_TEST(sync_adoption_believes_no_nonsense)
{
	static const char *const objects[] = {
		OBJECT(DRIVER("vfio-pci"), SM981("x")),
		OBJECT(DRIVER("mlx5_vfio_pci"), SM981("kubernetes.io/x")),
		OBJECT(DRIVER("../../x"), SM981("a b/c")),
		OBJECT(DRIVER("a\\nb"), SM981("a/b\\nc")),
		OBJECT(DRIVER(""), SM981("")),
		OBJECT(DRIVER("0123456789012345678901234567890123456789012345678"),
		       SM981("a.com/01234567890123456789012345678901234567890123456789012345678901234")),
		OBJECT("\"x\":\"y\"", "\"resourceName\":7"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct syncworld s;

		begin(&s, BOUND, objects[i]);
		expect(syncworld_settle(&s), LINES(""));
		syncworld_free(&s);
	}
}

/* Until the tree has the claim the object says what it said; what the claim itself knows of the
 * driver counts where the device does not. */
DEFINE_TEST(sync_adoption_renames_nothing_on_its_way)
{
	struct syncworld s;

	begin(&s, BOUND, OBJECT(DRIVER("vfio-pci"), SM981(OLD)));
	js_set(claim_of(&s), "status.kernelDriverToUnbind", json_object_new_string("nvme"));
	expect(syncworld_settle(&s), LINES(FORMER("nvme") AS(OLD)));
	CHECK_STR(name_of(&s), OLD);
	inventory_drop(&s.inv, NVME);
	syncworld_device(&s, NVME,
			 "resource_name=" OLD " former_driver=nvme driver=vfio-pci claim=admin "
			 "resource_override=none " FACTS);
	expect(syncworld_settle(&s), "");
	CHECK_STR(name_of(&s), OLD);
	CHECK_STR(js_meta(object_find(&s.w, PCI_DEVICE, NAME), "annotations", FIRST_DRIVER),
		  "nvme");
	CHECK_STR(js_text(claim_of(&s), "status.kernelDriverToUnbind"), "nvme");
	/* No user chose that name, so the annotation has none. */
	CHECK(!js_meta(object_find(&s.w, PCI_DEVICE, NAME), "annotations", RESOURCE_OVERRIDE));
	/* Released, the tree has another name for it, and so has the object. */
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	syncworld_device(&s, NVME, UNCLAIMED " resource_override=none");
	expect(syncworld_settle(&s), "");
	CHECK_STR(name_of(&s), "samsung.com/SM981");
	syncworld_free(&s);
}

/* Whose process has it open? Only of a claim that held before it is the claimant's. */
DEFINE_TEST(sync_adoption_of_a_device_in_use_needs_a_claim_that_held)
{
	static const struct {
		const char *state;
		bool enabled;
		const char *lines;
	} rows[] = {
		{ "held", false, LINES("") },
		{ "held", true, LINES(FORMER("nvme")) },
		{ "unhealthy", false, LINES("") }, /* it comes before held */
		{ "free", false, LINES(FORMER("nvme")) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;
		char device[400];

		snprintf(device, sizeof(device), "state=%s " BOUND, rows[i].state);
		begin(&s, device, OBJECT(DRIVER("nvme"), SM981("samsung.com/SM981")));
		js_set(claim_of(&s), "status.passthroughEnabled",
		       json_object_new_boolean(rows[i].enabled));
		expect(syncworld_settle(&s), rows[i].lines);
		syncworld_free(&s);
	}
}

/* The other controller has bound a device that had no driver: a VM may run with it. */
DEFINE_TEST(sync_adoption_of_a_claim_that_held_says_so)
{
	struct syncworld s;

	begin(&s, BOUND, OBJECT(DRIVER(""), SM981("")));
	js_set(claim_of(&s), "status.passthroughEnabled", json_object_new_boolean(true));
	expect(syncworld_settle(&s), LINES(FORMER("none")));
	syncworld_free(&s);
}

/* What sync itself wrote while a claim waits tells nothing of another controller: a name that a
 * user has taken back would come again. */
DEFINE_TEST(sync_adoption_takes_no_name_that_sync_wrote)
{
	static const struct {
		const char *writers, *lines, *name;
	} rows[] = {
		{ "{\"manager\":\"pcidevfs-status\"," RESOURCE "}", LINES(""), "samsung.com/SM981" },
		{ "{\"manager\":\"pcidevfs-status\"," RESOURCE "},{\"manager\":\"agent\"," RESOURCE "}",
		  LINES(AS(OLD)), OLD },
		{ "{\"manager\":\"pcidevfs-status\",\"fieldsV1\":{\"f:status\":{\"f:address\":{}}}},"
		  "{\"manager\":\"agent\"," RESOURCE "}",
		  LINES(AS(OLD)), OLD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;
		char all[400];

		begin(&s, IDS("0xa808", "driver=nvme former_driver=none claim=none"),
		      OBJECT("", SM981(OLD)));
		snprintf(all, sizeof(all), "[%s]", rows[i].writers);
		js_set(object_find(&s.w, PCI_DEVICE, NAME), "metadata.managedFields",
		       json_tokener_parse(all));
		writers_note(object_find(&s.w, PCI_DEVICE, NAME));
		expect(syncworld_settle(&s), rows[i].lines);
		CHECK_STR(name_of(&s), rows[i].name);
		syncworld_free(&s);
	}
}

/* Somebody's name may be one that the tree does not take: the claim is asked for without it. */
DEFINE_TEST(sync_adoption_that_is_refused_leaves_the_claim)
{
	struct verdict v = { .about = NVME "/claim", .err = { .code = EBUSY } };
	struct action *list;
	struct syncworld s;

	begin(&s, BOUND, OBJECT(DRIVER("nvme"), SM981(OLD)));
	expect(syncworld_settle(&s), LINES(FORMER("nvme") AS(OLD)));
	list = decide(&s.w);
	for (const struct action *a = list; a; a = a->next)
		v.seen = a->act == ACT_CTL ? a->seen : v.seen;
	actions_free(list);
	STR_COPY(v.err.text, NVME "/offered_as: " OLD " is the own name of 0000:06:00.0");
	s.w.verdicts = &v;
	adopt_heed(&v);
	expect(syncworld_settle(&s), LINES(""));
	/* ... until something changes. */
	syncworld_device(&s, NVME, BOUND " serial=7");
	expect(syncworld_settle(&s), LINES(FORMER("nvme") AS(OLD)));
	syncworld_free(&s);
}

DEFINE_TEST(sync_adoption_that_is_refused_is_told_from_a_claim_that_is)
{
	static const struct {
		const char *text;
		bool plain;
	} rows[] = {
		{ NVME "/former_driver: there is no room for the name x", true },
		{ NVME "/resource_name: a.com/X is the own name of 0000:06:00.0", true },
		{ NVME "/claim: " NVME " is held by qemu (pid 8)", false },
		{ NVME "/claim: write x/offered_as: y", false },
		{ NVME "/offered_as: " NVME " is busy: claim bob is running; wait for it", false },
		{ NVME "/offered_as: " NVME " is a VF of 0000:04:00.0, which is busy: x", false },
		{ "no memory", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdict v = { .seen = 5, .err = { .code = EBUSY } };

		STR_COPY(v.err.text, rows[i].text);
		adopt_heed(&v);
		CHECK_EQ(v.plain, rows[i].plain ? 5 : 0);
		CHECK_EQ(v.seen, rows[i].plain ? 0 : 5);
		/* Refused again, for the same line, it is refused. */
		v.seen = 5;
		v.plain = 5;
		adopt_heed(&v);
		CHECK_EQ(v.seen, 5);
	}
}

/* A bridge of its group stays with the host, whatever stands in an object of its address. */
DEFINE_TEST(sync_adoption_leaves_bridges_alone)
{
	struct syncworld s;
	char *all;

	begin(&s, BOUND, OBJECT("\"pcidevfs/claim\":\"none>admin\"," DRIVER("nvme"),
				SM981("samsung.com/SM981")));
	syncworld_device(&s, "0000:04:00.0",
			 "vendor=0x144d device=0xa808 class=0x060400 kind=pci iommu_group=37 "
			 "claimable=no driver=vfio-pci former_driver=none claim=none");
	syncworld_object(&s, PCI_DEVICE,
			 "{\"metadata\":{\"name\":\"node1-000004000\",\"annotations\":{" DRIVER(
				 "pcieport") "}},\"status\":{" SM981("samsung.com/SM981") "}}");
	all = syncworld_decide(&s);
	CHECK_IN(all, LINES(FORMER("nvme")));
	free(all);
	syncworld_free(&s);
}

/* Harvester's controller has made the name of another vendor's name: kubelet has it so. */
DEFINE_TEST(sync_adoption_keeps_the_name_of_a_device_that_is_alone)
{
	static const struct {
		const char *annotations, *name;
	} rows[] = {
		{ OVERRIDE("samsung-old.com/" NAME), "samsung-old.com/" NAME },
		{ OVERRIDE("samsung-old.com/" NAME) ",\"pcidevfs/resource_name\":\"samsung-old.com/" NAME
						    "\"",
		  "samsung.com/" NAME },
		{ OVERRIDE("samsung-old.com/node1-000006000"), "samsung.com/" NAME },
		{ OVERRIDE("x y/" NAME), "samsung.com/" NAME },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;
		char want[300], object[500];

		snprintf(object, sizeof(object), OBJECT("%s", SM981("samsung-old.com/" NAME)),
			 rows[i].annotations);
		begin(&s, IDS("0xa808", "driver=nvme former_driver=none claim=none"), object);
		js_set(claim_of(&s), "spec.disableResourcePooling", json_object_new_boolean(true));
		snprintf(want, sizeof(want), LINES(NVME "/resource_name %s\n"), rows[i].name);
		expect(syncworld_settle(&s), want);
		syncworld_free(&s);
	}
}

#define AUDIO "0000:05:00.1"
#define AUDIO_NAME "node1-000005001"

/* One claim takes the whole group along, and so does what is known of its members; a name counts
 * only of those that have a claim. */
DEFINE_TEST(sync_adoption_is_the_groups)
{
	static const char *const lines[] = {
		LINES(FORMER("nvme") AUDIO "/former_driver snd_hda_intel\n"),
		LINES(FORMER("nvme") AUDIO "/former_driver snd_hda_intel\n" AUDIO
					   "/offered_as " OLD "\n"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct syncworld s;

		begin(&s, BOUND, OBJECT(DRIVER("nvme"), SM981("samsung.com/SM981")));
		syncworld_device(&s, AUDIO, BOUND);
		syncworld_object(&s, PCI_DEVICE,
				 "{\"metadata\":{\"name\":\"" AUDIO_NAME "\",\"annotations\":{" DRIVER(
					 "snd_hda_intel") "}},\"status\":{" SM981(OLD) "}}");
		if (i)
			syncworld_object(&s, PCI_CLAIM,
					 "{\"metadata\":{\"name\":\"" AUDIO_NAME
					 "\"},\"spec\":{\"address\":\"" AUDIO
					 "\",\"nodeName\":\"node1\",\"userName\":\"admin\"}}");
		expect(syncworld_settle(&s), lines[i]);
		syncworld_free(&s);
	}
}
