// SPDX-License-Identifier: GPL-2.0-or-later
/* What else a former process left, or somebody in its place: tests/fuzz/fuzz_left.c tries more. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "fs/ctl/ctl.h"
#include "fs/ctl/ctl_job.h"
#include "fs/files.h"
#include "fs/objects.h"
#include "model/engine/operation.h"
#include "test.h"

#define SIZE ((size_t)64 << 20)

static void *new_region(void)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

DEFINE_TEST(left_ctl_without_sense_begins_again)
{
	const struct creds who = { .uid = 1000 };
	void *region = new_region(), *opened = new_region();
	struct ctl_files *c;
	struct files *f;
	struct ctl *ctl;
	uint64_t fh;

	CHECK_EQ(files_new(opened, SIZE, 1, &f, NULL), 0);
	CHECK_EQ(files_open(f, 3, 5, &who, NULL, true, &fh, NULL), 0);
	CHECK_EQ(ctl_new(region, SIZE, f, &c, NULL), 0);
	CHECK_EQ(ctl_add(c, fh, &who, &ctl, NULL), 0);
	memset(&ctl->kept->writer, 0xfe, sizeof(*ctl->kept) - sizeof(ctl->kept->fh));
	ctl_free(c);
	CHECK_EQ(ctl_new(region, SIZE, f, &c, NULL), 0);
	ctl = ctl_find(c, fh);
	CHECK_EQ(ctl->broken, ECONNRESET);
	CHECK(strlen(ctl->kept->hello) < sizeof(ctl->kept->hello));
	CHECK(strlen(ctl->kept->says) < sizeof(ctl->kept->says));
	CHECK_EQ(str_clean_len(ctl->kept->hello, strlen(ctl->kept->hello)),
		 strlen(ctl->kept->hello));
	ctl_free(c);
	files_free(f);
	/* The next one is of no open file. */
	CHECK_EQ(files_new(opened, SIZE, 1, &f, NULL), 0);
	CHECK_EQ(ctl_new(region, SIZE, f, &c, NULL), 0);
	CHECK(!ctl_find(c, fh));
	ctl_free(c);
	files_free(f);
	munmap(region, SIZE);
	munmap(opened, SIZE);
}

static const struct obj_type plain;

static const struct obj_type *type_of(unsigned int kind)
{
	return kind <= OBJ_DEVICE ? &plain : NULL;
}

/* Without it nothing could be served. */
DEFINE_TEST(left_root_is_made_anew)
{
	void *region = new_region();
	struct objects *o;
	uint32_t slot;
	uint16_t row;

	for (int i = 0; i < 4; i++) {
		struct object *root;

		CHECK_EQ(objects_open(region, SIZE, type_of, &o, NULL), 0);
		CHECK(objects_node(o, 1, &slot, &row) && slot == 0);
		CHECK_EQ(objects_slot(o, OBJ_DEVICE, 0, "0000:01:00.0"), 1);
		root = (struct object *)objects_at(o, 0);
		root->kind = i == 0 ? OBJ_DEVICE : OBJ_ROOT;
		root->state = i == 1 ? OBJECT_DEAD : OBJECT_LIVE;
		root->birth = i == 2 ? 1 : 0;
		if (i == 3)
			((struct object *)objects_at(o, 1))->kind = OBJ_ROOT;
		objects_close(o);
	}
	CHECK_EQ(objects_open(region, SIZE, type_of, &o, NULL), 0);
	CHECK(objects_node(o, 1, &slot, &row) && slot == 0);
	objects_close(o);
	munmap(region, SIZE);
}

static struct op_log *new_log(void)
{
	struct op_log *log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const struct key dev = pci_key("0000:01:00.0");

	CHECK(log != MAP_FAILED);
	log->state = LOG_RUNS;
	log->n_requests = 1;
	log->n_steps = 1;
	log->n_snapshots = 1;
	log->n_devices = 2;
	log->requests[0] = (struct request){ .dev = dev, .file = "claim", .value = "alice" };
	log->devices[0] = log->devices[1] = dev;
	log->steps[0] = (struct step){ .verb_name = "vfio/bind", .dev = dev, .line = 1 };
	log->snapshots[0] = (struct snapshot){ .dev = dev };
	CHECK(log_valid(log));
	return log;
}

#define SPOILED(statement)                                                                         \
	do {                                                                                       \
		struct op_log *log = new_log();                                                    \
                                                                                                   \
		statement;                                                                         \
		CHECK(!log_valid(log));                                                            \
		log_spoil(log);                                                                    \
		CHECK_EQ(log->n_requests, 0);                                                      \
		CHECK(log->n_devices >= 1 && key_valid(&log->devices[0]));                         \
		munmap(log, sizeof(*log));                                                         \
	} while (0)

DEFINE_TEST(left_log_without_sense_names_its_devices)
{
	SPOILED(log->n_requests = LOG_REQUESTS + 1);
	SPOILED(log->n_steps = PLAN_STEPS + 1);
	SPOILED(log->n_snapshots = PLAN_DEVICES + 1);
	SPOILED(log->n_devices = PLAN_DEVICES + 1);
	SPOILED(log->devices[0].bus = 811);
	SPOILED(log->requests[0].dev.bus = 811);
	SPOILED(log->requests[0].parent.bus = 811);
	SPOILED(memset(log->requests[0].value, 'x', sizeof(log->requests[0].value)));
	SPOILED(memset(&log->requests[0].force, 2, 1));
	SPOILED(memset(log->steps[0].former, 'x', sizeof(log->steps[0].former)));
	SPOILED(memset(&log->steps[0].done, 2, 1));
	SPOILED(memset(log->snapshots[0].intent.claim, 'x', CLAIM_NAME));
	SPOILED(log->who.opener.n_groups = CREDS_GROUPS + 1);
	SPOILED(memset(log->who.comm, 'x', sizeof(log->who.comm)));
	SPOILED(memset(log->err.text, 'x', sizeof(log->err.text)));
}
