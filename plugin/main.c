// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs-plugin: offers the claimed devices of the tree to kubelet. */
#include <errno.h>
#include <fcntl.h>
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

#include "plugin/kubelet/cdi.h"
#include "plugin/kubelet/devices.h"
#include "plugin/kubelet/ready.h"
#include "plugin.h"
#include "plugin/rpc/rpc.h"
#include "client/mirror.h"
#include "client/start.h"

enum { READY_MS = 30000, FAILED_MS = 1000 };

static int parse_options(int argc, char **argv, struct plugin_options *ret)
{
	const char *deadline = NULL;
	const struct option_row rows[] = {
		{ "tree", "DIR", "where the tree is mounted (/run/pcidevfs)", &ret->tree },
		{ "kubelet-dir", "DIR", "kubelet's directory (/var/lib/kubelet)", &ret->kubelet },
		{ "dev", "DIR", "where the host's /dev is (/dev)", &ret->dev },
		{ "cdi-dir", "DIR", "where CDI specs go, none for nowhere (/var/run/cdi)",
		  &ret->cdi },
		{ "nvidia-validations", "DIR",
		  "keep the files there for which NVIDIA's GPU Operator waits", &ret->validations },
		{ "deadline", "FACTOR", "scales how long the tree and kubelet have for what they do",
		  &deadline },
		{ 0 },
	};

	*ret = (struct plugin_options){ .tree = "/run/pcidevfs",
					.kubelet = "/var/lib/kubelet",
					.dev = "/dev",
					.cdi = "/var/run/cdi",
					.deadline_factor = 1 };
	if (client_options(argc, argv,
			   "Offers the claimed devices of a pcidevfs tree to kubelet.", rows))
		return -EINVAL;
	if (!deadline || !parse_factor(deadline, &ret->deadline_factor))
		return 0;
	say("--deadline needs a number from 0.001 to 1000, not %s; see --help", deadline);
	return -EINVAL;
}

/* ---- the devices, as the mirror keeps them */

/* Of most parts' interest are the devices alone: they come first. */
struct plugin_table {
	struct devices devices;
	struct ready_cards cards;
};

static void table_begin(void *table)
{
	devices_begin(table);
	ready_begin(&((struct plugin_table *)table)->cards);
}

static int table_take(void *table, const char *id, char *pairs)
{
	return ready_take(&((struct plugin_table *)table)->cards, id, pairs) ?:
	       devices_take(table, id, pairs);
}

static void table_drop(void *table, const char *id)
{
	devices_drop(table, id);
	ready_drop(&((struct plugin_table *)table)->cards, id);
}

static void table_settle(void *table)
{
	devices_settle(table);
	ready_settle(&((struct plugin_table *)table)->cards);
}

static bool table_holders(const void *table, size_t i, char *path, size_t size)
{
	const struct devices *t = table;

	if (i >= t->n)
		return false;
	snprintf(path, size, "%s/%s/holders", bus_of(t->v[i])->directory,
		 t->v[i]->id + strlen(bus_of(t->v[i])->prefix));
	return true;
}

static void table_clear(void *table)
{
	devices_free(table);
	ready_free(&((struct plugin_table *)table)->cards);
}

static const struct mirror_table table = {
	.name = "pcidevfs-plugin",
	.size = sizeof(struct plugin_table),
	.begin = table_begin,
	.take = table_take,
	.drop = table_drop,
	.settle = table_settle,
	.holders = table_holders,
	.overtaken = devices_overtaken,
	.clear = table_clear,
};

/* A service that starts after us admits pods, so the offered devices must be known first. */
static void tell_ready(struct plugin *p)
{
	if (!p->told_ready)
		notify_manager("READY=1");
	p->told_ready = true;
}

static void on_ready_due(struct source *s)
{
	tell_ready(container_of(s, struct plugin, ready));
}

static void on_news(void *ctx)
{
	struct plugin *p = ctx;
	bool known = mirror_known(p->tree);
	struct plugin_table *t;

	resources_refresh(p->resources);
	t = mirror_lock(p->tree);
	validations_refresh(p->validations, known ? &t->cards : NULL);
	mirror_unlock(p->tree);
	if (known)
		tell_ready(p);
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

static int start(struct plugin *p, const struct plugin_options *o, struct err *err)
{
	char dir[256];
	int r;

	p->o = o;
	if ((size_t)snprintf(dir, sizeof(dir), "%s/device-plugins", o->kubelet) >= sizeof(dir) - 64)
		return fail(err, ENAMETOOLONG, "--kubelet-dir: the path is too long");
	raise_limit();
	client_confine(); /* gRPC has threads */
	r = loop_open(&p->loop, err) ?: make_dirs(o->kubelet, dir, err);
	r = r ?: lock_dir(o->kubelet, err);
	r = r ?: rpc_new(&p->loop, &p->rpc, err) ?: cdi_new(o->dev, o->cdi, &p->cdi, err);
	r = r ?: resources_new(p, dir, &p->resources, err) ?: kubelet_new(p, dir, &p->kubelet, err);
	r = r ?: pods_new(p, &p->pods, err);
	r = r ?: validations_new(p, o->validations, &p->validations, err);
	if (r)
		return r;
	loop_timer(&p->loop, &p->ready, on_ready_due, now_ms() + plugin_deadline(p, READY_MS));
	loop_timer(&p->loop, &p->trim, client_trim, UINT64_MAX);
	return mirror_new(o->tree, &p->loop, &table, on_news, p, &p->tree, err);
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
	validations_free(p->validations);
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
	static struct plugin p;
	static struct plugin_options o;
	struct err err = { 0 };

	p.loop.signals.fd = -1;
	if (parse_options(argc, argv, &o)) {
		pause_failed(-1);
		return 2;
	}
	if (start(&p, &o, &err)) {
		say("%s", err.text);
		pause_failed(p.loop.signals.fd);
		return 1;
	}
	loop_run(&p.loop);
	stop(&p);
	return 0;
}
