// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs-plugin: offers the claimed devices of the tree to kubelet. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/notify.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "allocate.h"
#include "plugin/kubelet/cdi.h"
#include "kubelet.h"
#include "plugin.h"
#include "pods.h"
#include "resources.h"
#include "plugin/rpc/rpc.h"
#include "client/mirror.h"
#include "client/start.h"

struct main {
	struct plugin p;
	struct source tree;
	struct source ready; /* the service manager's patience ends */
	bool told_ready;
};

enum { READY_MS = 30000, FAILED_MS = 1000 };

static int parse_options(int argc, char **argv, struct options *ret)
{
	const char *deadline = NULL;
	const struct option_row rows[] = {
		{ "tree", "DIR", "where the tree is mounted (/run/pcidevfs)", &ret->tree },
		{ "kubelet-dir", "DIR", "kubelet's directory (/var/lib/kubelet)", &ret->kubelet },
		{ "dev", "DIR", "where the host's /dev is (/dev)", &ret->dev },
		{ "cdi-dir", "DIR", "where CDI specs go, none for nowhere (/var/run/cdi)",
		  &ret->cdi },
		{ "deadline", "FACTOR", "scales how long the tree and kubelet have for what they do",
		  &deadline },
		{ 0 },
	};

	*ret = (struct options){ "/run/pcidevfs", "/var/lib/kubelet", "/dev", "/var/run/cdi", 1 };
	if (client_options(argc, argv,
			   "Offers the claimed devices of a pcidevfs tree to kubelet.", rows))
		return -EINVAL;
	if (!deadline || !parse_factor(deadline, &ret->deadline_factor))
		return 0;
	say("--deadline needs a number from 0.001 to 1000, not %s; see --help", deadline);
	return -EINVAL;
}

/* A service that starts after us admits pods, so the offered devices must be known first. */
static void tell_ready(struct main *m)
{
	if (!m->told_ready)
		notify_manager("READY=1");
	m->told_ready = true;
}

static void on_ready_due(struct source *s)
{
	tell_ready(container_of(s, struct main, ready));
}

/* Each kubelet dials all resources at once while the connections of the last one are closed. With
 * 200 resources malloc() keeps some MiB of that. Trimming takes some ms: not while pods wait. */
static void on_trim(struct source *s)
{
	(void)s;
	malloc_trim(0);
}

static void on_tree(struct source *s)
{
	struct main *m = container_of(s, struct main, tree);
	const char *why;

	if (!mirror_dispatch(m->p.tree))
		return;
	mirror_lock(m->p.tree);
	if (mirror_lost(m->p.tree, &why))
		say("%s", why);
	mirror_unlock(m->p.tree);
	resources_refresh(m->p.resources);
	if (mirror_known(m->p.tree))
		tell_ready(m);
}

/* Missing before kubelet's first start. Made with kubelet's modes; our sockets wait there. */
static int make_dirs(const char *kubelet, const char *plugins, struct err *err)
{
	if ((mkdir(kubelet, 0750) && errno != EEXIST) || (mkdir(plugins, 0750) && errno != EEXIST))
		return fail(err, errno, "%s: %s", kubelet, strerror(errno));
	return 0;
}

/* Two plugins would replace each other at kubelet without end. The lock is not in kubelet's
 * directory of sockets, which kubelet empties when it starts. */
static int lock_dir(const char *dir, struct err *err)
{
	_close_ int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err why = { 0 };
	int fd;

	if (at < 0)
		return fail(err, errno, "%s: %s", dir, strerror(errno));
	fd = lockfile_take(at, "pcidevfs-plugin.lock", &why);
	if (fd >= 0)
		return 0; /* held until the process ends */
	if (fd == -EWOULDBLOCK)
		return fail(err, EBUSY, "another pcidevfs-plugin serves the kubelet of %s", dir);
	return fail(err, -fd, "%s/%s", dir, why.text);
}

/* A resource takes two descriptors. select() is not used. */
static void raise_limit(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int start(struct main *m, const struct options *o, struct err *err)
{
	struct plugin *p = &m->p;
	char dir[256];
	int r;

	p->o = o;
	if ((size_t)snprintf(dir, sizeof(dir), "%s/device-plugins", o->kubelet) >= sizeof(dir) - 64)
		return fail(err, ENAMETOOLONG, "--kubelet-dir: the path is too long");
	raise_limit();
	client_confine(); /* gRPC has threads */
	r = loop_open(&p->loop, err) ?: loop_signals(&p->loop, err);
	r = r ?: make_dirs(o->kubelet, dir, err) ?: lock_dir(o->kubelet, err);
	r = r ?: rpc_new(&p->loop, &p->rpc, err) ?: cdi_new(o->dev, o->cdi, &p->cdi, err);
	r = r ?: resources_new(p, dir, &p->resources, err) ?: kubelet_new(p, dir, &p->kubelet, err);
	r = r ?: pods_new(p, o->kubelet, &p->pods, err);
	r = r ?: mirror_new(o->tree, &p->loop, &plugin_table, &p->tree, err);
	if (r)
		return r;
	m->tree = (struct source){ .fd = mirror_fd(p->tree), .ready = on_tree, .at = UINT64_MAX };
	m->ready = (struct source){ .fd = -1,
				    .due = on_ready_due,
				    .at = now_ms() + plugin_deadline(p, READY_MS) };
	p->trim = (struct source){ .fd = -1, .due = on_trim, .at = UINT64_MAX };
	r = loop_add(&p->loop, &m->ready, err) ?: loop_add(&p->loop, &p->trim, err);
	return r ?: loop_add(&p->loop, &m->tree, err);
}

static void stop(struct plugin *p)
{
	notify_manager("STOPPING=1");
	mirror_free(p->tree);
	allocate_stop(p);
	pods_stop(p->pods);
	kubelet_stop(p->kubelet);
	resources_free(p->resources);
	rpc_free(p->rpc);
	pods_free(p->pods);
	kubelet_free(p->kubelet);
	cdi_free(p->cdi);
	loop_close(&p->loop);
}

/* A service manager restarts us at once because kubelet waits. This pauses a failing start. */
static void pause_failed(int signals)
{
	struct pollfd end = { .fd = signals, .events = POLLIN };

	if (getenv("NOTIFY_SOCKET"))
		poll(&end, 1, FAILED_MS);
}

const char say_as[] = "pcidevfs-plugin";

int main(int argc, char **argv)
{
	/* Static, because a thread that hangs at the tree uses them to the end. */
	static struct main m;
	static struct options o;
	struct err err = { 0 };

	m.p.loop.signals.fd = -1;
	if (parse_options(argc, argv, &o)) {
		pause_failed(-1);
		return 2;
	}
	if (start(&m, &o, &err)) {
		say("%s", err.text);
		pause_failed(m.p.loop.signals.fd);
		return 1;
	}
	loop_run(&m.p.loop);
	stop(&m.p);
	return 0;
}
