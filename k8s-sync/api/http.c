// SPDX-License-Identifier: GPL-2.0-or-later
#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "client/loop.h"
#include "identity.h"
#include "pace.h"
#include "pcidevfs/util.h"
#include "wire.h"

enum {
	FLIGHT_MAX = 64,
};

struct sock {
	struct source source;
	struct api *api;
};

struct api {
	struct loop *loop;
	struct identity who;
	CURLM *multi;
	struct source timer; /* libcurl's */
	struct source turn;  /* to send what waits */
	struct call *first, **last;
	struct wire *wires;
	size_t flying; /* requests that count for FLIGHT_MAX */
	size_t silent; /* those that are not answered */
	struct pace pace;
};

struct call *call_new(const char *method, char *path)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c || !path) {
		free(path);
		free(c);
		return NULL;
	}
	c->method = method;
	c->path = path;
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

static void turn_by(struct api *a, uint64_t at)
{
	a->turn.at = at < a->turn.at ? at : a->turn.at;
}

static void note_answer(struct wire *w)
{
	if (!w->answered)
		w->api->silent--;
	w->answered = true;
}

/* A watch is answered long before it ends. */
static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
	struct wire *w = ctx;
	long status = 0;

	(void)bytes;
	(void)size;
	curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &status);
	if (w->call->document && status == 200 && !w->answered) {
		note_answer(w);
		pace_back(&w->api->pace);
		turn_by(w->api, 0);
		w->call->begun(w->call);
	}
	return n;
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
	struct wire *w = ctx;

	(void)size;
	return intake_feed(&w->intake, bytes, n) ? 0 : n;
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
	struct wire **at = &w->api->wires;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	if (w->easy)
		curl_multi_remove_handle(w->api->multi, w->easy);
	note_answer(w);
	if (!w->call->document)
		w->api->flying--;
	wire_release(w);
	free(w);
}

static void refuse_call(struct call *c, const struct err *why)
{
	struct reply r = { .err = *why, .away = true };

	c->done(c, &r);
}

static void no_memory(struct call *c)
{
	struct err err = { 0 };

	fail(&err, ENOMEM, "no memory");
	refuse_call(c, &err);
}

static bool launch(struct wire *w)
{
	w->easy = curl_easy_init();
	if (!w->easy || intake_open(&w->intake, w->call->document) ||
	    !wire_prepare(w, &w->api->who.access))
		return false;
	w->intake.document = on_document;
	w->intake.ctx = w;
	curl_easy_setopt(w->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(w->easy, CURLOPT_HEADERDATA, w);
	curl_easy_setopt(w->easy, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(w->easy, CURLOPT_WRITEDATA, w);
	return !curl_multi_add_handle(w->api->multi, w->easy);
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

	if (!w) {
		no_memory(c);
		return;
	}
	*w = (struct wire){ .api = a, .call = c, .since = now_ms(), .next = a->wires };
	w->identity = a->who.number;
	a->wires = w;
	a->silent++;
	if (!c->document)
		a->flying++;
	c->wire = w;
	if (launch(w)) {
		turn_by(a, w->since + WIRE_ANSWER_MS);
		return;
	}
	c->wire = NULL;
	wire_free(w);
	go_away(a, 0);
	no_memory(c);
}

/* ---- the queue */

/* Nobody waits for what cannot be sent: each call hears why, and comes again as it likes. */
static void refuse_all(struct api *a, const struct err *why)
{
	struct call *c = a->first, *next;

	a->first = NULL;
	a->last = &a->first;
	for (; c; c = next) {
		next = c->next;
		refuse_call(c, why);
	}
}

static void on_identity(struct identity *i, const struct err *err)
{
	struct api *a = container_of(i, struct api, who);

	if (err) {
		go_away(a, 0);
		refuse_all(a, err);
	}
	turn_by(a, 0);
}

/* A watch has no time limit, but its answer begins at once. */
static void end_deaf(struct api *a, uint64_t now)
{
	for (struct wire *w = a->wires; w; w = w->next) {
		uint64_t end = w->since + WIRE_ANSWER_MS;

		if (!w->answered && now >= end) {
			finish(a, w, CURLE_OPERATION_TIMEDOUT);
			return;
		}
		if (!w->answered)
			turn_by(a, end);
	}
}

static void on_turn(struct source *s)
{
	struct api *a = container_of(s, struct api, turn);
	uint64_t now = now_ms();

	end_deaf(a, now);
	while (a->first && (a->flying < FLIGHT_MAX || a->first->urgent)) {
		struct call *c = a->first;
		uint64_t at = pace_at(&a->pace, now, c->urgent);

		if (at > now) {
			turn_by(a, at);
			return;
		}
		if ((pace_probes(&a->pace) && a->silent) || !identity_ready(&a->who))
			return;
		a->first = c->next;
		if (!a->first)
			a->last = &a->first;
		if (!c->urgent)
			pace_spend(&a->pace);
		start(a, c);
	}
}

/* What is urgent waits behind no thousand writes. */
static void queue(struct api *a, struct call *c)
{
	struct call **at = c->urgent ? &a->first : a->last;

	c->next = *at;
	*at = c;
	if (!c->next)
		a->last = &c->next;
	turn_by(a, 0);
}

void api_send(struct api *a, struct call *c)
{
	c->again = false;
	queue(a, c);
}

void api_cancel(struct api *a, struct call *c)
{
	struct call **at = &a->first;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at) {
		*at = c->next;
		if (a->last == &c->next)
			a->last = at;
	}
	if (c->wire)
		wire_free(c->wire);
	call_free(c);
}

/* ---- answers */

static bool asks_patience(long status)
{
	return status == 429 || status >= 500;
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
	if (code && !w->intake.err.code && !(http && w->call->document)) {
		wire_failed(w, &w->api->who.access, code, &r->err);
		r->away = true;
	} else {
		intake_verdict(&w->intake, http, &r->status, &r->err);
		r->away = asks_patience(r->status) || r->err.code == EPROTO;
		if (asks_patience(r->status))
			fail_wrap(&r->err, "the API server %s",
				  r->err.code == EAGAIN ? "is busy" : "has trouble");
		r->doc = json_object_get(w->intake.one);
	}
	if (r->away)
		go_away(w->api, after);
	else if (r->status != 401)
		pace_back(&w->api->pace);
}

static void finish(struct api *a, struct wire *w, CURLcode code)
{
	struct call *c = w->call;
	unsigned int identity = w->identity;
	struct reply r = { 0 };

	judge(w, code, &r);
	c->wire = NULL;
	wire_free(w);
	if (r.status == 401 && !c->again && identity_renew(&a->who, identity)) {
		c->again = true;
		queue(a, c);
	} else {
		if (r.status == 401)
			go_away(a, 0);
		c->done(c, &r);
	}
	json_object_put(r.doc);
	turn_by(a, 0);
}

static void take_finished(struct api *a)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(a->multi, &left))) {
		struct wire *w = NULL;
		CURLcode code = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&w);
		finish(a, w, code);
	}
}

