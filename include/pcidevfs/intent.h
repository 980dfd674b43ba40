/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accepted requests, stored over reboots as intents (DESIGN.md 7).
 *
 * One text file below the state directory, replaced atomically. A record belongs to an identity:
 * the device's place without bus numbers, its ids, its serial; of a VF those of its PF, and its
 * index. Each record is applied by itself, once per appearance of its device, through the engine.
 * Later changes by others are drift: shown, never undone. Thread-safe.
 */
#ifndef PCIDEVFS_INTENT_H
#define PCIDEVFS_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/device.h"

struct engine;
struct err;
struct intents;
struct key;
struct model;
struct out;
struct region_head;
struct request;
struct stat;

#define INTENT_FILE "intent"
#define INTENT_NEW INTENT_FILE ".new" /* while it is written */
#define INTENT_LOCK "lock"	      /* of the process that writes it */

extern const struct region_head copy_layout;

struct intents_conf {
	const char *boot_id;
	/* The engine has no journal: operations that begin are marked in the file. */
	bool marks;
	/* Memory that outlives the process, or NULL: has a copy of the state file, which is read
	 * if that is gone. */
	void *copy;
	size_t copy_size;
};

/* Opens the directory, which is made if it is missing, and takes its lock; reads no intent. Apart
 * from intents_open(), because it may need rights that a process gives up before it reads what
 * others could write. A directory that cannot be opened is told by health and by refusals. */
int intents_new(const char *dir, struct intents **ret, struct err *err);
/* Call it once, before the model's changes are dispatched. Reads the state file, which is created
 * with the first intent. A damaged one is set aside (its name has the time) and the reason is
 * shown; it never keeps the daemon from starting. An operation that was running in this boot_id,
 * and that no process carries on, leaves its devices stuck until restore has undone it. */
void intents_open(struct intents *in, const struct intents_conf *conf, struct model *m);
void intents_close(struct intents *in);
/* The directory itself, as it was opened. False: it could not be. */
bool intents_place(const struct intents *in, struct stat *ret);

/* A claim has ended: clears the intents stored with it, as the rows of persist.h say, and the
 * former state of the device. */
void intent_end_claim(struct intent *w);

/* Was this file requested, and is that stored? */
bool intent_has(const struct intent *w, const char *file);

/* struct keeper's keep (txn.h); ctx is the intents. Writes and fsyncs the model's present intents;
 * begins: only asks whether they can be. -ENOSPC, -EROFS ... with a sentence if the disk
 * refuses. */
int intents_keep(void *ctx, const struct request *requests, size_t n, bool begins,
		 struct err *err);

/* From now on records are applied as their devices appear; the first pass covers existing ones.
 * Call it once, after the engine has recovered. goes_on: the model is that of a former process. */
void intents_restore(struct intents *in, struct engine *e, bool goes_on);
/* Instead of intents_restore(): the model gets all that is stored for existing devices, as if it
 * held; nothing is applied. For a release. Fails if nothing could be stored, as intents_keep(). */
int intents_note(struct intents *in, struct err *err);
/* For a next process that begins the model anew: keeps in the copy what is applied now. Gives up
 * after a second of the disk's. */
void intents_leave(struct intents *in);
/* That process, before intents_restore(): what was applied then counts as applied, so it shows at
 * once, and what others have changed is drift. */
void intents_go_on(struct intents *in);
/* Starts no further passes. Call it before engine_end(). */
void intents_stop(struct intents *in);
/* A clean end, after engine_end(): claimed devices get back their former driver_override, so that
 * another owner can take them. The backend must still exist. */
void intents_lift(struct intents *in);
/* Waits until all records that could be applied have been, or ms have passed: for READY=1. */
bool intents_settled(struct intents *in, unsigned int ms);

/* `intents`: a line each: identity, what is requested,
 * state=held|waiting|drifted|refused|stranger|pending|damaged, device now, reason. */
