/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of rpc.h share. */
#ifndef PLUGIN_RPC_CORE_H
#define PLUGIN_RPC_CORE_H

#include <grpc/grpc.h>
#include <pthread.h>

#include "rpc.h"

enum { MESSAGE_MAX = 1 << 20 };

/* What the core is asked to do; the tag is its address. */
struct op {
	void (*done)(struct op *op, bool ok);
	struct op *next;
	bool ok;
};

struct rpc {
	grpc_completion_queue *queue;
	struct loop *loop;
	pthread_t carrier;
	pthread_cond_t came; /* an op came back while it is freed */
	bool carrying, ending, ended;
	struct op *done, **last; /* came back at once; it is their turn when this one ends */
	size_t pending;		 /* ops that have not come back */
	struct rpc_server *servers;
	struct rpc_channel *channels;
};

/* Begins a batch. Returns whether it was begun: then done() will be called. */
bool rpc_batch(struct rpc *rpc, grpc_call *call, const grpc_op *ops, size_t n, struct op *op,
	       void (*done)(struct op *, bool));

grpc_byte_buffer *rpc_buffer(const uint8_t *msg, size_t len);
void rpc_buffer_free(grpc_byte_buffer **b);
/* The whole message in one piece; false: none came, or it cannot be unpacked. To be unref'd if
 * true. */
bool rpc_buffer_text(grpc_byte_buffer *b, grpc_slice *ret);
grpc_arg rpc_integer(const char *key, int value);

#endif
