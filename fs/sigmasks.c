// SPDX-License-Identifier: GPL-2.0-or-later
#include "sigmasks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>


#define BIT(signal) (1ull << ((signal)-1))

enum { DIGITS = 16 };

static const char *const labels[SIGMASKS] = {
	[MASK_THREAD] = "SigPnd:\t",  [MASK_PROCESS] = "ShdPnd:\t", [MASK_BLOCKED] = "SigBlk:\t",
	[MASK_IGNORED] = "SigIgn:\t", [MASK_CAUGHT] = "SigCgt:\t",
};

/* The default of all others ends or stops: signal(7). */
static const uint64_t harmless = BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH);
/* A shell at a terminal catches Ctrl-C, and the command shall end nevertheless. */
static const uint64_t asks_to_end = BIT(SIGINT) | BIT(SIGTERM);

static void read_line(const char *line, struct sigmasks *m)
{
	for (unsigned int i = 0; i < SIGMASKS; i++) {
		size_t len = strlen(labels[i]);
		const char *number = line + len;

		if (strncmp(line, labels[i], len))
			continue;
		if (strspn(number, "0123456789abcdef") == DIGITS && number[DIGITS] == '\n') {
			m->of[i] = strtoull(number, NULL, 16);
			m->seen |= 1u << i;
		}
		return;
	}
}

void sigmasks_read(FILE *status, struct sigmasks *ret)
{
	bool begins = true; /* the line of groups is longer than any buffer */
	char line[64];

	*ret = (struct sigmasks){ 0 };
	while (fgets(line, sizeof(line), status)) {
		if (begins)
			read_line(line, ret);
		begins = strchr(line, '\n');
	}
}

bool sigmasks_end(const struct sigmasks *m)
{
	uint64_t come = (m->of[MASK_THREAD] | m->of[MASK_PROCESS]) & ~m->of[MASK_BLOCKED] &
			~m->of[MASK_IGNORED];

	return m->seen == (1u << SIGMASKS) - 1 &&
	       come & (asks_to_end | ~(harmless | m->of[MASK_CAUGHT]));
}

bool sigmasks_end_thread(pid_t tid)
{
	struct sigmasks masks;
	char path[32];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	status = tid > 0 ? fopen(path, "re") : NULL;
	if (!status)
		return false;
	sigmasks_read(status, &masks);
	fclose(status);
	return sigmasks_end(&masks);
}
