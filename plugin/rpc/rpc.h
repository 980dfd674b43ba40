/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gRPC over unix sockets; rpc*.c alone know its C core. Everything here is called, and calls back,
 * in a turn of the loop (loop.h), on whichever thread has it; the core's own threads never call
 * back.
 */
#ifndef PLUGIN_RPC_H
#define PLUGIN_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;
struct rpc;
struct rpc_call;
struct rpc_channel;
struct rpc_server;

/* Of gRPC's status codes, those that are said here. */
enum rpc_status {
	RPC_OK = 0,
	RPC_INVALID_ARGUMENT = 3,
	RPC_DEADLINE_EXCEEDED = 4,
	RPC_NOT_FOUND = 5,
	RPC_FAILED_PRECONDITION = 9,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
};

struct rpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	/* A whole request. To be answered, now or later, by rpc_reply(), rpc_fail() or, for a
	 * stream, by rpc_send() any number of times and rpc_fail() or the client's end. msg lives
	 * during the call. */
	void (*handle)(struct rpc_call *call, const uint8_t *msg, size_t len);
	/* A stream that has begun is over: client gone, or rpc_fail(). The call is not to be used
	 * after. */
	void (*ended)(struct rpc_call *call);
};

/* The loop has no other `after` and outlives it. */
int rpc_new(struct loop *loop, struct rpc **ret, struct err *err);
/* Ends what is left of servers, calls and channels first, and leaves the turn to them meanwhile. */
void rpc_free(struct rpc *rpc);

/* Unknown methods are answered UNIMPLEMENTED, messages over 1 MiB RESOURCE_EXHAUSTED. methods live
 * as long as the server, up to n. */
int rpc_server_new(struct rpc *rpc, const struct rpc_method *methods, size_t n, void *ctx,
		   struct rpc_server **ret, struct err *err);
/* A connection that was accepted; the descriptor is the server's from then on. */
void rpc_server_connect(struct rpc_server *s, int fd);
/* Ends its calls (their `ended` is called, but not after this returned) and frees it. */
void rpc_server_close(struct rpc_server *s);

void *rpc_call_ctx(const struct rpc_call *call); /* the server's */
/* The connection it came over, only to ask who is at its other end; -1: not known. */
int rpc_call_fd(const struct rpc_call *call);
void rpc_call_set(struct rpc_call *call, void *data); /* a place for the handler */
void *rpc_call_data(const struct rpc_call *call);
void rpc_reply(struct rpc_call *call, const uint8_t *msg, size_t len);
void rpc_fail(struct rpc_call *call, enum rpc_status status, const char *why);
/* One message of a stream. What was not sent yet when the next comes is dropped: the newest
 * counts. */
void rpc_send(struct rpc_call *call, const uint8_t *msg, size_t len);

/* What a client is told in the end; msg is empty unless status is RPC_OK, why is never NULL. */
typedef void rpc_answer(void *ctx, enum rpc_status status, const char *why, const uint8_t *msg,
			size_t len);

/* Over a connection that is there; the descriptor is the channel's from then on. */
int rpc_channel_new(struct rpc *rpc, int fd, struct rpc_channel **ret, struct err *err);
/* Calls that run are cancelled and answered. */
void rpc_channel_free(struct rpc_channel *ch);
/* Asks; `answer` is called once, in a later turn or at the end of this one, within the deadline. */
int rpc_ask(struct rpc_channel *ch, const char *path, const uint8_t *msg, size_t len,
	    unsigned int deadline_ms, rpc_answer *answer, void *ctx, struct err *err);

#endif
