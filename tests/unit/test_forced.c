// SPDX-License-Identifier: GPL-2.0-or-later
/* Claims by force: for which causes restore may take the device again, and what is said of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/use.h"
#include "fakehost.h"
#include "fakerequest.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define HBA "pci0000:00/0000:00:01.0/0000:01:00.0"
#define MOUNT(dev, point) "36 35 " dev " / " point " rw,relatime shared:1 - ext4 /dev/x rw\n"

static void put_disk(const char *name, const char *dev)
{
	char target[512], text[16];

	host_class("block", HBA "/block", name);
	snprintf(text, sizeof(text), "%s\n", dev);
	host_file(text, "sys/devices/" HBA "/block/%s/dev", name);
	snprintf(target, sizeof(target), "../../devices/" HBA "/block/%s", name);
	host_link(target, "sys/dev/block/%s", dev);
}

/* All of a device, by words that neither a wording nor a user changes. */
DEFINE_TEST(forced_causes_are_told_in_words)
{
	struct out o = { 0 };

	put_disk("sda", "8:0");
	put_disk("sdb", "8:16");
	host_file(MOUNT("8:0", "/") MOUNT("8:16", "/mnt/a\\040b;c"), "proc/1/mountinfo");
	CHECK_EQ(host_critical_causes(NULL, &o), 0);
	CHECK_STR(out_text(&o), "0000:01:00.0 disk sda is mounted on /\n"
				"0000:01:00.0 cause=mount sda /\n"
				"0000:01:00.0 cause=mount sdb 1de6739c90dbe283\n");
	out_free(&o);
}

static struct device *edit_critical(const char *causes)
{
	struct key k = request_key(REQUEST_NIC);
	struct device *dev = model_edit(t.m, &k, false);

	STR_COPY(dev->facts.critical, *causes ? "the sentence" : "");
	dev->facts.use = USE_HOST;
	CHECK_EQ(model_set_text(t.m, &dev->facts.causes, causes, strlen(causes)), 0);
	return dev;
}

static int refused(const char *causes, const struct request *request)
{
	struct device *dev;
	struct err err = { 0 };
	int rc;

	model_lock(t.m);
	dev = edit_critical(causes);
	note_forced(t.m, dev, request);
	rc = refuse_needed_claim(t.m, dev, request, &err);
	if (rc)
		CHECK_IN(err.text, "the host needs " REQUEST_NIC);
	model_publish(t.m);
	model_unlock(t.m);
	return rc;
}

#define ONE "the sentence\ncause=mount sda /"
#define TWO ONE "\ncause=boot-display"

DEFINE_TEST(forced_causes_are_ignored_by_restore_and_no_others)
{
	struct request plain = { .file = "claim", .value = "vm" }, force = plain, restore = plain;
	char many[2048] = "the sentence";

	force.force = restore.restores = true;
	request_boot(&request_nic);
	CHECK_EQ(refused(ONE, &plain), -EPERM);
	CHECK_EQ(refused(ONE, &restore), -EPERM);
	CHECK_EQ(refused(TWO, &force), 0);
	CHECK_STR(request_state_of(REQUEST_NIC).intent.forced, "mount sda /; boot-display");
	CHECK_EQ(refused(TWO, &restore), 0);
	CHECK_EQ(refused(ONE, &restore), 0);
	CHECK_EQ(refused("", &restore), 0);
	CHECK_EQ(refused(TWO "\ncause=mount sda /srv", &restore), -EPERM);
	CHECK_EQ(refused("the sentence\ncause=mount sda", &restore), -EPERM);
	CHECK_EQ(refused("the sentence", &restore), -EPERM); /* nobody knows why */
	/* A claim of its own time needs a force of its own. */
	CHECK_EQ(refused(ONE, &plain), -EPERM);
	CHECK_STR(request_state_of(REQUEST_NIC).intent.forced, "");
	CHECK_EQ(refused(ONE, &restore), -EPERM);
	/* A data volume over eight disks has room. */
	strcpy(many, "the sentence");
	for (int i = 0; i < 8; i++)
		sprintf(many + strlen(many),
			"\ncause=mount sd%c1 /var/lib/images"
			"\ncause=held-by sd%c1 md127",
			'a' + i, 'a' + i);
	CHECK_EQ(refused(many, &force), 0);
	CHECK_EQ(refused(many, &restore), 0);
	strcat(many, "\ncause=swap sda2");
	CHECK_EQ(refused(many, &restore), -EPERM);
	/* What has no room is not forced. */
	strcpy(many, "the sentence");
	for (size_t i = 0; i < 40; i++)
		sprintf(many + strlen(many), "\ncause=mount sda%zu /mnt/%zu", i, i);
	CHECK_EQ(refused(many, &force), 0);
	CHECK_EQ(refused(many, &restore), -EPERM);
	request_end();
}

/* However many were forced: the new one and what to do are said. */
DEFINE_TEST(forced_refusal_names_the_new_cause)
{
	struct request force = { .file = "claim", .value = "vm", .force = true }, restore = force;
	struct err err = { 0 };

	restore.force = false;
	restore.restores = true;
	request_boot(&request_nic);
	CHECK_EQ(refused(TWO "\ncause=swap sda2", &force), 0);
	model_lock(t.m);
	CHECK_EQ(refuse_needed_claim(t.m, edit_critical(TWO "\ncause=open sdb"), &restore, &err),
		 -EPERM);
	CHECK_IN(err.text, "for another reason now (open sdb) than when its claim was forced "
			   "(mount sda / and others); it stays with the host unless ");
	model_publish(t.m);
	model_unlock(t.m);
	request_end();
}
