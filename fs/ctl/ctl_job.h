/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A write to ctl while it is carried out: what ctl.c (in which order) and ctl_cmd.c (what the lines
 * mean) share. */
#ifndef FS_CTL_JOB_H
#define FS_CTL_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "ctl.h"
#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/quota.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

struct fuse_req;

#define CTL_WRITE ((size_t)64 << 10) /* the most one write may bring */
#define CTL_TEXT ((size_t)1 << 20)   /* the most a transaction may hold */
#define CTL_SAID ((size_t)2 << 20)   /* answers that were not read yet */
#define CTL_VERDICT 1024	     /* ... of them, the most that a verdict takes */
#define CTL_FILES 256
#define CTL_QUEUE 32 /* writes of one open file that wait for the one before them */
/* ctls open for writing; bytes of what they hold, and of what waits, of all */
#define CTL_OF_USER 16
#define CTL_OF_ALL 192
#define CTL_HELD_OF_ALL ((size_t)32 << 20)
#define CTL_QUEUED_OF_ALL ((size_t)16 << 20)

#define CTL_RESTARTED "ctl: the daemon was restarted; begin again"

/* What of an open ctl outlives the process. Its lines and answers do not. */
struct ctl_kept {
	uint64_t fh; /* 0: free */
	/* The write that is carried out, 0: none; how many bytes of it belong to transactions that
	 * have ended; where the command ends that was let go to the disk; and -errno of the first
	 * one that failed. */
	uint64_t writer;
	uint64_t told; /* ... since when the log may tell of it: where that ended before, and 1 */
	uint32_t done, begun;
	int32_t verdict;
	uint64_t read_by; /* the last read that took answers */
	uint8_t deaf; /* opened for writing alone: nobody can read its answers, and none are kept */
	uint8_t unread;	  /* are there answers? */
	uint8_t gathered; /* have the writes before left a part of a transaction? */
	uint8_t torn;	  /* ... whose last line has no newline yet? */
	uint32_t hello_pid;
	char hello[64], says[200]; /* what a client said of itself */
};

struct ctl {
	struct ctl_kept *kept;
	struct creds opener;
	struct out text; /* the transaction's lines, and behind `scanned` what is yet to be seen */
	size_t scanned;
	struct out said; /* answers, and how much of them was read */
	size_t read;
	size_t held; /* bytes of both, as they were counted */
	bool torn; /* what comes next is the rest of a line that is lost */
	/* errno of a line or write that was refused, with its sentence, without "ctl: ": no commit
	 * until abort. ECONNRESET: a part of the transaction has ended with a former process. */
	int broken;
	char why[200];
	struct actor who;      /* of the last write */
	struct ctl_job *queue; /* the first is being carried out */
	unsigned int n_queued; /* with it */
	bool closing;	       /* released meanwhile */
};

struct ctl_files {
	pthread_mutex_t lock; /* all below */
	struct ctl_region *region;
	struct quota opened, held, queued;
	struct ctl file[CTL_FILES];
};

/* ctl_file.c; all with the lock held. NULL: unknown. */
struct ctl *ctl_find(struct ctl_files *c, uint64_t fh);
/* The same fh gives the same again. -EMFILE: its user has too many; -ENFILE: all have. */
int ctl_add(struct ctl_files *c, uint64_t fh, const struct creds *opener, struct ctl **ret,
	    struct err *err);
void ctl_remove(struct ctl_files *c, struct ctl *ctl);
/* The i-th, which may be free (its fh is 0); NULL: i is beyond the last. */
struct ctl *ctl_at(struct ctl_files *c, size_t i);
/* The line at `scanned`, without its newline; NULL: there is no whole one. */
const char *ctl_line(const struct ctl *ctl, size_t *ret_len);
/* Drops what was scanned. ends: with it the transaction. */
void ctl_cut(struct ctl *ctl, bool ends);
/* Adds an answer behind those that were not read. False: no memory. */
bool ctl_say(struct ctl *ctl, const char *text, size_t len);
/* Its user has what it holds now. */
void ctl_count(struct ctl_files *c, struct ctl *ctl);
/* Takes up to size bytes of the answers for the read `unique`, which may be one sent again. */
size_t ctl_take(struct ctl *ctl, uint64_t unique, char *buf, size_t size);

struct ctl_leftover {
	struct out text;  /* the lines that no command has ended */
	bool broken;	  /* a refusal before has its sentence in last_error */
	struct actor who; /* of the last write */
};
/* Removes it; with the lock held. */
struct ctl_leftover ctl_end(struct ctl_files *c, struct ctl *ctl);
/* Without it; frees the text. home: of a device's ctl, else NULL. */
void ctl_tell_leftover(struct tree *t, const struct key *home, struct ctl_leftover *left);

struct ctl_job {
	struct ctl_job *next;
	struct fuse_req *req;
	struct tree *tree;
	struct ctl *ctl;
	void (*ended)(struct ctl_job *job); /* the command that ends later calls it */
	uint64_t ino, unique;
	uint32_t journal_slot;
	bool taken; /* its text is in its file's */
	bool resent; /* a former process may have started the command that runs */
	long base; /* where the text begins, counted from the write's beginning; may be negative */
	long at;     /* likewise: the end of the command */
	atomic_bool interrupted;
	const struct key *home; /* of a device's ctl, else NULL */
	struct key dev;
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
/* The rest of a line whose beginning is lost: perhaps of a commit. */
extern const struct ctl_command command_torn;

#endif
