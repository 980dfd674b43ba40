// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records and a model that comes and goes, over an engine whose method "claim" takes a device by one step
 * that sets its driver, and whose method "sriov_numvfs" makes VFs.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct {
	struct model *m;
	struct engine *e;
	struct intents *in;
	void *arena;
	pthread_t hearing;
	_Atomic int acts;
	_Atomic int refuse; /* errno of every act, 0 none */
} t;

static int run(void *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	struct device *dev;

	(void)backend;
	(void)deadline_ms;
	t.acts++;
	if (t.refuse)
		return fail(err, t.refuse, "%s: the kernel says no", s->dev.name);
	model_lock(t.m);
	dev = model_edit(t.m, &s->dev, false);
	if (dev)
		STR_COPY(dev->facts.driver, s->value);
	model_publish(t.m);
	model_unlock(t.m);
	return 0;
}

static const struct verb bind_verb = { .name = "bind", .deadline_ms = 1000, .run = run };
static const struct verb *const verbs[] = { &bind_verb, NULL };

static int expand(struct model *m, const struct wish *w, struct plan *p, struct err *err)
{
	const struct device *dev = model_find(m, &w->dev);
	int rc = plan_touch(p, &w->dev, err);

	if (rc || (driver_is_vfio(dev->facts.driver) && !strcmp(dev->want.claim, w->value)))
		return rc;
	return plan_step(p, &bind_verb, &w->dev, w->value[0] ? "vfio-pci" : dev->want.former_driver, err);
}

static int prepare(struct model *m, const struct wish *w, struct err *err)
{
	struct device *dev = model_edit(m, &w->dev, false);

	(void)err;
	if (w->value[0] && !dev->want.former_known) {
		dev->want.former_known = true;
		STR_COPY(dev->want.former_driver, dev->facts.driver);
	}
	return 0;
}

static int settle(struct model *m, const struct wish *w, struct err *err)
{
	struct device *dev = model_edit(m, &w->dev, false);

	(void)err;
	STR_COPY(dev->want.claim, w->value);
	if (!w->value[0])
		dev->want = (struct want){ 0 };
	return 0;
}

static const struct method claim = { .file = "claim", .rank = 2, .expand = expand, .prepare = prepare,
				     .settle = settle };

static int vfs_expand(struct model *m, const struct wish *w, struct plan *p, struct err *err)
{
	(void)m;
	return plan_touch(p, &w->dev, err);
}

static int vfs_settle(struct model *m, const struct wish *w, struct err *err)
{
	struct device *dev = model_edit(m, &w->dev, false);

	(void)err;
	t.acts++;
	dev->want.vfs_wanted = true;
	dev->want.num_vfs = dev->facts.num_vfs = atoi(w->value);
	return 0;
}

static const struct method vfs = { .file = "sriov_numvfs", .rank = 1, .expand = vfs_expand,
				   .settle = vfs_settle };
static const struct method *const methods[] = { &vfs, &claim, NULL };

static int observe(void *backend, const struct key *devs, size_t n, bool guards, struct err *err)
{
	(void)backend;
	(void)devs;
	(void)n;
	(void)guards;
	(void)err;
	return 0;
}

static void *hear(void *ctx)
{
	while (model_dispatch(ctx))
		;
	return NULL;
}

/* A process begins: keep_model for one that finds its predecessor's memory. */
static void begin(bool keep_model)
{
	struct engine_conf conf = { .world = { .methods = methods, .verbs = verbs, .observe = observe },
				    .deadline_factor = 1,
				    .threads = 4 };
	char dir[256];
	bool found;

	snprintf(dir, sizeof(dir), "%s/state", test_dir());
	if (!keep_model)
		t.arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK_EQ(model_new(t.arena, model_arena_size(), &t.m, &found, NULL), 0);
	CHECK_EQ(found, keep_model);
	CHECK_EQ(intents_open(dir, t.m, &t.in, NULL), 0);
	conf.model = t.m;
	conf.keeper = (struct keeper){ t.in, intents_keep };
	CHECK_EQ(engine_new(&conf, &t.e, NULL), 0);
	pthread_create(&t.hearing, NULL, hear, t.m);
}

static void end(void)
{
	intents_stop(t.in);
	engine_free(t.e);
	model_stop(t.m);
	pthread_join(t.hearing, NULL);
	intents_close(t.in);
	model_free(t.m);
}

static struct key key(const char *name)
{
	struct key k;

