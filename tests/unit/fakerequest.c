// SPDX-License-Identifier: GPL-2.0-or-later
#include "facts.h"
#include "fakerequest.h"

#include "backend/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pcidevfs/util.h"
#include "test.h"

struct fakerequest fakerequest;
#define t fakerequest

static void call_once(void (*_Atomic *hook)(void))
{
	void (*call)(void) = atomic_exchange(hook, NULL);

	if (call)
		call();
}

static int run(struct backend *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	struct device *dev;

	t.ops++;
	call_once(&t.in_step);
	if (t.refuse)
		return fail(err, t.refuse, "%s: the kernel says no", s->dev.name);
	model_lock(t.m);
	dev = model_edit(t.m, &s->dev, false);
	if (dev && !strcmp(s->verb->name, "bind"))
		set_driver(&dev->facts, s->value);
	else if (dev)
		dev->facts.num_vfs = atoi(s->value);
	model_publish(t.m);
	model_unlock(t.m);
	if (!dev)
		return fail(err, ENODEV, "%s is gone", s->dev.name);
	return 0;
}

/* step->dev is the parent: "UUID" makes, "-UUID" removes. */
static int make(struct backend *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	bool goes = s->value[0] == '-';
	struct key key;

	t.ops++;
	if (t.refuse)
		return fail(err, t.refuse, "%s: the kernel says no", s->dev.name);
	CHECK(key_make(BUS_MDEV, s->value + goes, &key));
	model_lock(t.m);
	if (goes) {
		model_remove(t.m, &key);
	} else {
		struct device *dev = model_edit(t.m, &key, true);

		dev->facts = facts_none;
		dev->facts.serial_known = true;
		dev->facts.parent = s->dev;
	}
	model_publish(t.m);
	model_unlock(t.m);
	return 0;
}

static const struct verb make_verb = {
	.name = "make", .deadline_ms = 1000, .remakes = true, .run = make
};
static const struct verb bind_verb = { .name = "bind", .deadline_ms = 1000, .run = run };
static const struct verb vfs_verb = { .name = "vfs", .deadline_ms = 1000, .run = run };
static const struct verb *const verbs[] = { &bind_verb, &vfs_verb, &make_verb, NULL };

static int expand(struct model *m, const struct device *dev, const struct request *w,
		  struct plan *p, struct err *err)
{
	char former[DRIVER_NAME];
	int rc = plan_touch(p, &w->dev, err);

	if (rc || (dev->facts.use == USE_GUEST && !strcmp(dev->intent.claim, w->value)))
		return rc;
	former_get(dev->intent.former, "driver", former, sizeof(former));
	return plan_step(p, &bind_verb, &w->dev, w->value[0] ? "vfio-pci" : former, err);
}

static int prepare(struct model *m, struct device *dev, const struct request *w, struct err *err)
{
	if (w->value[0] && !dev->intent.former_known) {
		dev->intent.former_known = true;
		former_set(dev->intent.former, "driver", dev->facts.driver);
		former_set(dev->intent.former, FORMER_SERIAL, dev->facts.host_serial);
	}
	return 0;
}

static int settle(struct model *m, struct device *dev, const struct request *w, struct err *err)
{
	STR_COPY(dev->intent.claim, w->value);
	if (!w->value[0])
		dev->intent = (struct intent){ 0 };
	return 0;
}

static const struct method claim = {
	.file = "claim", .rank = 2, .expand = expand, .prepare = prepare, .settle = settle
};

static int vfs_expand(struct model *m, const struct device *dev, const struct request *w,
		      struct plan *p, struct err *err)
{
	int rc = plan_touch(p, &w->dev, err);

	if (rc || dev->facts.num_vfs == atoi(w->value))
		return rc;
	return plan_step(p, &vfs_verb, &w->dev, w->value, err);
}

static int vfs_settle(struct model *m, struct device *dev, const struct request *w, struct err *err)
{
	dev->intent.num_vfs = atoi(w->value);
	dev->intent.vfs_wanted = dev->intent.num_vfs;
	return 0;
}

static const struct method vfs = {
	.file = "sriov_numvfs", .rank = 1, .expand = vfs_expand, .settle = vfs_settle
};
static int profile_expand(struct model *m, const struct device *dev, const struct request *w,
			  struct plan *p, struct err *err)
{
	const struct key *parent = dev ? &dev->facts.parent : request_parent(w);
	char value[STEP_VALUE];
	int rc = plan_touch(p, parent, err);

	rc = rc ? rc : plan_touch(p, &w->dev, err);
	if (rc || (dev && w->value[0]))
		return rc;
	snprintf(value, sizeof(value), "%s%s", dev ? "-" : "", w->dev.name);
	return plan_step(p, &make_verb, parent, value, err);
}

static bool profile_down(struct model *m, const struct request *w)
{
	return !w->value[0];
}

static int profile_settle(struct model *m, struct device *dev, const struct request *w,
			  struct err *err)
{
	STR_COPY(dev->intent.profile, w->value);
	return 0;
}

static int profile_foresee(const struct device *parent, int32_t index, struct device *ret,
			   struct err *err)
{
	CHECK_EQ(index, -1);
	ret->caps = CAP_CLAIM;
	ret->kind = KIND_MDEV;
	return 0;
}

static bool profile_can(const struct device *dev)
{
	return dev->key.bus == BUS_MDEV || dev->facts.device == 0x1521;
}

static const struct method profile = { .file = "profile",
				       .bus = BUS_MDEV,
				       .rank = 1,
				       .barrier = true,
				       .can = profile_can,
				       .down = profile_down,
				       .foresee = profile_foresee,
				       .expand = profile_expand,
				       .settle = profile_settle };
static const struct method *methods[7] = { &vfs, &claim, &profile };

