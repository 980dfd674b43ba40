// SPDX-License-Identifier: GPL-2.0-or-later
/* The client side: calls that we make. */
#include <errno.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#include "rpc_core.h"

struct rpc_channel {
	struct rpc *rpc;
	grpc_channel *core;
	LIST_ENTRY(rpc_channel) next;
	LIST_HEAD(, ask) asks;
};

struct ask {
	struct rpc_channel *channel; /* NULL once the channel is freed */
	grpc_call *core;
	LIST_ENTRY(ask) next;
	struct op done;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *out, *in;
	grpc_status_code status;
	grpc_slice why;
	rpc_answer *answer;
	void *ctx;
};

static void ask_free(struct ask *a)
{
	if (a->channel)
		LIST_REMOVE(a, next);
	grpc_call_unref(a->core);
	grpc_metadata_array_destroy(&a->initial);
	grpc_metadata_array_destroy(&a->trailing);
	grpc_slice_unref(a->why);
	rpc_buffer_free(&a->out);
	rpc_buffer_free(&a->in);
	free(a);
}

/* gRPC words this error by what it was doing at the time; we report one cause in one way. */
static bool hangs_up(const char *details)
{
	static const char *const words[] = { "Socket closed", "Stream removed", "Connection reset",
					     "Broken pipe" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(details, words[i]))
			return true;
	return false;
}

static void on_answer(struct op *op, bool ok)
{
	struct ask *a = container_of(op, struct ask, done);
	grpc_slice msg = grpc_empty_slice();
	bool whole = ok && a->status == GRPC_STATUS_OK && rpc_buffer_text(a->in, &msg);
	enum rpc_status status = whole			       ? RPC_OK
				 : a->status == GRPC_STATUS_OK ? RPC_INTERNAL
							       : (enum rpc_status)a->status;
	char *details = grpc_slice_to_c_string(a->why);
	const char *why = hangs_up(details) ? "it hangs up" : details;

	a->answer(a->ctx, status, why, GRPC_SLICE_START_PTR(msg), GRPC_SLICE_LENGTH(msg));
	gpr_free(details);
	grpc_slice_unref(msg);
	ask_free(a);
}

int rpc_channel_new(struct rpc *rpc, int fd, struct rpc_channel **ret, struct err *err)
{
	struct rpc_channel *ch = calloc(1, sizeof(*ch));
	grpc_channel_credentials *none = grpc_insecure_credentials_create();
	grpc_arg args[] = {
		/* As kubelet's own clients do; some HTTP/2 servers refuse a socket's path. */
		{ .type = GRPC_ARG_STRING,
		  .key = (char *)GRPC_ARG_DEFAULT_AUTHORITY,
		  .value.string = (char *)"localhost" },
		rpc_integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 16 * MESSAGE_MAX),
		rpc_integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
		rpc_integer(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
	};
	const grpc_channel_args all = { ARRAY_SIZE(args), args };

	if (ch)
		ch->core = grpc_channel_create_from_fd("localhost", fd, none, &all);
	else
		close(fd);
	grpc_channel_credentials_release(none);
	if (!ch)
		return fail_nomem(err);
	ch->rpc = rpc;
	LIST_INSERT_HEAD(&rpc->channels, ch, next);
	*ret = ch;
	return 0;
}

void rpc_channel_free(struct rpc_channel *ch)
{
	if (!ch)
		return;
	LIST_REMOVE(ch, next);
	for (struct ask *a = LIST_FIRST(&ch->asks); a; a = LIST_NEXT(a, next)) {
		a->channel = NULL;
		grpc_call_cancel(a->core, NULL);
	}
	grpc_channel_destroy(ch->core);
	free(ch);
}

int rpc_ask(struct rpc_channel *ch, const char *path, const uint8_t *msg, size_t len,
	    unsigned int deadline_ms, rpc_answer *answer, void *ctx, struct err *err)
{
	struct ask *a = calloc(1, sizeof(*a));
	gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					  gpr_time_from_millis(deadline_ms, GPR_TIMESPAN));
	grpc_op ops[6] = { 0 };

	if (!a)
		return fail_nomem(err);
	*a = (struct ask){ .channel = ch,
			   .answer = answer,
			   .ctx = ctx,
			   .why = grpc_empty_slice(),
			   .out = rpc_buffer(msg, len) };
	grpc_metadata_array_init(&a->initial);
	grpc_metadata_array_init(&a->trailing);
	a->core = grpc_channel_create_call(ch->core, NULL, GRPC_PROPAGATE_DEFAULTS, ch->rpc->queue,
					   grpc_slice_from_static_string(path), NULL, until, NULL);
	LIST_INSERT_HEAD(&ch->asks, a, next);
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = a->out;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &a->initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &a->in;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &a->trailing;
	ops[5].data.recv_status_on_client.status = &a->status;
	ops[5].data.recv_status_on_client.status_details = &a->why;
	if (rpc_batch(ch->rpc, a->core, ops, ARRAY_SIZE(ops), &a->done, on_answer))
		return 0;
	ask_free(a);
	return fail(err, EIO, "gRPC refuses to ask %s", path);
}
