/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What our processes say to each other, by fdmsg.h. */
#ifndef FS_HANDOFF_H
#define FS_HANDOFF_H

#include <stdint.h>
#include <sys/types.h>

#include "options.h"
#include "pcidevfs/err.h"

/* What the holder tells the serving process; with fds { /dev/fuse, stash, watch, spawner }. The
 * third is an inotify: closing one for good takes up to tens of milliseconds, for which the next
 * process waited. The last leads to whatever process starts helpers (backend.h). */
#define HANDOVER_FDS 4
struct handover {
	uint32_t generation; /* 1: the first; nothing is mounted yet */
	uint32_t restarts;
	int64_t restarted_at;	 /* seconds since 1970; 0 never */
	char restarted_for[160]; /* why; "" never */
	bool killed;		 /* by SIGKILL, which is no fault of what it did */
};

/* What the serving process tells the holder, and the holder --replace. The first ones, and the two
 * messages, are also for programs of another version: they stay as they are. */
enum report {
	REPORT_REFUSED,	 /* cannot: text */
	REPORT_NOTE,	 /* for the person who waits: text */
	REPORT_DONE,	 /* likewise, the last */
	REPORT_READY,	 /* could serve; asks for the mount (first generation) */
	REPORT_SERVING,	 /* reads requests from now on */
	REPORT_FAILING,	 /* serves what is no longer kept true, and should be replaced: text */
	REPORT_GONE,	 /* the connection has ended: unmounted or aborted */
	REPORT_RESTORED, /* what is stored has been applied, as far as it can be now */
	REPORT_END,	 /* to the serving process: nobody goes on after you */
};

struct report_msg {
	uint32_t what; /* enum report */
	char text[ERR_TEXT];
};

/* What --replace tells the holder, with its executable. */
struct offer {
	char version[32];
	char options[4064]; /* a line "--NAME VALUE" for each that was given; the others stay */
};

/* As fdmsg_send(). */
int handoff_report(int sock, enum report what, const char *text);

#endif
