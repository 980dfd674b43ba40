/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that are too much work for the FUSE thread. Each is made once and shared by all who read it
 * in the same state. A reader who comes while one is being made waits for it, or for the next one
 * if its content has changed since it began. Thread-safe. */
#ifndef FS_TEXTS_H
#define FS_TEXTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/quota.h"

struct made;
struct node;
struct out;
struct tree;

struct texts {
	pthread_mutex_t lock;
	struct made *first; /* the last one that was asked for */
};

/* Constant. */
struct text {
	atomic_uint refs;
	size_t len;
	char *data;
	struct quota keepers; /* open files that keep it; guarded by their lock */
};

/* Takes over the data. NULL: no memory, and o is untouched. */
struct text *text_take(struct out *o);
/* NULL is allowed. */
struct text *text_ref(struct text *text);
void text_unref(struct text *text);

/* A request for a text. Must stay valid until done is called, by any thread, once. */
struct text_asker {
	struct text_asker *next;
	/* text NULL: error is the reason, -errno. Else text is valid during the call. */
	void (*done)(struct text_asker *a, struct text *text, int error);
	bool stats; /* wants to know the size only: whoever opened the file reads next */
};

void texts_free(struct texts *s);
/* Gets the text of the node's row in its present state; a slow row's may be 100 ms old. Of a
 * directory: an empty one, after a refresh() that began later than this call. Never waits. */
void texts_ask(struct tree *t, const struct node *n, struct text_asker *a);
/* The node is opened: who opens it gets no text that was made before. */
void texts_opened(struct tree *t, const struct node *n);

#endif
