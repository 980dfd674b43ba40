// SPDX-License-Identifier: GPL-2.0-or-later
#include "pods.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <pcidevfs/err.h>
#include <pcidevfs/util.h>

#include "checkpoint.h"
#include "plugin.h"
#include "podresources.pb-c.h"
#include "resources.h"
#include "rpc.h"
#include "socket.h"
#include "tree.h"

enum {
	LIST_MS = 5000, /* deadline of a call */
	/* After Allocate kubelet has yet to note it; doubled until it has, or until a device is let go. */
	SOON_MS = 50,
	EVERY_MS = 10000,
	ALLOCATED_MAX = 382, /* namespace/pod/container: 63, 253 and 63 characters at most */
	PENDING_MS = 30000,  /* Allocate was answered and kubelet still knows nothing */
};

struct pods {
	struct plugin *p;
	char *dir; /* kubelet's */
	struct source watch, timer;
	struct rpc_channel *channel; /* while a call runs */
	struct stat socket;	     /* of the kubelet that was last asked */
	uint64_t asked;		     /* ms: when */
	unsigned int kubelet;	     /* which one that is, from 1 */
	bool again;		     /* asked for meanwhile */
	unsigned int pause;	     /* SOON_MS and up while something is pending or held */
	size_t allocated, pending, held;
	uint64_t shape, freed; /* of the table that these were counted in */
	size_t writing; /* jobs that the tree has; what kubelet says now would only be written again */
};

/* ---- what kubelet said, against the table */

/* What is to be written of one pod: all of it or nothing, since a group is one pod's. */
struct batch {
	struct batch *next;
	struct out clear, set; /* from one pod to another it goes through none */
	bool ends; /* looked at before it is free: what holds it must stand in the way of the next pod */
	char pod[ALLOCATED_MAX];
};

/* A device of a container, as kubelet lists it. */
struct listed {
	const char *id, *resource, *container;
	const V1__PodResources *pod;
	size_t i; /* of an id that is named twice the first counts */
};

struct verdict {
	struct pods *pods;
	struct devices *t;
	struct listed *listed; /* sorted */
	size_t n, cap;
	struct json_object *checkpoint;
	bool looked, no_checkpoint; /* looked: for the checkpoint */
	bool renamed;		    /* some device has its new name from now on */
	uint64_t now;
	unsigned int kubelet; /* that listed */
	struct batch *batches;
};

static int by_id(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int r = strcmp(x->id, y->id);

	return r ? r : (x->i > y->i) - (x->i < y->i);
}

static bool add_listed(struct verdict *v, const V1__PodResources *pod,
		       const V1__ContainerResources *c)
{
	for (size_t i = 0; i < c->n_devices; i++)
		for (size_t j = 0; j < c->devices[i]->n_device_ids; j++) {
			struct listed *rows = more_rows(v->listed, v->n, &v->cap, sizeof(*rows));

			if (!rows)
				return false;
			v->listed = rows;
			rows[v->n] =
				(struct listed){ c->devices[i]->device_ids[j],
						 c->devices[i]->resource_name, c->name, pod, v->n };
			v->n++;
		}
	return true;
}

/* Each device then looks for itself once, for while it does the table is locked. False: no memory. */
static bool sort_listed(struct verdict *v, const V1__ListPodResourcesResponse *list)
{
	for (size_t i = 0; i < list->n_pod_resources; i++)
		for (size_t j = 0; j < list->pod_resources[i]->n_containers; j++)
			if (!add_listed(v, list->pod_resources[i],
					list->pod_resources[i]->containers[j]))
				return false;
	if (v->n)
		qsort(v->listed, v->n, sizeof(v->listed[0]), by_id);
	return true;
}

