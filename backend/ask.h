/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that helpers tell. A row names the request, the devices that it is about and what is done
 * with the answer; who needs it has it in its list `watch` (bus.h, ops.h, guards.h), and all rows
 * are asked in one way. Of a batch that is late each device is asked alone, and a device at which a
 * helper hangs is not asked again before that helper ends. */
#ifndef PCIDEVFS_BACKEND_ASK_H
#define PCIDEVFS_BACKEND_ASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "newest.h"
#include "pcidevfs/change.h"
#include "pcidevfs/key.h"
#include "pcidevfs/step.h"

struct backend;
struct device;
struct err;
struct model;
struct out;
struct sysfs;
struct touched;

/* The threads that ask. One alone would not do: a walk of /proc may take seconds, a card may take
 * many to tell its serial, a driver's library as many to wake its cards, and signs of life are read
 * every other second. */
enum { ASKER_GUARDS, ASKER_CARDS, ASKER_LIBRARY, ASKER_WATCH, ASKERS };

/* An answer: lines "<id> <text>"; those about no device have "-" for an id. */
struct told {
	int rc; /* 0; of a device that was asked about alone -ETIMEDOUT, or -EIO: the helper died */
	uint64_t began_us;
	struct told_line {
		const char *id, *text;
	} *v; /* sorted by id */
	size_t n;
	/* Of the device that apply() is called for. */
	const struct told_line *line; /* NULL: none */
	size_t lines;
};
/* Behind the word in a line such as "- unknown=3"; NULL if there is none. */
const char *told_value(const struct told *t, const char *word);

/* ASK_LATER: not in this question, but the row goes on being asked. ASK_WAKING: it may be woken,
 * which a "!" before its id tells. */
enum ask_which { ASK_NOT, ASK_LATER, ASK_IT, ASK_WAKING };

struct ask_row {
	const char *request; /* a row of requests.def */
	const char *what;    /* for sentences */
	unsigned int deadline_ms;
	/* Devices in a request, and the deadline of one that is asked about alone. 0: one request
	 * for the whole question, and operations that wait for the same share it. 1, and a deadline:
	 * all side by side. */
	size_t batch;
	unsigned int each_ms;
	unsigned int thread;
	unsigned int period_ms; /* after which all are asked again; 0: not */
	bool retries;		/* likewise after a failure */
	bool follows;		/* asked after each look at a device */
	bool calm;		/* an operation on a device puts off even a question about all */
	bool first;		/* ... and before anybody is served */
	change_bits on; /* after these changes all are asked, for there may be something now */
	/* Instead of a request; look_at(). It waits PATIENCE_MS for each device that hangs, and
	 * deadline_ms is for operations that wait for the answer to another one. */
	int (*look)(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms);
	/* Is there anything to ask again? NULL: if which() takes any. */
	bool (*again)(struct model *m);
	/* Could an answer differ from what is known? Called with the model locked, as the next
	 * two; it may edit the device, whose facts say why it is not asked. */
	enum ask_which (*which)(struct backend *b, const struct device *dev);
	/* Who can tell it of this device? NULL: itself. */
	const struct device *(*teller)(struct model *m, const struct device *dev);
	/* Returns 0 or -errno: it is still unknown. */
	int (*apply)(struct backend *b, const struct device *dev, const struct told *t);
	/* After the answer, and after all batches; may be NULL. */
	void (*heard)(struct backend *b, bool all, const struct told *t);
	void (*after)(struct backend *b);
};
/* Each stands at the end of a file. */
extern const struct ask_row ask_critical, ask_holders, ask_liveness, ask_reserved, ask_serial,
	ask_siblings, ask_vfconf;

/* In a helper: what a device tells, "" nothing. waking: it may be woken. -errno: a resource of ours
 * ran out, and nothing is known. */
#define TELL_MAX 32
typedef int ask_tell(const struct sysfs *s, const struct key *dev, bool waking,
		     char ret[static TELL_MAX]);
/* Appends "<id> <text>" for each of these ids (key.h), separated by blanks; a "!" before one allows
 * to wake it. They are overwritten. Returns 0 or -errno. */
int tell_each(const struct sysfs *s, char *ids, ask_tell *tell, struct out *ret);

/* Limit of devices in a question. More become "all": naming them would save nothing. */
#define QUESTION_MAX 64
struct ask_set {
	bool all;
	size_t n;
	struct key devs[QUESTION_MAX];
};
bool ask_set_has(const struct ask_set *set, const struct key *key);

