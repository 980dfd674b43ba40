// SPDX-License-Identifier: GPL-2.0-or-later
/* The server side: calls that we answer. */
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#include "rpc_core.h"

enum { READ_CHUNK = 2048 };

struct rpc_server {
	struct rpc *rpc;
	grpc_server *core;
	const struct rpc_method *methods;
	size_t n;
	void *ctx; /* NULL once closed */
	LIST_ENTRY(rpc_server) next;
	LIST_HEAD(, rpc_call) calls;
	unsigned int refs; /* one for the caller, each call and each op below */
	bool closed;
	struct op accept, down;
	/* Filled when accept completes. */
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
};

struct rpc_call {
	struct rpc_server *server;
	grpc_call *core;
	const struct rpc_method *method; /* NULL: an unknown method */
	LIST_ENTRY(rpc_call) next;
	unsigned int refs; /* the handler's until it has answered, and one for each running op */
	struct op got, closed, sent;
	grpc_byte_buffer *in, *newest; /* newest: waits until the previous message is sent */
	grpc_slice why;
	enum rpc_status status;
	int cancelled;
	bool handed; /* passed to the handler; neither answered nor ended yet */
	bool asked;  /* the handler was called */
	bool sending, begun, failing, over;
};

static void server_unref(struct rpc_server *s)
{
	if (--s->refs)
		return;
	grpc_server_destroy(s->core);
	grpc_call_details_destroy(&s->details);
	grpc_metadata_array_destroy(&s->metadata);
	free(s);
}

static void call_unref(struct rpc_call *c)
{
	if (--c->refs)
		return;
	LIST_REMOVE(c, next);
	grpc_call_unref(c->core);
	grpc_slice_unref(c->why);
	rpc_buffer_free(&c->in);
	rpc_buffer_free(&c->newest);
	server_unref(c->server);
	free(c);
}

static bool call_batch(struct rpc_call *c, const grpc_op *ops, size_t n, struct op *op,
		       void (*done)(struct op *, bool))
{
	if (!rpc_batch(c->server->rpc, c->core, ops, n, op, done))
		return false;
	c->refs++;
	return true;
}

static void on_sent(struct op *op, bool ok);

/* Sends the next message, or the end. Only one batch runs at a time. */
static void send_next(struct rpc_call *c)
{
	grpc_op ops[3] = { 0 };
	size_t n = 0;

	if (c->sending || (!c->newest && !c->failing))
		return;
	if (!c->begun)
		ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
	if (c->newest) {
		ops[n].op = GRPC_OP_SEND_MESSAGE;
		ops[n++].data.send_message.send_message = c->newest;
	}
	if (c->failing) {
		ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
		ops[n].data.send_status_from_server.status = (grpc_status_code)c->status;
		ops[n++].data.send_status_from_server.status_details = &c->why;
	}
	c->begun = true;
	c->sending = call_batch(c, ops, n, &c->sent, on_sent);
	c->failing = false;
	rpc_buffer_free(&c->newest); /* the core keeps what it needs */
}

static void on_sent(struct op *op, bool ok)
{
	struct rpc_call *c = container_of(op, struct rpc_call, sent);

	(void)ok; /* `closed` reports that the client is gone */
	c->sending = false;
	send_next(c);
	call_unref(c);
}

/* Drops the handler's reference. */
static void let_go(struct rpc_call *c)
{
	if (c->handed) {
		c->handed = false;
		call_unref(c);
	}
}

static void finish(struct rpc_call *c, enum rpc_status status, const char *why)
{
	c->status = status;
	grpc_slice_unref(c->why);
	c->why = grpc_slice_from_copied_string(why);
	c->failing = true;
	send_next(c);
	let_go(c);
}

void rpc_reply(struct rpc_call *c, const uint8_t *msg, size_t len)
{
	rpc_buffer_free(&c->newest);
	c->newest = rpc_buffer(msg, len);
	finish(c, RPC_OK, "");
}

void rpc_fail(struct rpc_call *c, enum rpc_status status, const char *why)
{
	rpc_buffer_free(&c->newest);
	finish(c, status, why);
}

void rpc_send(struct rpc_call *c, const uint8_t *msg, size_t len)
{
	if (c->over)
		return;
	rpc_buffer_free(&c->newest);
	c->newest = rpc_buffer(msg, len);
	send_next(c);
}

void *rpc_call_ctx(const struct rpc_call *c)
{
	return c->server->ctx;
}

int rpc_call_fd(const struct rpc_call *c)
{
	/* The core's name for the peer of a connection made from a descriptor. */
	static const char prefix[] = "fd:";
	char *peer = grpc_call_get_peer(c->core);
	uint64_t fd;
	bool known = peer && !strncmp(peer, prefix, strlen(prefix)) &&
		     !parse_u64(peer + strlen(prefix), INT_MAX, &fd);

	gpr_free(peer);
	return known ? (int)fd : -1;
}

/* Ends a stream whose client is gone. A unary call must still be answered by its handler. */
static void end_stream(struct rpc_call *c)
{
	if (c->over)
		return;
	c->over = true;
	if (!c->handed || !c->asked || !c->method->ended)
		return;
	c->method->ended(c);
	if (c->handed)
		finish(c, RPC_UNAVAILABLE, "the stream has ended");
}

static void on_closed(struct op *op, bool ok)
{
	struct rpc_call *c = container_of(op, struct rpc_call, closed);

	end_stream(c);
	call_unref(c);
}

