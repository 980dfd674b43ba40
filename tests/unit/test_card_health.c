// SPDX-License-Identifier: GPL-2.0-or-later
/* What a card's driver tells and logs of its health. */
#include <string.h>

#include "backend/ask.h"
#include "backend/gpu/card_health.h"
#include "backend/gpu/mig_ask.h"
#include "backend/internal.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define GPU FAKE_GPU
#define RESET                                                                                      \
	GPU " must be reset: end what uses it, then run nvidia-smi --gpu-reset for it, or reboot; its driver tells so"
#define LOST                                                                                       \
	GPU " has fallen off the bus, as its driver tells: reset it, reboot, or switch the host off and on"
#define XID79                                                                                      \
	GPU ": its driver has logged XID 79, it has fallen off the bus: end what uses it, then reboot the host; dmesg says more"

static void sentence(const char *lines, char ret[static CARD_HEALTH])
{
	struct card_told told = CARD_TOLD_NOTHING;
	char text[128], *save = NULL;

	STR_COPY(text, lines);
	for (char *w = strtok_r(text, "\n", &save); w; w = strtok_r(NULL, "\n", &save))
		card_health_read(w, &told);
	card_sentence(GPU, &told, ret);
}

DEFINE_TEST(card_that_is_well_has_no_sentence)
{
	static const char *const well[] = { "",		  "name NVIDIA H100",
					    "recovery 0", "recovery 0\nremapped 7 3 0 0",
					    "recovery x", "remapped 1 1 1" };
	char text[CARD_HEALTH];

	for (size_t i = 0; i < ARRAY_SIZE(well); i++) {
		sentence(well[i], text);
		CHECK_STR(text, "");
	}
}

DEFINE_TEST(each_recovery_has_its_way_out)
{
	static const struct {
		const char *lines, *part;
	} rows[] = {
		{ "recovery 1", "must be reset: " },
		{ "recovery 2", "reboot of the node" },
		{ "recovery 3", "must be drained: " },
		{ "recovery 4", "must be drained and reset: " },
		{ "recovery 5", "nvidia-imex" },
		{ "recovery 6", "reset of its bus" },
		{ "recovery 7", "all its nodes" },
		{ "recovery 8", "recovery action 8" },
		{ "recovery 999999999", "recovery action 999999999" },
		{ "recovery 0\nremapped 0 0 1 0", "with the next reset" },
		{ "recovery 0\nremapped 0 0 1 1", "must replace the card" },
		{ "recovery 1\nlost", "has fallen off the bus" },
	};
	char text[CARD_HEALTH];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		sentence(rows[i].lines, text);
		CHECK(!strncmp(text, GPU " ", strlen(GPU) + 1));
		CHECK(strstr(text, rows[i].part));
		CHECK(strlen(text) < CARD_HEALTH - 1); /* not cut */
	}
}

DEFINE_TEST(each_fatal_error_fits)
{
	char text[CARD_HEALTH];
	size_t n = 0;

	for (unsigned int number = 0; number < 300; number++) {
		card_error("10000:e1:00.0", number, text);
		n += *text != '\0';
		CHECK(strlen(text) < CARD_HEALTH - 1);
	}
	CHECK_EQ(n, 16);
	card_error(GPU, 79, text);
	CHECK_STR(text, XID79);
	/* Of an application's own making; one that tells of others; of a link that goes to sleep. */
	for (size_t i = 0; i < 6; i++) {
		card_error(GPU, (const unsigned int[]){ 13, 31, 43, 45, 154, 155 }[i], text);
		CHECK_STR(text, "");
	}
}

static bool logged(const char *record, size_t len, struct key *ret, unsigned int *ret_number)
{
	struct kernel_line line;

	return kernel_line_read(record, len, &line) && card_logged(&line, ret, ret_number);
}

DEFINE_TEST(only_the_kernels_own_lines_count)
{
#define LINE "NVRM: Xid (PCI:0000:3b:00): 79, pid=812, GPU has fallen off the bus."
	static const char *const others[] = {
		"",
		LINE,
		"12,1,2,-;" LINE, /* a user's: facility 1 */
		"8,1,2,-;" LINE,
		"-4,1,2,-;" LINE,
		" 4,1,2,-;" LINE,
		"4294967300,1,2,-;" LINE,
		"4;" LINE,
		"4,1,2,-;pcieport: " LINE,
		"4,1,2,-; " LINE,
		" SUBSYSTEM=pci",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): , 79,",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): -9,",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 123456789,",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:40): 79,", /* no such device number */
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00:00:00:00): 79,",
		"4,1,2,-;NVRM: Xid (PCI:../../3b): 79,",
		"4,1,2,-\n;" LINE,
		"12,1,2,-;a line\n4,1,2,-;" LINE,
		"4,1,2,-;a line\n4,1,2,-;" LINE,
		/* A process of that name (comm): the kernel puts its pid behind it. */
		"6,1,2,-;NVRM: Xid (PCI:[812]: segfault at 0 ip 0",
		"6,1,2,-;NVRM: Xid (PCI:: page allocation failure",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00 GPU-X): 79, pid",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00",
		"4,1,2,-;NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
	};
	unsigned int number = 0;
	struct key key;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (logged(others[i], strlen(others[i]), &key, &number))
			FAIL("row %zu counts", i);
	/* No more than it was given. */
	CHECK(!logged("4,1,2,-;" LINE, 30, &key, &number));
}

