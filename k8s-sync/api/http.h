/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to one API server, in the loop: one connection (HTTP/2), a rate limit of our own, and
 * nothing is sent while the server asked for a pause. A connection on which nothing comes any more
 * is given up: all its calls end, and the next one opens another. */
#ifndef SYNC_HTTP_H
#define SYNC_HTTP_H

#include <json-c/json.h>
#include <stdbool.h>

#include "pcidevfs/err.h"

struct access;
struct api;
struct loop;
struct out;

struct reply {
	long status;	  /* of HTTP, or of a Status inside; 0: there is no answer */
	json_object *doc; /* NULL: none */
	struct err err;	  /* code 0: success */
	bool away; /* the server cannot be reached, or asks for patience: all requests pause */
	bool back; /* it was away until a moment ago: it refuses all until it knows who may what */
};

/* Whose turn it is: a thousand writes hold up neither a watch nor what somebody waits for. */
enum rank {
	RANK_BULK,
	RANK_SOON,   /* a step between a user and the device */
	RANK_URGENT, /* does not wait for the rate limit: watches and lists */
};

/* The caller's until it is sent, then the api's until done(), which frees it by call_free(). */
struct call {
	const char *method;
	char *path;	  /* owned, with the query */
	const char *type; /* of the body */
	char *body;	  /* owned; NULL: none */
	/* A watch: called when the server has taken it, and for each document; NULL for other
	 * requests. They must not send or end calls. */
	void (*begun)(struct call *c);
	void (*document)(void *call, json_object *doc);
	void (*done)(struct call *c, const struct reply *r);
	void *ctx;
	enum rank rank;
	bool again; /* it was sent a second time, after a 401 */
	bool over;  /* document() sets it: the rest is not wanted */
	struct wire *wire;
	struct call *next;
};

/* The access belongs to the api from then on. Returns 0 or -errno. */
int api_new(struct loop *loop, struct access *access, struct api **ret, struct err *err);
void api_free(struct api *a);
/* Takes over the path and the body; type NULL: it has none. NULL: no memory, also for a part of
 * what it is given. */
struct call *call_new(const char *method, struct out *path, const char *type, char *body);
void call_free(struct call *c);
/* Always leads to done(), later. */
void api_send(struct api *a, struct call *c);
/* Has say() called from now on, three times a minute, with what is to be said about the end of our
 * client certificate, of which nobody hears until it is too late; "": nothing. */
void api_tell_expiry(struct api *a, void (*say)(void *ctx, const char *sentence), void *ctx);
/* Ends it without done(). */
void api_cancel(struct api *a, struct call *c);

#endif
