/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of one resource of an API server: listed, then watched from there, whatever happens to
 * the server. What an object means, and where it is kept, is its owner's. */
#ifndef SYNC_FOLLOW_H
#define SYNC_FOLLOW_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct api;
struct err;
struct follow;
struct loop;
struct reply;

/* Called in turns of the loop; those without a word are needed. They must not send or end calls. */
struct follow_ops {
	/* A list begins: until know() or drop() all that comes is of it. */
	void (*begin)(void *ctx);
	/* It is complete, and replaces what was known. */
	void (*know)(void *ctx);
	/* It broke off: what was known holds. */
	void (*drop)(void *ctx);
	/* An object was added or changed. The callee takes no reference. Returns 0, or -errno with a
	 * sentence if there is no room for the object; everything is listed again later then. */
	int (*take)(void *ctx, json_object *o, bool listing, struct err *err);
	void (*gone)(void *ctx, json_object *o, bool listing);
	/* The server has no such resource (404), or says so since we have no right to it (403).
	 * True: goes on without, and asks again in 5 to 10 minutes; false: tries on, and what is
	 * wrong is err's, which may get a better sentence. */
	bool (*none)(void *ctx, const struct reply *r, struct err *err);
	/* What is in the way, for health or a log; "" takes it back. */
	void (*say)(void *ctx, const char *sentence);
	/* The CRD may be another one than a moment ago. NULL: does not matter. */
	void (*afresh)(void *ctx);
	/* Was something left out, so that it is listed anew at the end of a watch? NULL: never. */
	bool (*partial)(void *ctx);
};

struct follow_what {
	const char *api; /* "GROUP/VERSION", or "v1" of the core group */
	const char *plural;
	/* What to select, before the value; tried in order until the server takes one; the last one
	 * is NULL, for all objects. NULL: all. */
	const char *const *selectors;
	const char *value;
	unsigned int page; /* objects that one answer may hold, where a list comes in pages */
	const struct follow_ops *ops;
};

/* Asks for nothing yet. The texts are borrowed. NULL: no memory. */
struct follow *follow_new(struct loop *loop, struct api *api, const struct follow_what *what,
			  void *ctx);
/* Asks now, at the start or where it goes on without. Returns false if it is asking already. */
bool follow_start(struct follow *f);
/* Ends what is under way, and lists anew. */
void follow_relist(struct follow *f);
/* All that happened up to this resourceVersion is known; 0: nothing is. */
uint64_t follow_version(const struct follow *f);
void follow_free(struct follow *f);

#endif