static int observe(void *backend, const struct key *devs, size_t n, bool guards, struct err *err)
{
	call_once(&t.before_plan);
	return 0;
}

static void *hear(void *ctx)
{
	while (model_dispatch(ctx))
		;
	return NULL;
}

void request_begin(bool keep_model)
{
	struct engine_conf conf = {
		.world = { .methods = methods, .verbs = verbs, .observe = observe },
		.deadline_factor = 1,
		.threads = 8
	};
	char dir[256];
	bool found;

	for (size_t i = 0; offer_ops.methods[i]; i++)
		methods[3 + i] = offer_ops.methods[i]; /* pooled, resource_name, offered_as */
	snprintf(dir, sizeof(dir), "%s/state", test_dir());
	if (!keep_model)
		t.arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK_EQ(model_new(t.arena, model_arena_size(), &t.m, &found, NULL), 0);
	CHECK_EQ(found, keep_model);
	model_complete(t.m);
	t.goes_on = found;
	CHECK_EQ(intents_new(dir, &t.in, NULL), 0);
	intents_open(t.in, &(struct intents_conf){ .boot_id = "this-boot" }, t.m);
	conf.model = t.m;
	conf.keeper = (struct keeper){ t.in, intents_keep };
	CHECK_EQ(engine_new(&conf, &t.e, NULL), 0);
	pthread_create(&t.hearing, NULL, hear, t.m);
}

void request_end(void)
{
	intents_stop(t.in);
	if (engine_end(t.e, NULL))
		engine_free(t.e);
	model_stop(t.m);
	pthread_join(t.hearing, NULL);
	intents_close(t.in);
	model_free(t.m);
}

struct key request_key(const char *name)
{
	struct key k;

	CHECK(key_parse(name, &k));
	return k;
}

void request_plug(const struct plug *p)
{
	struct key k = request_key(p->name);
	struct device *dev;

	model_lock(t.m);
	model_set_iommu(t.m, true);
	dev = model_edit(t.m, &k, true);
	dev->facts = (struct facts){ .vendor = 0x8086,
				     .device = (uint16_t)p->device,
				     .serial = p->serial,
				     .serial_known = true,
				     .iommu_group = p->group,
				     .numa_node = -1,
				     .total_vfs = p->physfn ? -1 : 8,
				     .index = p->physfn ? p->vf : -1,
				     .class_code = 0x020000 };
	STR_COPY(dev->facts.path, p->path);
	set_driver(&dev->facts, p->driver);
	key_make(BUS_PCI, p->physfn ? p->physfn : "", &dev->facts.parent);
	model_publish(t.m);
	model_unlock(t.m);
}

void request_unplug(const char *name)
{
	struct key k = request_key(name);

	model_lock(t.m);
	model_remove(t.m, &k);
	model_unlock(t.m);
}

void request_edit(const char *name, void (*change)(struct device *dev))
{
	struct key k = request_key(name);

	model_lock(t.m);
	change(model_edit(t.m, &k, false));
	model_publish(t.m);
	model_unlock(t.m);
	request_calm();
}

struct device request_state_of(const char *name)
{
	struct key k = request_key(name);
	struct device copy = { 0 };

	model_lock(t.m);
	if (model_find(t.m, &k))
		copy = *model_find(t.m, &k);
	model_unlock(t.m);
	return copy;
}

struct verdict {
	pthread_mutex_t lock;
	pthread_cond_t come;
	bool is_there;
	struct err err;
};

static void done(void *ctx, const struct err *err)
{
	struct verdict *v = ctx;

	pthread_mutex_lock(&v->lock);
	v->err = *err;
	v->is_there = true;
	pthread_cond_signal(&v->come);
	pthread_mutex_unlock(&v->lock);
}

int request_ask_all(const struct request *requests, size_t n, struct err *ret)
{
	struct verdict v = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
	struct actor who = { .comm = "test" };

	txn_submit(t.e, requests, n, &who, done, &v);
	pthread_mutex_lock(&v.lock);
	while (!v.is_there)
		pthread_cond_wait(&v.come, &v.lock);
	pthread_mutex_unlock(&v.lock);
	*ret = v.err;
	return -v.err.code;
}

int request_ask(const char *name, const char *file, const char *value)
{
	struct request w = { .dev = request_key(name) };
	struct err err;

	STR_COPY(w.file, file);
	STR_COPY(w.value, value);
	return request_ask_all(&w, 1, &err);
}

void request_restore(void)
{
	intents_restore(t.in, t.e, t.goes_on);
	CHECK(intents_settled(t.in, 60000));
}

void request_calm(void)
{
	CHECK(model_sync(t.m, model_generation(t.m), 30000));
	CHECK(intents_settled(t.in, 60000));
}

void request_expect_line(const char *part, const char *state)
{
	struct out o = { 0 };
	char *line;

	intents_print(t.in, &o);
	line = strstr(out_text(&o), part);
	if (!line)
		FAIL("no %s in %s", part, out_text(&o));
	while (line > o.data && line[-1] != '\n')
		line--;
	line[strcspn(line, "\n")] = '\0';
	CHECK_IN(line, state);
	out_free(&o);
}

const struct plug request_nic = { REQUEST_NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 0, 1, 0 };

void request_boot(const struct plug *p)
{
	request_begin(false);
	request_plug(p);
	fakerequest.ops = 0;
	request_restore();
}

void request_store_claim(const struct plug *p)
{
	request_boot(p);
	CHECK_EQ(request_ask(REQUEST_NIC, "claim", "alice"), 0);
	request_end();
}

void request_boot_refused(int code)
{
	request_store_claim(&request_nic);
	fakerequest.refuse = code;
	request_boot(&request_nic);
	request_calm();
	CHECK_EQ(fakerequest.ops, 1);
}
