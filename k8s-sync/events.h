/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kubernetes Events: at most one a second; one that is equal to another within 10 minutes is
 * counted. */
#ifndef SYNC_EVENTS_H
#define SYNC_EVENTS_H

#include <stdbool.h>

struct api;
struct events;
struct loop;

/* What an Event is about. Texts are copied. */
struct involved {
	const char *api, *kind, *name, *uid;
	const char *space; /* its namespace; "": it has none, and the Event is in default */
	bool normal;	   /* nothing is wrong; else the Event is a Warning */
};

/* tell(): what is in the way of Events, "" once one is taken. NULL: no memory. */
struct events *events_new(struct loop *loop, struct api *api,
			  void (*tell)(void *ctx, const char *sentence), void *ctx);
void events_free(struct events *e);
void events_add(struct events *e, const struct involved *about, const char *reason,
		const char *sentence);

/* RFC 3339, of now. */
void time_text(char ret[static 24]);

#endif
