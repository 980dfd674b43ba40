// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"

/* As pcidevfs-nvml calls them. */
static bool is_policy(const char *word)
{
	static const char *const all[] = { SCHEDULER_INITIAL, "equal-share", "fixed-share" };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(word, all[i]))
			return true;
	return false;
}

static int read_word(const char *word, struct scheduler *s)
{
	uint64_t n;
	bool on;

	if (!strncmp(word, "timeslice_us=", 13) && !parse_u64(word + 13, SCHEDULER_SLICE_MAX, &n) &&
	    n)
		s->timeslice_us = (uint32_t)n;
	else if (!strncmp(word, "arr=", 4) && !parse_bool(word + 4, &on))
		s->arr = on;
	else if (!strncmp(word, "avg_factor=", 11) &&
		 !parse_u64(word + 11, SCHEDULER_FACTOR_MAX, &n) && n)
		s->factor = (uint32_t)n;
	else
		return -EINVAL;
	return 0;
}

int scheduler_parse(const char *text, struct scheduler *ret)
{
	struct scheduler s = { .arr = -1 };
	char copy[SCHEDULER_TEXT], *rest = copy, *word;
	int rc = STR_COPY(copy, text) ? 0 : -EINVAL;

	word = strsep(&rest, " ");
	if (rc || !is_policy(word) || (rest && !strcmp(word, SCHEDULER_INITIAL)))
		return -EINVAL;
	STR_COPY(s.policy, word);
	while (!rc && (word = strsep(&rest, " ")))
		rc = read_word(word, &s);
	if (!rc && s.factor && s.arr != 1)
		rc = -EINVAL;
	if (!rc)
		*ret = s;
	return rc;
}

void scheduler_print(const struct scheduler *s, char ret[static SCHEDULER_TEXT])
{
	int n = snprintf(ret, SCHEDULER_TEXT, "%s", s->policy);

	if (s->timeslice_us)
		n += snprintf(ret + n, (size_t)(SCHEDULER_TEXT - n), " timeslice_us=%u",
			      s->timeslice_us);
	if (s->arr >= 0)
		n += snprintf(ret + n, (size_t)(SCHEDULER_TEXT - n), " arr=%d", s->arr);
	if (s->arr == 1 && s->factor)
		snprintf(ret + n, (size_t)(SCHEDULER_TEXT - n), " avg_factor=%u", s->factor);
}

/* With ARR a whole number a second is set, which need not be that of the time slice. */
static bool slice_fits(const struct scheduler *now, const struct scheduler *asked)
{
	if (!asked->timeslice_us || now->timeslice_us == asked->timeslice_us)
		return true;
	return asked->arr == 1 && now->timeslice_us &&
	       1000000 / now->timeslice_us == 1000000 / asked->timeslice_us;
}

bool scheduler_fits(const char *now, const char *asked)
{
	struct scheduler has, wanted;

	return !scheduler_parse(now, &has) && !scheduler_parse(asked, &wanted) &&
	       !strcmp(has.policy, wanted.policy) && slice_fits(&has, &wanted) &&
	       (wanted.arr < 0 || (has.arr == 1) == wanted.arr) &&
	       (!wanted.factor || has.factor == wanted.factor);
}

/* ---- what the driver tells */

/* "scheduler POLICY ARR PARAM PARAM": with ARR, 2, the time slice in ns is the second one, and the
 * first one the factor of the average (spec/nvml.md 3.3). */
static void read_scheduler(const char *line, char ret[static SCHEDULER_TEXT])
{
	struct scheduler s = { .arr = 0 };
	unsigned int arr, params[2];

	if (sscanf(line, "scheduler %15s %9u %10u %10u", s.policy, &arr, &params[0], &params[1]) !=
		    4 ||
	    !is_policy(s.policy))
		return;
	s.arr = !strcmp(s.policy, SCHEDULER_INITIAL) ? -1 : arr == 2;
	if (s.arr >= 0)
		s.timeslice_us = params[s.arr] / 1000;
	if (s.arr == 1 && params[0] <= SCHEDULER_FACTOR_MAX)
		s.factor = params[0];
	scheduler_print(&s, ret);
}

void settings_read(const char *lines, char ret_mixed_sizes[static 2],
		   char ret_scheduler[static SCHEDULER_TEXT])
{
	unsigned int mode;

	*ret_mixed_sizes = *ret_scheduler = '\0';
	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
		if (sscanf(lines, "mixed_sizes %1u", &mode) == 1 && mode <= 1)
			snprintf(ret_mixed_sizes, 2, "%u", mode);
		read_scheduler(lines, ret_scheduler);
	}
}
