// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of any bytes: what is made clean is clean, and stays so however it is cut; what is quoted is
 * clean and reads back as it was. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

static int is_clean(const char *text)
{
	return str_clean_len(text, SIZE_MAX) == strlen(text);
}

static void quote(const char *text)
{
	struct out pairs = { 0 }, label = { 0 };
	struct pair p;
	char *line;

	out_pair(&pairs, "key", text);
	check(!pairs.failed && is_clean(pairs.data));
	line = pairs.data;
	check(pair_next(&line, &p) == 1 && !strcmp(p.value, text));
	out_label(&label, "key", text);
	check(!label.failed && is_clean(label.data));
	out_free(&pairs);
	out_free(&label);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), small[16], *long_one;
	struct err err = { 0 };
	size_t clean;

	if (!text)
		return 0;
	memcpy(text, data, size);
	clean = str_clean_len(text, size);
	check(clean <= size && (clean == size || str_clean_len(text + clean, 1) == 0));
	quote(text);
	fail(&err, 5, "%s", text);
	check(is_clean(err.text));
	str_clean(text);
	check(is_clean(text));
	STR_COPY(small, text);
	check(is_clean(small) && !strncmp(small, text, strlen(small)));
	long_one = strdup(text);
	if (long_one && strlen(long_one) > 40) {
		str_fit(long_one, 40);
		check(is_clean(long_one) && strlen(long_one) < 40);
	}
	free(long_one);
	free(text);
	return 0;
}
