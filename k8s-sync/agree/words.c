// SPDX-License-Identifier: GPL-2.0-or-later
#include "words.h"

#include <string.h>

#include "pcidevfs/util.h"

static const struct {
	const char *tree, *end,
		*cluster; /* end: the phrase goes on to the next one of these; NULL */
} phrases[] = {
	{ "unless ctl has a line \"force ", "\"", "unless root on the node forces it" },
	{ "force in ctl", NULL, "force on the node" },
	{ " in ctl", NULL, " on the node" },
};

/* The length of the phrase there; 0: it is not there. */
static size_t phrase_at(const char *text, size_t i)
{
	size_t n = strlen(phrases[i].tree);
	const char *end;

	if (strncmp(text, phrases[i].tree, n))
		return 0;
	end = phrases[i].end ? strstr(text + n, phrases[i].end) : NULL;
	return end ? (size_t)(end - text) + 1 : n;
}

char *words_for_cluster(const char *sentence)
{
	struct out o = { 0 }, said = { 0 };

	out_for_all(&said, sentence);
	sentence = out_text(&said);
	while (*sentence) {
		size_t i = 0, n = 0;

		while (i < ARRAY_SIZE(phrases) && !(n = phrase_at(sentence, i)))
			i++;
		if (n)
			out_printf(&o, "%s", phrases[i].cluster);
		else
			out_put(&o, sentence, 1);
		sentence += n ? n : 1;
	}
	out_put(&o, "", 1);
	o.failed |= said.failed;
	out_free(&said);
	if (!o.failed)
		return o.data;
	out_free(&o);
	return NULL;
}
