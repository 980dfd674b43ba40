// SPDX-License-Identifier: GPL-2.0-or-later
/* When helpers are asked what, without the threads that ask. */
#include <string.h>

#include "backend/ask.h"
#include "backend/gpu/daemons.h"
#include "backend/internal.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define GPU FAKE_GPU
#define VF0 FAKE_VF0
#define VF1 FAKE_VF1
#define card() fake_vgpu_card("ID : vGPU Name\n")

static void coming(struct device *dev)
{
	STR_COPY(dev->intended, "alice");
}

static void claimed(struct device *dev)
{
	fake_by_alice(dev);
	dev->intended[0] = '\0';
}

static void busy(struct device *dev)
{
	STR_COPY(dev->busy, "enabled 1");
}

static void idle(struct device *dev)
{
	dev->busy[0] = '\0';
}

DEFINE_TEST(asks_have_all_rows)
{
	static const struct ask_row *const rows[] = {
		&ask_critical, &ask_holders,  &ask_liveness, &ask_reserved,
		&ask_serial,   &ask_siblings, &ask_vfconf,   &ask_awaited,
		&ask_daemons,  &ask_vgpus,    &ask_mig,
	};
	struct world_fake w = card();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(ask_state(w.backend, rows[i])->row == rows[i]);
	CHECK_EQ(w.backend->asker.n, ARRAY_SIZE(rows));
	fake_close(&w);
}

/* A walk of /proc for daemons takes up to 2 s. */
DEFINE_TEST(asks_before_anybody_is_served_what_the_host_needs)
{
	struct world_fake w = card();

	CHECK_EQ(ask_state(w.backend, &ask_critical)->ops.ended, 1);
	CHECK_EQ(ask_state(w.backend, &ask_holders)->ops.ended, 1);
	CHECK_EQ(ask_state(w.backend, &ask_vfconf)->ops.ended, 1);
	CHECK_EQ(ask_state(w.backend, &ask_daemons)->ops.started, 0);
	CHECK(ask_state(w.backend, &ask_daemons)->own.next.all);
	CHECK(ask_state(w.backend, &ask_daemons)->due_ms != 0);
	fake_close(&w);
}

/* Restore has nothing more to tell than the profile: the claim reads as before. */
DEFINE_TEST(asks_whether_a_restored_vgpu_answers)
{
	struct asking own = { .row = &ask_liveness, .own = true };
	struct world_fake w = card();
	struct ask_state *s = ask_state(w.backend, &ask_liveness);

	fake_edit(&w, VF0, coming);
	CHECK(model_dispatch(w.model));
	own.b = w.backend;
	CHECK_EQ(ask_run(&own, NULL, 0), 0);
	CHECK(!own.any);
	s->all_ms = 0; /* so it rests */
	fake_attr(VF0, "nvidia/current_vgpu_type", "747\n");
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	CHECK(model_dispatch(w.model));
	fake_edit(&w, VF0, claimed);
	CHECK(model_dispatch(w.model));
	CHECK(s->all_ms != 0);
	own = (struct asking){ .b = w.backend, .row = &ask_liveness, .own = true };
	CHECK_EQ(ask_run(&own, NULL, 0), 0);
	CHECK(own.any);
	fake_close(&w);
}

static void observe(struct world_fake *w, const char *address)
{
	struct key key = fake_key(address);

	CHECK_EQ(backend_observe(w->backend, &key, 1, false, NULL), 0);
}

DEFINE_TEST(asks_what_siblings_can_become_of_a_vf_that_was_changed)
{
	struct world_fake w = card();
	const struct ask_lane *ops = &ask_state(w.backend, &ask_siblings)->ops;
	struct key gpu = fake_key(GPU);

	observe(&w, GPU); /* which looks at all of them itself */
	CHECK_EQ(ops->started, 0);
	observe(&w, VF0);
	CHECK_EQ(ops->ended, 1);
	CHECK(!ops->now.all && ops->now.n == 1 && key_eq(&ops->now.devs[0], &gpu));
	fake_close(&w);
}

static bool can_become(struct world_fake *w, const char *vf)
{
	struct key key = fake_key(vf);
	bool can;

	model_lock(w->model);
	can = model_find(w->model, &key)->facts.profiles.len;
	model_unlock(w->model);
	return can;
}

/* An operation on the card asks afterwards, and so does our thread. */
DEFINE_TEST(asks_what_siblings_can_become_once_their_card_is_not_busy)
{
	struct world_fake w = card();
	struct asking own = { .b = w.backend, .row = &ask_siblings, .own = true }, again = own;
	const struct ask_set *next = &ask_state(w.backend, &ask_siblings)->own.next;
	struct key gpu = fake_key(GPU);

	fake_attr(VF1, "nvidia/creatable_vgpu_types", "ID : vGPU Name\n747 : NVIDIA A2-4Q\n");
	fake_edit(&w, GPU, busy);
	CHECK_EQ(ask_run(&own, &gpu, 1), 0);
	CHECK(own.put_off && next->n == 1);
	CHECK(!can_become(&w, VF1));
	fake_edit(&w, GPU, idle);
	CHECK_EQ(ask_run(&again, next->devs, next->n), 0);
	CHECK(!again.put_off && can_become(&w, VF1));
	fake_close(&w);
}
