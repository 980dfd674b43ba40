/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of rpc.h. */
#ifndef PLUGIN_RPC_CORE_H
#define PLUGIN_RPC_CORE_H

#include <grpc/grpc.h>
#include <pthread.h>
#include <sys/queue.h>

#include "rpc.h"

enum { MESSAGE_MAX = 1 << 20 };

/* An operation of the core; its address is the tag. */
struct op {
	void (*done)(struct op *op, bool ok);
	STAILQ_ENTRY(op) next;
	bool ok;
};

struct rpc {
	grpc_completion_queue *queue;
	struct loop *loop;
	pthread_t carrier;
	pthread_cond_t came; /* signalled when an op comes back during rpc_free() */
	bool carrying, ending, ended;
	STAILQ_HEAD(, op) done; /* completed at once; handled at the end of this turn */
	size_t pending;		/* ops that have not completed */
	LIST_HEAD(, rpc_server) servers;
	LIST_HEAD(, rpc_channel) channels;
};

/* Starts a batch. Returns true if it was started: done() will then be called. */
bool rpc_batch(struct rpc *rpc, grpc_call *call, const grpc_op *ops, size_t n, struct op *op,
	       void (*done)(struct op *, bool));

grpc_byte_buffer *rpc_buffer(const uint8_t *msg, size_t len);
void rpc_buffer_free(grpc_byte_buffer **b);
/* Gets the whole message in one piece; false: none came, or it cannot be unpacked. If true, the
 * caller must unref *ret. */
bool rpc_buffer_text(grpc_byte_buffer *b, grpc_slice *ret);
grpc_arg rpc_integer(const char *key, int value);

#endif
