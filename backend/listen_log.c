// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's log: what drivers of cards say of them. Its records are numbered, and the model
 * keeps which one is the next, so that a process goes on where a former one has ended, whoever
 * opened the log. Errors are as devkmsg_read() of Linux has them. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "backend/gpu/card_health.h"
#include "backend/gpu/mig_ask.h"
#include "internal.h"
#include "listen.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

#define RECORD 8192	 /* the longest; a shorter buffer gets none (Linux: CONSOLE_EXT_LOG_MAX) */
#define RECORDS 1024	 /* then other sources come */
#define UNHEARD_MS 10000 /* a flood may overrun the log all the time */
#define SOON_MS 1000

void listen_open_log(struct backend *b, struct log_heard *l)
{
	*l = (struct log_heard){ .past = !model_log_heard(b->model) };
	if (b->roots.log > 0)
		lseek(b->roots.log, 0, SEEK_SET);
}

static void hear(struct backend *b, struct log_heard *l, const char *record, size_t len)
{
	struct kernel_line line;
	unsigned int number;
	struct key card;

	if (!kernel_line_read(record, len, &line))
		return;
	l->read = line.sequence + 1;
	if (line.sequence < model_log_heard(b->model))
		return;
	if (card_logged(&line, &card, &number))
		card_heard(b, &card, number, l->past);
	if (!l->past) /* a next process must know it for past as well */
		model_set_log_heard(b->model, l->read);
}

/* Lines are lost. */
static void unheard(struct backend *b, struct log_heard *l)
{
	uint64_t now = now_ms(), rest = l->unheard_ms ? l->unheard_ms + UNHEARD_MS : 0;

	if (l->unheard_ms > now)
		return;
	l->unheard_ms = rest > now + SOON_MS ? rest : now + SOON_MS;
	cards_unheard(b, (unsigned int)(l->unheard_ms - now));
}

/* All was read. A former process may have left a number that there never was. */
static void caught_up(struct backend *b, struct log_heard *l)
{
	uint64_t heard = model_log_heard(b->model);

	l->past = false;
	if (heard == l->read)
		return;
	model_set_log_heard(b->model, l->read);
	if (heard > l->read)
		unheard(b, l);
}

void listen_drain_log(struct backend *b, struct log_heard *l, struct pollfd *p)
{
	char record[RECORD];

	for (int i = 0; i < RECORDS; i++) {
		ssize_t n = read(p->fd, record, sizeof(record));

		if (n > 0) {
			hear(b, l, record, (size_t)n);
		} else if (n < 0 && errno == EAGAIN) {
			caught_up(b, l);
			return;
		} else if (n < 0 && errno == EPIPE) { /* the oldest that are left follow */
			unheard(b, l);
		} else if (!n || (errno != EINTR && errno != EINVAL)) { /* EINVAL: it is passed */
			atomic_store(&b->log_error, n ? -errno : -EPIPE);
			p->fd = -1;
			return;
		}
	}
}
