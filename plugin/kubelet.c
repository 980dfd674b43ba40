// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "client/file.h"
#include "plugin/kubelet/answer.h"
#include "plugin.h"
#include "resource.h"
#include "plugin/rpc/rpc.h"

enum {
	REGISTER_MS = 15000, /* kubelet dials back meanwhile, for at most 10 s */
	PAUSE_MS = 1, /* first pause if the socket exists and refuses, doubled each time */
	PAUSE_MAX_MS = 1000,
	LOOK_MS = 100, /* poll interval of a directory that cannot be watched */
};

#define SOCKET "kubelet.sock"

struct kubelet {
	struct plugin *p;
	char *dir, *path; /* path: of kubelet's socket */
	struct source watch, retry;
	struct source look; /* used if `blind` */
	struct stat seen;   /* the socket at the last poll */
	int blind;	    /* errno: events of the directory may be missing; 0: they come */
	bool stopped;
	int wd; /* watch of dir; -1: dir does not exist */
	struct rpc_channel *channel;
	struct stat socket; /* that channel leads to */
	pid_t pid;	    /* of the listener; 0: unknown */
	unsigned int count; /* number of the channel; tells late answers of an earlier one */
	uint64_t since;	    /* when channel was opened */
	unsigned int pause;
};

struct telling {
	struct kubelet *k;
	unsigned int count;
	char name[]; /* a copy: the resource may be gone when the answer comes */
};

static void drop_channel(struct kubelet *k)
{
	rpc_channel_free(k->channel);
	k->channel = NULL;
}

/* kubelet may be about to listen: retry soon. A missing socket is an event when it comes. */
static void later(struct kubelet *k, const struct err *err)
{
	if (err->code == ENOENT)
		return;
	if (!k->pause && err->code != ECONNREFUSED)
		say("%s", err->text);
	k->retry.at = now_ms() + back_off(&k->pause, PAUSE_MS, PAUSE_MAX_MS);
}

static void on_answer(void *ctx, enum rpc_status status, const char *why, const uint8_t *msg,
		      size_t len)
{
	struct telling *t = ctx;
	struct kubelet *k = t->k;
	bool old = k->stopped || t->count != k->count || !k->channel;
	struct resource *r = old ? NULL : resources_find(k->p->resources, t->name);

	(void)msg; /* Empty */
	free(t);
	if (old)
		return; /* repeated over another channel */
	if (r && status == RPC_UNAVAILABLE)
		r->telling = false;
	else if (r)
		resource_heard(r, status == RPC_OK ? NULL : why);
	if (status == RPC_UNAVAILABLE) {
		struct err gone = { .code = ECONNREFUSED };

		if (now_ms() - k->since > PAUSE_MAX_MS)
			k->pause = 0;
		if (k->pause >= PAUSE_MAX_MS / 2 && k->pause < PAUSE_MAX_MS)
			say("kubelet cannot be reached: %s", why);
		drop_channel(k);
		later(k, &gone);
	}
	kubelet_tell(k); /* others may have waited for it */
}

static void tell_one(struct kubelet *k, struct resource *r)
{
	struct telling *t = malloc(sizeof(*t) + strlen(r->name) + 1);
	struct err err = { .text = "no memory" };
	struct out o = { 0 };
	bool asked = false;

	answer_register(r->name, r->socket, &o);
	if (t && !o.failed) {
		t->k = k;
		t->count = k->count;
		strcpy(t->name, r->name);
		asked = !rpc_ask(k->channel, "/v1beta1.Registration/Register", (uint8_t *)o.data,
				 o.len, plugin_deadline(k->p, REGISTER_MS), on_answer, t, &err);
	}
	if (!asked) {
		resource_heard(r, err.text);
		free(t);
	}
	out_free(&o);
}

static void look_at_socket(const struct kubelet *k, struct stat *ret)
{
	if (stat(k->path, ret))
		*ret = (struct stat){ 0 };
}

static int open_channel(struct kubelet *k, bool *ret_new, struct err *err)
{
	struct stat now;
	int fd, r;

	look_at_socket(k, &now);
	fd = socket_connect(k->path, err);
	if (fd < 0)
		return fd;
	k->count++;
	k->since = now_ms();
	k->pid = socket_peer(fd);
	r = rpc_channel_new(k->p->rpc, fd, &k->channel, err);
	if (r)
		return r;
	*ret_new = !file_is_same(&k->socket, &now);
	k->socket = now;
	return 0;
}

bool kubelet_is_at(const struct kubelet *k, int fd)
{
	pid_t pid = fd < 0 ? 0 : socket_peer(fd);

	return !pid || !k->pid || pid == k->pid;
}

