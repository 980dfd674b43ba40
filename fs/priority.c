// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "priority.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RAISED = -10, ORDINARY = 0 };

/* Since Linux 6.12 who asks for a shorter slice runs earlier; 0 is the scheduler's own, and older ones
 * ignore it. */
enum { SHORT_NS = 200000, OWN_NS = 0 };

static void change(int from, int to, uint64_t slice_ns)
{
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_NORMAL,
		.sched_nice = to,
		.sched_runtime = slice_ns,
	};

	errno = 0;
	if (syscall(SYS_sched_getscheduler, 0) == SCHED_NORMAL && getpriority(PRIO_PROCESS, 0) == from &&
	    !errno)
		(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}

void priority_raise(void)
{
	change(ORDINARY, RAISED, SHORT_NS);
}

void priority_serve(void)
{
	change(RAISED, ORDINARY, SHORT_NS);
}

void priority_lower(void)
{
	change(RAISED, ORDINARY, OWN_NS);
	change(ORDINARY, ORDINARY, OWN_NS);
}
