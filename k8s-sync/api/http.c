// SPDX-License-Identifier: GPL-2.0-or-later
#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "access.h"
#include "client/loop.h"
#include "pcidevfs/util.h"
#include "intake.h"

enum {
	RATE = 20, /* requests a second */
	BURST = 1000,
	FLIGHT_MAX = 64,
	CONNECT_MS = 10000,
	ANSWER_MS = 30000,
	WATCH_MS = 660000, /* longer than any watch that we ask for */
	AWAY_MS = 800,	   /* first pause, doubled */
	AWAY_MAX_MS = 30000,
};

/* A request under way. */
struct wire {
	struct api *api;
	struct call *call;
	CURL *easy;
	struct curl_slist *headers;
	struct intake intake;
	char error[CURL_ERROR_SIZE];
	struct wire *next;
};

struct sock {
	struct source source;
	struct api *api;
};

struct api {
	struct loop *loop;
	struct access access;
	CURLM *multi;
	struct source timer; /* libcurl's */
	struct source turn;  /* to send what waits */
	struct call *first, **last;
	struct wire *wires;
	size_t flying; /* requests that count for FLIGHT_MAX */
	double tokens;
	uint64_t tokens_at, away_until;
	unsigned int away_pause;
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

static void set_blob(CURL *e, CURLoption option, char *pem)
{
	struct curl_blob blob = { pem, pem ? strlen(pem) : 0, CURL_BLOB_COPY };

	if (pem)
		curl_easy_setopt(e, option, &blob);
}

static void set_tls(CURL *e, struct access *a)
{
	set_blob(e, CURLOPT_CAINFO_BLOB, a->ca);
	set_blob(e, CURLOPT_SSLCERT_BLOB, a->cert);
	set_blob(e, CURLOPT_SSLKEY_BLOB, a->key);
	if (a->insecure) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static bool add_header(struct wire *w, const char *name, const char *value)
{
	struct out line = { 0 };
	struct curl_slist *more;

	out_printf(&line, "%s: %s", name, value);
	more = line.failed ? NULL : curl_slist_append(w->headers, out_text(&line));
	out_free(&line);
	if (more)
		w->headers = more;
	return more;
}

static bool set_headers(struct wire *w)
{
	const struct call *c = w->call;
	struct out bearer = { 0 };
	bool ok = add_header(w, "Accept", "application/json");

	if (w->api->access.token) {
		out_printf(&bearer, "Bearer %s", w->api->access.token);
		ok = ok && !bearer.failed && add_header(w, "Authorization", out_text(&bearer));
		out_free(&bearer);
	}
	if (c->body)
		ok = ok && add_header(w, "Content-Type", c->type);
	ok = ok && curl_slist_append(w->headers, "Expect:");
	curl_easy_setopt(w->easy, CURLOPT_HTTPHEADER, w->headers);
	return ok;
}

static bool set_request(struct wire *w)
{
	const struct call *c = w->call;
	struct out url = { 0 };
	CURL *e = w->easy;
	bool ok;

	out_printf(&url, "%s%s", w->api->access.server, c->path);
	ok = !url.failed && !curl_easy_setopt(e, CURLOPT_URL, out_text(&url));
	out_free(&url);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, c->method);
	if (c->body) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)strlen(c->body));
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, c->body);
	}
	curl_easy_setopt(e, CURLOPT_PRIVATE, w);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, w);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, w->error);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_USERAGENT, "pcidevfs-sync/" VERSION);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)(c->document ? WATCH_MS : ANSWER_MS));
	set_tls(e, &w->api->access);
	return set_headers(w) && ok;
}

static void wire_free(struct wire *w)
{
	struct wire **at = &w->api->wires;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	if (w->easy) {
		curl_multi_remove_handle(w->api->multi, w->easy);
		curl_easy_cleanup(w->easy);
	}
	if (!w->call->document)
		w->api->flying--;
	curl_slist_free_all(w->headers);
	intake_close(&w->intake);
	free(w);
}

static void refuse_call(struct call *c, int code, const char *why)
{
	struct reply r = { 0 };

	fail(&r.err, code, "%s", why);
	r.away = true;
	c->done(c, &r);
}

