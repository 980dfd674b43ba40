// SPDX-License-Identifier: GPL-2.0-or-later
/* Which card is asked of MIG, and what becomes of the answer. */
#include <errno.h>
#include <string.h>

#include "backend/ask.h"
#include "backend/gpu/mig_ask.h"
#include "backend/gpu/mig_seen.h"
#include "backend/internal.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"

#define GPU FAKE_GPU

static void can_mig(struct device *dev)
{
	dev->facts.caps |= CAP_MIG;
}

static void without_vfs(struct device *dev)
{
	dev->facts.caps &= ~(uint32_t)CAP_ENABLE;
}

static void claimed(struct device *dev)
{
	STR_COPY(dev->intent.claim, "alice");
}

static void released(struct device *dev)
{
	dev->intent.claim[0] = '\0';
}

static void driverless(struct device *dev)
{
	dev->facts.driver[0] = '\0';
}

static void nouveau(struct device *dev)
{
	STR_COPY(dev->facts.driver, "nouveau");
}

static void nvidia(struct device *dev)
{
	STR_COPY(dev->facts.driver, "nvidia");
}

static void busy(struct device *dev)
{
	STR_COPY(dev->busy, "mig/mode 1");
}

static void check_which(struct world_fake *w, enum ask_which which, const char *lack)
{
	struct key key = fake_key(GPU);
	enum ask_which got;

	model_lock(w->model);
	got = ask_mig.which(w->backend, model_find(w->model, &key));
	model_publish(w->model);
	CHECK_EQ(got, which);
	CHECK_STR(model_find(w->model, &key)->facts.mig_lack, lack);
	model_unlock(w->model);
}

/* An answer of these lines about the card, with this result. */
static int told(struct world_fake *w, int rc, const char *const *lines)
{
	struct told_line v[8] = { 0 };
	struct told t = { .rc = rc, .v = v, .line = lines ? v : NULL };
	struct key key = fake_key(GPU);

	for (; lines && lines[t.n]; t.n++)
		v[t.n] = (struct told_line){ GPU, lines[t.n] };
	t.lines = t.n;
	model_lock(w->model);
	rc = ask_mig.apply(w->backend, model_find(w->model, &key), &t);
	model_publish(w->model);
	model_unlock(w->model);
	return rc;
}
#define TOLD(w, ...) CHECK_EQ(told(w, 0, (const char *const[]){ __VA_ARGS__, NULL }), 0)

static void check_facts(struct world_fake *w, const char *mig, const char *lack)
{
	struct key key = fake_key(GPU);
	struct out o = { 0 };

	model_lock(w->model);
	model_text(w->model, &model_find(w->model, &key)->facts.mig, &o);
	CHECK_STR(out_text(&o), mig);
	CHECK_STR(model_find(w->model, &key)->facts.mig_lack, lack);
	model_unlock(w->model);
	out_free(&o);
}

#define PROFILE "profile 9 2 2 40448 3 0,4:4 3g.40gb"

DEFINE_TEST(mig_family_follows_the_device_id)
{
	static const uint16_t can[] = { 0x20b0, 0x20b7, 0x2330, 0x2335, 0x2901,
					0x2941, 0x2bb5, 0x2c31, 0x3182 };
	static const uint16_t cannot[] = { 0x25b6, 0x1eb8, 0x22a3, 0x2684, 0x2b85, 0x2c34, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(can); i++)
		CHECK(mig_family(can[i]));
	for (size_t i = 0; i < ARRAY_SIZE(cannot); i++)
		CHECK(!mig_family(cannot[i]));
}

DEFINE_TEST(mig_is_asked_of_the_hosts_own_cards)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	/* Of its settings, if not of MIG. */
	check_which(&w, ASK_IT, "");
	fake_edit(&w, GPU, without_vfs);
	check_which(&w, ASK_NOT, "");
	fake_edit(&w, GPU, can_mig);
	fake_edit(&w, GPU, nvidia);
	check_which(&w, ASK_IT, "");
	TOLD(&w, "mode 0 0", PROFILE);
	fake_edit(&w, GPU, claimed);
	check_which(&w, ASK_NOT, "it is passed through as a whole; write none to its claim first");
	check_facts(&w, "", "it is passed through as a whole; write none to its claim first");
	fake_edit(&w, GPU, released);
	fake_edit(&w, GPU, driverless);
	check_which(&w, ASK_NOT, "it has no driver; load NVIDIA's");
	fake_edit(&w, GPU, nouveau);
	check_which(&w, ASK_NOT, "it is with another driver; NVIDIA's is needed");
	fake_edit(&w, GPU, nvidia);
	check_which(&w, ASK_IT, "it is with another driver; NVIDIA's is needed");
	/* Whoever writes may wake it. */
	fake_edit(&w, GPU, busy);
	check_which(&w, ASK_WAKING, "it is with another driver; NVIDIA's is needed");
	fake_close(&w);
}

static void heard(struct world_fake *w, const char *text)
{
	struct told_line v[] = { { "-", "root /run/nvidia/driver" }, { "-", text } };

	ask_mig.heard(w->backend, true, &(struct told){ .v = v, .n = ARRAY_SIZE(v) });
}

