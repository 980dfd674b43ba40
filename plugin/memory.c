// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/eventfd.h>
#include "pcidevfs/err.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "plugin/kubelet/checkpoint.h"
#include "plugin.h"

struct memory {
	struct plugin *p;
	char *dir;
	void (*done)(void *ctx);
	void *ctx;
	struct source read; /* readable when the thread is done */
	pthread_t thread;
	bool reading; /* meanwhile the thread owns checkpoint and err */
	bool wanted, known;
	struct err told; /* the last error that was logged */
	struct checkpoint *checkpoint;
	struct err err;
};

static void *read_it(void *ctx)
{
	struct memory *m = ctx;

	checkpoint_load(m->dir, &m->checkpoint, &m->err);
	malloc_trim(0); /* the parser takes 40 MiB for a large node */
	event_ring(m->read.fd);
	return NULL;
}

/* Logs an error once as long as it lasts. */
static void tell(struct memory *m)
{
	if (m->err.code && m->err.code != ENOENT && strcmp(m->err.text, m->told.text))
		say("%s; devices that kubelet does not list stay with their pods", m->err.text);
	m->told = m->err;
}

static void on_read(struct source *s)
{
	struct memory *m = container_of(s, struct memory, read);
	uint64_t n;

	if (read(s->fd, &n, sizeof(n)) < 0)
		return;
	pthread_join(m->thread, NULL);
	m->reading = false;
	tell(m);
	m->done(m->ctx);
}

bool memory_read(struct memory *m)
{
	int r;

	if (m->reading || !m->wanted)
		return m->reading;
	m->wanted = false;
	m->known = true; /* true by the time of the next list */
	m->err = (struct err){ 0 };
	r = thread_start(&m->thread, read_it, m);
	m->reading = !r;
	if (r) {
		fail(&m->err, -r, "no thread for kubelet's checkpoint: %s", strerror(-r));
		tell(m);
	}
	return m->reading;
}

bool memory_forgets(void *memory, const char *device_id)
{
	struct memory *m = memory;

	m->wanted |= !m->known;
	if (!m->known || !m->checkpoint)
		return m->known && m->err.code == ENOENT;
	return !checkpoint_holds(m->checkpoint, device_id);
}

bool memory_drop(struct memory *m)
{
	checkpoint_free(m->checkpoint);
	m->checkpoint = NULL;
	m->known = false;
	return m->wanted;
}

int memory_new(struct plugin *p, const char *dir, void (*done)(void *ctx), void *ctx,
	       struct memory **ret, struct err *err)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m || !(m->dir = strdup(dir))) {
		free(m);
		return fail(err, ENOMEM, "no memory");
	}
	m->p = p;
	m->done = done;
	m->ctx = ctx;
	m->read = (struct source){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				   .ready = on_read,
				   .at = UINT64_MAX };
	*ret = m;
	if (m->read.fd < 0)
		return fail(err, errno, "no descriptor: %s", strerror(errno));
	return loop_add(&p->loop, &m->read, err);
}

/* A thread that waits for a hung disk ends with the process. */
void memory_free(struct memory *m)
{
	struct timespec until;

	if (!m)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	loop_remove(&m->p->loop, &m->read);
	if (m->reading && pthread_timedjoin_np(m->thread, NULL, &until))
		return;
	closep(&m->read.fd);
	checkpoint_free(m->checkpoint);
	free(m->dir);
	free(m);
}
