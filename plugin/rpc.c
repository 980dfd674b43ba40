// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One completion queue for all servers and channels, and one thread that only carries what is complete to
 * the caller's thread, where all work is done (the core has no descriptor that epoll could wait for).
 */
#include "rpc.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

enum { MESSAGE_MAX = 1 << 20, DRAIN_MS = 5000 };

/* What the core is asked to do; the tag is its address. */
struct op {
	void (*done)(struct op *op, bool ok);
	struct op *next;
	bool ok;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct rpc {
	grpc_completion_queue *queue;
	pthread_t carrier;
	bool carrying;
	int event;
	pthread_mutex_t lock; /* guards done, last */
	struct op *done, **last;
	size_t pending; /* ops that have not come back */
	struct rpc_server *servers;
	struct rpc_channel *channels;
};

struct rpc_server {
	struct rpc *rpc;
	grpc_server *core;
	const struct rpc_method *methods;
	size_t n;
	void *ctx; /* NULL once it is closed */
	struct rpc_server *next;
	struct rpc_call *calls;
	unsigned int refs; /* the caller's, one for each call, one for each op below */
	bool closed;
	struct op accept, down;
	/* Filled when accept comes back. */
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
};

struct rpc_call {
	struct rpc_server *server;
	grpc_call *core;
	const struct rpc_method *method; /* NULL: none that we know */
	struct rpc_call *next;
	unsigned int refs; /* the handler's until it has answered, one for each op that runs */
	struct op got, closed, sent;
	grpc_byte_buffer *in, *newest; /* newest: to be sent when the one before it is */
	grpc_slice why;
	enum rpc_status status;
	int cancelled;
	bool handed; /* neither answered nor ended yet */
	bool asked;  /* the handler has seen it */
	bool sending, begun, failing, over;
	void *data;
};

struct rpc_channel {
	struct rpc *rpc;
	grpc_channel *core;
	struct rpc_channel *next;
	struct ask *asks;
};

struct ask {
	struct rpc_channel *channel; /* NULL once that is freed */
	grpc_call *core;
	struct ask *next;
	struct op done;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *out, *in;
	grpc_status_code status;
	grpc_slice why;
	rpc_answer *answer;
	void *ctx;
};

/* ---- the queue */

static void *carry(void *arg)
{
	struct rpc *rpc = arg;
	const uint64_t one = 1;

	for (;;) {
		grpc_event ev = grpc_completion_queue_next(rpc->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		struct op *op = ev.tag;

		if (ev.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (ev.type != GRPC_OP_COMPLETE)
			continue;
		op->ok = ev.success;
		op->next = NULL;
		pthread_mutex_lock(&rpc->lock);
		*rpc->last = op;
		rpc->last = &op->next;
		pthread_mutex_unlock(&rpc->lock);
		if (write(rpc->event, &one, sizeof(one)) < 0) {
			/* Its counter is at its limit: it is readable already. */
		}
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

/* Returns whether it was begun: then done() will be called. */
static bool batch(struct rpc *rpc, grpc_call *call, const grpc_op *ops, size_t n, struct op *op,
		  void (*done)(struct op *, bool))
{
	op->done = done;
	if (grpc_call_start_batch(call, ops, n, op, NULL) != GRPC_CALL_OK)
		return false;
	rpc->pending++;
	return true;
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

static grpc_byte_buffer *buffer_new(const uint8_t *msg, size_t len)
{
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)msg, len);
	grpc_byte_buffer *b = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return b;
}

static void buffer_free(grpc_byte_buffer **b)
{
	if (*b)
		grpc_byte_buffer_destroy(*b);
	*b = NULL;
}

/* The whole message in one piece; false: none came, or it cannot be unpacked. To be unref'd if true. */
static bool buffer_text(grpc_byte_buffer *b, grpc_slice *ret)
{
	grpc_byte_buffer_reader reader;

	if (!b || !grpc_byte_buffer_reader_init(&reader, b))
		return false;
	*ret = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	return true;
}

/* ---- servers */

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
	struct rpc_call **at = &c->server->calls;

	if (--c->refs)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	grpc_call_unref(c->core);
	grpc_slice_unref(c->why);
	buffer_free(&c->in);
	buffer_free(&c->newest);
	server_unref(c->server);
	free(c);
}

static bool call_batch(struct rpc_call *c, const grpc_op *ops, size_t n, struct op *op,
		       void (*done)(struct op *, bool))
{
	if (!batch(c->server->rpc, c->core, ops, n, op, done))
		return false;
	c->refs++;
	return true;
}

static void on_sent(struct op *op, bool ok);

/* What is next to go out: a message, or the end. One at a time. */
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
	buffer_free(&c->newest); /* the core keeps what it needs */
}

static void on_sent(struct op *op, bool ok)
{
	struct rpc_call *c = container_of(op, struct rpc_call, sent);

	(void)ok; /* that the client is gone, `closed` says */
	c->sending = false;
	send_next(c);
	call_unref(c);
}

/* The handler is rid of it. */
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
	buffer_free(&c->newest);
	c->newest = buffer_new(msg, len);
	finish(c, RPC_OK, "");
}

void rpc_fail(struct rpc_call *c, enum rpc_status status, const char *why)
{
	buffer_free(&c->newest);
	finish(c, status, why);
}

void rpc_send(struct rpc_call *c, const uint8_t *msg, size_t len)
{
	if (c->over)
		return;
	buffer_free(&c->newest);
	c->newest = buffer_new(msg, len);
	send_next(c);
}

void *rpc_call_ctx(const struct rpc_call *c)
{
	return c->server->ctx;
}

void rpc_call_set(struct rpc_call *c, void *data)
{
	c->data = data;
}

void *rpc_call_data(const struct rpc_call *c)
{
	return c->data;
}

/* A stream whose client is gone. What is unary is still to be answered: its handler works on it. */
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

