// SPDX-License-Identifier: GPL-2.0-or-later
/* How the kernel's log is read, and read on by the next process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/ask.h"
#include "backend/gpu/mig_ask.h"
#include "backend/internal.h"
#include "backend/listen.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define GPU FAKE_GPU
#define XID79                                                                                      \
	GPU ": its driver has logged XID 79, it has fallen off the bus: end what uses it, then reboot the host; dmesg says more"

/* A reader of records, one a message, as from /dev/kmsg but without seeks. */
struct fake_log {
	struct world_fake w;
	struct log_heard heard;
	int ends[2];
};

/* Without MIG, and without settings of its vGPUs. */
static void plain(struct device *dev)
{
	STR_COPY(dev->facts.driver, "nvidia");
	dev->facts.caps = (dev->facts.caps | CAP_VGPU_HOST) & ~(unsigned int)CAP_ENABLE;
}

static const struct device *find(struct fake_log *l)
{
	return model_find(l->w.model, &(struct key){ BUS_PCI, GPU });
}

static void check_health(struct fake_log *l, const char *text)
{
	model_lock(l->w.model);
	CHECK_STR(find(l)->facts.card_health, text);
	model_unlock(l->w.model);
}

static bool is_asked(struct fake_log *l)
{
	bool is;

	model_lock(l->w.model);
	is = ask_mig.which(l->w.backend, find(l)) == ASK_IT;
	model_publish(l->w.model);
	model_unlock(l->w.model);
	return is;
}

static void answers_well(struct fake_log *l)
{
	struct told_line v[] = { { GPU, "health recovery 0" } };
	struct told t = { .v = v, .line = v, .n = 1, .lines = 1 };

	model_lock(l->w.model);
	CHECK_EQ(ask_mig.apply(l->w.backend, find(l), &t), 0);
	model_publish(l->w.model);
	model_unlock(l->w.model);
}

static void log_begin(struct fake_log *l)
{
	*l = (struct fake_log){ .w = fake_vgpu_card("ID : vGPU Name\n") };
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, l->ends));
	l->w.backend->roots.log = l->ends[0];
	fake_edit(&l->w, GPU, plain);
}

static void log_next_process(struct fake_log *l)
{
	listen_open_log(l->w.backend, &l->heard);
}

static void log_drain(struct fake_log *l, unsigned int sequence, unsigned int number)
{
	struct pollfd p = { .fd = l->ends[0] };
	char text[128];
	int n = snprintf(text, sizeof(text), "4,%u,1,-;NVRM: Xid (PCI:0000:3b:00): %u, x\n",
			 sequence, number);

	if (number)
		CHECK_EQ(send(l->ends[1], text, (size_t)n, 0), n);
	listen_drain_log(l->w.backend, &l->heard, &p);
	CHECK_EQ(p.fd, l->ends[0]);
}

static void log_end(struct fake_log *l)
{
	fake_close(&l->w);
	close(l->ends[0]);
	close(l->ends[1]);
}

DEFINE_TEST(log_is_read_on_where_a_former_process_ended)
{
	struct fake_log l;

	log_begin(&l);
	log_next_process(&l);
	log_drain(&l, 40, 79); /* it was there before */
	check_health(&l, "");
	CHECK(is_asked(&l));
	CHECK_EQ(model_log_heard(l.w.model), 41);
	answers_well(&l);
	log_next_process(&l);
	log_drain(&l, 40, 79); /* nothing is counted twice */
	CHECK(!is_asked(&l));
	log_next_process(&l);
	log_drain(&l, 41, 79); /* nor lost */
	check_health(&l, XID79);
	log_end(&l);
}

DEFINE_TEST(nonsense_of_a_former_process_makes_nobody_deaf)
{
	struct ask_state *s;
	struct fake_log l;

	log_begin(&l);
	s = ask_state(l.w.backend, &ask_mig);
	model_set_log_heard(l.w.model, UINT64_MAX);
	log_next_process(&l);
	s->own.next.all = false;
	log_drain(&l, 40, 79);
	check_health(&l, "");
	CHECK(s->own.next.all);
	CHECK_EQ(model_log_heard(l.w.model), 41);
	log_drain(&l, 41, 79);
	check_health(&l, XID79);
	log_end(&l);
}

DEFINE_TEST(log_that_cannot_be_read_is_told)
{
	struct pollfd p = { 0 };
	struct fake_log l;

	log_begin(&l);
	CHECK(!log_lacks(l.w.backend));
	p.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listen_drain_log(l.w.backend, &l.heard, &p);
	CHECK_EQ(p.fd, -1);
	CHECK_EQ(atomic_load(&l.w.backend->log_error), -EISDIR);
	CHECK(log_lacks(l.w.backend));
	log_end(&l);
}
