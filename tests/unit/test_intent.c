// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state file: its text, and what a crash may leave of it.
 *
 * The disk here is as POSIX allows: any part of unsynced data may be there. Each call of the
 * sequence that replaces the file may be the last. For each such point every possible state of the
 * disk is listed, and each must load as the old or the new set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/intents/intent_file.h"
#include "facts.h"
#include "pcidevfs/err.h"
#include "test.h"

static void text_of(const char *lines, struct out *ret)
{
	uint64_t h = 0xcbf29ce484222325ull;

	out_printf(ret, "pcidevfs-intent 1\n%s", lines);
	for (size_t i = 0; i < ret->len; i++)
		h = (h ^ (unsigned char)ret->data[i]) * 0x100000001b3ull;
	out_printf(ret, "checksum=%016llx\n", (unsigned long long)h);
}

static int parse(const char *text, size_t len, struct records *ret, struct err *err)
{
	char *copy = malloc(len + 1);
	int rc;

	memcpy(copy, text, len);
	copy[len] = '\0';
	rc = intent_parse(copy, len, ret, err);
	free(copy);
	return rc;
}

#define PLACE "path=0000:00/1c.4/00.0 ids=8086:10fb:0000:0001 serial=none vf=none"

DEFINE_TEST(intent_text_is_kept_whole)
{
	static const char lines[] =
		"path=0000:00/03.0/00.0 ids=8086:10fb:0000:0001 serial=a0369fffff123456 vf=none at=0000:02:00.0 "
		"numvfs=4 owner.claim=1000:1000:0664 owner.=0:7:0755 later=\"a \\\"b\\\\ \\x01\" and=more\n"
		"path=0000:00/03.0/00.0 ids=8086:10fb:0000:0001 serial=a0369fffff123456 vf=3 at=0000:02:10.3 "
		"claim=alice driver=vfio-pci former_driver=none former_override=none group=00000000000000ff "
		"offered_as=intel.com/OLD allocated_nodes=\"/dev/vfio/vfio /dev/vfio/14\" pooled=0 resource_name=intel.com/X boot=this\n"
		"mdev=5f2a type=\"x y\"\n";
	struct out text = { 0 }, again = { 0 };
	struct records rs = { 0 };
	struct err err = { 0 };

	text_of(lines, &text);
	CHECK_EQ(parse(text.data, text.len, &rs, &err), 0);
	CHECK_EQ(rs.n, 2);
	CHECK_EQ(rs.v[0]->intent.num_vfs, 4);
	CHECK_EQ(rs.v[0]->n_owners, 2);
	CHECK_EQ(rs.v[0]->owners[1].is.gid, 7);
	CHECK_STR(rs.v[0]->extra, "later=\"a \\\"b\\\\ \\x01\" and=more");
	CHECK_EQ(rs.v[1]->id.vf, 3);
	CHECK(rs.v[1]->intent.former_known && rs.v[1]->intent.single && rs.v[1]->interrupted);
	CHECK_STR(former_of(rs.v[1]->intent, "driver"), "");
	intent_format(&rs, &again);
	CHECK_EQ(strncmp(again.data, "pcidevfs-intent 2 lines=3 sum=", 30), 0);
	for (const char *p = lines, *end; *p; p = end + 1) {
		char line[512];

		end = strchr(p, '\n');
		snprintf(line, sizeof(line), "\n%.*s sum=", (int)(end - p), p);
		CHECK_IN(again.data, line);
	}
	records_free(&rs);
	out_free(&text);
	out_free(&again);
}

DEFINE_TEST(intent_damage_is_told)
{
	static const char *const bad[] = {
		"path=0000:00/1c.4/00.0 claim=a\" b\n", /* a quote in the middle */
		PLACE " claim=\"a\n",			/* no end */
		PLACE " claim=\"a\\q\"\n",		/* no escape */
		PLACE " numvfs=70000\n",
		PLACE " numvfs=-1\n",
		PLACE " =x\n",
		PLACE " claim\n",
		PLACE " owner.claim=1:2\n",
		PLACE " owner.claim=1:2:99999\n",
		PLACE " pooled=perhaps\n",
	};
	struct records rs = { 0 };
	struct out text = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		text_of(bad[i], &text);
		CHECK_EQ(parse(text.data, text.len, &rs, &err), 0);
		CHECK_EQ(rs.n, 1);
		if (!rs.v[0]->aside)
			FAIL("accepted: %s", bad[i]);
		CHECK_IN(rs.v[0]->reason, "line 2 makes no sense: ");
		records_free(&rs);
		out_free(&text);
	}
	text_of(PLACE " claim=a\n", &text);
	for (size_t i = 0; i < text.len; i++) { /* cut anywhere, any bit turned */
		CHECK_EQ(parse(text.data, i, &rs, &err), -EINVAL);
		text.data[i] ^= 1;
		CHECK_EQ(parse(text.data, text.len, &rs, &err), -EINVAL);
		text.data[i] ^= 1;
	}
	CHECK_EQ(parse("pcidevfs-intent 3\n", 18, &rs, &err), -EINVAL);
	CHECK_IN(err.text, "later version");
	out_free(&text);
}

