/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who we are to the API server, as it changes: files that are swapped, credentials that end. */
#ifndef SYNC_IDENTITY_H
#define SYNC_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"

struct exec_run;
struct loop;

struct identity {
	struct access access;
	unsigned int number; /* another one, another identity */
	struct loop *loop;
	struct exec_run *run;
	uint64_t until; /* ms; the program is asked anew */
	/* A program has ended: the identity is there, or err says why not. */
	void (*done)(struct identity *i, const struct err *err);
};

/* Looks at the files, and starts the program if need be. Returns true if requests can be sent as
 * whom we are; else done() comes later, or at once. */
bool identity_ready(struct identity *i);
/* The server did not believe a request of that number. Returns true if it may believe the next. */
bool identity_renew(struct identity *i, unsigned int refused);
void identity_free(struct identity *i);

#endif
