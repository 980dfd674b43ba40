// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/thread.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"

#define STACK_SIZE (256 * 1024)

int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int r;

	/* Signals are for the thread that waits for them; here they would interrupt nothing. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (!ret)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(ret ? ret : &thread, &attr, run, ctx);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

bool thread_runs(pid_t tid)
{
	_free_ char *text = NULL;
	const char *state;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	text = file_text(AT_FDCWD, path);
	state = text ? strrchr(text, ')') : NULL;
	return state && state[1] == ' ' && state[2] == 'R';
}

void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

struct timespec in_ms(unsigned int ms)
{
	uint64_t at = now_us() + (uint64_t)ms * 1000;

	return (struct timespec){ (time_t)(at / 1000000), (long)(at % 1000000) * 1000 };
}
