/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the vGPUs of a card follow: the scheduler as text, "POLICY [timeslice_us=N] [arr=0|1]
 * [avg_factor=N]", and
 * what the driver tells of such settings. */
#ifndef PCIDEVFS_SCHEDULER_H
#define PCIDEVFS_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULER_TEXT 64
#define SCHEDULER_INITIAL "best-effort" /* of a driver that was loaded anew */
#define SCHEDULER_SLICE_MAX 1000000	/* us; drivers allow less */
#define SCHEDULER_FACTOR_MAX 9999	/* likewise */

struct scheduler {
	char policy[16];
	uint32_t timeslice_us; /* 0: the driver chooses */
	int arr;	       /* adaptive round robin; -1: the driver chooses */
	uint32_t factor;       /* of its average; 0: the driver chooses */
};

/* -EINVAL: another policy or word, a factor without arr=1, or a word behind SCHEDULER_INITIAL,
 * which has no slices. */
int scheduler_parse(const char *text, struct scheduler *ret);
void scheduler_print(const struct scheduler *s, char ret[static SCHEDULER_TEXT]);
/* Is what it reads what was asked for? What was not asked for may be anything. */
bool scheduler_fits(const char *now, const char *asked);

/* Of lines of pcidevfs-nvml; "" for each that the driver does not tell. */
void settings_read(const char *lines, char ret_mixed_sizes[static 2],
		   char ret_scheduler[static SCHEDULER_TEXT]);

#endif