DEFINE_TEST(intent_owners_are_bounded)
{
	struct out text = { 0 }, lines = { 0 };
	struct records rs = { 0 };
	struct err err = { 0 };

	out_printf(&lines, PLACE " claim=a");
	for (int i = 0; i < OWNERS_MAX + 6; i++)
		out_printf(&lines, " owner.f%d=1:2:0644", i);
	out_printf(&lines, " boot=this\n");
	text_of(lines.data, &text);
	CHECK_EQ(parse(text.data, text.len, &rs, &err), 0);
	CHECK_EQ(rs.n, 1);
	CHECK_STR(rs.v[0]->intent.claim, "a");
	CHECK(rs.v[0]->interrupted);
	CHECK_EQ(rs.v[0]->n_owners, OWNERS_MAX);
	records_free(&rs);
	out_free(&lines);
	out_free(&text);
}

/* ---- the disk */

enum { FILES = 3 };

/* A file's bytes as written, and how many of them are on the disk for certain. */
struct inode {
	char data[1024];
	size_t len, synced;
	bool used;
};

struct dir {
	int file, new; /* inode of INTENT_FILE and INTENT_NEW; -1 none */
};

static struct fake {
	struct inode inodes[FILES];
	struct dir now;
	/* Directory states since the last sync of it; any may be what is found. */
	struct dir then[8];
	size_t n_then;
	int calls_left; /* until the power goes */
	size_t chunk;	/* what one write takes */
	int fail_at, fail_with;
} fake;

static bool power(void)
{
	return fake.calls_left-- > 0;
}

static int failing(void)
{
	return fake.fail_at-- == 0 ? fake.fail_with : 0;
}

static void new_names(struct dir names)
{
	fake.now = names;
	fake.then[fake.n_then++] = names;
}

static int fake_create(void *ctx, const char *name)
{
	int i = 0, rc = failing();

	CHECK_STR(name, INTENT_NEW);
	if (!power() || rc)
		return rc ? rc : -EIO;
	if (fake.now.new >= 0) { /* cut to nothing, which the disk may hear of at once or never */
		i = fake.now.new;
		fake.inodes[i].len = fake.inodes[i].synced = 0;
		return i;
	}
	while (fake.inodes[i].used)
		i++;
	CHECK(i < FILES);
	fake.inodes[i] = (struct inode){ .used = true };
	new_names((struct dir){ fake.now.file, i });
	return i;
}

static ssize_t fake_write(void *ctx, int fd, const char *data, size_t len)
{
	struct inode *n = &fake.inodes[fd];
	int rc = failing();

	if (!power() || rc)
		return rc ? rc : -EIO;
	len = len < fake.chunk ? len : fake.chunk;
	CHECK(n->len + len <= sizeof(n->data));
	memcpy(n->data + n->len, data, len);
	n->len += len;
	return (ssize_t)len;
}

static int fake_sync(void *ctx, int fd)
{
	int rc = failing();

	if (!power() || rc)
		return rc ? rc : -EIO;
	fake.inodes[fd].synced = fake.inodes[fd].len;
	return 0;
}

static int fake_close(void *ctx, int fd)
{
	int rc = failing();

	return !power() || rc ? (rc ? rc : -EIO) : 0;
}

static int fake_rename(void *ctx, const char *from, const char *to)
{
	int rc = failing();

	CHECK_STR(from, INTENT_NEW);
	CHECK_STR(to, INTENT_FILE);
	if (!power() || rc)
		return rc ? rc : -EIO;
	new_names((struct dir){ fake.now.new, -1 });
	return 0;
}

static int fake_sync_dir(void *ctx)
{
	int rc = failing();

	if (!power() || rc)
		return rc ? rc : -EIO;
	fake.then[0] = fake.now;
	fake.n_then = 1;
	return 0;
}

static const struct disk disk = { NULL,	      fake_create, fake_write,	 fake_sync,
				  fake_close, fake_rename, fake_sync_dir };

static void fresh_disk(const struct out *old)
{
	fake = (struct fake){ .now = { -1, -1 }, .n_then = 1, .chunk = 7, .fail_at = -1 };
	if (old) {
		memcpy(fake.inodes[0].data, old->data, old->len);
		fake.inodes[0].len = fake.inodes[0].synced = old->len;
		fake.inodes[0].used = true;
		fake.now.file = 0;
	}
	fake.then[0] = fake.now;
}

enum found { FOUND_NONE, FOUND_OLD, FOUND_NEW };

static enum found load_bytes(const char *data, size_t len, const struct out *old,
			     const struct out *new)
{
	struct records rs = { 0 };
	struct err err = { 0 };

	if (parse(data, len, &rs, &err))
		FAIL("a crash left: %.*s (%s)", (int)len, data, err.text);
	records_free(&rs);
	if (len == new->len && !memcmp(data, new->data, len))
		return FOUND_NEW;
	CHECK(old && len == old->len && !memcmp(data, old->data, len));
	return FOUND_OLD;
}

