/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by intent.c (what is stored), intent_show.c (how it is shown), intent_apply.c
 * (restore). */
#ifndef MODEL_INTENTS_H
#define MODEL_INTENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "intent_file.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"

struct change;
struct persist;
struct model;

struct intents {
	char *dir;
	char boot[40]; /* this boot */
	bool marks;    /* operations are marked in the file: the engine has no journal */
	struct model *m;

	/* Taken in this order: save, lock, the model's. Changes are made with save, which is held
	 * while the disk works; lock is for those who must not wait for that. */
	pthread_mutex_t save;
	pthread_mutex_t lock;
	struct records rs;  /* changed with both */
	size_t n_owned;	    /* lock: records with owners */
	bool unsure;	    /* save: the file may differ from rs */
	bool loaded;	    /* save: the file was read */
	int dirfd;	    /* save; -1: not open */
	int lock_fd;	    /* save; -1: not taken yet, so nothing is written */
	struct err broken;  /* lock: why nothing can be stored; code 0: it can */
	struct err refused; /* lock: why the last write of the file failed; code 0: it did not */
	bool is_volatile;   /* lock */
	bool moved;	    /* lock: the directory in use is no longer the one at the path */
	bool gone;	    /* lock: there is none */
	bool far;	    /* save: only a helper may write in the directory */
	bool anew;	    /* the records are from the copy, because the file was gone */
	void *copy;	    /* save: memory that outlives the process; see intent_copy.c */
	size_t copy_size;
	bool told;	    /* save: a device may show something from a record */
	char damaged[320];  /* changed with both: what was set aside, and why */
	char aside[64];	    /* save: the name of that file */
	unsigned int sync_us, sync_max_us; /* lock: how long the disk took */

	/* Finds the devices of newly read records, as a former process knew them. */
	void (*adopt)(struct model *m, struct records *rs);

	/* rs is changed under the model's lock as well, for devices that appear. */
	/* sorted; stored claims by their device's place: at is an index of rs */
	struct mark *places;
	size_t n_places;
	bool places_known; /* places belong to the present rs */

	struct engine *e; /* changed with the model locked as well */
	void (*run_passes)(struct engine *e, void *intents);
	struct world world;
	pthread_mutex_t turn; /* guards the rest; taken last */
	pthread_cond_t quiet;
	pthread_cond_t asks; /* signals in_use, due, over or stopped */
	bool passing, again, stopped;
	bool passed; /* the first pass has ended */
	bool looked; /* likewise, although some cards may have been unknown */
	/* the model is a former process's, whose operations the engine resumes */
	bool goes_on;
	unsigned int restoring; /* number of running operations */
	bool in_use; /* something waits for a process to close a device, which makes no event */
	bool due;    /* something is to be tried again after a while */
	bool over;   /* a pod has ended, and the file does not say so yet */
	pthread_t asker;
	bool asking; /* the asker exists */
	uint64_t looks; /* changed with both save and lock: how many passes have looked */
	struct accepted *accepted; /* who waits for what was accepted */
};

/* Opens the directory and reads the file, if that was not done. Call it with save held. */
int intents_ready(struct intents *in, struct err *err);

/* Updates whether the damaged file and the directory still exist. Reads the disk, unless somebody
 * else is using it. */
void intents_look(struct intents *in);

struct pass;

/* A change of the records, which others see only once it is on the disk. */
struct rewrite {
	struct intents *in;
	/* The candidates, if needed; valid as long as the model stays locked. */
	struct pass *pass;
	void (*pass_free)(struct pass *p);
	struct records next; /* the first in->rs.n are those of in->rs, or replace them */
	bool optional; /* only repeats the file: if the disk refuses, health says so */
};

/* Call it with save held. */
int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err);
/* A copy of the i-th record, to be changed; NULL: no memory. */
struct record *rewrite_edit(struct rewrite *w, size_t i);
void rewrite_drop(struct rewrite *w, size_t i);
/* intent_merge.c. Of two records of one device the later one stays, completed from the former.
 * -ENOMEM. */
