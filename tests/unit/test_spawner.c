// SPDX-License-Identifier: GPL-2.0-or-later
/* How many helpers there may be at a time. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/wire.h"
#include "test.h"

DEFINE_TEST(spawner_counts_its_helpers)
{
	static struct helpers h = { .n = HELPERS_MAX - 1 };
	int ready[2];
	char c;
	pid_t pid;

	CHECK(!pipe(ready));
	pid = fork();
	if (!pid) {
		setsid();
		CHECK_EQ(write(ready[1], "x", 1), 1);
		pause();
	}
	CHECK_EQ(read(ready[0], &c, 1), 1);
	for (size_t i = 0; i < HELPERS_MAX; i++)
		h.pids[i] = pid;
	CHECK(helpers_fit(&h));
	h.n = HELPERS_MAX;
	CHECK(!helpers_fit(&h));
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	CHECK(helpers_fit(&h));
	CHECK_EQ(h.n, 0);
}