/* A driver in a container comes with a mount. */
DEFINE_TEST(mig_is_asked_anew_after_a_mount)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");
	struct ask_state *s = ask_state(w.backend, &ask_mig);
	struct out o = { 0 };

	s->due_ms = 0;
	mig_mounted(w.backend);
	CHECK_EQ(s->due_ms, 0);
	mig_health(w.backend, &o);
	CHECK_STR(out_text(&o), "");
	heard(&w, "library 580.159.04");
	mig_mounted(w.backend);
	CHECK_EQ(s->due_ms, 0);
	heard(&w, "lack there is no library");
	mig_health(w.backend, &o);
	CHECK_STR(out_text(&o), "nvml=none root=/run/nvidia/driver module=none "
				"hint=\"there is no library\"\n");
	mig_mounted(w.backend);
	CHECK(s->due_ms && s->own.next.all);
	/* That a card sleeps says nothing of the library. */
	ask_mig.heard(w.backend, true, &(struct told){ .n = 0 });
	out_free(&o);
	mig_health(w.backend, &o);
	CHECK(strstr(out_text(&o), "there is no library"));
	out_free(&o);
	fake_close(&w);
}

DEFINE_TEST(mig_lines_are_kept_until_others_come)
{
	static char big[TEXT_MAX] = "process 812 0 ";
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	fake_edit(&w, GPU, can_mig);
	TOLD(&w, "asleep");
	check_facts(&w, "", "it sleeps, and is asked once it is awake");
	TOLD(&w, "mode 0 0", PROFILE);
	check_facts(&w, "mode 0 0\n" PROFILE "\n", "");
	TOLD(&w, "asleep");
	check_facts(&w, "mode 0 0\n" PROFILE "\n", "");
	TOLD(&w, "lack " GPU ": MIG: the card must be reset first");
	check_facts(&w, "", GPU ": MIG: the card must be reset first");
	TOLD(&w, "mode 1 1", PROFILE, "mode 1 1", "instance 1 9 0 4");
	check_facts(&w, "mode 1 1\n" PROFILE "\nmode 1 1\ninstance 1 9 0 4\n", "");
	TOLD(&w, "mode 1 1", "instance 1 9 0 4");
	check_facts(&w, "", "what its driver tells of MIG makes no sense");
	CHECK_EQ(told(&w, -ETIMEDOUT, NULL), 0);
	check_facts(&w, "",
		    "its driver does not answer and waits in the kernel; dmesg may say why");
	TOLD(&w, "mode 0 0", PROFILE);
	memset(big + strlen(big), '0', sizeof(big) - 1 - strlen(big));
	TOLD(&w, "mode 1 1", PROFILE, big);
	check_facts(&w, "", "its driver tells more of MIG than there is room for");
	CHECK_EQ(told(&w, 0, NULL), 0);
	check_facts(&w, "", "what its driver tells of MIG makes no sense");
	fake_close(&w);
}

static const char *seen(const struct sysfs *s)
{
	static char text[TELL_MAX];
	struct key key = fake_key(GPU);

	text[0] = '\0';
	CHECK_EQ(mig_seen_tell(s, &key, false, text), 0);
	return text;
}

/* What the kernel shows and what the library tells are compared as texts. */
DEFINE_TEST(mig_instances_are_seen_without_the_library)
{
	static const char lines[] = "mode 1 1\n" PROFILE "\ninstance 2 9 4 4\n"
				    "compute 2 0 0 2 2c.3g.40gb\ncompute 2 1 2 1 1c.3g.40gb\n";
	char told[TELL_MAX];
	struct mig m = { 0 };
	struct sysfs s;

	CHECK_EQ(mig_read(lines, &m), 0);
	mig_seen_print(&m, told);
	test_file("driver/nvidia/version", "");
	CHECK_EQ(sysfs_open(&s, test_dir(), test_dir(), test_dir(), NULL), 0);
	CHECK_STR(seen(&s), "");
	test_file("driver/nvidia/gpus/" GPU "/information",
		  "Model: \t\t NVIDIA H100\nDevice Minor: \t 3\n");
	CHECK_STR(seen(&s), "");
	test_file("driver/nvidia/capabilities/gpu3/mig/note", "");
	CHECK_STR(seen(&s), "0 00000000");
	test_file("driver/nvidia/capabilities/gpu2/mig/gi1/access", "");
	test_file("driver/nvidia/capabilities/gpu3/mig/gi2/access", "");
	test_file("driver/nvidia/capabilities/gpu3/mig/gi2/ci0/access", "");
	CHECK(strcmp(seen(&s), told) != 0);
	test_file("driver/nvidia/capabilities/gpu3/mig/gi2/ci1/access", "");
	CHECK_STR(seen(&s), told);
	/* As many others. */
	m.instances[0].id = m.computes[0].gi = m.computes[1].gi = 1;
	mig_seen_print(&m, told);
	CHECK(strcmp(seen(&s), told) != 0);
	/* Names that do not end in a number count for nothing. */
	m = (struct mig){ 0 };
	CHECK_EQ(mig_read(lines, &m), 0);
	mig_seen_print(&m, told);
	test_file("driver/nvidia/capabilities/gpu3/mig/gi2/ci1x", "");
	test_file("driver/nvidia/capabilities/gpu3/mig/gi99999999999", "");
	CHECK_STR(seen(&s), told);
	sysfs_close(&s);
}
