// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "priority.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 6.12 a thread that asks for a shorter slice runs earlier; older kernels ignore it. */
enum { SLICE_NS = 200000 };

static const struct sched_attr ordinary = { .size = sizeof(ordinary),
					    .sched_policy = SCHED_NORMAL,
					    .sched_runtime = SLICE_NS };
/* Clearing RESET_ON_FORK needs CAP_SYS_NICE, which is dropped by then; here it has no effect. */
static const struct sched_attr lowered = { .size = sizeof(lowered),
					   .sched_policy = SCHED_NORMAL,
					   .sched_runtime = SLICE_NS,
					   .sched_flags = SCHED_FLAG_RESET_ON_FORK };
static const struct sched_attr raised = { .size = sizeof(raised),
					  .sched_policy = SCHED_NORMAL,
					  .sched_nice = -10,
					  .sched_runtime = SLICE_NS,
					  .sched_flags = SCHED_FLAG_RESET_ON_FORK };

/* With the scheduler's default slices. */
static const struct sched_attr patient = { .size = sizeof(patient), .sched_policy = SCHED_NORMAL };

/* Does not override a priority chosen by the administrator. */
static void change(const struct sched_attr *from, const struct sched_attr *to)
{
	struct sched_attr now = { 0 };

	if (!syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0) &&
	    now.sched_policy == from->sched_policy && now.sched_nice == from->sched_nice)
		(void)!syscall(SYS_sched_setattr, 0, to, 0);
}

void priority_raise(void)
{
	change(&ordinary, &raised);
}

void priority_lower(void)
{
	change(&ordinary, &patient);
}

void priority_serve(void)
{
	change(&raised, &lowered);
}
