/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an API server answers: documents of JSON, whatever comes, bounded; and what of it goes into
 * the path and the query of a request. Pure. */
#ifndef SYNC_INTAKE_H
#define SYNC_INTAKE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/err.h"

struct out;

enum {
	ANSWER_MAX = 4 * 1024 * 1024,  /* of a list's page; parsed it takes 20 times that */
	WATCHED_MAX = 3 * 1024 * 1024, /* of one event: etcd stores 1.5 MiB at most */
	ANSWER_DEPTH = 40,
};

struct intake {
	struct json_tokener *tokener;
	bool many;   /* documents one after another, as a watch has them */
	size_t size; /* of the present document */
	json_object *one;
	void (*document)(void *ctx, json_object *doc); /* if many */
	void *ctx;
	struct err err;
};

int intake_open(struct intake *r, bool many);
/* Returns 0; else the answer is of no use, and r->err tells why. */
int intake_feed(struct intake *r, const char *bytes, size_t size);
void intake_close(struct intake *r);

/* The answer of a finished request: its HTTP status, or that of a Status inside a 200. Returns 0 if
 * it is a success, or -errno with the server's own sentence. */
int intake_verdict(const struct intake *r, long http, long *ret_status, struct err *err);
/* Was the request refused because a webhook does not answer? The server itself works then. name:
 * how that webhook's name begins, "" for any one. */
bool answer_lacks_webhook(json_object *answer, const char *name);
/* Seconds to wait that the answer's details name; 0: none. */
unsigned int intake_retry_after(const struct intake *r);

/* An event of a watch. */
enum watched { WATCHED_ADDED, WATCHED_DELETED, WATCHED_BOOKMARK, WATCHED_GONE, WATCHED_ERROR };
/* Returns what it is and its object. *ret: of the event's. WATCHED_ERROR: err is filled. */
enum watched watch_event(json_object *doc, json_object **ret, struct err *err);

/* Appends the text as one segment, or one value: whatever stands in it, it is not read as more. */
void path_put(struct out *path, const char *text);
/* Is that a resourceVersion, as all of our kinds have it? */
bool path_is_version(const char *text);

#endif
