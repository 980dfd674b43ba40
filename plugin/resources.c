// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/cdi.h"
#include "plugin/kubelet/devices.h"
#include "plugin.h"
#include "resource.h"
#include "plugin/rpc/rpc.h"
#include "client/mirror.h"

enum {
	/* between the end of a resource's last stream and the next Register */
	QUIET_MS = 50,
	LINGER_MS = 1000,      /* after its last device: kubelet must get the empty list first */
	TREE_GRACE_MS = 10000, /* a replaced or restarted daemon is back within this time */
	REFUSED_MS = 100,      /* first pause after kubelet refused, doubled each time */
	REFUSED_MAX_MS = 30000,
	FULL_MS = 100, /* a connection waits, for example for a free descriptor */
	FULL_TOLD_MS = 60000,
	ALONE_MS = 50, /* a kubelet that answers does so within this time (make bench) */
};

#define SOCKET_PREFIX "pcidevfs-"

struct resources {
	struct plugin *p;
	char *dir;
	uint64_t born; /* distinguishes our sockets from those of an earlier plugin */
	unsigned int serial;
	LIST_HEAD(, resource) list;
	struct source well;
	uint64_t full_until; /* ms: "no room" was logged, and is not again until then */
	struct source alone; /* until then only resources that pods wait for are told */
};

/* ---- its socket */

static void on_room(struct source *s)
{
	loop_heed(&container_of(s, struct resource, listen)->p->loop, s, true, false);
}

/* A waiting connection keeps the socket readable, so it is muted for a while. */
static void no_room(struct resource *r, int e)
{
	uint64_t now = now_ms();

	if (now > r->all->full_until)
		say("kubelet's connection to %s is not accepted: %s; tried again every %d ms",
		    r->name, strerror(e), FULL_MS);
	r->all->full_until = now + FULL_TOLD_MS;
	loop_heed(&r->p->loop, &r->listen, false, false);
	r->listen.at = now + FULL_MS;
}

static void on_connection(struct source *s)
{
	struct resource *r = container_of(s, struct resource, listen);
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			no_room(r, errno);
		return;
	}
	if (socket_peer_allowed(fd))
		rpc_server_connect(r->server, fd);
	else
		close(fd);
}

static void unbind(struct resource *r)
{
	if (r->listen.fd < 0)
		return;
	loop_remove(&r->p->loop, &r->listen);
	close(r->listen.fd);
	r->listen.fd = -1;
	socket_unlink(r->all->dir, r->socket);
}

/* Uses a fresh name: kubelet fails a second registration under a known name, and nobody can remove
 * the new socket by mistake. */
static int rebind(struct resource *r, struct err *err)
{
	struct resources *rs = r->all;
	char name[sizeof(r->socket)];
	int fd;

	snprintf(name, sizeof(name), SOCKET_PREFIX "%llx-%x.sock", (unsigned long long)rs->born,
		 ++rs->serial);
	fd = socket_bind(rs->dir, name, err);
	if (fd < 0)
		return fd;
	unbind(r);
	STR_COPY(r->socket, name);
	fd = loop_watch(&rs->p->loop, &r->listen, fd, on_connection, err);
	r->listen.due = on_room;
	return fd;
}

/* If kubelet's directory is missing, the socket is bound when it appears. */
static bool bind_anew(struct resource *r)
{
	struct err err = { 0 };

	if (!rebind(r, &err))
		return true;
	if (err.code != ENOENT && resource_is_news(r, strerror(err.code)))
		say("%s: %s", r->name, err.text);
	return false;
}

static bool socket_there(const struct resource *r)
{
	char path[256];
	struct stat st;

	return r->listen.fd >= 0 &&
	       (size_t)snprintf(path, sizeof(path), "%s/%s", r->all->dir, r->socket) <
		       sizeof(path) &&
	       !lstat(path, &st);
}

/* ---- its life */

static void resource_free(struct resource *r)
{
	LIST_REMOVE(r, next);
	r->wanted = false;
	unbind(r);
	if (r->server)
		rpc_server_close(r->server);
	loop_remove(&r->p->loop, &r->again);
	loop_remove(&r->p->loop, &r->end);
	out_free(&r->list);
	free(r->refused);
	free(r->name);
	free(r);
}

/* When a stream ends kubelet marks the resource of that name unhealthy, even if another server has
 * registered it by then. So the name is not registered again for a moment. */
static void on_end(struct source *s)
{
	struct resource *r = container_of(s, struct resource, end);

	if (r->ended) {
		resource_free(r);
		return;
	}
	say("%s is no longer offered", r->name);
	r->ended = true;
	unbind(r);
	resource_hang_up(r, "nothing is offered under this name");
	r->heard = r->telling = false;
	r->again.at = r->end.at = now_ms() + QUIET_MS;
}

