// SPDX-License-Identifier: GPL-2.0-or-later
/* The methods of a resource's server. */
#include "resource.h"

#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/devices.h"
#include "plugin.h"
#include "plugin/rpc/rpc.h"
#include "client/mirror.h"

enum {
	BRIEF_MS = 1000,
	STREAM_MS = 10000, /* kubelet has said yes, but does not open its stream */
	TRIM_MS = 5000,
};

static void reply(struct rpc_call *call, int e, const struct err *err, struct out *o)
{
	if (e || o->failed)
		rpc_fail(call, e ? RPC_INVALID_ARGUMENT : RPC_INTERNAL,
			 e ? err->text : "no memory");
	else
		rpc_reply(call, (const uint8_t *)out_text(o), o->len);
	out_free(o);
}

static void options_handle(struct rpc_call *call, const uint8_t *msg, size_t len)
{
	struct out o = { 0 };

	(void)msg; /* Empty; fields of later versions are ignored */
	answer_options(&o);
	reply(call, 0, NULL, &o);
}

static void list_handle(struct rpc_call *call, const uint8_t *msg, size_t len)
{
	struct resource *r = rpc_call_ctx(call);

	if (r->n_streams == STREAMS_MAX) {
		rpc_fail(call, RPC_FAILED_PRECONDITION, "too many listen already");
		return;
	}
	r->streams[r->n_streams++] = call;
	if (!r->main && (r->telling || r->heard) &&
	    kubelet_is_at(r->p->kubelet, rpc_call_fd(call))) {
		r->main = call;
		r->since = now_ms();
		r->again.at = UINT64_MAX;
	}
	rpc_send(call, (uint8_t *)out_text(&r->list), r->list.len);
	/* Each kubelet dials all resources at once while the connections of the last one are
	 * closed. With 200 resources malloc() keeps some MiB of that. Trimming takes some ms: not
	 * while pods wait. */
	r->p->trim.at = now_ms() + TRIM_MS;
}

static void drop_stream(struct resource *r, const struct rpc_call *call)
{
	for (size_t i = 0; i < r->n_streams; i++)
		if (r->streams[i] == call) {
			r->streams[i] = r->streams[--r->n_streams];
			break;
		}
}

void resource_hang_up(struct resource *r, const char *why)
{
	struct rpc_call *call = r->main;

	if (!call)
		return;
	r->main = NULL;
	drop_stream(r, call);
	rpc_fail(call, RPC_UNAVAILABLE, why);
}

/* The stream ended: kubelet has forgotten us, or is gone. If it lasted only briefly we pause, else
 * such a client would make us register without a pause. */
static void tell_again(struct resource *r)
{
	uint64_t lasted = now_ms() - r->since;

	r->heard = r->telling = false;
	if (lasted >= BRIEF_MS) {
		r->pause = r->brief = 0;
		r->again.at = now_ms();
		return;
	}
	resource_again(r);
	if (++r->brief == 2 && r->wanted)
		say("kubelet listened to %s for only %u ms; registered again in %u ms, then less "
		    "and less often",
		    r->name, (unsigned int)lasted, r->pause);
}

static void list_ended(struct rpc_call *call)
{
	struct resource *r = rpc_call_ctx(call);

	drop_stream(r, call);
	if (call != r->main)
		return;
	r->main = NULL;
	tell_again(r);
}

bool resource_is_news(struct resource *r, const char *why)
{
	char *copy = r->refused && !strcmp(r->refused, why) ? NULL : strdup(why);

	if (!copy)
		return false;
	free(r->refused);
	r->refused = copy;
	return true;
}

void resource_heard(struct resource *r, const char *why)
{
	r->telling = false;
	r->heard = !why;
	if (!why) {
		free(r->refused);
		r->refused = NULL;
	}
	if (r->main)
		return;
	if (!why && r->again.at == UINT64_MAX)
		r->again.at = now_ms() + plugin_deadline(r->p, STREAM_MS);
	else if (!why)
		r->heard = false; /* it listened and hung up before it said yes */
	if (!why)
		return;
	resource_again(r);
	if (resource_is_news(r, why))
		say("kubelet does not accept %s: %s; asked again in %u ms, then less and less often",
		    r->name, why, r->pause);
}

static void preferred_handle(struct rpc_call *call, const uint8_t *msg, size_t len)
{
	struct resource *r = rpc_call_ctx(call);
	struct devices *t = mirror_lock(r->p->tree);
	struct err err = { 0 };
	struct out o = { 0 };
	int e = answer_preferred(t, r->name, msg, len, &o, &err);

	mirror_unlock(r->p->tree);
	reply(call, e, &err, &o);
}

static void allocate_handle(struct rpc_call *call, const uint8_t *msg, size_t len)
{
	struct resource *r = rpc_call_ctx(call);

	allocate_begin(r->p, r->name, call, msg, len);
}

static void prestart_handle(struct rpc_call *call, const uint8_t *msg, size_t len)
{
	struct resource *r = rpc_call_ctx(call);

	allocate_prestart(r->p, r->name, call, msg, len);
}

static const struct rpc_method methods[] = {
	{ "/v1beta1.DevicePlugin/GetDevicePluginOptions", options_handle, NULL },
	{ "/v1beta1.DevicePlugin/ListAndWatch", list_handle, list_ended },
	{ "/v1beta1.DevicePlugin/GetPreferredAllocation", preferred_handle, NULL },
	{ "/v1beta1.DevicePlugin/Allocate", allocate_handle, NULL },
	{ "/v1beta1.DevicePlugin/PreStartContainer", prestart_handle, NULL },
};

int resource_serve(struct resource *r, struct err *err)
{
	return rpc_server_new(r->p->rpc, methods, ARRAY_SIZE(methods), r, &r->server, err);
}