int rewrite_merge(struct rewrite *w);
/* Either of these ends it. */
int rewrite_commit(struct rewrite *w, struct err *err);
void rewrite_abort(struct rewrite *w);

/* Fields that people write to look at a device: they trigger no try. */
#define CH_WRITTEN (CH_ERROR | CH_PLAN)

#define RECORD_NONE ((size_t)-1)
/* intent_match.c. The device has gone: nothing of the record is in the model any more. */
void record_leave(struct record *r);
/* The record belongs to this device from now on; if that is new, nothing was applied to it yet. */
void record_attach(struct record *r, const struct device *dev);
/* intent_store.c. A new record; NULL: no memory. */
struct record *rewrite_add(struct rewrite *w);
/* The device's record, to be changed; made if there is none. Call it with the model locked. */
int rewrite_record(struct rewrite *w, const struct device *dev, struct record **ret, size_t *ret_at,
		   struct err *err);
/* Index of the device's record, even if no pass has matched it yet; RECORD_NONE. */
size_t rewrite_at(const struct rewrite *w, const struct device *dev);
/* Index of the record matched with this present device. */
size_t records_of_device(const struct records *rs, const struct device *dev);
size_t records_of_identity(const struct records *rs, const struct identity *id);
/* Call it with the model locked. */
void device_identity(struct model *m, const struct device *dev, struct identity *ret);
/* For the request's device, which need not exist; false: neither does its parent. */
bool request_identity(struct model *m, const struct request *about, struct identity *ret);
uint64_t claim_group(struct model *m, const struct device *dev);

/* intent_owner.c. Matches records with owners to devices that a former process knew: users served
 * before the first pass must find the owners of files. */
void records_adopt(struct model *m, struct records *rs);
/* The observer. */
void intents_changed(void *ctx, const struct change *changes, size_t n);

/* An operation for the records that it restores together: those of a claim's group, or of a PF. */
struct restore_job {
	struct intents *in;
	struct restore_job *next;
	struct request request;
};

/* One look at all records. */
struct pass {
	struct intents *in;
	struct candidate *candidates; /* by key */
	const char **unmet; /* by candidate: why its intents are not applied */
	struct record **of; /* by candidate: its record */
	struct mark *marks; /* two for each candidate, by value */
	size_t n, n_unknown;
	bool incomplete; /* a missing card may be one whose serial is not known yet */
	bool in_use;	 /* a record waits for a process to close its device */
	bool due;	 /* a record has a time to be tried again */
	bool over;	 /* a pod has ended, and the file does not say so yet */
	bool loose;	 /* unknown serials do not matter: nothing is bound */
	bool rewrite;	 /* the file is out of date */
	bool told;	 /* a device shows something from a record */
	struct restore_job *jobs;
};

/* intent_match.c; call all with save, lock and the model locked. -ENOMEM. */
int pass_find_candidates(struct pass *p);
void pass_free(struct pass *p);
/* Like identity_match() among all candidates, but looks at few. */
enum match pass_lookup(const struct pass *p, const struct identity *wanted, size_t *ret_at);
/* The index of its candidate, or RECORD_NONE. */
size_t pass_candidate(const struct pass *p, const struct key *key);
/* The matched record; NULL: nothing is stored for it. */
struct record *pass_record(const struct pass *p, const struct key *dev);
/* An operation runs on its parent, or restore has begun one: it may remove the device. */
bool pass_parent_busy(const struct pass *p, const struct device *dev);
/* Were two cards with the record's serial here at once, now or before? Then it does not tell which
 * one is meant: after the claimed one was pulled, the other is no card that has moved. */
bool pass_is_cloned(const struct pass *p, const struct record *r);
/* Finds the devices of the records that have none. */
void pass_match(struct pass *p);
/* intent_serial.c. Behind pass_match(): turns away from a card that is not the claimed one, as far
 * as drivers of the host tell serial numbers. */
void pass_judge_serials(struct pass *p);
/* Gives what pass_judge_serials() has turned away from back to the host, for --early may have kept
 * it. Behind pass_publish(). */
