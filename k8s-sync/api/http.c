// SPDX-License-Identifier: GPL-2.0-or-later
#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "client/loop.h"
#include "access.h"
#include "pace.h"
#include "pcidevfs/util.h"
#include "wire.h"

enum {
	FLIGHT_MAX = 64, /* of the bulk */
	FLIGHT_SOON_MAX = 80,
	SILENT_MS = 20000, /* a request is under way, and nothing comes of any */
	LOOK_MS = 90000,   /* nothing comes of the watches: bookmarks do, every minute */
	DOUBT_MS = 1000,
	BACK_MS = 20000,
	CERTIFICATE_MS = 20000, /* another one may be there */
};

struct api {
	struct access access;
	unsigned int identity; /* another number: another secret */
	struct multi multi;
	struct source turn; /* to send what waits */
	struct queue queue;
	LIST_HEAD(, wire) wires;
	size_t flying; /* requests that count for FLIGHT_MAX */
	struct pace pace;
	uint64_t heard; /* ms: when the last byte came */
	uint64_t doubt; /* ms: since when it seems to come too late; 0: it does not */
	uint64_t back;	/* ms: when it was back again; 0: it was never away */
	bool looking;
	struct source certificate;
	void (*say_expiry)(void *ctx, const char *sentence);
	void *expiry_ctx;
	long version; /* of HTTP in the last answer; 0: none came yet */
};

struct call *call_new(const char *method, struct out *path, const char *type, char *body)
{
	struct call *c = path->failed || (type && !body) ? NULL : calloc(1, sizeof(*c));

	if (!c) {
		out_free(path);
		free(body);
		return NULL;
	}
	*c = (struct call){ .method = method, .path = path->data, .type = type, .body = body };
	return c;
}

void call_free(struct call *c)
{
	if (!c)
		return;
	free(c->path);
	free(c->body);
	free(c);
}

/* ---- one request */

static void finish(struct api *a, struct wire *w, CURLcode code);

/* A watch is answered long before it ends. */
static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
	struct wire *w = ctx;
	long status = 0;

	w->api->heard = now_ms();
	if (!w->api->version)
		source_by(&w->api->turn, 0);
	curl_easy_getinfo(w->easy, CURLINFO_HTTP_VERSION, &w->api->version);
	curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &status);
	if (w->call->document && status == 200 && !w->answered) {
		w->answered = true;
		pace_back(&w->api->pace);
		source_by(&w->api->turn, 0);
		w->call->begun(w->call);
	}
	return n;
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
	struct wire *w = ctx;

	w->api->heard = now_ms();
	return intake_feed(&w->intake, bytes, n) || w->call->over ? 0 : n;
}

static void on_document(void *ctx, json_object *doc)
{
	struct wire *w = ctx;
	long status = 0;

	curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200) {
		w->call->document(w->call, doc);
		return;
	}
	json_object_put(w->intake.one); /* a refusal of the watch */
	w->intake.one = json_object_get(doc);
}

static void wire_free(struct wire *w)
{
	LIST_REMOVE(w, next);
	if (w->easy)
		curl_multi_remove_handle(w->api->multi.curl, w->easy);
	if (!w->call->document)
		w->api->flying--;
	wire_release(w);
	free(w);
}

