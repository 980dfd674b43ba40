/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between our processes, sent by fdmsg.h. */
#ifndef FS_HANDOFF_H
#define FS_HANDOFF_H

#include <stdint.h>
#include <sys/types.h>

#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/util.h"

/* From the holder to the serving process; with fds { /dev/fuse, stash, watch, spawner, log }. watch is
 * an inotify: closing one takes up to tens of milliseconds, which the next process would wait for.
 * spawner leads to the process that starts helpers (backend.h). log is /dev/kmsg; the model
 * knows how far it was heard. */
#define HANDOVER_FDS 5
struct handover {
	uint32_t generation; /* 1: the first; nothing is mounted yet */
	uint32_t restarts;
	int64_t restarted_at;	 /* seconds since 1970; 0: never */
	char restarted_for[160]; /* why; "": never */
	bool killed;		 /* by SIGKILL, so not by a fault of its own */
	int32_t log_error; /* -errno: log is not that; 0 */
	bool distrust;		 /* the records of operations may be what ends one after another */
};

/* From the serving process to the holder, and from the holder to --replace. The first three, and
 * both messages, are also for programs of other versions: they must not change. */
enum report {
	REPORT_REFUSED,	 /* cannot: text */
	REPORT_NOTE,	 /* message for the waiting person: text */
	REPORT_DONE,	 /* likewise, the last */
	REPORT_READY,	 /* ready to serve; asks for the mount (first generation) */
	REPORT_SERVING,	 /* reads requests from now on */
	REPORT_FAILING,	 /* its data is no longer kept up to date, so it should be replaced: text */
	REPORT_GONE,	 /* the connection has ended: unmounted or aborted */
	REPORT_RESTORED, /* stored intents have been applied, as far as possible now */
	REPORT_END,	 /* to the serving process: no other one follows */
};

struct report_msg {
	uint32_t what; /* enum report */
	char text[ERR_TEXT];
};

/* From --replace to the holder, with the executable. */
struct offer {
	char version[32];
	char options[4064]; /* a line "--NAME VALUE" for each given option; the others stay */
};

/* As fdmsg_send(). */
static inline int handoff_report(int sock, enum report what, const char *text)
{
	struct report_msg msg = { .what = what };

	STR_COPY(msg.text, text);
	return fdmsg_send(sock, &msg, sizeof(msg), NULL, 0);
}

#endif
