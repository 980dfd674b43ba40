/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state file: the content of a record, its text, and how the text is replaced.
 *
 * "pcidevfs-intent 2 lines=N", then N lines of key=value pairs, one for each device; each line ends
 * with " sum=<FNV-1a of all before it on the line>". Unknown keys and lines are kept as they are.
 * So are invalid lines: each is a record without a device (aside), with a reason.
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

#define OWNERS_MAX 64 /* of one device; further ones in a file are ignored */

struct file_owner {
	char file[REQUEST_FILE]; /* "": the directory */
	struct ownership is;
};

struct restore_job;

/* A digest of a record's devices when it was tried. */
struct sight {
	uint64_t all;
	uint64_t rough; /* likewise, but of holders only whether there are any */
};

enum record_state {
	RECORD_WAITING,	 /* its device is not here, or not ready */
	RECORD_HELD,	 /* as requested, or was so once: see intents_print */
	RECORD_REFUSED,	 /* tried and refused; reason says why */
	RECORD_MISMATCH, /* another device is in its place */
	RECORD_DAMAGED,	 /* see aside */
};

struct record {
	/* In the file. */
	struct identity id;
	char at[KEY_NAME + 8];	  /* where it was last seen, in the form of key_id() */
	struct intent intent;	  /* only fields that a row of persist.h names */
	char driver[DRIVER_NAME]; /* the driver that has it for the claim */
	uint64_t group;		  /* the same in all records of a claimed IOMMU group */
	char boot[40]; /* in which an operation began that nobody may resume; "": none */
	struct file_owner *owners;
	size_t n_owners;
	char *types; /* a PF: the vGPU types that it was seen to have (facts.profiles), or NULL */
	char *extra; /* unknown "key=value key=value", unchanged, or NULL */
	/* An invalid line of the file instead of a record; reason says why. Else NULL. */
	char *aside;

	/* Only in this process. */
	struct key dev; /* the matched device, if birth is not 0 */
	uint64_t birth;
	uint64_t unbinds; /* of that device, at the last pass */
	bool noted; /* the model has all intents that need no operation */
	bool interrupted; /* boot was read from the file: nobody resumes its operation */
	/* By persist_bit(): the model has this intent, because it was applied, or requested
	 * anew. */
	uint32_t in;
	uint32_t yielded; /* likewise: was refused, and those behind it are tried first */
	bool full;	  /* the last try found no room on its card */
	struct restore_job *restoring; /* the running operation for it */
	bool decided; /* for the present device: applied, or refused */
	/* consecutive tries; the last ones that met another user are in busy_tries */
	unsigned int tries;
	unsigned int busy_tries;
	/* The last time; 0: for whatever is there, since that may only have met an operation that
	 * has ended since. */
	struct sight tried_for;
	uint64_t due; /* ms, 0: when to try again what somebody was in the way of, seen or not */
	uint64_t over; /* us, 0: when its pod ended, if the file does not say so yet */
	enum record_state state;
	char reason[240];
	/* For a named child: the life of the parent for which making it was tried, and whether it
	 * was here since. */
	uint64_t parent_birth, parent_unbinds;
	bool was_there;
	bool card_here; /* a vGPU without its VF: the GPU is here, and not enabled */
	uint64_t falls_ms; /* when its USB device was first seen on two hubs at once; 0: never */
	/* its place has another device, with the same claim: that of a device which changes its ids */
	bool as_well;
	/* Set by each pass, from what the host's driver reads: another card is in the place; where
	 * the claimed one is, BUS_NONE if nobody tells; two have its serial number. */
	bool other_serial;
	struct key elsewhere;
	bool shares_serial;
	uint64_t asked_ms; /* since when the others' serial numbers are waited for; 0: they are not */
	uint64_t lifted; /* the birth of another card in the place that was given back to the host */
	bool fresh; /* made by the present change */
};

struct records {
	struct record **v; /* NULL: dropped by the present change */
	size_t n, cap;
	char *other; /* unknown lines, or NULL */
};

/* The record of the owners of the root's files. It has no device and no ids. */
#define ROOT_PATH "/"
bool record_is_root(const struct record *r);
struct record *record_new(void);
struct record *record_copy(const struct record *r);
void record_free(struct record *r);
bool record_is_empty(const struct record *r);
/* The key under which the device was last seen; false: it had none yet. */
bool record_key(const struct record *r, struct key *ret);
void record_set_at(struct record *r, const struct key *dev);
bool record_at_other(const struct record *r, const struct key *dev);
/* Nothing was tried yet for the device that it has now. */
void record_renew(struct record *r);
/* The device has gone: nothing of the record is in the model any more. */
void record_leave(struct record *r);
/* The record belongs to this device from now on; if that is new, nothing was applied to it yet. */
void record_attach(struct record *r, const struct device *dev);
/* Its line, aside, is invalid: the record is named by that, and has no device. */
void record_set_aside(struct record *r);
/* Calls found for all but the last of the records with one identity. found may change records, not
 * their number; a result other than 0 ends the walk. -ENOMEM. */
int records_each_twin(const struct records *rs,
		      int (*found)(void *ctx, size_t former, size_t later), void *ctx);
/* -ENOMEM; the caller then keeps r. */
int records_add(struct records *rs, struct record *r);
void records_free(struct records *rs);

#define INTENT_MAX ((size_t)64 << 20)

#define INTENT_HEADER "pcidevfs-intent 2 lines="
#define SUM " sum=%016llx"
#define SUM_LEN 21
#define LOST "lost=" /* on a line set aside: how many lines were missing */
/* The former version, which is only read: one checksum behind all lines. */
#define INTENT_FORMER "pcidevfs-intent 1\n"
#define INTENT_TRAILER "checksum=" /* and 16 digits */

/* former_driver=igb: a pair of intent.former */
#define FORMER_KEY "former_"
#define OWNER_KEY "owner." /* owner.claim=1000:1000:0664; for the directory: owner.=... */
/* NULL: it has no owner of its own. */
struct file_owner *record_owner_of(const struct record *r, const char *file);
/* The owner of claim, or else of the directory, gets the VFIO nodes. */
void record_note_owner(const struct record *r, struct intent *want);
/* Does nothing if that file has an owner, or if there is no room. -ENOMEM. */
int record_add_owner(struct record *r, const struct file_owner *o);

/* text is overwritten; text[len] must be 0. Invalid lines are set aside; if all are invalid the
 * file is refused: -EINVAL with the reason; ret is then empty. */
int intent_parse(char *text, size_t len, struct records *ret, struct err *err);
/* Gives each device that had a name of its own, in a file that has no such names, that of the
 * address where it was last. */
void records_complete_names(struct records *rs);
void intent_format(const struct records *rs, struct out *o);
/* The record's line without its checksum. */
void record_line(const struct record *r, struct out *o);
/* The pairs of a record but for its identity, in two parts: what a person asked for, and the rest,
 * from at= on. */
void record_asked(const struct record *r, struct out *o);
void record_details(const struct record *r, struct out *o);

/* The calls that replace a file; tests have their own. All return 0 (create: a descriptor) or
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

/* Returns 0 once the text is on the disk under INTENT_FILE. After a failure the file has the old or
 * the new text. -EFBIG: too long for intent_read(). */
int intent_replace(const struct disk *disk, const char *text, size_t len);
/* In a directory: ctx points to its descriptor, an int. */
struct disk disk_at(int *dirfd);
/* The file's text, allocated. -ENOENT; -EFBIG; else the kernel's errno. */
int intent_read(int dirfd, char **ret, size_t *ret_len);

#endif
