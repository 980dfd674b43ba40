/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests as libcurl is told about them. */
#ifndef SYNC_WIRE_H
#define SYNC_WIRE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/loop.h"
#include "intake.h"

struct access;
struct api;
struct call;

enum { WIRE_ANSWER_MS = 30000 };

/* A request under way. */
struct wire {
	struct api *api;
	struct call *call;
	CURL *easy;
	CURLU *url;
	struct curl_slist *headers, *connect_to;
	struct intake intake;
	unsigned int identity; /* by which it was sent */
	uint64_t since;	       /* ms */
	bool answered;	       /* its status is here */
	bool lost;	       /* with its connection, on which nothing comes any more */
	char error[CURL_ERROR_SIZE];
	LIST_ENTRY(wire) next;
};

/* Is the server's address one that libcurl takes? Returns 0 or -EINVAL. */
int wire_check(const struct access *access, struct err *err);
/* Tells libcurl all but where the answer goes. shares: the server is known to answer several
 * requests on one connection at once. Returns false if there is no memory. */
bool wire_prepare(struct wire *w, const struct access *access, bool shares);
/* Frees what it was told. */
void wire_release(struct wire *w);
/* Why there is no answer: a sentence of our own, and the library's words behind it where they know
 * more. Always -ENOTCONN. */
int wire_failed(const struct wire *w, const struct access *access, CURLcode code, struct err *err);

/* ---- multi.c: libcurl's transfers in the loop, its sockets and its timer */
struct multi {
	CURLM *curl;
	struct loop *loop;
	struct source timer;
	void (*finished)(CURL *easy, CURLcode code);
};

/* finished() is called for each transfer that has ended; it must take it out of m->curl. Returns 0
 * or -errno. */
int multi_open(struct multi *m, struct loop *loop, void (*finished)(CURL *easy, CURLcode code),
	       struct err *err);
void multi_close(struct multi *m);

#endif