static bool launch(struct wire *w)
{
	w->easy = curl_easy_init();
	if (!w->easy || intake_open(&w->intake, w->call->document) ||
	    !wire_prepare(w, &w->api->access, w->api->version >= CURL_HTTP_VERSION_2_0))
		return false;
	w->intake.document = on_document;
	w->intake.ctx = w;
	curl_easy_setopt(w->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(w->easy, CURLOPT_HEADERDATA, w);
	curl_easy_setopt(w->easy, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(w->easy, CURLOPT_WRITEDATA, w);
	return !curl_multi_add_handle(w->api->multi.curl, w->easy);
}

/* Full jitter: a hundred nodes do not come back at once. */
static void go_away(struct api *a, unsigned int seconds)
{
	unsigned int r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = 0;
	pace_away(&a->pace, now_ms(), seconds, r);
}

static void start(struct api *a, struct call *c)
{
	struct wire *w = calloc(1, sizeof(*w));
	struct reply none = { .away = true };

	if (w) {
		c->over = false;
		c->wire = w;
		*w = (struct wire){ .api = a, .call = c, .since = now_ms() };
		w->identity = a->identity;
		LIST_INSERT_HEAD(&a->wires, w, next);
		if (!c->document)
			a->flying++;
		if (launch(w)) {
			source_by(&a->turn, w->since + SILENT_MS);
			return;
		}
		c->wire = NULL;
		wire_free(w);
	}
	go_away(a, 0);
	fail_nomem(&none.err);
	c->done(c, &none);
}

/* ---- the queue */

/* A watch has no time limit, but its answer begins at once. */
static void end_deaf(struct api *a, uint64_t now)
{
	for (struct wire *w = LIST_FIRST(&a->wires); w; w = LIST_NEXT(w, next)) {
		uint64_t end = w->since + WIRE_ANSWER_MS;

		if (!w->answered && now >= end) {
			finish(a, w, CURLE_OPERATION_TIMEDOUT);
			return;
		}
		if (!w->answered)
			source_by(&a->turn, end);
	}
}

/* It leads nowhere: the next request opens another one. */
static void drop_connection(struct api *a)
{
	for (struct wire *w; (w = LIST_FIRST(&a->wires));) {
		w->lost = true;
		snprintf(w->error, sizeof(w->error), "nothing was heard for %d s",
			 SILENT_MS / 1000);
		curl_easy_setopt(w->easy, CURLOPT_FORBID_REUSE, 1L);
		finish(a, w, CURLE_OPERATION_TIMEDOUT);
	}
}

static void on_looked(struct call *c, const struct reply *r)
{
	struct api *a = c->ctx;

	a->looking = false;
	call_free(c);
}

/* Without a question a server that hangs looks like one that has no news. */
static void look(struct api *a)
{
	struct out path = { 0 };
	struct call *c;

	if (a->looking)
		return;
	out_printf(&path, "/version");
	c = call_new("GET", &path, NULL, NULL);
	if (!c)
		return;
	c->done = on_looked;
	c->ctx = a;
	c->rank = RANK_URGENT;
	a->looking = true;
	api_send(a, c);
}

static uint64_t first_asked(const struct api *a)
{
	uint64_t at = UINT64_MAX;

	for (const struct wire *w = LIST_FIRST(&a->wires); w; w = LIST_NEXT(w, next))
		if (!w->answered && w->since < at)
			at = w->since;
	return at;
}

/* What is late may be we, stopped: then it has come by now, and is read in the next second. */
static void end_silence(struct api *a, uint64_t now)
{
	uint64_t asked = first_asked(a);
	bool waits = asked < UINT64_MAX;
	uint64_t from = waits && asked > a->heard ? asked : a->heard;
	uint64_t end = from + (waits ? SILENT_MS : LOOK_MS);

	if (LIST_EMPTY(&a->wires))
		return;
	if (now < end) {
		a->doubt = 0;
		source_by(&a->turn, end);
	} else if (!waits) {
		look(a);
	} else if (!a->doubt || now < a->doubt + DOUBT_MS) {
		a->doubt = a->doubt ?: now;
		source_by(&a->turn, a->doubt + DOUBT_MS);
	} else {
		drop_connection(a);
	}
}

/* One request at a time, until it is known whether the server is there, and which HTTP it has. */
static bool waits_for_answer(const struct api *a)
{
	return (pace_probes(&a->pace) || !a->version) && first_asked(a) < UINT64_MAX;
}

static bool has_room(const struct api *a, enum rank rank)
{
	return rank == RANK_URGENT ||
	       a->flying < (rank == RANK_SOON ? FLIGHT_SOON_MAX : FLIGHT_MAX);
}

static void on_turn(struct source *s)
{
	struct api *a = container_of(s, struct api, turn);
	uint64_t now = now_ms();

	end_deaf(a, now);
	end_silence(a, now);
	while (a->queue.first && has_room(a, a->queue.first->rank)) {
		enum rank rank = a->queue.first->rank;
		uint64_t at = pace_at(&a->pace, now, rank);

		if (at > now) {
			source_by(&a->turn, at);
			return;
		}
		if (waits_for_answer(a))
			return;
		a->identity += access_refresh(&a->access);
		if (rank != RANK_URGENT)
			pace_spend(&a->pace);
		start(a, queue_take(&a->queue));
	}
}

void api_send(struct api *a, struct call *c)
{
	c->again = false;
	queue_put(&a->queue, c);
	source_by(&a->turn, 0);
}

static void on_certificate(struct source *source)
{
	struct api *a = container_of(source, struct api, certificate);
	char text[ERR_TEXT];

	a->identity += access_refresh(&a->access);
	expiry_text(a->access.secrets[SECRET_CERT], now_real_ns() / 1000000000, text, sizeof(text));
	a->say_expiry(a->expiry_ctx, text);
	source->at = now_ms() + CERTIFICATE_MS;
}

void api_tell_expiry(struct api *a, void (*say)(void *ctx, const char *sentence), void *ctx)
{
	a->say_expiry = say;
	a->expiry_ctx = ctx;
	a->certificate.at = 0;
}

void api_cancel(struct api *a, struct call *c)
{
	queue_remove(&a->queue, c);
	if (c->wire)
		wire_free(c->wire);
	call_free(c);
}

/* ---- answers */

static bool asks_patience(const struct wire *w, long status)
{
	return status == 429 || (status >= 500 && !answer_lacks_webhook(w->intake.one, ""));
}

static void judge(struct wire *w, CURLcode code, struct reply *r)
{
	unsigned int after = intake_retry_after(&w->intake);
	curl_off_t header = 0;
	long http = 0;

	curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &http);
	curl_easy_getinfo(w->easy, CURLINFO_RETRY_AFTER, &header);
	if (header > 0 && header < 3600)
		after = (unsigned int)header;
	if (w->lost || (code && !w->intake.err.code && !(http && w->call->document))) {
		wire_failed(w, &w->api->access, code, &r->err);
		r->away = true;
	} else {
		intake_verdict(&w->intake, http, &r->status, &r->err);
		r->away = asks_patience(w, r->status) || r->err.code == EPROTO;
		if (asks_patience(w, r->status))
			fail_wrap(&r->err, "the API server %s",
				  r->err.code == EAGAIN ? "is busy" : "has trouble");
		r->doc = json_object_get(w->intake.one);
	}
	if (r->away) {
		go_away(w->api, after);
	} else if (r->status != 401) {
		if (pace_probes(&w->api->pace))
			w->api->back = now_ms();
		pace_back(&w->api->pace);
	}
	r->back = w->api->back && now_ms() < w->api->back + BACK_MS;
}

/* The server did not believe a request of that identity. Returns true if it may
 * believe the next. */
static bool renewed(struct api *a, unsigned int refused)
{
	if (refused != a->identity)
		return true;
	a->access.files[SECRET_TOKEN].seen.st_ino = 0;
	a->identity += access_refresh(&a->access);
	return refused != a->identity;
}

static void finish(struct api *a, struct wire *w, CURLcode code)
{
	struct call *c = w->call;
	unsigned int identity = w->identity;
	struct reply r = { 0 };

	judge(w, code, &r);
	c->wire = NULL;
	wire_free(w);
	if (r.status == 401 && !c->again && renewed(a, identity)) {
		api_send(a, c);
		c->again = true;
	} else {
		if (r.status == 401)
			go_away(a, 0);
		c->done(c, &r);
	}
	json_object_put(r.doc);
	source_by(&a->turn, 0);
}

static void on_finished(CURL *easy, CURLcode code)
{
	struct wire *w = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&w);
	finish(w->api, w, code);
}

int api_new(struct loop *loop, struct access *access, struct api **ret, struct err *err)
{
	struct api *a;
	int r = wire_check(access, err);

	if (r)
		return r;
	a = calloc(1, sizeof(*a));
	if (!a)
		return fail_nomem(err);
	r = multi_open(&a->multi, loop, on_finished, err);
	if (r) {
		free(a);
		return r;
	}
	a->access = *access;
	*access = (struct access){ 0 };
	queue_init(&a->queue);
	pace_start(&a->pace, now_ms());
	loop_timer(loop, &a->turn, on_turn, UINT64_MAX);
	loop_timer(loop, &a->certificate, on_certificate, UINT64_MAX);
	*ret = a;
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	while (!LIST_EMPTY(&a->wires))
		api_cancel(a, LIST_FIRST(&a->wires)->call);
	while (a->queue.first)
		api_cancel(a, a->queue.first);
	access_free(&a->access);
	loop_remove(a->multi.loop, &a->turn);
	loop_remove(a->multi.loop, &a->certificate);
	multi_close(&a->multi);
	free(a);
}
