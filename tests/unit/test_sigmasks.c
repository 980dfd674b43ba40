// SPDX-License-Identifier: GPL-2.0-or-later
/* Which signals end or stop a thread, by its masks. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/sigmasks.h"
#include "pcidevfs/util.h"
#include "test.h"

#define BIT(signal) (1ull << ((signal)-1))

struct row {
	const char *who;
	uint64_t thread, process, blocked, ignored, caught;
	bool ends;
};

static const uint64_t bash = BIT(SIGCHLD) | BIT(SIGWINCH) | BIT(SIGINT) | BIT(SIGHUP);
static const struct row rows[] = {
	{ "nothing came", 0, 0, 0, 0, 0, false },
	{ "killed", BIT(SIGKILL), 0, 0, 0, 0, true },
	{ "kill -9", 0, BIT(SIGKILL), 0, 0, ~BIT(SIGKILL), true },
	{ "a child ended, caught", 0, BIT(SIGCHLD), 0, 0, bash, false },
	{ "a child ended", 0, BIT(SIGCHLD), 0, 0, 0, false },
	{ "window resized", 0, BIT(SIGWINCH), 0, 0, bash, false },
	{ "window resized, default", 0, BIT(SIGWINCH), 0, 0, 0, false },
	{ "urgent data, or Go's preemption", BIT(SIGURG), 0, 0, 0, 0, false },
	{ "continued", 0, BIT(SIGCONT), 0, 0, 0, false },
	{ "Ctrl-C", 0, BIT(SIGINT), 0, 0, 0, true },
	{ "Ctrl-C at bash", 0, BIT(SIGINT) | BIT(SIGCHLD), 0, 0, bash, true },
	{ "Ctrl-C, ignored", 0, BIT(SIGINT), 0, BIT(SIGINT), 0, false },
	{ "Ctrl-C, blocked", 0, BIT(SIGINT), BIT(SIGINT), 0, 0, false },
	{ "Ctrl-C, blocked and caught", 0, BIT(SIGINT), BIT(SIGINT), 0, bash, false },
	{ "terminated", BIT(SIGTERM), 0, 0, 0, BIT(SIGTERM), true },
	{ "Ctrl-Z", 0, BIT(SIGTSTP), 0, 0, bash, true },
	{ "Ctrl-Z, caught", 0, BIT(SIGTSTP), 0, 0, BIT(SIGTSTP), false },
	{ "stopped", 0, BIT(SIGSTOP), 0, 0, ~0ull & ~BIT(SIGSTOP), true },
	{ "reads its terminal", 0, BIT(SIGTTIN), 0, 0, 0, true },
	{ "hung up", 0, BIT(SIGHUP), 0, 0, 0, true },
	{ "reloads", 0, BIT(SIGHUP), 0, 0, BIT(SIGHUP), false },
	{ "alarm", 0, BIT(SIGALRM), 0, 0, 0, true },
	{ "profiled", 0, BIT(SIGPROF), 0, 0, BIT(SIGPROF), false },
	{ "a real-time signal", BIT(64), 0, 0, 0, 0, true },
	{ "a real-time signal, caught", BIT(64), 0, 0, 0, BIT(64), false },
};

static bool ends(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct sigmasks m;

	CHECK(f);
	sigmasks_read(f, &m);
	fclose(f);
	return sigmasks_end(&m);
}

DEFINE_TEST(sigmasks_which_signals_end)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		char text[512];

		snprintf(
			text, sizeof(text),
			"Name:\tx\nSigQ:\t0/1\nSigPnd:\t%016llx\nShdPnd:\t%016llx\nSigBlk:\t%016llx\n"
			"SigIgn:\t%016llx\nSigCgt:\t%016llx\nCapInh:\t0000000000000000\n",
			(unsigned long long)r->thread, (unsigned long long)r->process,
			(unsigned long long)r->blocked, (unsigned long long)r->ignored,
			(unsigned long long)r->caught);
		if (ends(text) != r->ends)
			printf("%s:\n", r->who);
		CHECK_EQ(ends(text), r->ends);
	}
}

#define REST "ShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
#define LAST "SigCgt:\t0000000000000000\n"

DEFINE_TEST(sigmasks_are_read_whole_or_not)
{
	struct out many = { 0 };

	CHECK(ends("SigPnd:\t0000000000000100\n" REST LAST));
	CHECK(!ends("SigPnd:\t0000000000000100\n" REST));
	CHECK(!ends("SigPnd:\t100\n" REST LAST));
	CHECK(!ends("SigPnd:\t0000000000000100 \n" REST LAST));
	CHECK(!ends("xSigPnd:\t0000000000000100\n" REST LAST));
	CHECK(!ends(""));
	/* As many groups as a user can have come before, and none of them is a mask. */
	out_printf(&many, "Groups:\t");
	for (int i = 0; i < 65536; i++)
		out_printf(&many, "%d ", i);
	out_printf(&many, "\nSigPnd:\t0000000000000100\n" REST LAST);
	CHECK(ends(out_text(&many)));
	out_free(&many);
}

DEFINE_TEST(sigmasks_of_threads)
{
	CHECK(!sigmasks_end_thread(0)); /* of another pid namespace */
	CHECK(!sigmasks_end_thread(-1));
	CHECK(!sigmasks_end_thread(getpid()));
}
