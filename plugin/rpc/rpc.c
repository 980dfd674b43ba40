// SPDX-License-Identifier: GPL-2.0-or-later
/* One completion queue for all servers and channels, and one thread that waits for it and handles
 * completions. (The core has no descriptor that epoll could wait for.) */
#include <grpc/byte_buffer_reader.h>
#include <signal.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#include "client/loop.h"
#include "rpc_core.h"

enum { DRAIN_MS = 5000 };

static void put_done(struct rpc *rpc, struct op *op, bool ok)
{
	op->ok = ok;
	STAILQ_INSERT_TAIL(&rpc->done, op, next);
}

/* Runs at the end of a turn. Callbacks may add more ops. */
static void run_done(void *ctx)
{
	struct rpc *rpc = ctx;
	struct op *op;

	while ((op = STAILQ_FIRST(&rpc->done)) && !rpc->ended) {
		STAILQ_REMOVE_HEAD(&rpc->done, next);
		rpc->pending--;
		op->done(op, op->ok);
	}
}

static void *carry(void *arg)
{
	struct rpc *rpc = arg;

	for (;;) {
		grpc_event ev = grpc_completion_queue_next(
			rpc->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);

		if (ev.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (ev.type != GRPC_OP_COMPLETE)
			continue;
		loop_enter(rpc->loop);
		put_done(rpc, ev.tag, ev.success);
		if (rpc->ending)
			pthread_cond_signal(&rpc->came);
		loop_leave(rpc->loop);
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
	/* Ops that completed at once need not go through the other thread. */
	if (grpc_completion_queue_thread_local_cache_flush(rpc->queue, &complete, &ok))
		put_done(rpc, complete, ok);
	return begun;
}

int rpc_new(struct loop *loop, struct rpc **ret, struct err *err)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));
	sigset_t all, old;
	int r;

	if (!rpc)
		return fail_nomem(err);
	STAILQ_INIT(&rpc->done);
	rpc->loop = loop;
	cond_init(&rpc->came);
	loop->after = run_done;
	loop->after_ctx = rpc;
	/* Signals are the main thread's; the core's threads inherit the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* The core must not write about faulty peers into our log. */
	setenv("GRPC_VERBOSITY", "NONE", 0);
	/* This experiment makes each connection keep 8 KiB to read into, whatever
	 * GRPC_ARG_TCP_*_READ_CHUNK_SIZE says. */
	setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
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

static void drain(struct rpc *rpc)
{
	struct timespec until = in_ms(DRAIN_MS);
	int r = 0;

	rpc->ending = true;
	for (run_done(rpc); rpc->carrying && rpc->pending && !r; run_done(rpc))
		r = pthread_cond_timedwait(&rpc->came, &rpc->loop->turn, &until);
}

/* Ops that have not come back by now are abandoned. */
static void end_carrier(struct rpc *rpc)
{
	rpc->ended = true;
	grpc_completion_queue_shutdown(rpc->queue);
	loop_leave(rpc->loop);
	if (rpc->carrying)
		pthread_join(rpc->carrier, NULL);
	loop_enter(rpc->loop);
	rpc->loop->after = NULL;
}

void rpc_free(struct rpc *rpc)
{
	if (!rpc)
		return;
	while (!LIST_EMPTY(&rpc->servers))
		rpc_server_close(LIST_FIRST(&rpc->servers));
	while (!LIST_EMPTY(&rpc->channels))
		rpc_channel_free(LIST_FIRST(&rpc->channels));
	drain(rpc);
	end_carrier(rpc);
	grpc_completion_queue_destroy(rpc->queue);
	grpc_shutdown();
	pthread_cond_destroy(&rpc->came);
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