void intents_print(struct intents *in, struct out *o);
/* pcidevfs_intent{...} 1 for each but that of the root's files. device: where it is, else where it
 * was last seen. */
void intents_metrics(struct intents *in, struct out *o);
/* A stored claim whose device is not here, not even with other ids. state and reason as in
 * `intents`. */
struct absent {
	const char *at, *claim, *state, *reason;
};
/* Calls take for each with its lock held. */
void intents_absent(struct intents *in, void (*take)(void *ctx, const struct absent *a), void *ctx);
/* For health: "state=ok path=..." or what is wrong with it, and what to do. May wait for the disk:
 * not for the FUSE thread. */
void intents_health(struct intents *in, struct out *o);
/* The word behind state= there, as of the last write or the last intents_health(). Does not wait
 * for the disk. */
const char *intents_state(struct intents *in);
/* Names the mount in the state directory, for another daemon that finds it in use. */
void intents_sign(struct intents *in, const char *mount);
/* Why nothing can be stored in the directory, for people. False: it can, as far as is known. */
bool intents_unusable(struct intents *in, char *ret, size_t size);
/* The state file that was set aside, for people. False, and "": there is none. */
bool intents_damaged(struct intents *in, char *ret, size_t size);

/* The caller of intents_forget() or intents_accept(). */
struct settler {
	/* Asked when only the disk can still refuse. Returns 0, or -errno with the sentence. dev:
	 * the device, NULL if it is not here; owned: its files have owners. NULL: always
	 * allowed. */
	int (*may)(void *ctx, const struct key *dev, bool owned, struct err *err);
	void *ctx;
	/* accept: called with the result, once the moved intent has been applied or refused; NULL:
	 * nobody waits for that. */
	void (*done)(void *ctx, const struct err *err);
	bool waits;	/* out: done will be called, or was */
	bool again;	/* this very request was made before: it may be done already */
	struct key dev; /* out: the device whose intents were forgotten, if it is here */
	bool root;	/* out: those of the root's own files were forgotten */
};
/* ctl's forget and accept. forget drops the record of an identity as printed by intents. accept
 * gives the record of the former device to the mismatch that is here now, or that of a group to all
 * present members. Both wait for the first look at the devices; -EAGAIN if that takes too long. s
 * may be NULL. */
int intents_forget(struct intents *in, const char *identity, struct settler *s, struct err *err);
int intents_accept(struct intents *in, const struct key *dev, struct settler *s, struct err *err);

/* Owner and mode of a file of a device, or (dev NULL) of the root ("": its directory). */
struct ownership {
	uid_t uid;
	gid_t gid;
	mode_t mode;
};
/* Initial owners: a file with these has no intent, unless its directory has another owner. is()
 * must take no lock. */
struct owner_default {
	bool (*is)(const void *ctx, const char *file, const struct ownership *owner);
	const void *ctx;
};
/* Stores the owner, then changes the nodes of a claimed device, which may fail by itself. May have
 * to read the serial of a new card first: blocks like an operation. */
int intents_set_owner(struct intents *in, const struct key *dev, const char *file,
		      const struct ownership *owner, const struct owner_default *born,
		      struct err *err);
/* Also for a new device whose record no pass has looked for yet. */
bool intents_owner(struct intents *in, const struct key *dev, const char *file,
		   struct ownership *ret);
/* For the device that the request is about, which does not exist but has a parent. */
bool intents_owner_unborn(struct intents *in, const struct request *about, const char *file,
			  struct ownership *ret);

/* pcidevfsd --early: returns 1 if an intent claims a device with these facts, else 0. ret: the
 * driver that had it for the claim, "" if unknown. pf: of a VF, else NULL. Reads only the state
 * file; needs no daemon and no mount. -ENOENT: there is none. */
int intents_early(const char *state_dir, const struct device *dev, const struct device *pf,
		  char ret[static DRIVER_NAME], struct err *err);

#endif