	(void)ok;
	end_stream(c);
	call_unref(c);
}

static void on_message(struct op *op, bool ok)
{
	struct rpc_call *c = container_of(op, struct rpc_call, got);
	grpc_slice msg;

	if (c->server->closed || c->over) {
		rpc_fail(c, RPC_UNAVAILABLE, "nobody asks, or nobody answers, any more");
	} else if (!ok || !buffer_text(c->in, &msg)) {
		rpc_fail(c, RPC_INVALID_ARGUMENT, "a message was announced and did not come");
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
	grpc_op op = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER };

	if (!c) {
		grpc_call_cancel(s->call, NULL);
		grpc_call_unref(s->call);
		return;
	}
	*c = (struct rpc_call){ .server = s, .core = s->call, .method = method_of(s), .next = s->calls,
				.refs = 1, .why = grpc_empty_slice(), .handed = true };
	s->calls = c;
	s->refs++;
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

/* One is always outstanding: a method that nobody waits for would hang its client. */
static void request_call(struct rpc_server *s)
{
	grpc_call_details_init(&s->details);
	grpc_metadata_array_init(&s->metadata);
	if (s->closed)
		return;
	s->accept.done = on_accept;
	if (grpc_server_request_call(s->core, &s->call, &s->details, &s->metadata, s->rpc->queue, s->rpc->queue,
				     &s->accept) != GRPC_CALL_OK)
		return;
	s->rpc->pending++;
	s->refs++;
}

static grpc_arg integer(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}

int rpc_server_new(struct rpc *rpc, const struct rpc_method *methods, size_t n, void *ctx,
		   struct rpc_server **ret, struct err *err)
{
	struct rpc_server *s = calloc(1, sizeof(*s));
	grpc_arg args[] = {
		integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_MAX),
		integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
		integer(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
	};
	const grpc_channel_args all = { ARRAY_SIZE(args), args };

	if (!s)
		return fail(err, ENOMEM, "no memory for a server");
	*s = (struct rpc_server){ .rpc = rpc, .methods = methods, .n = n, .ctx = ctx, .refs = 1,
				  .next = rpc->servers };
	s->core = grpc_server_create(&all, NULL);
	grpc_server_register_completion_queue(s->core, rpc->queue, NULL);
	grpc_server_start(s->core);
	request_call(s);
	rpc->servers = s;
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
	(void)ok;
	server_unref(container_of(op, struct rpc_server, down));
}

void rpc_server_close(struct rpc_server *s)
{
	struct rpc_server **at = &s->rpc->servers;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->closed = true;
	for (struct rpc_call *c = s->calls, *next; c; c = next) {
		next = c->next;
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

/* ---- channels */

static void ask_free(struct ask *a)
{
	struct ask **at = a->channel ? &a->channel->asks : NULL;

	while (at && *at != a)
		at = &(*at)->next;
	if (at)
		*at = a->next;
	grpc_call_unref(a->core);
	grpc_metadata_array_destroy(&a->initial);
	grpc_metadata_array_destroy(&a->trailing);
	grpc_slice_unref(a->why);
	buffer_free(&a->out);
	buffer_free(&a->in);
	free(a);
}

static void on_answer(struct op *op, bool ok)
{
	struct ask *a = container_of(op, struct ask, done);
	grpc_slice msg = grpc_empty_slice();
	bool whole = ok && a->status == GRPC_STATUS_OK && buffer_text(a->in, &msg);
	enum rpc_status status = whole ? RPC_OK : a->status == GRPC_STATUS_OK ? RPC_INTERNAL :
									      (enum rpc_status)a->status;
	char *why = grpc_slice_to_c_string(a->why);

	a->answer(a->ctx, status, why, GRPC_SLICE_START_PTR(msg), GRPC_SLICE_LENGTH(msg));
	gpr_free(why);
	grpc_slice_unref(msg);
	ask_free(a);
}

int rpc_channel_new(struct rpc *rpc, int fd, struct rpc_channel **ret, struct err *err)
{
	struct rpc_channel *ch = calloc(1, sizeof(*ch));
	grpc_channel_credentials *none = grpc_insecure_credentials_create();
	grpc_arg args[] = {
		/* What kubelet's own clients say; the path of a socket is refused by some HTTP/2 servers. */
		{ .type = GRPC_ARG_STRING, .key = (char *)GRPC_ARG_DEFAULT_AUTHORITY, .value.string = (char *)"localhost" },
		integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 16 * MESSAGE_MAX),
		integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
		integer(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
	};
	const grpc_channel_args all = { ARRAY_SIZE(args), args };

	if (ch)
		ch->core = grpc_channel_create_from_fd("localhost", fd, none, &all);
	else
		close(fd);
	grpc_channel_credentials_release(none);
	if (!ch)
		return fail(err, ENOMEM, "no memory for a channel");
	ch->rpc = rpc;
	ch->next = rpc->channels;
	rpc->channels = ch;
	*ret = ch;
	return 0;
}

void rpc_channel_free(struct rpc_channel *ch)
{
	struct rpc_channel **at;

	if (!ch)
		return;
	at = &ch->rpc->channels;
	while (*at != ch)
		at = &(*at)->next;
	*at = ch->next;
	for (struct ask *a = ch->asks; a; a = a->next) {
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
		return fail(err, ENOMEM, "no memory for a request");
	*a = (struct ask){ .channel = ch, .next = ch->asks, .answer = answer, .ctx = ctx,
			   .why = grpc_empty_slice(), .out = buffer_new(msg, len) };
	grpc_metadata_array_init(&a->initial);
	grpc_metadata_array_init(&a->trailing);
	a->core = grpc_channel_create_call(ch->core, NULL, GRPC_PROPAGATE_DEFAULTS, ch->rpc->queue,
					   grpc_slice_from_static_string(path), NULL, until, NULL);
	ch->asks = a;
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
	if (batch(ch->rpc, a->core, ops, ARRAY_SIZE(ops), &a->done, on_answer))
		return 0;
	ask_free(a);
	return fail(err, EIO, "gRPC refuses to ask %s", path);
}