	CHECK(key_make(BUS_PCI, name, &k));
	return k;
}

struct plug {
	const char *name, *path, *driver, *physfn;
	unsigned int device;
	uint64_t serial;
	int group, vf;
};

static void plug(const struct plug *p)
{
	struct key k = key(p->name);
	struct device *dev;

	model_lock(t.m);
	model_set_iommu(t.m, true);
	dev = model_edit(t.m, &k, true);
	dev->facts = (struct facts){ .vendor = 0x8086, .device = (uint16_t)p->device, .serial = p->serial,
				     .serial_known = true, .iommu_group = p->group, .numa_node = -1,
				     .total_vfs = p->physfn ? -1 : 8, .vf_index = p->physfn ? p->vf : -1,
				     .class_code = 0x020000 };
	STR_COPY(dev->facts.path, p->path);
	STR_COPY(dev->facts.driver, p->driver);
	STR_COPY(dev->facts.physfn, p->physfn ? p->physfn : "");
	model_publish(t.m);
	model_unlock(t.m);
}

static void unplug(const char *name)
{
	struct key k = key(name);

	model_lock(t.m);
	model_remove(t.m, &k);
	model_unlock(t.m);
}

static struct device state_of(const char *name)
{
	struct key k = key(name);
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

static int ask(const char *name, const char *file, const char *value)
{
	struct verdict v = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
	struct wish w = { .dev = key(name) };
	struct actor who = { .comm = "test" };

	STR_COPY(w.file, file);
	STR_COPY(w.value, value);
	txn_submit(t.e, &w, 1, &who, done, &v);
	pthread_mutex_lock(&v.lock);
	while (!v.is_there)
		pthread_cond_wait(&v.come, &v.lock);
	pthread_mutex_unlock(&v.lock);
	return -v.err.code;
}

static void restore(void)
{
	intents_restore(t.in, t.e);
	CHECK(intents_settled(t.in, 5000));
}

/* Once all changes were heard and nothing runs any more. */
static void calm(void)
{
	CHECK(model_sync(t.m, model_generation(t.m), 2000));
	CHECK(intents_settled(t.in, 5000));
}

static void expect_line(const char *part, const char *state)
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

#define NIC "0000:02:00.0"
static const struct plug nic = { NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 0, 1, 0 };

DEFINE_TEST(restore_after_reboot_and_after_crash)
{
	begin(false);
	plug(&nic);
	restore();
	CHECK_EQ(ask(NIC, "claim", "alice"), 0);
	expect_line("claim=alice", "former_driver=igb");
	end();

	begin(false); /* a reboot */
	plug(&nic);
	t.acts = 0;
	restore();
	CHECK_EQ(t.acts, 1);
	CHECK_STR(state_of(NIC).want.claim, "alice");
	CHECK_STR(state_of(NIC).want.former_driver, "igb");
	expect_line("claim=alice", "state=held");
	/* Somebody takes it: drift, also for the process after a crash. */
	plug(&nic);
	end();
	begin(true);
	restore();
	calm();
	CHECK_EQ(t.acts, 1);
	expect_line("claim=alice", "state=drifted");
	/* It comes again: another appearance. */
	unplug(NIC);
	calm();
	expect_line("claim=alice", "state=waiting");
	plug(&nic);
	calm();
	CHECK_EQ(t.acts, 2);
	expect_line("claim=alice", "state=held");
	CHECK_EQ(ask(NIC, "claim", ""), 0);
	CHECK_STR(state_of(NIC).facts.driver, "igb");
	end();
	begin(false);
	plug(&nic);
	t.acts = 0;
	restore();
	CHECK_EQ(t.acts, 0);
	end();
}

DEFINE_TEST(restore_knows_strangers_and_followers)
{
	static const struct plug carded = { NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 1, 0 };
	static const struct plug moved = { "0000:09:00.0", "0000:00/04.0/00.0", "igb", NULL, 0x1521, 77, 1, 0 };
	static const struct plug other = { NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 78, 2, 0 };
	static const struct plug renumbered = { "0000:05:00.0", "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 7, 0 };
	static const struct plug replacement = { NIC, "0000:00/04.0/00.0", "igb", NULL, 0x1521, 79, 2, 0 };
	struct key k = key(NIC);

	begin(false);
	plug(&carded);
	restore();
	CHECK_EQ(ask(NIC, "claim", "alice"), 0);
	end();

	begin(false); /* another bus number */
	plug(&renumbered);
	restore();
	CHECK_STR(state_of("0000:05:00.0").want.claim, "alice");
	end();

	begin(false); /* in another slot, and another of its kind where it was */
	plug(&moved);
	plug(&other);
	restore();
	CHECK_STR(state_of("0000:09:00.0").want.claim, "alice");
	CHECK_STR(state_of(NIC).want.claim, "");
	end();

	begin(false); /* gone, and another in its new place */
	plug(&replacement);
	t.acts = 0;
	restore();
	CHECK_EQ(t.acts, 0);
	CHECK_IN(state_of(NIC).reason, "accept " NIC);
	expect_line("claim=alice", "state=stranger");
	CHECK_EQ(intents_accept(t.in, &k, NULL), 0);
	calm();
	CHECK_STR(state_of(NIC).want.claim, "alice");
	CHECK_STR(state_of(NIC).unmet, "");
	CHECK_EQ(intents_accept(t.in, &k, NULL), -EINVAL);
	end();
}

DEFINE_TEST(restore_leaves_a_changed_group_alone)
{
	static const struct plug guest = { "0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0 };
	struct key k = key(NIC);

	begin(false);
	plug(&nic);
	restore();
	CHECK_EQ(ask(NIC, "claim", "alice"), 0);
	end();
	begin(false);
	plug(&nic);
	plug(&guest);
	t.acts = 0;
	restore();
	CHECK_EQ(t.acts, 0);
	CHECK_IN(state_of(NIC).reason, "0000:02:00.1 is in its IOMMU group now");
	expect_line("claim=alice", "state=refused");
	CHECK_EQ(intents_accept(t.in, &k, NULL), 0);
	calm();
	CHECK(t.acts > 0);
	CHECK_STR(state_of(NIC).want.claim, "alice");
	end();
}

DEFINE_TEST(restore_makes_vfs_and_then_claims_them)
{
	static const struct plug vf = { "0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 2 };
	static const struct plug late = { NIC, "0000:00/03.0/00.0", "", NULL, 0x1521, 0, 1, 0 };

	begin(false);
	plug(&nic);
	restore();
	CHECK_EQ(ask(NIC, "sriov_numvfs", "4"), 0);
	plug(&vf);
	CHECK_EQ(ask("0000:02:10.2", "claim", "bob"), 0);
	end();
	begin(false);
	plug(&late);
	t.acts = 0;
	restore();
	CHECK_EQ(t.acts, 0);
	expect_line("numvfs=4", "state=waiting");
	CHECK_IN(state_of(NIC).reason, "has not come yet");
	plug(&nic); /* its driver comes */
	calm();
	CHECK_EQ(t.acts, 1);
	CHECK_EQ(state_of(NIC).facts.num_vfs, 4);
	CHECK_EQ(state_of(NIC).want.vf_claims[0], 1 << 2);
	plug(&vf);
	calm();
	CHECK_STR(state_of("0000:02:10.2").want.claim, "bob");
	plug(&nic); /* somebody took the VFs away */
	calm();
	expect_line("numvfs=4", "state=drifted");
	CHECK_IN(state_of(NIC).reason, "0 VFs although 4 are stored");
	CHECK_EQ(t.acts, 2);
	end();
}

DEFINE_TEST(restore_refused_is_tried_when_it_may_go)
{
	struct plug other = nic;

	other.driver = "igbx";
	begin(false);
	plug(&nic);
	restore();
	CHECK_EQ(ask(NIC, "claim", "alice"), 0);
	end();
	begin(false);
	plug(&nic);
	t.acts = 0;
	t.refuse = EBUSY;
	restore();
	calm();
	CHECK_EQ(t.acts, 1);
	CHECK_IN(state_of(NIC).reason, "the kernel says no");
	t.refuse = 0;
	plug(&other);
	calm();
	CHECK_EQ(t.acts, 2);
	CHECK_STR(state_of(NIC).want.claim, "alice");
	end();
}

DEFINE_TEST(restore_owners_and_forget)
{
	struct owner_wish alice = { 1000, 1001, 0664 }, got;
	struct key k = key(NIC);
	struct out o = { 0 };

	begin(false);
	plug(&nic);
	restore();
	CHECK_EQ(intents_set_owner(t.in, &k, "claim", &alice, NULL), 0);
	CHECK_EQ(ask(NIC, "claim", "alice"), 0);
	end();
	begin(false);
	plug(&nic);
	restore();
	CHECK(intents_owner(t.in, &k, "claim", &got));
	CHECK_EQ(got.uid, 1000);
	CHECK_EQ(got.mode, 0664);
	CHECK(!intents_owner(t.in, &k, "plan", &got));
	CHECK_EQ(state_of(NIC).want.uid, 1000);
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0,8086:1521:0000:0000,none", NULL), -EBUSY);
	unplug(NIC);
	calm();
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0", NULL), -EINVAL);
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0,8086:1521:0000:0000,none", NULL), 0);
	intents_print(t.in, &o);
	CHECK_STR(out_text(&o), "");
	end();
}

static void put_state(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "state/%s", name);
	test_file(path, text);
}

DEFINE_TEST(restore_sets_a_damaged_file_aside)
{
	struct out o = { 0 };

	put_state(INTENT_FILE, "pcidevfs-intent 1\nrubbish\n");
	begin(false);
	plug(&nic);
	restore();
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), "intent was set aside as intent.damaged-");
	out_free(&o);
	CHECK_EQ(ask(NIC, "claim", "alice"), 0);
	expect_line("claim=alice", "state=held");
	end();
}

/* A state directory that cannot be: reading goes on, what is asked is refused. */
DEFINE_TEST(restore_without_a_directory)
{
	struct out o = { 0 };

	test_file("state", "");
	begin(false);
	plug(&nic);
	restore();
	CHECK_EQ(ask(NIC, "claim", "alice"), -ENOTDIR);
	CHECK_STR(state_of(NIC).facts.driver, "igb");
	CHECK_EQ(t.acts, 0);
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), "state=broken");
	out_free(&o);
	end();
}

