// SPDX-License-Identifier: GPL-2.0-or-later
#include "texts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/internal.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/util.h"

enum {
	SLOW_US = 100000,    /* maximum age of a text made by asking the kernel */
	OTHERS_US = 1000000, /* maximum age of any other text */
	KEPT = 8,	     /* texts kept although nobody may be reading them */
	PERSIST_BYTES = 1 << 20,
};

/* A text stays the same as long as all of this does. */
struct stamp {
	uint64_t generation, heard, events, log;
};

/* The texts of one node. */
struct made {
	struct made *next;
	/* Constant; the maker of the text reads these without the lock. */
	struct tree *tree;
	uint64_t ino;
	bool slow, opens; /* opens: of a directory, which has no text but refresh() */
	bool making;
	struct stamp stamp; /* of the text, or of the one that is being made */
	uint64_t begun;	    /* us: when its making began; 0: not yet */
	uint64_t opened;    /* us: the last open */
	bool sized;	    /* made for a stat, and not read since */
	struct text *text;
	struct text_asker *now, *later;
};

struct text *text_take(struct out *o)
{
	struct text *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->refs = 1;
	text->data = o->data;
	text->len = o->len;
	*o = (struct out){ 0 };
	return text;
}

struct text *text_ref(struct text *text)
{
	if (text)
		atomic_fetch_add(&text->refs, 1);
	return text;
}

void text_unref(struct text *text)
{
	if (!text || atomic_fetch_sub(&text->refs, 1) != 1)
		return;
	quota_free(&text->keepers);
	free(text->data);
	free(text);
}

static void free_made(struct made *p)
{
	text_unref(p->text);
	free(p);
}

void texts_free(struct texts *s)
{
	while (s->first) {
		struct made *p = s->first;

		s->first = p->next;
		free_made(p);
	}
	pthread_mutex_destroy(&s->lock);
}

static struct stamp stamp_now(struct tree *t)
{
	return (struct stamp){
		.generation = model_generation(t->conf.model),
		.heard = atomic_load(&t->heard),
		.events = ring_seq(t->events),
		.log = ring_seq(t->log),
	};
}

/* No change covers a row without bits, such as health: a reader after a write must see the effect.
 * Its text is fresh only for the first read of those who asked for its size once they had opened
 * it, as cat does, and if no verdict came since. */
static bool is_fresh(const struct made *p, const struct attr *row, const struct stamp *now)
{
	const change_bits logged = row->bits ? row->bits & CH_LOG : CH_LOG;

	/* An opener must see what was changed before. */
	return row->show && (row->bits || (p->sized && p->begun > p->opened)) && p->begun &&
	       p->stamp.generation == now->generation && p->stamp.heard == now->heard &&
	       p->stamp.events == now->events && (!logged || p->stamp.log == now->log) &&
	       now_us() - p->begun < (p->slow ? SLOW_US : OTHERS_US);
}

static struct made *new_made(struct tree *t, const struct node *n)
{
	struct made *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct made){ .tree = t,
				    .ino = n->ino,
				    .slow = n->row->flags & ATTR_SLOW,
				    .opens = !n->row->show };
	return p;
}

/* Moves the node's texts to the front. NULL: no memory. Call it with the lock held. */
static struct made *find(struct texts *s, struct tree *t, const struct node *n)
{
	struct made **at = &s->first, *p;

	while (*at && (*at)->ino != n->ino)
		at = &(*at)->next;
	p = *at;
	if (p)
		*at = p->next;
	else
		p = new_made(t, n);
	if (!p)
		return NULL;
	p->next = s->first;
	s->first = p;
	return p;
}

/* Call it with the lock held. */
static void drop_old(struct texts *s)
{
	size_t n = 0, bytes = 0;

	for (struct made **at = &s->first; *at;) {
		struct made *p = *at;

		bytes += p->text ? p->text->len : 0;
		if (p->making || !n || (n < KEPT && bytes <= PERSIST_BYTES)) {
			at = &p->next;
			n++;
			continue;
		}
		bytes -= p->text ? p->text->len : 0;
		*at = p->next;
		free_made(p);
	}
}

