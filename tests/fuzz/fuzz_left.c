// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What else a former process left, which may have run foreign code: open ctls, open files, node
 * ids, the verdicts of writes, the logs of operations. The first byte says which; then five bytes
 * each: where (in the head, or in one of the first records), and what. The next process opens and
 * uses it.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "fs/ctl/ctl.h"
#include "fs/ctl/ctl_job.h"
#include "fs/files.h"
#include "fs/journal.h"
#include "fs/objects.h"
#include "model/engine/operation.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REGION ((size_t)64 << 20)
#define OBJECTS_AT (4096 + 65536 * (sizeof(struct owner) + 8)) /* behind the head and the owners */
enum { RECORDS = 4 };

static const struct key home = { BUS_PCI, "0000:02:00.0" };
static char *region;
static size_t region_size;

/* ---- files */

static const struct creds anybody = { .uid = 1000, .gid = 1000 };

static void make_files(void)
{
	struct files *f;
	uint64_t fh;

	check(!files_new(region, region_size, 1, &f, NULL));
	for (uint64_t node = 1; node <= 3; node++)
		check(!files_open(f, node, node, &anybody, NULL, node & 1, &fh, NULL));
	files_free(f);
}

static void use_files(void)
{
	struct err err = { 0 };
	struct files *f;
	uint64_t fh, len;

	check(!files_new(region, region_size, 0, &f, NULL));
	for (uint64_t node = 1; node <= 4; node++) {
		files_touch(f, node);
		files_in_use(f, node, false);
		files_in_use(f, node, true);
	}
	files_tell(f);
	for (uint64_t n = 1; n <= 4; n++)
		for (uint64_t i = 0; i < 4; i++) {
			struct open_file *file = files_get(f, n << 24 | i);

			if (!file)
				continue;
			check(creds_valid(&file->creds));
			files_poll(f, file, 1, true);
			check(!files_kept(f, file, &len));
			files_release(f, file->fh);
			check(!files_get(f, n << 24 | i));
		}
	if (!files_open(f, 7, 7, &anybody, NULL, true, &fh, &err))
		files_release(f, fh);
	files_free(f);
}

/* ---- ctl */

static _Alignas(4096) char opened[64 << 10];

static void make_ctls(void)
{
	struct ctl_files *c;
	struct files *f;
	struct ctl *ctl;
	uint64_t fh;

	check(!files_new(opened, sizeof(opened), 1, &f, NULL));
	check(!ctl_new(region, region_size, f, &c, NULL));
	for (uint64_t i = 1; i <= 3; i++) {
		check(!files_open(f, 7, i, &anybody, NULL, true, &fh, NULL));
		check(!ctl_add(c, fh, &anybody, &ctl, NULL));
		ctl->kept->writer = ctl->kept->done = 7;
		ctl->kept->gathered = ctl->kept->unread = 1;
	}
	ctl_free(c);
	files_free(f);
}

static void use_ctl(struct ctl *ctl)
{
	const struct ctl_kept *k = ctl->kept;
	char buf[100];
	size_t len;

	check(strlen(k->hello) < sizeof(k->hello) && strlen(k->says) < sizeof(k->says));
	check(ctl->broken || !k->gathered);
	check(!ctl_line(ctl, &len));
	check(ctl_say(ctl, "end\n", 4));
	ctl_take(ctl, 7, buf, sizeof(buf));
	ctl_take(ctl, 7 | UNIQUE_RESENT, buf, sizeof(buf));
}

static void use_ctls(void)
{
	struct ctl_files *c;
	struct files *f;
	struct ctl *ctl;

	check(!files_new(opened, sizeof(opened), 0, &f, NULL));
	check(!ctl_new(region, region_size, f, &c, NULL));
	for (size_t i = 0; (ctl = ctl_at(c, i)); i++)
		if (ctl->kept->fh)
			use_ctl(ctl);
	if (!ctl_add(c, 4711, &anybody, &ctl, NULL))
		use_ctl(ctl);
	for (size_t i = 0; (ctl = ctl_at(c, i)); i++)
		if (ctl->kept->fh)
			ctl_remove(c, ctl);
	check(!c->held.used && !c->opened.used);
	ctl_free(c);
	files_free(f);
}

/* ---- node ids */

static void make_objects(void)
{
	struct objects *o;

	check(!objects_open(region, region_size, obj_type, &o, NULL));
	objects_live(o, objects_slot(o, OBJ_DEVICE, 0, "0000:01:00.0"), 1);
	objects_live(o, objects_slot(o, OBJ_DEVICE, 0, "0000:02:00.0"), 2);
	objects_kill(o, objects_slot(o, OBJ_DEVICE, 0, "0000:02:00.0"));
	objects_close(o);
}

