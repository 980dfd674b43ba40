/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A write to ctl while it is carried out: what ctl.c (in which order) and ctl_cmd.c (what the lines
 * mean) share. */
#ifndef FS_CTL_JOB_H
#define FS_CTL_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "ctl_store.h"
#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

struct fuse_req;

/* What only this process knows of an open ctl. */
struct ctl_side {
	struct ctl_job *queue; /* the first is being carried out */
	unsigned int n_queued; /* with it */
	bool closing;	       /* released meanwhile */
};

struct ctl_files {
	pthread_mutex_t lock; /* all below, and what lies in the store */
	struct ctls *store;
	struct ctl_side side[CTL_FILES];
	size_t queued; /* bytes of users without a reserve */
};

/* ctl_open.c. With the lock held. */
struct ctl_side *ctl_side_of(struct ctl_files *c, const struct ctl *ctl);
/* Likewise: may who hold so many bytes more? */
bool ctl_may_hold(struct tree *t, const struct creds *who, size_t size);

/* ctl_close.c: lines that no command has ended. */
struct ctl_leftover {
	unsigned int n;
	bool torn;	  /* the last has no newline, so not even a command was one */
	bool broken;	  /* a refusal before has its sentence in last_error */
	struct actor who; /* of the last write */
	char first[LINE_LABEL];
};
/* With the lock held. */
void ctl_leftover(const struct ctl *ctl, struct ctl_leftover *ret);
/* Without it. home: of a device's ctl, else NULL. */
void ctl_tell_leftover(struct tree *t, const struct key *home, const struct ctl_leftover *left);

struct ctl_job {
	struct ctl_job *next;
	struct fuse_req *req; /* NULL: of a former process, not sent again yet */
	struct tree *tree;
	struct ctl *ctl;
	struct ctl_side *side;
	void (*ended)(struct ctl_job *job); /* the command that ends later calls it */
	uint64_t ino, unique;
	uint32_t journal_slot;
	bool taken; /* its text is in the store */
	atomic_bool interrupted;
	bool resumed; /* a former process started the command that runs */
	bool has_home;
	struct key home; /* of a device's ctl */
	struct actor who;
	/* The command that runs. Who comes second of its end and its starter's return goes on. */
	atomic_int turn;
	const struct ctl_command *command;
	char line[512], *arg; /* its line, in two: the name, and what is behind it */
	struct request *requests;
	size_t n_requests;
	struct out answer;
	struct err err;
	size_t size;
	char buf[];
};

enum command_flag {
	CMD_ENDS = 1 << 0,  /* the transaction, whatever the verdict */
	CMD_LINE = 1 << 1,  /* a line of the transaction; answered only when it is refused */
	CMD_LOGS = 1 << 2,  /* its verdict is news even when it is good */
	CMD_WAITS = 1 << 3, /* for the disk or the kernel: on an executor */
	CMD_ALONE = 1 << 4, /* nothing may be behind it */
};

struct ctl_command {
	const char *name;
	uint32_t flags;
	/* Carries it out: fills job->answer, or job->err. False: it ends later, by job->ended(). */
	bool (*run)(struct ctl_job *job);
};

/* The command that a line is, with what comes behind its name; NULL: the line names a file. What
 * takes nothing behind it, and has it, is one that only refuses. */
const struct ctl_command *command_of(char *line, char **ret_arg);
/* ctl.c: its file's state; what reads of it change is not the job's. */
struct ctl_state job_state(const struct ctl_job *job);
/* ctl.c: the command's end; from any thread. */
void job_ended(struct ctl_job *job);

#endif