void pass_lift(struct pass *p);
/* Must the claim wait, because another card of the same model may be the claimed one and has not
 * been read yet? Says so in the record, for a bounded time. */
bool record_awaits_serial(struct pass *p, struct record *r, const struct device *dev);
/* The serial number that is stored because the card has none in its config space. False: none. */
bool record_host_serial(const struct record *r, char ret[static FORMER_TEXT]);
/* intent_mismatch.c. Behind pass_judge_serials(): says of records in whose place another device is
 * what it is and what to do. If that one has the same claim the two are one, and the record just
 * waits. */
void pass_say_mismatches(const struct pass *p);
/* Is everything known that distinguishes the card? */
bool device_is_known(const struct device *dev);
const struct device *device_of(const struct intents *in, const struct record *r);
/* The record of a new card that no pass has matched yet: a second one would be for the same card.
 * RECORD_NONE: nothing is stored for it. -EBUSY: the card is not identified yet. -ENOMEM. */
int rewrite_find_moved(struct rewrite *w, const struct device *dev, const struct identity *id,
		       size_t *ret_at, struct err *err);
/* Notes in the model what needs no operation. */
void record_note(struct intents *in, struct record *r);
/* Notes which VFs of each PF an intent claims, so that they never meet a host driver. */
void pass_note_vf_claims(struct pass *p);
/* Copies the records' reasons to the devices. */
void pass_publish(struct pass *p);

/* intent_arrive.c. For model_on_arrival(). */
void intents_arrive(void *ctx, struct device *dev, const struct device *pf);
/* As far as the card is known. */
bool record_may_be_here(const struct record *r, const struct device *card,
			const struct identity *id);

/* intent_names.c. Tells the model which resource names are stored. */
void intents_tell_names(struct intents *in);
/* Gives each device that had one, in a file that has no such names, its own: of the address where
 * it was last. */
void records_complete_names(struct records *rs);

/* intent_note.c. Does an operation decide about the claim, and not what is stored? One that makes a
 * child leaves its stored claim as it is. Call it with the model locked. */
bool record_is_decided(const struct intents *in, const struct record *r, const struct device *dev);

/* intent_try.c. An operation for this record, to be launched after the pass; NULL: no memory. dev:
 * the record's, or the parent that makes it. */
struct restore_job *job_add(struct pass *p, const struct record *r, const struct persist *k,
			    const struct key *dev);
/* Call it without locks. */
void job_launch(struct intents *in, struct restore_job *f);
void record_say(struct record *r, enum record_state state, const char *text);

/* persist_claim.c. Notes in the model the parts of a claim that need no operation. */
void record_note_claim(struct intents *in, struct record *r);

/* intent_try.c. Adds all that may make an operation fail: an equal digest means an equal answer. */
void sight_add(struct sight *s, const struct device *dev);
/* Counts the try, unless there were too many, or nothing (now) differs from the last one. */
bool record_may_try(struct record *r, const struct sight *now);
/* Ends the try. A device in use is waited for without a limit: that try does not count. */
void record_tried(struct record *r, const struct persist *k, const struct err *err);
/* Would record_may_try() say yes? */
bool record_would_try(const struct record *r, const struct sight *now);
bool record_has_tries(const struct record *r);
/* Keeps the reason of restore's own refusal: its operation may still be in the kernel. */
void record_say_busy(struct record *r);

/* Waits until records have their devices. -EAGAIN. Takes no lock but turn. */
int intents_await_look(struct intents *in, struct err *err);
/* intent_accepted.c. The device was accepted: true if by->done is called once what is stored for it
 * has been tried. Call it with save held, before the pass that tries it. */
bool accepted_add(struct intents *in, const struct key *dev, const struct settler *by);
/* Behind a pass, without locks. last: whatever still runs. */
void accepted_answer(struct intents *in, bool last);
/* intent_over.c. A pod has ended, and a pass must soon write that. Takes no lock but turn. */
void over_put_off(struct intents *in);
/* Writes it if it is time; last: in any case. Call it with save held. */
void over_write(struct intents *in, bool last);
/* Starts a pass soon. Takes no lock but turn. */
void intents_kick(struct intents *in);

#endif