/* As drivers have logged them: public reports, and krcReportXid_IMPL for what names an instance. */
DEFINE_TEST(errors_are_read_as_drivers_log_them)
{
	static const struct {
		const char *record, *card;
		unsigned int number;
	} rows[] = {
		{ "4,339,5140900,-,caller=T1;" LINE "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n",
		  GPU, 79 },
		{ "3,1,2,c;NVRM: Xid (PCI:10000:e1:00): 154, GPU recovery action changed from 0x0 (None) to "
		  "0x1 (GPU Reset Required)",
		  "10000:e1:00.0", 154 },
		{ "6,2210,1,-;NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM "
		  "Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter",
		  "0000:cb:00.0", 13 },
		{ "6,1,1,-;NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008, "
		  "errorString CTX SWITCH TIMEOUT, Info 0x58005",
		  "0000:cb:00.0", 109 },
		{ "6,1,1,-;NVRM: Xid (PCI:0000:00:08): 94, pid='<unknown>', name=<unknown>, Contained: SM "
		  "(0x1). RST: No, D-RST: No",
		  "0000:00:08.0", 94 },
		{ "6,1,1,-;NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by "
		  "previous Xid 149",
		  "0000:dc:00.0", 45 },
		{ "6,1,1,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 95, pid=1, name=x, Uncontained",
		  GPU, 95 },
		{ "6,1,1,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 43, pid=1, name=x, ", GPU,
		  43 },
	};
	unsigned int number;
	struct key key;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!logged(rows[i].record, strlen(rows[i].record), &key, &number))
			FAIL("row %zu does not count", i);
		CHECK_STR(key.name, rows[i].card);
		CHECK_EQ(number, rows[i].number);
	}
}

DEFINE_TEST(record_has_its_sequence)
{
	struct kernel_line line;

	CHECK(kernel_line_read("12,18446744073709551,2,-;", 25, &line));
	CHECK_EQ(line.sequence, 18446744073709551ull);
	CHECK(!line.kernels && !line.len);
	CHECK(!kernel_line_read("4,x,2,-;a", 9, &line));
	CHECK(!kernel_line_read("4,99999999999999999999,2,-;a", 28, &line));
	CHECK(!kernel_line_read("", 0, &line));
}

static void mig(struct device *dev)
{
	STR_COPY(dev->facts.driver, "nvidia");
	dev->facts.caps |= CAP_MIG;
}

/* Without MIG, and without settings of its vGPUs. */
static void plain(struct device *dev)
{
	STR_COPY(dev->facts.driver, "nvidia");
	dev->facts.caps = (dev->facts.caps | CAP_VGPU_HOST) & ~(unsigned int)CAP_ENABLE;
}

static void claimed(struct device *dev)
{
	STR_COPY(dev->intent.claim, "alice");
}

static void bound_anew(struct device *dev)
{
	dev->unbinds++;
}

static enum ask_which which(struct world_fake *w)
{
	struct key key = fake_key(GPU);
	enum ask_which got;

	model_lock(w->model);
	got = ask_mig.which(w->backend, model_find(w->model, &key));
	model_publish(w->model);
	model_unlock(w->model);
	return got;
}

static void told(struct world_fake *w, const char *line)
{
	struct told_line v[] = { { GPU, "mode 0 0" }, { GPU, line } };
	struct told t = { .v = v, .line = v, .n = 2, .lines = 2 };
	struct key key = fake_key(GPU);

	model_lock(w->model);
	CHECK_EQ(ask_mig.apply(w->backend, model_find(w->model, &key), &t), 0);
	model_publish(w->model);
	model_unlock(w->model);
}

static void check(struct world_fake *w, const char *text)
{
	static const char *const names[] = { GPU, FAKE_VF0, FAKE_VF1 };
	bool sick = *text;

	model_lock(w->model);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct key key = fake_key(names[i]);
		const struct device *dev = model_find(w->model, &key);

		CHECK_STR(dev->facts.card_health, text);
		CHECK((dev->state == STATE_UNHEALTHY) == sick);
		if (sick)
			CHECK_STR(dev->reason, text);
	}
	model_unlock(w->model);
}

