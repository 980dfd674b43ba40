/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by intent.c (what is stored), intent_show.c (how it is shown), intent_settle.c (what
 * people do with it), intent_apply.c (restore). */
#ifndef MODEL_INTENTS_H
#define MODEL_INTENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "intent_file.h"
#include "model/index.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"

struct change;
struct persist;
struct model;

/* The state directory as it was opened. */
struct statedir {
	int fd;		    /* save; -1: not open */
	int lock_fd;	    /* save; -1: not taken yet, so nothing is written */
	struct err refused; /* lock: why the last write of the file failed; code 0: it did not */
	bool is_volatile;   /* lock */
	bool far;	    /* save: only a helper may write there */
};

/* Why another pass is needed although no event comes. */
enum pass_cause {
	ASK_USE = 1,  /* something waits for a process to close a device */
	ASK_DUE = 2,  /* something is to be tried again after a while */
	ASK_OVER = 4, /* a pod has ended, and the file does not say so yet */
};

struct intents {
	char *dir;
	char boot[40]; /* this boot */
	bool marks;    /* operations are marked in the file: the engine has no journal */
	struct model *m;

	/* Taken in this order: save, lock, the model's. Changes are made with save, which is held
	 * while the disk works; lock is for those who must not wait for that. */
	pthread_mutex_t save;
	pthread_mutex_t lock;
	struct records rs; /* changed with both */
	size_t n_owned;	   /* lock: records with owners */
	bool unsure;	   /* save: the file may differ from rs */
	bool loaded;	   /* save: the file was read */
	struct statedir at;
	struct err broken; /* lock: why nothing can be stored; code 0: it can */
	bool moved;	   /* lock: the directory in use is no longer the one at the path */
	bool gone;	   /* lock: there is none */
	bool anew;	   /* the records are from the copy, because the file was gone */
	void *copy;	   /* save: memory that outlives the process; see intent_copy.c */
	size_t copy_size;
	bool told;			   /* save: a device may show something from a record */
	char damaged[320];		   /* changed with both: what was set aside, and why */
	char aside[64];			   /* save: the name of that file */
	unsigned int sync_us, sync_max_us; /* lock: how long the disk took */

	/* rs is changed under the model's lock as well, for devices that appear. */
	struct index places; /* of rs: stored claims by their device's place */
	bool places_known; /* places belong to the present rs */

	struct engine *e; /* changed with the model locked as well */
	void (*run_passes)(void *intents);
	struct engine_world world;
	pthread_mutex_t turn; /* guards the rest; taken last */
	pthread_cond_t quiet;
	pthread_cond_t asked; /* signals asks or stopped */
	bool passing, again, stopped;
	bool passed; /* the first pass has ended */
	bool looked; /* likewise, although some cards may have been unknown */
	/* the model is a former process's, whose operations the engine resumes */
	bool goes_on;
	unsigned int restoring; /* number of running operations */
	unsigned int asks;	/* what no event will tell: enum pass_cause */
	pthread_t asker;
	bool asking;	/* the asker exists */
	uint64_t looks; /* changed with both save and lock: how many passes have looked */
	struct accepted *accepted; /* who waits for what was accepted */
};

/* Opens the directory and reads the file, if that was not done. Call it with save held. */
int intents_ready(struct intents *in, struct err *err);

/* Updates whether the damaged file and the directory still exist. Reads the disk, unless somebody
 * else is using it. */
void intents_look(struct intents *in);

/* An operation for the records that it restores together: those of a claim's group, or of a PF. */
struct restore_job {
	struct intents *in;
	struct restore_job *next;
	struct request request;
};

/* One look at all records. */
struct pass {
	struct intents *in;
	struct candidate *candidates;
	struct index by_key, by_place, by_card; /* of them */
	uint32_t n, n_unknown;
	bool incomplete;   /* a missing card may be one whose serial is not known yet */
	unsigned int asks; /* enum pass_cause */
	bool last;	   /* nothing is put off */
	bool loose;	   /* unknown serials do not matter: nothing is bound */
	bool rewrite;	   /* the file is out of date */
	bool told;	   /* a device shows something from a record */
	struct restore_job *jobs;
};

/* intent_dir.c: the state directory. Call all of it with save held. */

/* The sentence for a request that cannot be saved; what: a name below the directory, or "". */
int statedir_refuse(const struct intents *in, int rc, const char *what, struct err *err);
const char *statedir_way_out(int rc);

/* Makes the directory if it is missing, opens it and takes its lock. If only the lock cannot be
 * made (full, read-only), the directory is open and ret->refused has the sentence. */
int statedir_open(const struct intents *in, struct statedir *ret, struct err *err);
void statedir_close(struct statedir *d);
/* Takes the lock again if it was removed, or failed before. */
int statedir_keep_lock(struct intents *in, struct err *err);
/* The directory in use is no longer the one at the path; *ret_gone: there is none. */
bool statedir_has_moved(const struct intents *in, bool *ret_gone);
/* Uses the directory that is at the path now; if there is none, makes it. -EBUSY: it has intents of
 * its own. */
