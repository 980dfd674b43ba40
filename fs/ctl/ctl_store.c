// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl_store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fs/journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/region.h"

#define CTL_ABI 8

struct region {
	union {
		struct {
			struct region_head head;
			uint32_t used; /* none above was ever opened: its pages stay untouched */
		};
		char page[4096];
	};
	struct ctl ctls[];
};

struct ctls {
	struct region *r;
	size_t n;
};

const struct region_head ctl_layout = { "ctl", CTL_ABI, sizeof(struct ctl) };

int ctls_new(void *region, size_t size, struct ctls **ret, struct err *err)
{
	struct ctls *c = calloc(1, sizeof(*c));
	struct region *r = region;

	if (!c || size < sizeof(*r) + sizeof(struct ctl)) {
		free(c);
		return fail(err, ENOMEM, "no memory for transactions");
	}
	c->n = (size - sizeof(*r)) / sizeof(struct ctl);
	c->n = c->n > CTL_FILES ? CTL_FILES : c->n;
	c->r = r;
	if (!region_is(&r->head, &ctl_layout)) {
		r->used = 0;
		region_begin(&r->head, &ctl_layout);
	}
	if (r->used > c->n)
		r->used = (uint32_t)c->n;
	*ret = c;
	return 0;
}

void ctls_free(struct ctls *c)
{
	free(c);
}

struct ctl *ctls_at(struct ctls *c, size_t i)
{
	return i < c->r->used ? &c->r->ctls[i] : NULL;
}

struct ctl *ctls_find(struct ctls *c, uint64_t fh)
{
	for (size_t i = 0; i < c->r->used && fh; i++)
		if (c->r->ctls[i].fh == fh)
			return &c->r->ctls[i];
	return NULL;
}

struct ctl *ctls_open(struct ctls *c, uint64_t fh)
{
	struct ctl *ctl = ctls_find(c, fh);

	for (size_t i = 0; i < c->n && !ctl; i++)
		if (i >= c->r->used || !c->r->ctls[i].fh) {
			ctl = &c->r->ctls[i];
			ctl->which = 0;
			ctl->hello[0] = ctl->says[0] = '\0';
			ctl->deaf = false;
			ctl->text_touched = ctl->said_touched = 0;
			memset(ctl->state, 0, sizeof(ctl->state));
			atomic_signal_fence(memory_order_seq_cst);
			ctl->fh = fh;
			if (i >= c->r->used)
				c->r->used = (uint32_t)i + 1;
		}
	return ctl;
}

/* The pages between go back to the system. */
static void give_back(const void *from, const void *to)
{
	uintptr_t first = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t end = (uintptr_t)to & ~(uintptr_t)4095;

	madvise((void *)first, end - first, MADV_REMOVE);
}

void ctls_close(struct ctls *c, struct ctl *ctl)
{
	(void)c;
	ctl->fh = 0;
	give_back(ctl->text, ctl + 1);
}

void ctl_relax(struct ctl *ctl, struct ctl_state *next)
{
	if (next->begin != next->end || ctl->text_touched <= CTL_WRITE) {
		ctl_swap(ctl);
		return;
	}
	next->begin = next->scanned = next->end = 0;
	ctl_swap(ctl);
	ctl->text_touched = 0;
	give_back(ctl->text, ctl->said);
}

struct ctl_state *ctl_next(struct ctl *ctl)
{
	struct ctl_state *next = &ctl->state[(ctl->which + 1) & 1];

	*next = *ctl_now(ctl);
	return next;
}

void ctl_swap(struct ctl *ctl)
{
	atomic_signal_fence(memory_order_seq_cst);
	ctl->which++;
}

int ctl_append(struct ctl *ctl, struct ctl_state *next, const char *buf, size_t size)
{
	uint32_t len = next->end - next->begin;

	if (size > CTL_WRITE || len + size > CTL_TEXT)
		return -E2BIG;
	/* Moved only where the copy does not touch the original: a kill may come in the middle. */
	if (next->begin >= len) {
		memcpy(ctl->text, ctl->text + next->begin, len);
		next->scanned -= next->begin;
		next->begin = 0;
		next->end = len;
	}
	memcpy(ctl->text + next->end, buf, size);
	next->end += (uint32_t)size;
	if (ctl->text_touched < next->end)
		ctl->text_touched = next->end;
	return 0;
}

const char *ctl_line(const struct ctl *ctl, const struct ctl_state *s, size_t *ret_len)
{
	const char *line = ctl->text + s->scanned;
	const char *nl = memchr(line, '\n', s->end - s->scanned);

	if (!nl)
		return NULL;
	*ret_len = (size_t)(nl - line);
	return line;
}

/* What may be read again: the last read may be sent again. */
static size_t kept_answers(const struct ctl_state *s)
{
	return s->said - s->read_from;
}

/* Moved only where the copy does not touch the original: a kill may come in the middle. */
static bool answers_move(const struct ctl_state *s)
{
	return s->read_from >= kept_answers(s);
}

bool ctl_say(struct ctl *ctl, struct ctl_state *next, const char *text, size_t len)
{
	if (ctl->deaf)
		return true;
	if (answers_move(next)) {
		memcpy(ctl->said, ctl->said + next->read_from, kept_answers(next));
		next->said -= next->read_from;
		next->read -= next->read_from;
		next->read_from = 0;
	}
	if (len > CTL_SAID - next->said)
		return false;
	memcpy(ctl->said + next->said, text, len);
	next->said += (uint32_t)len;
	if (ctl->said_touched < next->said)
		ctl->said_touched = next->said;
	return true;
}

bool ctl_has_room(const struct ctl_state *s, size_t len)
{
	size_t used = answers_move(s) ? kept_answers(s) : s->said;

	return s->verdict != -ENOBUFS && len <= CTL_SAID - used;
}

size_t ctl_take(struct ctl *ctl, uint64_t unique, char *buf, size_t size)
{
	struct ctl_state *next = ctl_next(ctl);
	size_t n;

	if (unique & UNIQUE_RESENT && next->read_by == (unique & ~UNIQUE_RESENT))
		next->read = next->read_from;
	next->read_by = unique & ~UNIQUE_RESENT;
	next->read_from = next->read;
	n = next->said - next->read;
	n = n < size ? n : size;
	memcpy(buf, ctl->said + next->read, n);
	next->read += (uint32_t)n;
	ctl_swap(ctl);
	return n;
}
