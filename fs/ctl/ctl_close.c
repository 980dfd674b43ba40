// SPDX-License-Identifier: GPL-2.0-or-later
/* The close of ctl, and lines that were written to it and never committed. Nobody hears the verdict of a close, so the
 * log and last_error tell of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "ctl_job.h"
#include "fs/record.h"
#include "lines.h"

/* Adds the line to what is left. A check shows that its writer only asked. */
static void count_line(struct ctl_leftover *left, const char *line, size_t len)
{
	char text[sizeof(left->first)], *arg;
	size_t n = len < sizeof(text) - 1 ? len : sizeof(text) - 1;

	memcpy(text, line, n);
	text[n] = '\0';
	if (line_is_idle(text))
		return;
	if (!strcmp(text, "check")) {
		left->n = 0;
		return;
	}
	if (command_of(text, &arg))
		return;
	if (!left->n++)
		STR_COPY(left->first, text);
}

void ctl_leftover(const struct ctl *ctl, struct ctl_leftover *ret)
{
	const char *at = ctl->text.data, *end = at + ctl->text.len, *nl;

	*ret = (struct ctl_leftover){ .broken = ctl->broken, .who = ctl->who };
	for (; at < end; at = nl + 1) {
		nl = memchr(at, '\n', (size_t)(end - at));
		ret->torn = !nl;
		nl = nl ? nl : end;
		if (!ret->torn)
			count_line(ret, at, (size_t)(nl - at));
		else if (!ret->n++)
			str_copy(ret->first, sizeof(ret->first), "");
	}
}

void ctl_tell_leftover(struct tree *t, const struct key *home, const struct ctl_leftover *left)
{
	struct err err = { 0 };

	if (!left->n)
		return;
	fail(&err, ECANCELED,
	     "ctl: closed with %u line%s that %s never committed, so nothing of %s was done; write "
	     "%scommit before the close",
	     left->n, left->n > 1 ? "s" : "", left->n > 1 ? "were" : "was",
	     left->n > 1 ? "them" : "it", left->torn ? "a newline after the last one, then " : "");
	record_verdict(t,
		       &(struct asked){ .dev = home,
					.file = "ctl",
					.value = written_text(left->first),
					.late = left->broken },
		       &left->who, &err);
}

void ctl_release(struct tree *t, uint64_t fh, const struct key *home)
{
	struct ctl_leftover left = { 0 };
	struct ctl_files *c = t->ctl;
	struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	ctl = ctl_find(c, fh);
	if (ctl && ctl->queue) {
		ctl->closing = true;
	} else if (ctl) {
		ctl_leftover(ctl, &left);
		ctl_remove(c, ctl);
	}
	pthread_mutex_unlock(&c->lock);
	ctl_tell_leftover(t, home, &left);
}