static void use_objects(void)
{
	const struct owner owner = { .mode = 0600, .uid = 1000 };
	struct objects *o;
	struct owner got;
	uint32_t slot;
	uint16_t row;

	check(!objects_open(region, region_size, obj_type, &o, NULL));
	check(objects_node(o, 1, &slot, &row) && !slot); /* the kernel's number of the root */
	for (uint32_t i = 0; i < objects_count(o) && i < RECORDS; i++) {
		const struct object *obj = objects_at(o, i);

		check(strlen(obj->name) < OBJECT_NAME && obj->parent < objects_count(o) &&
		      obj->state <= OBJECT_DEAD && obj_type(obj->kind));
		objects_note_known(o, objects_ino(o, i, 3));
		objects_known(o, objects_ino(o, i, 3));
		objects_set_owner(o, objects_ino(o, i, 3), &owner);
		objects_owner(o, objects_ino(o, i, 3), &got);
		objects_drop_owner(o, objects_ino(o, i, 3));
	}
	slot = objects_slot(o, OBJ_DEVICE, 0, "0000:01:00.0");
	check(slot != NO_SLOT && slot);
	objects_live(o, slot, 9);
	check(objects_find(o, OBJ_DEVICE, 0, "0000:01:00.0") == slot);
	objects_kill(o, slot);
	objects_close(o);
}

/* ---- verdicts */

static void make_journal(void)
{
	struct journal *j;
	uint32_t slot;
	int r;

	check(!journal_open(region, region_size, &j, NULL));
	for (uint64_t unique = 1; unique <= 3; unique++)
		check(!journal_begin(j, unique, &slot, &r));
	journal_end(j, slot, 5);
	journal_close(j);
}

static void use_journal(void)
{
	struct journal *j;
	uint32_t slot;
	int r;

	check(!journal_open(region, region_size, &j, NULL));
	for (uint64_t unique = 1; unique <= 5; unique++)
		if (!journal_begin(j, unique | UNIQUE_RESENT, &slot, &r)) {
			check(slot < JOURNAL_SLOTS);
			journal_end(j, slot, -EINVAL);
		}
	journal_close(j);
}

/* ---- logs of operations */

static void make_logs(void)
{
	struct op_log *log = (struct op_log *)(region + sizeof(struct logs_head));
	struct journal_conf conf = { .at = region, .size = region_size, .of = "boot 1:2:3" };
	struct logs l = { 0 };

	logs_open(&l, &conf);
	for (size_t i = 0; i < 3; i++, log++) {
		log->n_requests = 1;
		log->requests[0] = (struct request){ .dev = home, .file = "claim", .value = "a" };
		log->devices[0] = home;
		log->n_devices = log->n_steps = log->n_snapshots = 1;
		log->steps[0] = (struct step){ .verb_name = "sriov/numvfs", .dev = home };
		log->snapshots[0] = (struct snapshot){ .dev = home };
		log->state = i == 2 ? LOG_STUCK : i ? LOG_ENDED : LOG_RUNS;
		check(log_valid(log));
	}
	l.head->used = 3;
	pthread_mutex_destroy(&l.lock);
}

static void use_logs(void)
{
	const struct request request = { .dev = home, .file = "claim", .value = "a" };
	const struct actor who = { .tag = 1 };
	struct journal_conf conf = { .at = region, .size = region_size, .of = "boot 1:2:3" };
	struct err err = { 0 };
	struct logs l = { 0 };

	logs_open(&l, &conf);
	for (uint32_t i = 0; i < logs_used(&l); i++) {
		const struct op_log *log = &l.slots[i];

		/* What is spoiled is lost by engine_recover(): only its devices are read. */
		for (uint32_t k = 0; k < log->n_devices && log->state != LOG_FREE; k++)
			check(key_valid(&log->devices[k]));
		check(log_valid(log) || !log->n_requests);
		log_is_stuck(log);
	}
	logs_settled(&l, &home);
	logs_verdict(&l, &request, 1, &who, &err);
	pthread_mutex_destroy(&l.lock);
}

static const struct left {
	void (*make)(void), (*use)(void);
	size_t head, record; /* bytes before the first record, and of one */
	size_t size;	     /* of the region: a few records */
} kinds_left[] = {
	{ make_ctls, use_ctls, 24, sizeof(struct ctl_kept), 1 << 20 },
	{ make_files, use_files, 4096, sizeof(struct open_file), 64 << 10 },
	{ make_objects, use_objects, OBJECTS_AT, sizeof(struct object), OBJECTS_AT + (64 << 10) },
	{ make_journal, use_journal, 0, 4096, 1 << 20 },
	{ make_logs, use_logs, sizeof(struct logs_head), sizeof(struct op_log), REGION },
};

/* Heads and the beginnings of records are hit most. */
static void spoil(const struct left *k, const uint8_t *at)
{
	size_t where = at[1] | (size_t)at[2] << 8 | (size_t)(at[3] & 0x7f) << 16;
	size_t in = at[0] & 7, n = at[3] & 0x80 ? 300 : 1;

	if (in >= RECORDS)
		where %= 64;
	else
		where = k->head + in * k->record + where % k->record;
	memset(region + where, at[4], n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct left *k;

	if (!region)
		region = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	check(region != MAP_FAILED);
	if (!size)
		return 0;
	k = &kinds_left[data[0] % ARRAY_SIZE(kinds_left)];
	madvise(region, REGION, MADV_REMOVE);
	region_size = k->size;
	k->make();
	for (size_t at = 1; at + 5 <= size; at += 5)
		spoil(k, data + at);
	k->use();
	return 0;
}