static void logs(struct world_fake *w, unsigned int number)
{
	struct key key = fake_key(GPU);

	card_heard(w->backend, &key, number, false);
}

DEFINE_TEST(card_and_its_vfs_are_sick_until_its_driver_says_otherwise)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");
	struct ask_state *s = ask_state(w.backend, &ask_mig);

	fake_edit(&w, GPU, mig);
	told(&w, "health recovery 0");
	check(&w, "");
	s->due_ms = 0;
	told(&w, "health recovery 1");
	check(&w, RESET);
	CHECK(s->due_ms);	      /* it is asked again */
	told(&w, "instance 1 9 0 4"); /* tells nothing of it */
	check(&w, RESET);
	told(&w, "health lost");
	check(&w, LOST);
	told(&w, "health recovery 0");
	check(&w, "");
	/* It is sick at once, and what its driver answers then counts. */
	s->due_ms = 0;
	logs(&w, 79);
	check(&w, XID79);
	CHECK(s->due_ms && ask_set_has(&s->own.next, &(struct key){ BUS_PCI, GPU }));
	told(&w, "health recovery 1");
	check(&w, RESET);
	told(&w, "health recovery 0");
	check(&w, "");
	logs(&w, 31);
	check(&w, "");
	/* Passed through, nobody knows. */
	told(&w, "health recovery 1");
	fake_edit(&w, GPU, claimed);
	CHECK_EQ(which(&w), ASK_NOT);
	model_lock(w.model);
	CHECK_STR(model_find(w.model, &(struct key){ BUS_PCI, GPU })->facts.card_health, "");
	model_unlock(w.model);
	fake_close(&w);
}

DEFINE_TEST(what_an_old_driver_has_logged_holds_until_it_leaves)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	fake_edit(&w, GPU, mig);
	logs(&w, 79);
	told(&w, "health remapped 0 0 0 0");
	check(&w, XID79);
	CHECK_EQ(which(&w), ASK_IT);
	check(&w, XID79);
	fake_edit(&w, GPU, bound_anew);
	CHECK_EQ(which(&w), ASK_IT);
	check(&w, "");
	fake_close(&w);
}

DEFINE_TEST(card_without_mig_is_sick_likewise)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	fake_edit(&w, GPU, plain);
	logs(&w, 13);
	check(&w, "");
	CHECK_EQ(which(&w), ASK_IT);
	told(&w, "health recovery 1");
	check(&w, RESET);
	logs(&w, 154);
	told(&w, "health recovery 0");
	check(&w, "");
	fake_close(&w);
}

DEFINE_TEST(error_before_our_start_only_asks)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");
	const struct key card = fake_key(GPU);

	fake_edit(&w, GPU, plain);
	CHECK_EQ(which(&w), ASK_NOT);
	card_heard(w.backend, &card, 79, true);
	check(&w, "");
	CHECK_EQ(which(&w), ASK_IT);
	told(&w, "health recovery 1");
	check(&w, RESET);
	told(&w, "health recovery 0");
	CHECK_EQ(which(&w), ASK_NOT);
	fake_close(&w);
}

DEFINE_TEST(old_drivers_answer_ends_what_no_fatal_error_made)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	fake_edit(&w, GPU, mig);
	told(&w, "health remapped 1 1 1 0");
	logs(&w, 31);
	told(&w, "health remapped 1 1 0 0");
	check(&w, "");
	logs(&w, 79);
	logs(&w, 31);
	told(&w, "health remapped 1 1 0 0");
	check(&w, XID79);
	fake_close(&w);
}

static void unbound(struct device *dev)
{
	dev->facts.driver[0] = '\0';
}

DEFINE_TEST(error_of_a_driver_that_is_just_coming_is_asked_about)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	fake_edit(&w, GPU, unbound);
	logs(&w, 143);
	check(&w, "");
	CHECK_EQ(which(&w), ASK_NOT);
	fake_edit(&w, GPU, plain);
	CHECK_EQ(which(&w), ASK_IT);
	fake_close(&w);
}

DEFINE_TEST(lost_lines_make_each_card_be_asked)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");
	struct ask_state *s = ask_state(w.backend, &ask_mig);

	fake_edit(&w, GPU, plain);
	CHECK_EQ(which(&w), ASK_NOT);
	cards_unheard(w.backend, 1000);
	CHECK(s->due_ms && s->own.next.all);
	CHECK_EQ(which(&w), ASK_IT);
	fake_close(&w);
}