/* By the id alone: its resource may have been renamed since. */
static const char *pod_of(const struct verdict *v, struct dev *d, char *buf, size_t size)
{
	const char *id = dev_kubelet_id(d);
	const struct listed *l;
	size_t from = 0, to = v->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (strcmp(v->listed[mid].id, id) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	if (from == v->n || strcmp(v->listed[from].id, id))
		return "";
	l = &v->listed[from];
	snprintf(buf, size, "%s/%s/%s", l->pod->namespace_, l->pod->name, l->container);
	dev_given(d, l->resource);
	return buf;
}

static void job_done(struct job *job, const struct err *err)
{
	struct pods *pods = job->ctx;

	if (err && err->code != ECANCELED) /* what was overtaken the next list tells anew */
		say("%.*s: %s", (int)strcspn(job->lines, "\n"), job->lines, err->text);
	pods->writing--;
	if (!pods->writing && pods->again)
		pods->timer.at = now_ms();
	free(job->lines);
	free(job);
}

static void submit(struct pods *pods, bool look, struct out *text)
{
	struct job *job = text->failed ? NULL : calloc(1, sizeof(*job));

	if (!job) {
		out_free(text);
		return;
	}
	job->lines = text->data;
	job->look = look;
	job->since = pods->asked;
	job->done = job_done;
	job->ctx = pods;
	pods->writing++;
	tree_commit(pods->p->tree, job);
}

/* allocated: namespace/pod/container, or "pending". NULL: no memory; the next list tells it again. */
static struct batch *batch_of(struct verdict *v, const char *allocated)
{
	const char *slash = strrchr(allocated, '/');
	size_t n = slash ? (size_t)(slash - allocated) : strlen(allocated);
	struct batch *b = v->batches;

	while (b && (strncmp(b->pod, allocated, n) || b->pod[n]))
		b = b->next;
	if (!b && (b = calloc(1, sizeof(*b)))) {
		snprintf(b->pod, sizeof(b->pod), "%.*s", (int)n, allocated);
		b->next = v->batches;
		v->batches = b;
	}
	return b;
}

static void submit_batches(struct verdict *v)
{
	for (struct batch *b = v->batches, *next; b; b = next) {
		next = b->next;
		if (b->clear.len)
			submit(v->pods, false, &b->clear);
		submit(v->pods, b->ends, &b->set);
		free(b);
	}
}

/* A kubelet that never listed its pod may not know it yet. */
static bool is_over(struct verdict *v, const struct dev *d)
{
	if (!strcmp(d->allocated, "pending") &&
	    (!d->pending_at || v->now <= d->pending_at + PENDING_MS))
		return false;
	if (d->seen == v->kubelet)
		return true;
	/* Most lists leave nothing to ask it. */
	if (!v->looked)
		v->checkpoint = checkpoint_load(v->pods->dir, &v->no_checkpoint);
	v->looked = true;
	return v->no_checkpoint ||
	       (v->checkpoint && !checkpoint_holds(v->checkpoint, v->pods->dir, dev_kubelet_id(d)));
}

static void settle_one(struct verdict *v, struct dev *d)
{
	char buf[ALLOCATED_MAX];
	bool pending = !strcmp(d->allocated, "pending");
	const char *pod;
	struct batch *b;

	if (d->given_at >= v->pods->asked)
		return; /* kubelet was asked before it gave this away: it told of the pod before */
	pod = pod_of(v, d, buf, sizeof(buf));
	if (pod[0])
		d->seen = v->kubelet;
	if (!pod[0] && dev_renamed(d) && is_over(v, d))
		d->over = v->renamed = true;
	if (!strcmp(pod, d->allocated) || !strncmp(d->allocated, "claim:", 6))
		return;
	if (!pod[0] && !is_over(v, d))
		return;
	b = batch_of(v, pod[0] ? pod : d->allocated);
	if (!b)
		return;
	if (!pod[0])
		b->ends = true;
	else if (dev_allocated(d) && !pending)
		out_printf(&b->clear, "%s/allocated_to none\n", d->id);
	out_printf(&b->set, "%s/allocated_to %s\n", d->id, pod[0] ? pod : "none");
}

static void compare(struct pods *pods, const uint8_t *msg, size_t len)
{
	struct verdict v = { .pods = pods, .now = now_ms(), .kubelet = pods->kubelet };
	V1__ListPodResourcesResponse *list =
		v1__list_pod_resources_response__unpack(NULL, len, msg);

	if (!list || !sort_listed(&v, list)) {
		say("kubelet's list of pods cannot be read");
		goto out;
	}
	v.t = tree_lock(pods->p->tree);
	for (size_t i = 0; i < v.t->n; i++)
		if (dev_offered(v.t->v[i]))
			settle_one(&v, v.t->v[i]);
	tree_unlock(pods->p->tree);
	submit_batches(&v);
	if (v.renamed)
		resources_refresh(pods->p->resources);
out:
	checkpoint_free(v.checkpoint);
	free(v.listed);
	if (list)
		v1__list_pod_resources_response__free_unpacked(list, NULL);
}

/* ---- asking */

static void plan_next(struct pods *pods)
{
	uint64_t now = now_ms(), at = UINT64_MAX;

	if (pods->again)
		at = now;
	else if (pods->pending || pods->held)
		at = now + back_off(&pods->pause, SOON_MS, EVERY_MS);
	else if (pods->allocated)
		at = now + EVERY_MS;
	pods->timer.at = at < pods->timer.at ? at : pods->timer.at;
	if (!pods->pending && !pods->held)
		pods->pause = 0;
	pods->again = false;
}

static void on_list(void *ctx, enum rpc_status status, const char *why, const uint8_t *msg,
		    size_t len)
{
	struct pods *pods = ctx;
	struct rpc_channel *ch = pods->channel;

	if (!ch)
		return; /* pods_stop() */
	pods->channel = NULL;
	if (status == RPC_OK)
		compare(pods, msg, len);
	else if (status != RPC_UNAVAILABLE)
		say("kubelet does not tell which pod has what: %s", why);
	plan_next(pods);
	rpc_channel_free(ch);
}

/* kubelet makes these when it first starts; what is watched already stays so. */
static void watch_dirs(struct pods *pods)
{
	static const char *const dirs[] = { "pods", "pod-resources" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", pods->dir, dirs[i]);
		inotify_add_watch(pods->watch.fd, path,
				  IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR);
	}
}

static void ask(struct pods *pods)
{
	struct err err = { 0 };
	struct stat st;
	char path[256];
	int fd;

	if (pods->channel || pods->writing) {
		pods->again = true;
		return;
	}
	pods->asked = now_ms();
	watch_dirs(pods);
	if (pods->held)
		tree_look(pods->p->tree); /* who closes a node sends no event */
	snprintf(path, sizeof(path), "%s/pod-resources/kubelet.sock", pods->dir);
	/* It lists pods some time before it asks for registrations: its own socket tells which one it is. */
	if (!stat(path, &st) && !socket_same(&st, &pods->socket)) {
		pods->socket = st;
		pods->kubelet++;
	}
	fd = socket_connect(path, &err);
	if (fd < 0 || rpc_channel_new(pods->p->rpc, fd, &pods->channel, &err) ||
	    rpc_ask(pods->channel, "/v1.PodResourcesLister/List", (const uint8_t *)"", 0, LIST_MS,
		    on_list, pods, &err)) {
		rpc_channel_free(pods->channel);
		pods->channel = NULL;
		plan_next(pods); /* kubelet is away: its pods are not */
	}
}

static void on_timer(struct source *s)
{
	ask(container_of(s, struct pods, timer));
}

static void on_watch(struct source *s)
{
	struct pods *pods = container_of(s, struct pods, watch);
	char buf[4096];

	while (read(s->fd, buf, sizeof(buf)) > 0)
		;
	pods->timer.at = now_ms() + SOON_MS;
}

void pods_ask(struct pods *pods)
{
	pods->pause = 0;
	pods->timer.at = now_ms() + SOON_MS;
}

void pods_count(struct pods *pods, const struct devices *t)
{
	size_t before = pods->allocated + pods->held;

	pods->allocated = pods->pending = pods->held = 0;
	for (size_t i = 0; i < t->n; i++) {
		pods->allocated += dev_allocated(t->v[i]);
		pods->pending += !strcmp(t->v[i]->allocated, "pending");
		pods->held += !strcmp(t->v[i]->state, "held");
	}
	if (!before && pods->allocated + pods->held && pods->timer.at == UINT64_MAX)
		pods->timer.at = now_ms() + EVERY_MS;
	/* What has come, or was taken back by whomever, may be a pod's. */
	if (t->n && (t->shape != pods->shape || t->freed != pods->freed) &&
	    pods->timer.at > now_ms() + SOON_MS)
		pods->timer.at = now_ms() + SOON_MS;
	pods->shape = t->shape;
	pods->freed = t->freed;
}

int pods_new(struct plugin *p, const char *dir, struct pods **ret, struct err *err)
{
	struct pods *pods = calloc(1, sizeof(*pods));

	if (!pods || !(pods->dir = strdup(dir))) {
		free(pods);
		return fail(err, ENOMEM, "no memory");
	}
	pods->p = p;
	pods->watch = (struct source){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
				       .ready = on_watch,
				       .at = UINT64_MAX };
	/* At the start: what pods have had since before. */
	pods->timer = (struct source){ .fd = -1, .due = on_timer, .at = now_ms() + SOON_MS };
	*ret = pods;
	if (pods->watch.fd < 0)
		return fail(err, errno, "no inotify: %s", strerror(errno));
	return loop_add(&p->loop, &pods->watch, err) ?: loop_add(&p->loop, &pods->timer, err);
}

void pods_stop(struct pods *pods)
{
	struct rpc_channel *ch;

	if (!pods)
		return;
	ch = pods->channel;
	pods->channel = NULL;
	rpc_channel_free(ch);
	loop_remove(&pods->p->loop, &pods->watch);
	loop_remove(&pods->p->loop, &pods->timer);
	closep(&pods->watch.fd);
}

void pods_free(struct pods *pods)
{
	if (!pods)
		return;
	free(pods->dir);
	free(pods);
}
