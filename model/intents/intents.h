/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What intent.c (what is kept), intent_show.c (how it is told) and intent_apply.c (how it comes
 * back) share. */
#ifndef MODEL_INTENTS_H
#define MODEL_INTENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "intent_file.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"

struct change;
struct persist;
struct model;

struct intents {
	char *dir;
	char boot[40]; /* this run of the machine */
	struct model *m;

	/* Taken in this order: save, lock, the model's. Changes are made with save, which is held
	 * while the disk works; lock is for those who must not wait for that. */
	pthread_mutex_t save;
	pthread_mutex_t lock;
	struct records rs;  /* changed with both */
	size_t n_owned;	    /* lock: records with owners */
	bool unsure;	    /* save: the file may say something else than rs */
	int dirfd;	    /* save; -1 */
	int lock_fd;	    /* save; -1: it could not be had yet, so nothing is written */
	struct err broken;  /* lock: why nothing can be kept; code 0: it can */
	struct err refused; /* lock: why the last write of the file failed; code 0: it did not */
	bool is_volatile;   /* lock */
	bool moved;	    /* lock: what is kept is not where it would be looked for */
	bool told;	    /* save: a device may say what follows from a record */
	char damaged[320];  /* changed with both: what was set aside, and why */
	char aside[64];	    /* save: the file that this is about */
	unsigned int sync_us, sync_max_us; /* lock: how long the disk took */

	/* Finds the devices of records that were read just now, as a former process knew them. */
	void (*adopt)(struct model *m, struct records *rs);

	/* The model's lock, with which rs is changed besides: for devices that come. */
	/* sorted; of claims that are stored, by where their device sits: at in rs */
	struct mark *places;
	size_t n_places;
	bool places_known; /* they are those of rs */

	struct engine *e;
	void (*run_passes)(struct engine *e, void *intents);
	struct world world;
	pthread_mutex_t turn; /* the rest; taken last */
	pthread_cond_t quiet;
	pthread_cond_t asks; /* in_use began, or stopped */
	bool passing, again, stopped;
	bool passed; /* the first pass is over */
	bool looked; /* ... though it may not have known all cards */
	/* the model is a former process's, whose operations the engine brings to their end */
	bool goes_on;
	unsigned int restoring; /* operations that run */
	bool in_use; /* something waits for a process to let go of a device, which no event tells */
	bool over;   /* a pod is, and the file does not say so yet */
	pthread_t asker;
	bool asking; /* there is that thread */
};

/* With save held: opens the directory and reads the file, unless that is done. */
int intents_ready(struct intents *in, struct err *err);

/* Is what was set aside still there, and the directory? Looks at the disk, unless somebody is at
 * work there: then as it was. */
void intents_look(struct intents *in);

struct pass;

/* A change of the records that is seen by others only once it is on the disk. */
struct rewrite {
	struct intents *in;
	/* What is there, once that was asked for: as long as the model stays locked. */
	struct pass *pass;
	void (*pass_free)(struct pass *p);
	struct records next; /* the first in->rs.n are in->rs's or stand for them */
	bool optional; /* only what the file says already: a disk that refuses is told by health */
};

/* With save held. */
int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err);
/* A copy of the i-th that may be changed; NULL: no memory. */
struct record *rewrite_edit(struct rewrite *w, size_t i);
void rewrite_drop(struct rewrite *w, size_t i);
/* intent_merge.c. Of two records of one device the later one stays, with what it lacks of the
 * former. -ENOMEM. */
int rewrite_merge(struct rewrite *w);
/* Either of the two ends it. */
int rewrite_commit(struct rewrite *w, struct err *err);
void rewrite_abort(struct rewrite *w);

/* Fields of a device that people write to look at it: nothing is tried again for that. */
#define CH_WRITTEN (CH_ERROR | CH_PLAN)

#define RECORD_NONE ((size_t)-1)
/* intent_match.c. Its device has gone: nothing of it is in the model any more. */
void record_leave(struct record *r);
/* It is about this device from now on, into whose life nothing of it has come yet if it is a new
 * one. */
void record_attach(struct record *r, const struct device *dev);
/* intent_store.c. A new one; NULL: no memory. */
struct record *rewrite_add(struct rewrite *w);
/* With the model locked. The device's record, to be changed; made if there is none. */
int rewrite_record(struct rewrite *w, const struct device *dev, struct record **ret, size_t *ret_at,
		   struct err *err);
/* Where the device's record is, also one that no pass has found yet; RECORD_NONE. */
size_t rewrite_at(const struct rewrite *w, const struct device *dev);
/* Of the device that is here now, matched before. */
size_t records_of_device(const struct records *rs, const struct device *dev);
size_t records_of_identity(const struct records *rs, const struct identity *id);
/* With the model locked. */
void device_identity(struct model *m, const struct device *dev, struct identity *ret);
/* Of the device that the request is about, which need not be there; false: nor is its parent. */
bool request_identity(struct model *m, const struct request *about, struct identity *ret);
uint64_t claim_group(struct model *m, const struct device *dev);

/* intent_owner.c. Those with owners, of devices that a former process has known: who is served
 * before the first pass shall find whose the files are. */
void records_adopt(struct model *m, struct records *rs);
/* The observer. */
void intents_changed(void *ctx, const struct change *changes, size_t n);

/* An operation for the records that fly with it: of a claim's group, or of a PF. */
struct restore_job {
	struct intents *in;
	struct restore_job *next;
	struct request request;
};

