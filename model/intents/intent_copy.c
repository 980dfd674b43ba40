// SPDX-License-Identifier: GPL-2.0-or-later
/* A copy of the state file in memory that outlives the process: if the directory is removed, the
 * next process of this mount still finds what was stored. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intent_dir.h"
#include "pcidevfs/region.h"

struct half {
	uint64_t len, sum;
};

struct copy {
	struct region_head head;
	uint32_t valid; /* the half that counts */
	struct half halves[2];
};

const struct region_head copy_layout = { "intents", 1, sizeof(struct copy) };

enum { TEXT_AT = 4096 }; /* a page for the head */

static size_t half_size(const struct intents *in)
{
	return in->copy_size < TEXT_AT ? 0 : (in->copy_size - TEXT_AT) / 2;
}

static char *half_text(const struct intents *in, unsigned int half)
{
	return (char *)in->copy + TEXT_AT + half * half_size(in);
}

void copy_keep(struct intents *in, const char *text, size_t len)
{
	struct copy *c = in->copy;
	unsigned int half;

	if (!c || len > half_size(in))
		return;
	if (!region_is(&c->head, &copy_layout)) {
		c->valid = 0;
		c->halves[0] = c->halves[1] = (struct half){ 0 };
		region_begin(&c->head, &copy_layout);
	}
	half = !c->valid;
	memcpy(half_text(in, half), text, len);
	c->halves[half] = (struct half){ len, fnv1a(FNV1A, text, len) };
	atomic_signal_fence(memory_order_seq_cst);
	c->valid = half;
}

/* The predecessor may have been foreign code: nothing of it is believed. */
int copy_read(const struct intents *in, char **ret, size_t *ret_len)
{
	const struct copy *c = in->copy;
	size_t max = half_size(in);
	unsigned int half;
	struct half is;
	char *text;

	if (!max || !region_is(&c->head, &copy_layout))
		return -ENOENT;
	half = c->valid & 1;
	is = c->halves[half];
	if (!is.len || is.len > max)
		return -ENOENT;
	text = malloc(is.len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, half_text(in, half), is.len);
	text[is.len] = '\0';
	if (fnv1a(FNV1A, text, is.len) != is.sum) {
		free(text);
		return -ENOENT;
	}
	*ret = text;
	*ret_len = is.len;
	return 0;
}