static void start(struct api *a, struct call *c)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w) {
		refuse_call(c, ENOMEM, "no memory");
		return;
	}
	w->api = a;
	w->call = c;
	w->next = a->wires;
	a->wires = w;
	if (!c->document)
		a->flying++;
	c->wire = w;
	w->easy = curl_easy_init();
	if (!w->easy || intake_open(&w->intake, c->document) || !set_request(w) ||
	    curl_multi_add_handle(a->multi, w->easy)) {
		c->wire = NULL;
		wire_free(w);
		refuse_call(c, ENOMEM, "no memory");
		return;
	}
	w->intake.document = on_document;
	w->intake.ctx = w;
}

/* ---- the queue */

static void turn_by(struct api *a, uint64_t at)
{
	a->turn.at = at < a->turn.at ? at : a->turn.at;
}

/* Returns when the next request may be sent: now or later (ms). */
static uint64_t allowed_at(struct api *a, uint64_t now)
{
	a->tokens += (double)(now - a->tokens_at) * RATE / 1000;
	a->tokens = a->tokens > BURST ? BURST : a->tokens;
	a->tokens_at = now;
	if (a->away_until > now)
		return a->away_until;
	if (a->first && a->first->urgent)
		return now;
	return a->tokens >= 1 ? now : now + 1000 / RATE;
}

static void on_turn(struct source *s)
{
	struct api *a = container_of(s, struct api, turn);
	uint64_t now = now_ms();

	access_refresh(&a->access);
	while (a->first && (a->flying < FLIGHT_MAX || a->first->urgent)) {
		struct call *c = a->first;
		uint64_t at = allowed_at(a, now);

		if (at > now) {
			turn_by(a, at);
			return;
		}
		a->first = c->next;
		if (!a->first)
			a->last = &a->first;
		if (!c->urgent)
			a->tokens--;
		start(a, c);
	}
}

void api_send(struct api *a, struct call *c)
{
	c->next = NULL;
	*a->last = c;
	a->last = &c->next;
	turn_by(a, 0);
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

/* Full jitter: a hundred nodes do not come back at once. */
static uint64_t jitter(unsigned int ms)
{
	unsigned int r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = 0;
	return ms / 4 + r % (ms + 1);
}

static void go_away(struct api *a, unsigned int retry_after)
{
	unsigned int pause;

	if (a->away_until > now_ms())
		return;
	pause = back_off(&a->away_pause, AWAY_MS, AWAY_MAX_MS);
	a->away_until = now_ms() + retry_after * 1000u + jitter(pause);
}

static bool asks_patience(long status)
{
	return status == 429 || status >= 500;
}

static void finish(struct api *a, struct wire *w, CURLcode code)
{
	struct call *c = w->call;
	struct reply r = { 0 };
	unsigned int after = intake_retry_after(&w->intake);
	curl_off_t header = 0;
	long http = 0;

	curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &http);
	curl_easy_getinfo(w->easy, CURLINFO_RETRY_AFTER, &header);
	if (header > 0 && header < 3600)
		after = (unsigned int)header;
	if (code && !w->intake.err.code && !(http && c->document)) {
		fail(&r.err, ENOTCONN, "%s: %s", a->access.server,
		     w->error[0] ? w->error : curl_easy_strerror(code));
		r.away = true;
	} else {
		intake_verdict(&w->intake, http, &r.status, &r.err);
		r.away = asks_patience(r.status) || r.err.code == EPROTO;
		r.doc = json_object_get(w->intake.one);
	}
	c->wire = NULL;
	wire_free(w);
	if (r.away)
		go_away(a, after);
	else
		a->away_pause = 0;
	if (r.status == 401) { /* perhaps it has just been replaced */
		a->access.token_seen = (struct file_seen){ 0 };
		go_away(a, 0);
	}
	c->done(c, &r);
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
	struct api *a = calloc(1, sizeof(*a));

	if (!a || curl_global_init(CURL_GLOBAL_DEFAULT) || !(a->multi = curl_multi_init())) {
		free(a);
		return fail(err, ENOMEM, "libcurl cannot be started");
	}
	a->loop = loop;
	a->access = *access;
	*access = (struct access){ 0 };
	a->last = &a->first;
	a->tokens = BURST;
	a->tokens_at = now_ms();
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
	loop_remove(a->loop, &a->timer);
	loop_remove(a->loop, &a->turn);
	curl_multi_cleanup(a->multi);
	access_free(&a->access);
	free(a);
	curl_global_cleanup();
}