/* Each in a process of its own. */
static void keep_asking(_Atomic int *acknowledged)
{
	begin(false);
	plug(&nic);
	intents_note(t.in);
	for (;;) {
		char value[16];

		snprintf(value, sizeof(value), "n%d", *acknowledged + 1);
		CHECK_EQ(ask(NIC, "claim", value), 0);
		(*acknowledged)++;
	}
}

static void look_what_is_stored(_Atomic int *acknowledged)
{
	int stored, last = *acknowledged;

	begin(false);
	plug(&nic);
	restore();
	stored = state_of(NIC).want.claim[0] ? atoi(state_of(NIC).want.claim + 1) : 0;
	if (stored != last && stored != last + 1)
		FAIL("n%d was acknowledged, n%d is stored", last, stored);
	*acknowledged = stored;
	end();
}

static pid_t in_child(void (*run_there)(_Atomic int *), _Atomic int *arg)
{
	pid_t pid = fork();

	if (!pid) {
		run_there(arg);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

/* Killed anywhere while wishes are kept: what the last answer said is there. */
DEFINE_TEST(restore_after_kill_while_keeping)
{
	_Atomic int *acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (useconds_t round = 0; round < 40; round++) {
		pid_t pid = in_child(keep_asking, acknowledged);
		int status;

		usleep(3000 + round * 500);
		kill(pid, SIGKILL);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status));
		pid = in_child(look_what_is_stored, acknowledged);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	printf("# %d acknowledged\n", *acknowledged);
	CHECK(*acknowledged > 0);
}

enum { MANY = 64 };

/* A machine with many claims: what we ourselves take for it. */
DEFINE_TEST(restore_many_is_quick)
{
	char names[MANY][16], paths[MANY][32];
	struct plug p = nic;
	uint64_t start;

	for (int reboot = 0; reboot < 2; reboot++) {
		begin(false);
		for (int i = 0; i < MANY; i++) {
			snprintf(names[i], sizeof(names[i]), "0000:%02x:00.0", i + 1);
			snprintf(paths[i], sizeof(paths[i]), "0000:00/%02x.0/00.0", i & 31);
			p.name = names[i];
			p.path = paths[i];
			p.group = i;
			p.serial = 1000 + (uint64_t)i;
			plug(&p);
		}
		start = now_ms();
		restore();
		calm();
		if (reboot)
			printf("# %d claims in %llu ms\n", MANY, (unsigned long long)(now_ms() - start));
		for (int i = 0; i < MANY; i++)
			if (!reboot)
				CHECK_EQ(ask(names[i], "claim", "alice"), 0);
			else
				CHECK_STR(state_of(names[i]).want.claim, "alice");
		end();
	}
}
