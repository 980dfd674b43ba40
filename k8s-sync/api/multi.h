/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl's transfers in the loop: its sockets and its timer. */
#ifndef SYNC_MULTI_H
#define SYNC_MULTI_H

#include <curl/curl.h>

#include "client/loop.h"

struct err;

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
