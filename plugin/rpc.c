// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One completion queue for all servers and channels, and one thread that only carries what is complete to
 * the caller's thread, where all work is done (the core has no descriptor that epoll could wait for).
 */
#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <pcidevfs/err.h>
#include <pcidevfs/util.h>

#include "rpc_core.h"

enum { DRAIN_MS = 5000 };

static void hand_over(struct rpc *rpc, struct op *op, bool ok)
{
	op->ok = ok;
	op->next = NULL;
	pthread_mutex_lock(&rpc->lock);
	*rpc->last = op;
	rpc->last = &op->next;
	pthread_mutex_unlock(&rpc->lock);
	event_ring(rpc->event);
}

static void *carry(void *arg)
{
	struct rpc *rpc = arg;

	for (;;) {
		grpc_event ev = grpc_completion_queue_next(
			rpc->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);

		if (ev.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (ev.type == GRPC_OP_COMPLETE)
			hand_over(rpc, ev.tag, ev.success);
	}
}

int rpc_fd(const struct rpc *rpc)
{
	return rpc->event;
}

void rpc_dispatch(struct rpc *rpc)
{
	struct op *op, *next;
	uint64_t n;

	if (read(rpc->event, &n, sizeof(n)) < 0)
		return;
	pthread_mutex_lock(&rpc->lock);
	op = rpc->done;
	rpc->done = NULL;
	rpc->last = &rpc->done;
	pthread_mutex_unlock(&rpc->lock);
	for (; op; op = next) {
		next = op->next;
		rpc->pending--;
		op->done(op, op->ok);
	}
}

bool rpc_batch(struct rpc *rpc, grpc_call *call, const grpc_op *ops, size_t n, struct op *op,
	       void (*done)(struct op *, bool))
{
	void *complete;
	bool begun;
	int ok;

	op->done = done;
	grpc_completion_queue_thread_local_cache_init(rpc->queue);
	begun = grpc_call_start_batch(call, ops, n, op, NULL) == GRPC_CALL_OK;
	rpc->pending += begun;
	/* What was there already, or could be sent at once, needs no other thread to say so. */
	if (grpc_completion_queue_thread_local_cache_flush(rpc->queue, &complete, &ok))
		hand_over(rpc, complete, ok);
	return begun;
}

int rpc_new(struct rpc **ret, struct err *err)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));
	sigset_t all, old;
	int r;

	if (!rpc)
		return fail(err, ENOMEM, "no memory");
	rpc->last = &rpc->done;
	rpc->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rpc->event < 0) {
		r = errno;
		free(rpc);
		return fail(err, r, "no descriptor: %s", strerror(r));
	}
	pthread_mutex_init(&rpc->lock, NULL);
	/* Signals are the main thread's; the core's threads take over the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* What peers do wrong is no news for our log; the core would tell it there in lines of its own. */
	setenv("GRPC_VERBOSITY", "NONE", 0);
	grpc_init();
	rpc->queue = grpc_completion_queue_create_for_next(NULL);
	r = pthread_create(&rpc->carrier, NULL, carry, rpc);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	rpc->carrying = !r;
	if (r) {
		rpc_free(rpc);
		return fail(err, r, "no thread for gRPC: %s", strerror(r));
	}
	*ret = rpc;
	return 0;
}

void rpc_free(struct rpc *rpc)
{
	uint64_t until = now_ms() + DRAIN_MS;

	if (!rpc)
		return;
	while (rpc->servers)
		rpc_server_close(rpc->servers);
	while (rpc->channels)
		rpc_channel_free(rpc->channels);
	while (rpc->carrying && rpc->pending && now_ms() < until) {
		struct pollfd p = { rpc->event, POLLIN, 0 };

		poll(&p, 1, (int)(until - now_ms()));
		rpc_dispatch(rpc);
	}
	grpc_completion_queue_shutdown(rpc->queue);
	if (rpc->carrying)
		pthread_join(rpc->carrier, NULL);
	grpc_completion_queue_destroy(rpc->queue);
	grpc_shutdown();
	close(rpc->event);
	pthread_mutex_destroy(&rpc->lock);
	free(rpc);
}

/* ---- bytes */

grpc_byte_buffer *rpc_buffer(const uint8_t *msg, size_t len)
{
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)msg, len);
	grpc_byte_buffer *b = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return b;
}

void rpc_buffer_free(grpc_byte_buffer **b)
{
	if (*b)
		grpc_byte_buffer_destroy(*b);
	*b = NULL;
}

bool rpc_buffer_text(grpc_byte_buffer *b, grpc_slice *ret)
{
	grpc_byte_buffer_reader reader;

	if (!b || !grpc_byte_buffer_reader_init(&reader, b))
		return false;
	*ret = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	return true;
}

grpc_arg rpc_integer(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}
