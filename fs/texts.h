/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that are too much work for the FUSE thread are made once and shared by all who read them at
 * the same state of things: whoever comes while one is being made waits for it, or for the next one
 * if what it shows has changed since that began. Thread-safe.
 */
#ifndef FS_TEXTS_H
#define FS_TEXTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct node;
struct out;
struct texts;
struct tree;

/* Does not change. */
struct text {
	atomic_uint refs;
	size_t len;
	char *data;
	struct text_user *users; /* whose open files keep it */
	size_t n_users;
};

/* Takes the data over; NULL: no memory, and o is as it was. */
struct text *text_take(struct out *o);
/* NULL is fine. */
struct text *text_ref(struct text *text);
void text_unref(struct text *text);
/* One file more, or less, of this user keeps it: his first (1) or another (0), or -ENOMEM; his
 * last. With the lock of whoever counts them. */
int text_use(struct text *text, uid_t uid);
bool text_unuse(struct text *text, uid_t uid);

/* Who wants a text: lies in what it is part of until done is called, by any thread, once. */
struct asker {
	struct asker *next;
	/* text NULL: error says why, as -errno. Else it is good during the call. */
	void (*done)(struct asker *a, struct text *text, int error);
};

int texts_new(struct texts **ret); /* -ENOMEM */
void texts_free(struct texts *s);
/* The text of this node's row as it is now, or was made since nothing changed; that of a slow row
 * may be 100 ms old. Waits for nobody. */
void texts_ask(struct tree *t, const struct node *n, struct asker *a);

#endif