/* Time to tell kubelet again. */
static void on_again(struct source *s)
{
	struct resource *r = container_of(s, struct resource, again);

	if (r->main)
		return;
	r->heard = r->telling = false;
	if (!r->wanted)
		return;
	bind_anew(r);
	kubelet_tell(r->p->kubelet);
}

static struct resource *resource_new(struct resources *rs, const char *name, struct err *err)
{
	struct resource *r = calloc(1, sizeof(*r));

	if (!r || !(r->name = strdup(name))) {
		free(r);
		fail_nomem(err);
		return NULL;
	}
	r->p = rs->p;
	r->all = rs;
	r->listen.fd = -1;
	LIST_INSERT_HEAD(&rs->list, r, next);
	loop_timer(&rs->p->loop, &r->again, on_again, UINT64_MAX);
	loop_timer(&rs->p->loop, &r->end, on_end, UINT64_MAX);
	r->wanted = true;
	if (resource_serve(r, err)) {
		resource_free(r);
		return NULL;
	}
	bind_anew(r);
	say("%s is offered", name);
	return r;
}

struct resource *resources_find(struct resources *rs, const char *name)
{
	struct resource *r = LIST_FIRST(&rs->list);

	while (r && strcmp(r->name, name))
		r = LIST_NEXT(r, next);
	return r;
}

/* ---- all of them */

static void push(struct resource *r, struct out *list)
{
	bool same = list->len == r->list.len && r->list.data &&
		    !memcmp(out_text(list), r->list.data, list->len);

	if (same || list->failed) {
		out_free(list);
		return;
	}
	out_free(&r->list);
	r->list = *list;
	for (size_t i = 0; i < r->n_streams; i++)
		rpc_send(r->streams[i], (uint8_t *)out_text(&r->list), r->list.len);
}

/* Logs only reasons that the tree does not show, and none that passes by itself, as a restore. One
 * line each. */
static void note_health(const struct devices *t, uint64_t now, struct out *log)
{
	char buf[512];

	for (size_t i = 0; i < t->n; i++) {
		struct dev *d = t->v[i];
		const char *withheld = dev_withheld(d);
		const char *why = withheld ? withheld : dev_sick(t, d, now, buf, sizeof(buf));

		if (!(withheld || d->announced) || dev_comes(d) || d->told_sick == !!why)
			continue;
		d->told_sick = why;
		out_printf(log, "%s is %s%s\n", d->id,
			   withheld ? "not offered: "
			   : why    ? "unhealthy: "
				    : "healthy",
			   why ? why : "");
	}
}

/* Updates or makes the server of the devices v, which have one name. */
static void serve(struct resources *rs, struct dev *const *v, size_t n)
{
	struct resource *r = resources_find(rs, dev_resource(v[0]));
	unsigned int hurry = 0;
	bool announced = false;
	struct err err = { 0 };

	for (size_t i = 0; i < n; i++) {
		unsigned int its = dev_allocated(v[i]) ? 2 : v[i]->kept[0] ? 1 : 0;

		announced |= v[i]->announced;
		hurry = v[i]->announced && its > hurry ? its : hurry;
	}
	if (!r && announced)
		r = resource_new(rs, dev_resource(v[0]), &err);
	if (!r && announced) {
		say("%s cannot be offered: %s", dev_resource(v[0]), err.text);
		source_by(&rs->well, now_ms() + REFUSED_MAX_MS);
	}
	if (!r)
		return;
	r->devices = v;
	r->n_devices = n;
	r->wanted = announced;
	r->ended &= !announced;
	r->hurry = hurry;
}

bool plugin_is_blind(const struct plugin *p, struct source *then)
{
	const char *why;
	uint64_t lost = mirror_lost(p->tree, &why), now = now_ms();
	uint64_t until = lost + plugin_deadline(p, TREE_GRACE_MS);

	if (lost && now < until)
		source_by(then, until);
	return lost && now >= until;
}

static void serve_all(struct resources *rs, const struct devices *t, uint64_t now)
{
	bool blind = plugin_is_blind(rs->p, &rs->well);
	size_t n;
	_free_ struct dev **v = devices_offered(t, &n);

	if (!v) {
		source_by(&rs->well, now + REFUSED_MAX_MS); /* no memory: the offer stays */
		return;
	}
	for (struct resource *r = LIST_FIRST(&rs->list); r; r = LIST_NEXT(r, next)) {
		r->wanted = false;
		r->hurry = 0;
		r->n_devices = 0;
	}
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && !strcmp(dev_resource(v[to]), dev_resource(v[from]));
		     to++)
			;
		serve(rs, &v[from], to - from);
	}
	for (struct resource *r = LIST_FIRST(&rs->list); r; r = LIST_NEXT(r, next)) {
		struct out list = { 0 };

		answer_list(t, r->devices, r->n_devices, now, blind, &list);
		push(r, &list);
	}
}

