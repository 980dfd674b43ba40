// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire.h"

#include <errno.h>
#include <stdlib.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

struct sock {
	struct source source;
	struct multi *multi;
};

static void act(struct multi *m, curl_socket_t fd)
{
	int running, left;
	CURLMsg *said;

	curl_multi_socket_action(m->curl, fd, 0, &running);
	while ((said = curl_multi_info_read(m->curl, &left)))
		if (said->msg == CURLMSG_DONE)
			m->finished(said->easy_handle, said->data.result);
}

static void on_socket(struct source *s)
{
	act(container_of(s, struct sock, source)->multi, s->fd);
}

static void on_timer(struct source *s)
{
	act(container_of(s, struct multi, timer), CURL_SOCKET_TIMEOUT);
}

static int want_timer(CURLM *curl, long ms, void *ctx)
{
	struct multi *m = ctx;

	m->timer.at = ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)ms;
	return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *sock)
{
	struct multi *m = ctx;
	struct sock *s = sock;

	if (what == CURL_POLL_REMOVE) {
		if (s)
			loop_remove(m->loop, &s->source);
		free(s);
		return 0;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -1;
		s->multi = m;
		if (loop_watch(m->loop, &s->source, fd, on_socket, NULL)) {
			free(s);
			return -1;
		}
		curl_multi_assign(m->curl, fd, s);
	}
	loop_heed(m->loop, &s->source, what & CURL_POLL_IN, what & CURL_POLL_OUT);
	return 0;
}

int multi_open(struct multi *m, struct loop *loop, void (*finished)(CURL *easy, CURLcode code),
	       struct err *err)
{
	*m = (struct multi){ .loop = loop, .finished = finished };
	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(m->curl = curl_multi_init()))
		return fail(err, ENOMEM, "libcurl cannot be started");
	loop_timer(loop, &m->timer, on_timer, UINT64_MAX);
	curl_multi_setopt(m->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(m->curl, CURLMOPT_MAX_HOST_CONNECTIONS, 16L);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
	return 0;
}

void multi_close(struct multi *m)
{
	loop_remove(m->loop, &m->timer);
	curl_multi_cleanup(m->curl);
	curl_global_cleanup();
}
