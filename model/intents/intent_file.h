/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state file: what a record holds, its text, and how the text is replaced.
 *
 * "pcidevfs-intent 2 lines=N", then N lines of key=value pairs, one for each device; each line ends
 * with " sum=<FNV-1a of all before it on the line>". Keys and lines that this program does not know
 * are kept as they are, and so are lines that make no sense: a record without a device has each of
 * those (aside), and says why.
 */
#ifndef MODEL_INTENT_FILE_H
#define MODEL_INTENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "identity.h"
#include "pcidevfs/device.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define OWNERS_MAX 64 /* of one device; what a file has beyond is left out */

struct owner {
	char file[REQUEST_FILE]; /* "" the directory */
	struct ownership is;
};

struct restore_job;

/* How the devices of a record were when it was tried. */
struct sight {
	uint64_t all;
	uint64_t rough; /* ... but for who holds them, if anybody does */
};

enum record_state {
	RECORD_WAITING,	 /* its device is not there, or not ready for it */
	RECORD_HELD,	 /* it is as was asked, or was once: see intents_print */
	RECORD_REFUSED,	 /* tried; reason says why not */
	RECORD_MISMATCH, /* another device is where it was */
	RECORD_DAMAGED,	 /* aside */
};

struct record {
	/* In the file. */
	struct identity id;
	char at[KEY_NAME + 8];	  /* where it was last seen, as key_id() names it; for people */
	struct intent intent;	  /* of this the fields that a row of persist.h names */
	char driver[DRIVER_NAME]; /* that has it for the claim */
	uint64_t group;		  /* the same in all records of a claimed IOMMU group */
	bool pending; /* an operation was running; the requests are those from before it */
	/* What is to be known if nobody carries on the operation that runs; also of one that brings
	 * back what is requested. */
	char boot[40];	 /* this run of the machine; "": none runs */
	bool autoprobe;	 /* a PF: sriov_drivers_autoprobe was 1 */
	int32_t had_vfs; /* a PF: VFs before the operation */
	bool unborn;	 /* it was not there before the operation, which makes it */
	struct owner *owners;
	size_t n_owners;
	char *extra; /* "key=value key=value" as they were, or NULL */
	/* Not a record but a line that makes no sense, as it stands in the file; reason says why.
	 * Else NULL. */
	char *aside;

	/* Of this process. */
	struct key dev; /* matched, while birth is not 0 */
	uint64_t birth;
	bool noted; /* the model's want holds what needs no operation */
	/* that operation was begun before this process, and nobody carries it on */
	bool interrupted;
	/* By persist_bit(): the model's want holds it, since it was applied, or asked anew. */
	uint32_t in;
	struct restore_job *restoring; /* the operation for it that runs */
	bool decided; /* since it has this device: it is in effect, or was refused */
	unsigned int tries;    /* but for the last ones, if they met somebody who has it: */
	unsigned int busy_tries;
	struct sight tried_for; /* the last time */
	/* once more for the same: it may have met only an operation that has ended since */
	bool retry;
	uint64_t over; /* us, 0: when its pod was, which the file does not say yet */
	enum record_state state;
	char reason[240];
	/* Of what its parent makes by name: for which life of the parent that was tried, and
	 * whether it was there since. */
	uint64_t parent_birth;
	bool was_there;
	bool fresh; /* made by the change that is going on */
};

struct records {
	struct record **v; /* NULL: dropped by the change that is going on */
	size_t n, cap;
	char *other; /* lines that we do not know, or NULL */
};

/* No device's: whose the files of the root are, and nothing else. It has no ids. */
#define ROOT_PATH "/"
bool record_is_root(const struct record *r);
struct record *record_new(void);
struct record *record_copy(const struct record *r);
void record_free(struct record *r);
bool record_is_empty(const struct record *r);
/* Of the device that it was last seen as; false: that had no name yet. */
bool record_key(const struct record *r, struct key *ret);
void record_set_at(struct record *r, const struct key *dev);
bool record_at_other(const struct record *r, const struct key *dev);
/* An operation runs, or nobody has written down that it ended. */
bool interrupted_is_begun(const struct record *r);
void interrupted_forget(struct record *r);
/* Its line, aside, makes no sense: it is named by that, and is about no device. */
void record_set_aside(struct record *r);
/* Calls found for each record but the last of those with one identity. found may change what is
 * there, not how much; what it returns ends it, unless that is 0. -ENOMEM. */
int records_each_twin(const struct records *rs,
		      int (*found)(void *ctx, size_t former, size_t later), void *ctx);
/* -ENOMEM; r stays the caller's then. */
int records_add(struct records *rs, struct record *r);
void records_free(struct records *rs);

#define INTENT_MAX ((size_t)64 << 20)

#define INTENT_HEADER "pcidevfs-intent 2 lines="
#define SUM " sum=%016llx"
#define SUM_LEN 21
#define LOST "lost=" /* how many lines were missing, on a line set aside */
/* The former form, which is read alone: no checksum on the lines but one behind them all. */
#define INTENT_FORMER "pcidevfs-intent 1\n"
#define INTENT_TRAILER "checksum=" /* and 16 digits */

/* former_driver=igb: a pair of intent.former */
#define FORMER_KEY "former_"
#define OWNER_KEY "owner." /* owner.claim=1000:1000:0664 ; of the directory: owner.=... */
/* NULL: it was not given away. */
struct owner *record_owner_of(const struct record *r, const char *file);
/* The owner of claim, else of the directory, is who gets the VFIO nodes. */
void record_note_owner(const struct record *r, struct intent *want);
/* Unless that file has one; one that has no room is left out. -ENOMEM. */
int record_add_owner(struct record *r, const struct owner *o);
/* -EINVAL, -ENOMEM. */
int record_set_owner(struct record *r, const char *file, const char *text);
int record_keep_unknown(struct record *r, const char *key, const char *value);
/* One pair of a line, with its quotes; value is written to. -EINVAL, -ENOMEM. An unknown key is
 * kept. */
int record_set(struct record *r, const char *key, char *value);

/* text is written to; text[len] is 0. Lines that make no sense are set aside, and the file is
 * refused where none of them does: -EINVAL with what is wrong with it; ret is empty then. */
int intent_parse(char *text, size_t len, struct records *ret, struct err *err);
void intent_format(const struct records *rs, struct out *o);
/* Can it be read as it is written? -EIO with the line that cannot; -ENOMEM. */
int intent_check(const struct out *text, struct err *err);
/* The line of one, without its checksum. */
void record_line(const struct record *r, struct out *o);
/* The pairs of one record that are for people and file alike: from at= on. */
void record_format(const struct record *r, struct out *o);

/* The calls by which a file is replaced; tests have their own. All give 0 (create: a descriptor) or
 * -errno. */
struct disk {
	void *ctx;
	int (*create)(void *ctx, const char *name);
	ssize_t (*write)(void *ctx, int fd, const char *data, size_t len);
	int (*sync)(void *ctx, int fd);
	int (*close)(void *ctx, int fd);
	int (*rename)(void *ctx, const char *from, const char *to);
	int (*sync_dir)(void *ctx);
};

#define INTENT_NEW INTENT_FILE ".new"

/* Returns 0 once the text is on the disk under INTENT_FILE. After a failure it holds the old or the
 * new text. -EFBIG: intent_read() would not take it. */
int intent_replace(const struct disk *disk, const char *text, size_t len);
/* Below a directory: ctx is an int, its descriptor. */
struct disk disk_at(int *dirfd);
/* The file's text, allocated. -ENOENT, or as the kernel says; -EFBIG. */
int intent_read(int dirfd, char **ret, size_t *ret_len);

#endif