/* Writes files only after the table's lock is dropped. */
static void write_down(struct resources *rs, struct out *log)
{
	for (const char *line = out_text(log); *line; line += strspn(line, "\n")) {
		int n = (int)strcspn(line, "\n");

		say("%.*s", n, line);
		line += n;
	}
	out_free(log);
	cdi_write(rs->p->cdi);
}

void resources_refresh(struct resources *rs)
{
	uint64_t now = now_ms();
	bool known = mirror_known(rs->p->tree);
	struct out log = { 0 };
	struct devices *t = mirror_lock(rs->p->tree);

	rs->well.at = devices_judge(t, now);
	note_health(t, now, &log);
	serve_all(rs, t, now);
	if (known) /* else the spec of an earlier plugin must stay */
		cdi_note(rs->p->cdi, t);
	pods_count(rs->p->pods, t);
	mirror_unlock(rs->p->tree);
	write_down(rs, &log);
	for (struct resource *r = LIST_FIRST(&rs->list); r; r = LIST_NEXT(r, next))
		r->end.at = r->wanted		      ? UINT64_MAX
			    : r->end.at != UINT64_MAX ? r->end.at
						      : now + LINGER_MS;
	kubelet_tell(rs->p->kubelet);
}

static void on_well(struct source *s)
{
	resources_refresh(container_of(s, struct resources, well));
}

static void on_alone(struct source *s)
{
	kubelet_tell(container_of(s, struct resources, alone)->p->kubelet);
}

/* While pods wait kubelet calls back each of us, so resources that no pod awaits come later. */
static struct resource *first_unheard(struct resources *rs)
{
	bool alone = rs->alone.at != UINT64_MAX;
	struct resource *found = NULL;
	unsigned int told = 0;

	for (struct resource *r = LIST_FIRST(&rs->list); r; r = LIST_NEXT(r, next)) {
		if (r->telling && r->hurry > told)
			told = r->hurry;
		if (r->wanted && !r->telling && !r->heard && !r->main &&
		    r->again.at == UINT64_MAX && (!found || r->hurry > found->hurry))
			found = r;
	}
	return found && alone && found->hurry < told ? NULL : found;
}

/* A new kubelet has removed the sockets. Each is bound only now, so that one that pods wait for is
 * not delayed by the others. */
struct resource *resources_unheard(struct resources *rs)
{
	struct resource *r;

	while ((r = first_unheard(rs))) {
		if (socket_there(r) || bind_anew(r)) {
			r->telling = true;
			return r;
		}
		resource_again(r);
	}
	return NULL;
}

void resource_again(struct resource *r)
{
	r->again.at = now_ms() + back_off(&r->pause, REFUSED_MS, REFUSED_MAX_MS);
}

void resources_forget(struct resources *rs, bool started)
{
	if (started)
		rs->alone.at = now_ms() + plugin_deadline(rs->p, ALONE_MS);
	for (struct resource *r = LIST_FIRST(&rs->list); r; r = LIST_NEXT(r, next)) {
		r->telling = r->heard = false;
		resource_hang_up(r, "it is registered anew");
		r->pause = 0;
		r->again.at = UINT64_MAX;
	}
}

/* Sockets of a killed plugin; nobody else uses this prefix. */
static void remove_left(const char *dir)
{
	_closedir_ DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, SOCKET_PREFIX, strlen(SOCKET_PREFIX)))
			socket_unlink(dir, e->d_name);
}

int resources_new(struct plugin *p, const char *dir, struct resources **ret, struct err *err)
{
	struct resources *rs = calloc(1, sizeof(*rs));

	if (!rs || !(rs->dir = strdup(dir))) {
		free(rs);
		return fail_nomem(err);
	}
	rs->p = p;
	rs->born = now_us();
	remove_left(dir);
	loop_timer(&p->loop, &rs->well, on_well, UINT64_MAX);
	loop_timer(&p->loop, &rs->alone, on_alone, UINT64_MAX);
	*ret = rs;
	return 0;
}

void resources_free(struct resources *rs)
{
	if (!rs)
		return;
	while (!LIST_EMPTY(&rs->list))
		resource_free(LIST_FIRST(&rs->list));
	loop_remove(&rs->p->loop, &rs->well);
	loop_remove(&rs->p->loop, &rs->alone);
	free(rs->dir);
	free(rs);
}
