// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The signals of a process. Any bytes; and the masks of the kernel behind any bytes without a
 * newline, which are read as they are.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fs/sigmasks.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_text(const struct out *text, struct sigmasks *ret)
{
	FILE *f = fmemopen((void *)out_text(text), text->len ? text->len : 1, "r");

	check(f != NULL);
	sigmasks_read(f, ret);
	fclose(f);
}

static void as_the_kernel_writes(const uint8_t *data, size_t size)
{
	static const char *const labels[] = { "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt" };
	struct out text = { 0 };
	uint64_t of[SIGMASKS];
	struct sigmasks m;

	memcpy(of, data, sizeof(of));
	for (size_t i = sizeof(of); i < size; i++)
		out_put(&text, data[i] == '\n' || !data[i] ? "n" : (const char *)data + i, 1);
	out_printf(&text, "\n");
	for (size_t i = 0; i < SIGMASKS; i++)
		out_printf(&text, "%s:\t%016llx\n", labels[i], (unsigned long long)of[i]);
	read_text(&text, &m);
	check(m.seen == (1u << SIGMASKS) - 1);
	check(!memcmp(m.of, of, sizeof(of)));
	/* What is blocked or ignored ends nobody. */
	if (!((of[MASK_THREAD] | of[MASK_PROCESS]) & ~of[MASK_BLOCKED] & ~of[MASK_IGNORED]))
		check(!sigmasks_end(&m));
	out_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct out text = { 0 };
	struct sigmasks m;

	out_put(&text, (const char *)data, size);
	read_text(&text, &m);
	check(!(m.seen >> SIGMASKS));
	if (m.seen != (1u << SIGMASKS) - 1)
		check(!sigmasks_end(&m));
	out_free(&text);
	if (size >= SIGMASKS * sizeof(uint64_t))
		as_the_kernel_writes(data, size);
	return 0;
}