static int make(struct made *p, struct text **ret)
{
	struct out o = { 0 };
	struct node n;

	if (node_get(p->tree, p->ino, &n))
		return -ENODEV;
	if (n.row->refresh) {
		n.row->refresh(&n.subject);
		if (node_get(p->tree, p->ino, &n))
			return -ENODEV;
	}
	if (n.row->show)
		row_show(n.row, &n.subject, &o);
	*ret = o.failed ? NULL : text_take(&o);
	out_free(&o);
	return *ret ? 0 : -ENOMEM;
}

static void tell(struct text_asker *askers, struct text *text, int error)
{
	while (askers) {
		struct text_asker *a = askers;

		askers = a->next;
		a->done(a, text, error);
	}
}

static void begin(struct texts *s, struct made *p)
{
	struct text *was;

	pthread_mutex_lock(&s->lock);
	was = p->text;
	p->text = NULL;
	p->now = p->later;
	p->later = NULL;
	p->stamp = stamp_now(p->tree);
	p->begun = now_us();
	p->sized = false;
	pthread_mutex_unlock(&s->lock);
	text_unref(was);
}

/* Returns true if it must be made once more. */
static bool end(struct texts *s, struct made *p, struct text *text, int error)
{
	struct text_asker *askers;
	bool more;

	pthread_mutex_lock(&s->lock);
	askers = p->now;
	p->now = NULL;
	for (const struct text_asker *a = askers; a; a = a->next)
		p->sized |= a->stats;
	p->text = text_ref(text);
	more = p->making = p->later;
	if (more || !text)
		p->begun = 0;
	drop_old(s);
	pthread_mutex_unlock(&s->lock);
	tell(askers, text, error);
	text_unref(text);
	return more;
}

static void run(void *ctx);

static int submit(struct made *p)
{
	struct tree *t = p->tree;

	return pool_submit(p->opens ? t->openers : p->slow ? t->readers : t->worker, run, p);
}

/* Other texts get a turn before this one is made again. */
static void run(void *ctx)
{
	struct made *p = ctx;
	struct texts *s = &p->tree->texts;

	for (;;) {
		struct text *text = NULL;
		int r;

		begin(s, p);
		r = make(p, &text);
		if (!end(s, p, text, r) || !submit(p))
			return;
	}
}

/* The text cannot be made now. */
static void give_up(struct texts *s, struct made *p, int error)
{
	struct text_asker *askers;

	pthread_mutex_lock(&s->lock);
	askers = p->later;
	p->later = NULL;
	p->making = false;
	pthread_mutex_unlock(&s->lock);
	tell(askers, NULL, error);
}

static void join(struct text_asker **list, struct text_asker *a)
{
	a->next = *list;
	*list = a;
}

void texts_ask(struct tree *t, const struct node *n, struct text_asker *a)
{
	const struct stamp now = stamp_now(t);
	struct texts *s = &t->texts;
	struct text *text = NULL;
	bool starts = false;
	struct made *p;
	int r;

	pthread_mutex_lock(&s->lock);
	p = find(s, t, n);
	if (p && !p->making && p->text && is_fresh(p, n->row, &now)) {
		text = text_ref(p->text);
		p->sized &= a->stats;
	} else if (p) {
		join(p->making && is_fresh(p, n->row, &now) ? &p->now : &p->later, a);
		starts = !p->making;
		p->making = true;
		p->begun = starts ? 0 : p->begun;
	}
	pthread_mutex_unlock(&s->lock);
	if (text || !p) {
		a->done(a, text, text ? 0 : -ENOMEM);
		text_unref(text);
		return;
	}
	r = starts ? submit(p) : 0;
	if (r)
		give_up(s, p, r);
}

void texts_opened(struct tree *t, const struct node *n)
{
	struct texts *s = &t->texts;
	struct made *p;

	pthread_mutex_lock(&s->lock);
	for (p = s->first; p && p->ino != n->ino; p = p->next)
		;
	if (p)
		p->opened = now_us();
	pthread_mutex_unlock(&s->lock);
}