/* One look at all records. */
struct pass {
	struct intents *in;
	struct candidate *candidates; /* by key */
	const char **unmet; /* by candidate: why what is stored for it is not applied */
	struct record **of; /* by candidate: whose device it is */
	struct mark *marks; /* two for each candidate, by value */
	size_t n, n_unknown;
	bool incomplete; /* a card that is looked for may be one whose serial is not known yet */
	bool in_use;	 /* a record waits for a process to let go */
	bool over;	 /* the file does not say yet that a pod is */
	bool loose;	 /* a serial that is not known yet does not matter: nothing is bound */
	bool rewrite;	 /* the file says something that no longer is */
	bool told;	 /* a device says what follows from a record */
	struct restore_job *jobs;
};

/* intent_match.c; all with save, lock and the model locked. -ENOMEM. */
int pass_find_candidates(struct pass *p);
void pass_free(struct pass *p);
/* identity_match() among all candidates, of which few are looked at. */
enum match pass_lookup(const struct pass *p, const struct identity *wanted, size_t *ret_at);
/* The number of its candidate, or RECORD_NONE. */
size_t pass_candidate(const struct pass *p, const struct key *key);
/* Matched before; NULL: nothing is stored for it. */
struct record *pass_record(const struct pass *p, const struct key *dev);
/* Finds the record's device, if it has none. */
void pass_match(struct pass *p, struct record *r);
/* Whether all is known by which a card is told from others. */
bool device_is_known(const struct device *dev);
const struct device *device_of(const struct intents *in, const struct record *r);
/* The record of a card that came just now, of which no pass has said yet which is its: a second one
 * would be of the same card. RECORD_NONE: nothing is stored for it. -EBUSY: nobody knows yet which
 * card it is. -ENOMEM. */
int rewrite_find_moved(struct rewrite *w, const struct device *dev, const struct identity *id,
		       size_t *ret_at, struct err *err);
/* Puts into the model what needs no operation. */
void record_note(struct intents *in, struct record *r);
/* Which VFs of each PF a stored request claims, so that they never meet a host driver. */
void pass_note_vf_claims(struct pass *p);
/* The records' reasons, to the devices. */
void pass_publish(struct pass *p);

/* intent_arrive.c. For model_on_arrival(). */
void intents_arrive(void *ctx, struct device *dev, const struct device *pf);
/* As far as its card is known. */
bool record_may_be_here(const struct record *r, const struct device *card,
			const struct identity *id);

/* intent_interrupted.c; all with the model locked. An operation begins on the record's device, or
 * has reached its end for the request of that file. */
void interrupted_begin(const struct intents *in, struct record *r, const struct device *dev);
/* ... which is restore's own, for the request of that row. */
void interrupted_begin_restore(const struct intents *in, struct record *r, const struct device *dev,
		       const struct persist *k);
/* ... on a VF that is not there yet. -ENOMEM. */
int interrupted_begin_unborn(struct rewrite *w, const struct request *request, struct err *err);
/* An operation of ours runs on it, and what it has written down is its own. */
bool interrupted_is_ours(const struct intents *in, const struct record *r);
/* Whoever has the device, or makes it, is at work. */
bool interrupted_in_hand(const struct pass *p, const struct record *r);
void interrupted_end(struct record *r, const struct device *dev, const char *file);
/* Its device has come: did such an operation leave it, and does nobody carry it on? */
void interrupted_find(const struct intents *in, struct record *r, const struct device *dev);
/* The row of the request by which it is brought to an end; NULL: nothing is half done. mends:
 * without a person. */
const struct persist *interrupted_half(const struct record *r, const struct device *dev,
				       bool *ret_mends);
/* The device is stuck by it, or no longer. */
void interrupted_say(struct intents *in, struct record *r);

/* intent_try.c. An operation for this record, to be launched when the pass is over; NULL: no
 * memory. dev: the record's, or the parent that makes it. */
struct restore_job *job_add(struct pass *p, const struct record *r, const struct persist *k,
			    const struct key *dev);
/* Without locks. */
void job_launch(struct intents *in, struct restore_job *f);
void record_say(struct record *r, enum record_state state, const char *text);

/* persist_claim.c. What a claim that takes no operation leaves to be written into the model. */
void record_note_claim(struct intents *in, struct record *r);

/* intent_try.c. Adds all that an operation may be refused for: the same means the same answer. */
void sight_add(struct sight *s, const struct device *dev);
/* Counts the try, unless there were too many or nothing (now) differs from the last. */
bool record_may_try(struct record *r, const struct sight *now);
/* The try's end. What is in use is waited for as long as it takes: that try does not count. */
void record_tried(struct record *r, const struct err *err);
bool record_has_tries(const struct record *r);
/* What restore itself was refused for stays: its own operation may still be in the kernel. */
void record_say_busy(struct record *r);

/* Waits until records have their devices. -EAGAIN. Takes no lock but turn. */
int intents_await_look(struct intents *in, struct err *err);
/* intent_over.c. A pod is over, and a pass is to say so to the file in a few seconds. Takes no lock
 * but turn. */
void over_put_off(struct intents *in);
/* With save held: says it, where it is time; last: all of it. */
void over_write(struct intents *in, bool last);
/* Looks at all records again, soon. Takes no lock but turn. */
void intents_kick(struct intents *in);

#endif