/* Questions that are asked one after the other; those that come during one are the next. */
struct ask_lane {
	struct ask_set next, now;
	bool asks;
	uint64_t began_us;
	uint64_t started, ended, failed; /* numbers of questions, the last of each */
	int rc;				 /* of the last that failed; -EAGAIN: some were put off */
};

#define ASKS_MAX 16

struct asker {
	pthread_mutex_t lock;
	pthread_cond_t ended; /* a question has ended */
	struct asker_thread {
		struct backend *b;
		pthread_cond_t wake; /* something is due, or stop */
		pthread_t id;
	} threads[ASKERS];
	atomic_bool stop;
	size_t n;
	/* lock guards all below but the rows. Due ones are asked in this order. */
	struct ask_state {
		const struct ask_row *row;
		struct ask_lane ops, own; /* of operations, and of our thread */
		struct newest told; /* while one of them asks, by began_us */
		/* When own is asked its next question, and about all; 0: never. But not before
		 * rest_ms. */
		uint64_t due_ms, all_ms, rest_ms;
		unsigned int pause;
		atomic_int result; /* of the last answer, for health */
	} of[ASKS_MAX];
	struct ask_hung {
		const struct ask_row *row;
		struct key key;
		uint64_t birth;
		struct helper_id who;
	} *hung; /* helpers that hang at a device */
	size_t n_hung, cap_hung;
};

void asker_open(struct asker *asker);
/* Adds the rows of a list `watch`: NULL-terminated, or NULL. False: there is no room for all. */
bool asker_watch(struct asker *asker, const struct ask_row *const *rows);
/* Of a row that was added; without one it ends the process. */
struct ask_state *ask_state(struct backend *b, const struct ask_row *row);
void asker_free(struct backend *b);
/* Asks as devices change. Call it once nothing can fail any more, because the model keeps its
 * observers, and before the model notifies them. */
void asker_hear(struct backend *b);
/* Starts the threads, or returns an errno. asker_stop() ends them once their helpers have
 * answered. */
int asker_start(struct backend *b);
void asker_stop(struct backend *b);

/* Blocks until an answer about these devices (NULL: all) is in the model that was begun after
 * `since` (us); 0: after now. Returns 0, or -errno with a sentence. */
int ask_now(struct backend *b, const struct ask_row *row, const struct key *devs, size_t n,
	    uint64_t since, struct err *err);
/* Likewise about those that need it (NULL: all), with the model locked. */
int ask_touched(struct backend *b, const struct ask_row *row, const struct touched *v, size_t n,
		bool (*needs)(const struct ask_row *row, const struct device *dev),
		struct err *err);
/* Our thread asks in ms, or later if it has just asked. key NULL: about all. */
void ask_soon(struct backend *b, const struct ask_row *row, const struct key *key, unsigned int ms);
/* Makes our thread ask about n devices now, in one question. Then waits, ms at most, until it has
 * answered about the device key, if it asks about it or will soon. */
void ask_await(struct backend *b, const struct ask_row *row, const struct key *key,
	       const struct key *devs, size_t n, unsigned int ms);
/* A device (NULL: all) was looked at: all that follows is asked, a little later, since operations
 * ask for themselves. */
void ask_changed(struct backend *b, const struct key *key);
/* Waits until our thread does not ask this row, for as long as a question may take: its helper may
 * have a device open. */
void ask_settle(struct backend *b, const struct ask_row *row);

/* One question, on the calling thread. */
struct asking {
	struct backend *b;
	const struct ask_row *row;
	struct ask_lane *lane; /* NULL: none */
	bool own;
	/* By ask_run(): */
	bool any;    /* there is something to ask again */
	bool put_off; /* some devices, until their operation has ended */
	atomic_bool waited; /* in vain for a helper that hung before */
	bool all;
	struct asked *v;
	size_t n;
	uint64_t began_us;
	atomic_size_t next; /* those up to end are asked about alone */
	size_t end;
	atomic_int rc; /* the first failure */
};
int ask_run(struct asking *a, const struct key *devs, size_t n);
/* May it apply its answer about this device? Not if that of another question, begun later, was
 * applied. 1: it may, and an older question that is still asked may not any more; 0; -ENOMEM. Call
 * it with the model locked. */
int ask_takes(const struct asking *a, const struct key *dev);

#endif