void kubelet_tell(struct kubelet *k)
{
	struct resource *r;
	struct err err = { 0 };
	bool new;

	if (k->stopped)
		return;
	if (!k->channel) {
		if (k->retry.at != UINT64_MAX)
			return;
		if (open_channel(k, &new, &err)) {
			later(k, &err);
			return;
		}
		resources_forget(k->p->resources, new);
	}
	while ((r = resources_unheard(k->p->resources)))
		tell_one(k, r);
}

static void on_retry(struct source *s)
{
	kubelet_tell(container_of(s, struct kubelet, retry));
}

/* ---- its directory */

/* On the way to the directory only a lack of watches counts: if a parent cannot be read, all events
 * but the directory's removal still come from the directory itself. */
static int watch(struct kubelet *k, const char *path)
{
	int wd =
		inotify_add_watch(k->watch.fd, path,
				  IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);

	if (wd < 0 && errno != ENOENT && errno != ENOTDIR && (errno != EACCES || k->wd < 0))
		k->blind = errno;
	return wd;
}

/* Polls if the directory cannot be watched. All programs of a user share the few watches. */
static void look_instead(struct kubelet *k, int before)
{
	if (!k->blind)
		return;
	k->look.at = now_ms() + LOOK_MS;
	if (!before)
		say("%s cannot be watched: %s; looked at every %d ms", k->dir, strerror(k->blind),
		    LOOK_MS);
}

/* Watches the directory and its existing parents: while our own sockets are in it, only the parent
 * tells of its removal. Returns false if the same directory was watched before. */
static bool watch_dir(struct kubelet *k)
{
	int before = k->wd, blind = k->blind;
	char path[256], *slash;

	STR_COPY(path, k->dir);
	k->blind = 0;
	k->wd = -1;
	k->wd = watch(k, path);
	while ((slash = strrchr(path, '/'))) {
		*slash = '\0';
		watch(k, path);
	}
	watch(k, k->dir[0] == '/' ? "/" : ".");
	look_instead(k, blind);
	return k->wd >= 0 && k->wd != before;
}

static void on_new_kubelet(struct kubelet *k)
{
	struct stat now;

	look_at_socket(k, &now);
	if (k->channel && file_is_same(&k->socket, &now))
		return; /* we connected before the event */
	drop_channel(k);
	k->retry.at = UINT64_MAX;
	k->pause = 0;
	kubelet_tell(k);
}

static void on_look(struct source *s)
{
	struct kubelet *k = container_of(s, struct kubelet, look);
	struct stat before = k->seen;

	watch_dir(k); /* watches may be available by now */
	look_at_socket(k, &k->seen);
	if (!k->seen.st_ino || file_is_same(&k->seen, &before))
		return;
	on_new_kubelet(k);
	pods_ask(k->p->pods);
}

static void take_event(struct kubelet *k, const struct inotify_event *ev)
{
	bool in_dir = ev->wd == k->wd && !(ev->mask & (IN_IGNORED | IN_Q_OVERFLOW));

	if (in_dir && ev->mask & (IN_CREATE | IN_MOVED_TO) && ev->len && !strcmp(ev->name, SOCKET))
		on_new_kubelet(k);
	else if (!in_dir && (watch_dir(k) || ev->mask & IN_Q_OVERFLOW))
		on_new_kubelet(k);
}

static void on_watch(struct source *s)
{
	struct kubelet *k = container_of(s, struct kubelet, watch);
	_Alignas(struct inotify_event) char buf[4096];
	ssize_t n = read(s->fd, buf, sizeof(buf));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const struct inotify_event *)(buf + at);

		take_event(k, ev);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
}

int kubelet_new(struct plugin *p, const char *dir, struct kubelet **ret, struct err *err)
{
	struct kubelet *k = calloc(1, sizeof(*k));
	int fd, r;

	if (!k || !(k->dir = strdup(dir)) || asprintf(&k->path, "%s/" SOCKET, dir) < 0) {
		kubelet_free(k);
		return fail_nomem(err);
	}
	k->p = p;
	k->wd = -1;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	*ret = k;
	if (fd < 0)
		return fail(err, errno, "no inotify: %s", strerror(errno));
	loop_timer(&p->loop, &k->retry, on_retry, UINT64_MAX);
	loop_timer(&p->loop, &k->look, on_look, UINT64_MAX);
	r = loop_watch(&p->loop, &k->watch, fd, on_watch, err);
	watch_dir(k);
	return r;
}

void kubelet_stop(struct kubelet *k)
{
	if (!k)
		return;
	k->stopped = true;
	drop_channel(k);
	loop_remove(&k->p->loop, &k->watch);
	loop_remove(&k->p->loop, &k->retry);
	loop_remove(&k->p->loop, &k->look);
	closep(&k->watch.fd);
}

void kubelet_free(struct kubelet *k)
{
	if (!k)
		return;
	free(k->dir);
	free(k->path);
	free(k);
}