int statedir_follow(struct intents *in, struct err *err);
/* intent_replace() where the file is written now. */
int statedir_replace(struct intents *in, const char *text, size_t len);

/* intent_copy.c. Call all of it with save held. */

/* Beside the former copy, then swapped: a process killed meanwhile leaves either. */
void copy_keep(struct intents *in, const char *text, size_t len);
/* The text that a former process of this mount wrote last, allocated. -ENOENT, -ENOMEM. */
int copy_read(const struct intents *in, char **ret, size_t *ret_len);
/* No record is known to be settled any more. */
void copy_unsettle(struct intents *in);
/* How many are; was it kept of this record? *at: where to look first; the caller starts with 0. */
uint32_t copy_settled(const struct intents *in);
bool copy_has_settled(const struct intents *in, const struct record *r, uint32_t *at);

/* A change of the records, which others see only once it is on the disk. */
struct rewrite {
	struct intents *in;
	/* Of all candidates, if needed; valid as long as the model stays locked. */
	struct pass look;
	struct records next; /* the first in->rs.n are those of in->rs, or replace them */
	bool optional;	     /* only repeats the file: if the disk refuses, health says so */
};

/* Call it with save held. */
int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err);
/* A new record; NULL: no memory. */
struct record *rewrite_add(struct rewrite *w);
/* A copy of the i-th record, to be changed; NULL: no memory. */
struct record *rewrite_edit(struct rewrite *w, size_t i);
void rewrite_drop(struct rewrite *w, size_t i);
/* Releasing a group also drops the claims stored for absent members. Present members were released
 * with it, or are in another group by now: theirs stay. Call it with the model locked. */
int rewrite_release(struct rewrite *w, uint64_t group, struct err *err);
/* Ends it: rc 0 writes and publishes the change, else nothing of it happens. Returns rc, or why it
 * could not be written. */
int rewrite_end(struct rewrite *w, int rc, struct err *err);
/* Call it with the model locked. */
void device_identity(struct model *m, const struct device *dev, struct identity *ret);

#define RECORD_NONE ((size_t)-1)
/* intent_match.c. The device's record, to be changed; made if there is none. Call it with the model
 * locked. */
int rewrite_record(struct rewrite *w, const struct device *dev, struct record **ret,
		   struct err *err);
/* Index of the device's record, even if no pass has matched it yet; RECORD_NONE. */
size_t rewrite_at(const struct rewrite *w, const struct device *dev);
/* Index of the record matched with this present device. */
size_t records_of_device(const struct records *rs, const struct device *dev);
/* For the request's device, which need not exist; false: neither does its parent. */
bool request_identity(struct model *m, const struct request *about, struct identity *ret);
uint64_t claim_group(struct model *m, const struct device *dev);

/* The observer. */
void intents_changed(void *ctx, const struct change *changes, size_t n);

/* intent_match.c; call all with save, lock and the model locked. -ENOMEM. */
int pass_find_candidates(struct pass *p);
/* intent_store.c */
void pass_free(struct pass *p);
enum match pass_lookup(const struct pass *p, const struct identity *wanted,
		       const struct candidate **ret);
/* NULL: it is none. */
struct candidate *pass_candidate(const struct pass *p, const struct key *key);
/* The matched record; NULL: nothing is stored for it. */
struct record *pass_record(const struct pass *p, const struct key *dev);
/* An operation runs on it, or restore has begun one. */
bool pass_is_busy(const struct pass *p, const struct device *dev);
/* Likewise on its parent: it may remove the device. */
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
/* Behind pass_judge_serials(): says of records in whose place another device is
 * what it is and what to do. If that one has the same claim the two are one, and the record just
 * waits. */
void pass_say_mismatches(const struct pass *p);
const struct device *device_of(const struct intents *in, const struct record *r);
/* Notes in the model what needs no operation. */
void record_note(struct intents *in, struct record *r);
/* Notes which VFs of each PF an intent claims, so that they never meet a host driver. */
void pass_note_vf_claims(struct pass *p);
/* Copies the records' reasons to the devices. */
void pass_publish(struct pass *p);

/* intent_note.c. As far as the card is known. */
bool record_may_be_here(const struct record *r, const struct device *card,
			const struct identity *id);

/* From now on the model asks what is stored. */
void intents_tell_model(struct intents *in);

/* intent_try.c. An operation for this record, to be launched after the pass; NULL: no memory. dev:
 * the record's, or the parent that makes it. */
struct restore_job *job_add(struct pass *p, const struct record *r, const struct persist *k,
			    const struct key *dev);
/* Call it without locks. */
void job_launch(struct intents *in, struct restore_job *f);
void record_say(struct record *r, enum record_state state, const char *text);

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
/* intent_settle.c. Behind a pass, without locks: answers who has accepted a device, if what is
 * stored for it has been tried. last: whatever still runs. */
void accepted_answer(struct intents *in, bool last);
/* Starts a pass soon. Takes no lock but turn. */
void intents_kick(struct intents *in);

#endif
