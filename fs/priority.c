// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "priority.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A slice: Linux 6.12 lets who asks for a shorter one run earlier; older ones ignore it. */
enum { NICE = -10, SLICE_NS = 200000 };

void priority_raise(void)
{
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_NORMAL,
		.sched_flags = SCHED_FLAG_RESET_ON_FORK,
		.sched_nice = NICE,
		.sched_runtime = SLICE_NS,
	};

	errno = 0;
	if (syscall(SYS_sched_getscheduler, 0) == SCHED_NORMAL && !getpriority(PRIO_PROCESS, 0) && !errno)
		(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