static unsigned int states;

/* All possible states of the disk now. Of unsynced bytes any length may be there; the missing rest
 * of a block reads as zeros. */
static void each_state(const struct out *old, const struct out *new, bool acknowledged)
{
	for (size_t k = 0; k < fake.n_then; k++) {
		const struct inode *n =
			fake.then[k].file < 0 ? NULL : &fake.inodes[fake.then[k].file];

		states++;
		if (!n) {
			CHECK(!old && !acknowledged);
			continue;
		}
		for (size_t len = n->synced; len <= n->len; len++) {
			enum found found = load_bytes(n->data, len, old, new);
			char holes[sizeof(n->data)] = "";

			states++;
			if (acknowledged)
				CHECK_EQ(found, FOUND_NEW);
			if (len == n->len)
				continue;
			memcpy(holes, n->data, len);
			load_bytes(holes, n->len, old, new);
			states++;
		}
	}
}

static void crash_everywhere(const struct out *old, const struct out *new, size_t chunk)
{
	for (int calls = 0;; calls++) {
		int rc;

		fresh_disk(old);
		fake.chunk = chunk;
		fake.calls_left = calls;
		rc = intent_replace(&disk, new->data, new->len);
		each_state(old, new, !rc);
		if (rc)
			continue;
		CHECK(calls > 4);
		return;
	}
}

static void make_text(unsigned int records, struct out *ret)
{
	struct out lines = { 0 }, former = { 0 };
	struct records rs = { 0 };
	struct err err = { 0 };

	for (unsigned int i = 0; i < records; i++)
		out_printf(
			&lines,
			"path=0000:00/%02x.0/00.0 ids=8086:10fb:0000:0001 serial=none vf=none claim=c%u\n",
			i, i);
	text_of(out_text(&lines), &former);
	CHECK_EQ(parse(former.data, former.len, &rs, &err), 0);
	intent_format(&rs, ret);
	records_free(&rs);
	out_free(&former);
	out_free(&lines);
}

DEFINE_TEST(intent_survives_every_crash)
{
	struct out old[4] = { 0 }, new[4] = { 0 };

	for (unsigned int i = 0; i < 4; i++) {
		make_text(i, &old[i]);
		make_text(i + 3, &new[i]);
		for (size_t chunk = 1; chunk < 600; chunk = chunk * 3 + 1) {
			crash_everywhere(&old[i], &new[i], chunk);
			crash_everywhere(&new[i], &old[i], chunk);
			crash_everywhere(NULL, &new[i], chunk);
		}
	}
	printf("# %u states\n", states);
	CHECK(states > 4000);
	for (unsigned int i = 0; i < 4; i++) {
		out_free(&old[i]);
		out_free(&new[i]);
	}
}

/* So ends a process that cannot use the memory of the former one. */
DEFINE_TEST(intent_never_opened_is_closed)
{
	struct intents *in;

	CHECK_EQ(intents_new(test_dir(), &in, NULL), 0);
	intents_stop(in);
	intents_close(in);
}

/* A call that fails: told, and what is there is one of the two; after it the next try goes well. */
DEFINE_TEST(intent_failures_are_told)
{
	struct out old = { 0 }, new = { 0 };
	int told = 0;

	make_text(1, &old);
	make_text(2, &new);
	for (int at = 0;; at++) {
		int rc;

		fresh_disk(&old);
		fake.chunk = 100;
		fake.calls_left = 1000;
		fake.fail_at = at;
		fake.fail_with = -ENOSPC;
		rc = intent_replace(&disk, new.data, new.len);
		each_state(&old, &new, !rc);
		if (!rc)
			break;
		CHECK_EQ(rc, -ENOSPC);
		told++;
		fake.fail_at = -1;
		CHECK_EQ(intent_replace(&disk, new.data, new.len), 0);
		each_state(&old, &new, true);
	}
	CHECK(told >= 6); /* create, write, sync, close, rename, directory */
	out_free(&old);
	out_free(&new);
}

DEFINE_TEST(intent_is_a_file)
{
	static const char text[] = "text";
	int dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct disk real = disk_at(&dir);
	char *got;
	size_t len;

	CHECK_EQ(intent_read(dir, &got, &len), -ENOENT);
	CHECK_EQ(intent_replace(&real, text, strlen(text)), 0);
	CHECK_EQ(intent_read(dir, &got, &len), 0);
	CHECK_STR(got, text);
	CHECK_EQ(len, strlen(text));
	free(got);
	CHECK_EQ(faccessat(dir, INTENT_NEW, F_OK, 0), -1);
	CHECK_EQ(unlinkat(dir, INTENT_FILE, 0), 0);
	CHECK_EQ(symlinkat("/etc/passwd", dir, INTENT_FILE), 0);
	CHECK_EQ(intent_read(dir, &got, &len), -ELOOP);
	close(dir);
}