/* ---- libcurl in the loop */

static void act(struct api *a, curl_socket_t fd)
{
	int running;

	curl_multi_socket_action(a->multi, fd, 0, &running);
	take_finished(a);
}

static void on_socket(struct source *s)
{
	act(container_of(s, struct sock, source)->api, s->fd);
}

static void on_timer(struct source *s)
{
	act(container_of(s, struct api, timer), CURL_SOCKET_TIMEOUT);
}

static int want_timer(CURLM *multi, long ms, void *ctx)
{
	struct api *a = ctx;

	(void)multi;
	a->timer.at = ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)ms;
	return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *sock)
{
	struct api *a = ctx;
	struct sock *s = sock;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			loop_remove(a->loop, &s->source);
		free(s);
		return 0;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -1;
		s->api = a;
		s->source = (struct source){ .fd = fd, .ready = on_socket, .at = UINT64_MAX };
		if (loop_add(a->loop, &s->source, NULL)) {
			free(s);
			return -1;
		}
		curl_multi_assign(a->multi, fd, s);
	}
	loop_heed(a->loop, &s->source, what & CURL_POLL_IN, what & CURL_POLL_OUT);
	return 0;
}

int api_new(struct loop *loop, struct access *access, struct api **ret, struct err *err)
{
	struct api *a;
	int r = wire_check(access, err);

	if (r)
		return r;
	a = calloc(1, sizeof(*a));
	if (!a || curl_global_init(CURL_GLOBAL_DEFAULT) || !(a->multi = curl_multi_init())) {
		free(a);
		return fail(err, ENOMEM, "libcurl cannot be started");
	}
	a->loop = loop;
	a->who = (struct identity){ .access = *access, .loop = loop, .done = on_identity };
	*access = (struct access){ 0 };
	a->last = &a->first;
	pace_start(&a->pace, now_ms());
	a->timer = (struct source){ .fd = -1, .due = on_timer, .at = UINT64_MAX };
	a->turn = (struct source){ .fd = -1, .due = on_turn, .at = UINT64_MAX };
	curl_multi_setopt(a->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(a->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 16L);
	curl_multi_setopt(a->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(a->multi, CURLMOPT_SOCKETDATA, a);
	curl_multi_setopt(a->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(a->multi, CURLMOPT_TIMERDATA, a);
	*ret = a;
	return loop_add(loop, &a->timer, err) ?: loop_add(loop, &a->turn, err);
}

void api_free(struct api *a)
{
	if (!a)
		return;
	while (a->wires)
		api_cancel(a, a->wires->call);
	while (a->first)
		api_cancel(a, a->first);
	identity_free(&a->who);
	loop_remove(a->loop, &a->timer);
	loop_remove(a->loop, &a->turn);
	curl_multi_cleanup(a->multi);
	free(a);
	curl_global_cleanup();
}
