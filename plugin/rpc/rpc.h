/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gRPC over unix sockets; only rpc*.c use its C core. All functions must be called, and call back,
 * in a turn of the loop (loop.h), on any thread that has it. The core's threads never call back. */
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

/* The status codes of gRPC that we use. */
enum rpc_status {
	RPC_OK = 0,
	RPC_INVALID_ARGUMENT = 3,
	RPC_FAILED_PRECONDITION = 9,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
};

struct rpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	/* Handles a whole request. Must answer, now or later, by rpc_reply() or rpc_fail(). A
	 * stream may call rpc_send() any number of times until rpc_fail() or the client's end. msg
	 * is valid during the call. */
	void (*handle)(struct rpc_call *call, const uint8_t *msg, size_t len);
	/* A stream is over: its client is gone, or rpc_fail(). The call must not be used any
	 * more. */
	void (*ended)(struct rpc_call *call);
};

/* Sets the loop's only `after`. The loop must outlive it. */
int rpc_new(struct loop *loop, struct rpc **ret, struct err *err);
/* First ends all servers, calls and channels, and leaves the turn to them meanwhile. */
void rpc_free(struct rpc *rpc);

/* Unknown methods are answered UNIMPLEMENTED, messages over 1 MiB RESOURCE_EXHAUSTED. The n methods
 * must live as long as the server. */
int rpc_server_new(struct rpc *rpc, const struct rpc_method *methods, size_t n, void *ctx,
		   struct rpc_server **ret, struct err *err);
/* Serves an accepted connection; the server owns the descriptor from then on. */
void rpc_server_connect(struct rpc_server *s, int fd);
/* Ends its calls and frees it. The calls' `ended` runs before this returns, never later. */
void rpc_server_close(struct rpc_server *s);

void *rpc_call_ctx(const struct rpc_call *call); /* the server's ctx */
/* The descriptor of the call's connection, only for finding out the peer; -1: unknown. */
int rpc_call_fd(const struct rpc_call *call);
void rpc_reply(struct rpc_call *call, const uint8_t *msg, size_t len);
void rpc_fail(struct rpc_call *call, enum rpc_status status, const char *why);
/* Sends one message of a stream. It replaces a message that has not been sent yet. */
void rpc_send(struct rpc_call *call, const uint8_t *msg, size_t len);

/* The result of rpc_ask(). msg is empty unless status is RPC_OK; why is never NULL. */
typedef void rpc_answer(void *ctx, enum rpc_status status, const char *why, const uint8_t *msg,
			size_t len);

/* Uses an existing connection; the channel owns the descriptor from then on. */
int rpc_channel_new(struct rpc *rpc, int fd, struct rpc_channel **ret, struct err *err);
/* Running calls are cancelled and answered. */
void rpc_channel_free(struct rpc_channel *ch);
/* Makes a call. `answer` runs once, in a later turn or at the end of this, within the deadline. */
int rpc_ask(struct rpc_channel *ch, const char *path, const uint8_t *msg, size_t len,
	    unsigned int deadline_ms, rpc_answer *answer, void *ctx, struct err *err);

#endif