static void on_message(struct op *op, bool ok)
{
	struct rpc_call *c = container_of(op, struct rpc_call, got);
	grpc_slice msg;

	if (c->server->closed || c->over) {
		rpc_fail(c, RPC_UNAVAILABLE, "nobody asks, or nobody answers, any more");
	} else if (!ok || !rpc_buffer_text(c->in, &msg)) {
		rpc_fail(c, RPC_INVALID_ARGUMENT, "an announced message did not arrive");
	} else {
		c->asked = true;
		c->method->handle(c, GRPC_SLICE_START_PTR(msg), GRPC_SLICE_LENGTH(msg));
		grpc_slice_unref(msg);
	}
	call_unref(c);
}

static const struct rpc_method *method_of(const struct rpc_server *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!grpc_slice_str_cmp(s->details.method, s->methods[i].path))
			return &s->methods[i];
	return NULL;
}

static void begin_call(struct rpc_server *s)
{
	struct rpc_call *c = calloc(1, sizeof(*c));
	grpc_op op = { 0 };

	if (!c) {
		grpc_call_cancel(s->call, NULL);
		grpc_call_unref(s->call);
		return;
	}
	*c = (struct rpc_call){ .server = s,
				.core = s->call,
				.method = method_of(s),
				.refs = 1,
				.why = grpc_empty_slice(),
				.handed = true };
	LIST_INSERT_HEAD(&s->calls, c, next);
	s->refs++;
	op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
	op.data.recv_close_on_server.cancelled = &c->cancelled;
	call_batch(c, &op, 1, &c->closed, on_closed);
	if (!c->method) {
		rpc_fail(c, RPC_UNIMPLEMENTED, "no such method");
		return;
	}
	op = (grpc_op){ .op = GRPC_OP_RECV_MESSAGE };
	op.data.recv_message.recv_message = &c->in;
	if (!call_batch(c, &op, 1, &c->got, on_message))
		rpc_fail(c, RPC_INTERNAL, "no message can be read");
}

static void request_call(struct rpc_server *s);

static void on_accept(struct op *op, bool ok)
{
	struct rpc_server *s = container_of(op, struct rpc_server, accept);

	if (ok && !s->closed) {
		begin_call(s);
	} else if (ok) {
		grpc_call_cancel(s->call, NULL);
		grpc_call_unref(s->call);
	}
	grpc_call_details_destroy(&s->details);
	grpc_metadata_array_destroy(&s->metadata);
	request_call(s);
	server_unref(s);
}

/* One request is always outstanding, so no client hangs at a method that nobody serves. */
static void request_call(struct rpc_server *s)
{
	grpc_call_details_init(&s->details);
	grpc_metadata_array_init(&s->metadata);
	if (s->closed)
		return;
	s->accept.done = on_accept;
	if (grpc_server_request_call(s->core, &s->call, &s->details, &s->metadata, s->rpc->queue,
				     s->rpc->queue, &s->accept) != GRPC_CALL_OK)
		return;
	s->rpc->pending++;
	s->refs++;
}

int rpc_server_new(struct rpc *rpc, const struct rpc_method *methods, size_t n, void *ctx,
		   struct rpc_server **ret, struct err *err)
{
	struct rpc_server *s = calloc(1, sizeof(*s));
	grpc_arg args[] = {
		rpc_integer(GRPC_ARG_MAX_CONCURRENT_STREAMS, 64),
		rpc_integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_MAX),
		/* kubelet never compresses; the limit above does not bound the unpacked size. */
		rpc_integer(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
			    1 << GRPC_COMPRESS_NONE),
		/* Each connection keeps a buffer of this size; kubelet's requests are shorter. */
		rpc_integer(GRPC_ARG_TCP_READ_CHUNK_SIZE, READ_CHUNK),
		rpc_integer(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, READ_CHUNK),
		rpc_integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
		rpc_integer(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
	};
	const grpc_channel_args all = { ARRAY_SIZE(args), args };

	if (!s)
		return fail_nomem(err);
	*s = (struct rpc_server){
		.rpc = rpc, .methods = methods, .n = n, .ctx = ctx, .refs = 1
	};
	s->core = grpc_server_create(&all, NULL);
	grpc_server_register_completion_queue(s->core, rpc->queue, NULL);
	grpc_server_start(s->core);
	request_call(s);
	LIST_INSERT_HEAD(&rpc->servers, s, next);
	*ret = s;
	return 0;
}

void rpc_server_connect(struct rpc_server *s, int fd)
{
	grpc_server_credentials *none = grpc_insecure_server_credentials_create();

	grpc_server_add_channel_from_fd(s->core, fd, none);
	grpc_server_credentials_release(none);
}

static void on_down(struct op *op, bool ok)
{
	server_unref(container_of(op, struct rpc_server, down));
}

void rpc_server_close(struct rpc_server *s)
{
	LIST_REMOVE(s, next);
	s->closed = true;
	for (struct rpc_call *c = LIST_FIRST(&s->calls), *next; c; c = next) {
		next = LIST_NEXT(c, next);
		end_stream(c);
	}
	s->ctx = NULL;
	s->down.done = on_down;
	s->rpc->pending++;
	s->refs++;
	grpc_server_shutdown_and_notify(s->core, s->rpc->queue, &s->down);
	grpc_server_cancel_all_calls(s->core);
	server_unref(s);
}
