// SPDX-License-Identifier: GPL-2.0-or-later
#include "words.h"

#include <string.h>

#include "kinds.h"
#include "pcidevfs/util.h"

/* Not only network cards have VFs. */
#define BY_NUMVFS " (spec.numVFs, where it has an SRIOVNetworkDevice; else root on the node)"

/* Of two with one beginning the longer one comes first. Whoever asks again does so by the
 * object. */
static const struct {
	const char *tree, *end,
		*cluster; /* end: the phrase goes on to the next one of these; NULL */
} phrases[] = {
	{ "unless ctl has a line \"force ", "\"", "unless root on the node forces it" },
	{ "force in ctl", NULL, "force on the node" },
	{ " in ctl", NULL, " on the node" },
	{ "write none to its claim", NULL, "delete its claim" },
	{ "write none to the claims", NULL, "delete the claims" },
	{ "write a name to its claim", NULL, "create its claim" },
	{ "write the claim again", NULL, "delete the claim and create it again" },
	{ "write none to its profile", NULL, "set spec.enabled of its VGPUDevice to false" },
	{ "write its profile again", NULL,
	  "set spec.enabled of its VGPUDevice to false and then to true" },
	{ "write a name from profiles to profile", NULL,
	  "set spec.vGPUTypeName and spec.enabled of its VGPUDevice" },
	{ "write 1 to enabled of", NULL, "set spec.enabled to true of the SRIOVGPUDevice of" },
	{ "write 1 to enabled", NULL, "set spec.enabled of its SRIOVGPUDevice to true" },
	{ "write 0 to enabled of", NULL, "set spec.enabled to false of the SRIOVGPUDevice of" },
	{ "write 1 to its mig/mode", NULL,
	  "set spec.enabled of its SRIOVGPUDevice to false and then to true, without " SKIP_MIG
	  "," },
	{ "write its mig/mode again", NULL, "let root on the node write its mig/mode again" },
	{ "write its mig/layout again", NULL,
	  "set spec.enabled of its MigConfiguration to false and then to true" },
	{ "add one to mig/layout", NULL, "request one in the MigConfiguration of its GPU" },
	{ "write the layout then", NULL, "request the instances again then" },
	{ "write 0 to its enabled", NULL, "set spec.enabled of its SRIOVGPUDevice to false" },
	{ "write 0 to its sriov_numvfs", NULL, "set its number of VFs to 0" BY_NUMVFS },
	{ "write sriov_numvfs again", NULL, "set its number of VFs again" BY_NUMVFS },
	{ "write none to", NULL, "let root on the node write none to" },
	{ "write again", NULL, "ask again" },
	{ "see holders", NULL, "see holders on the node" },
	{ "see health", NULL, "see health on the node" },
};

/* What stands before a sentence: ID/FILE. A claim has no field for it: it is the object. */
static const struct {
	const char *file, *field;
} fields[] = {
	{ "/claim: ", "" },
	{ "/sriov_numvfs: ", "spec.numVFs: " },
	{ "/mig/layout: ", "spec.profileSpec: " },
	{ "/enabled: ", "spec.enabled: " },
	{ "/profile: ", "spec.vGPUTypeName: " },
	{ "/resource_name: ", RESOURCE_OVERRIDE ": " },
};

/* Puts the field instead of the file, and returns the sentence behind it. */
static const char *put_field(struct out *o, const char *sentence)
{
	size_t label = strcspn(sentence, " ");

	for (size_t i = 0; sentence[label] && i < ARRAY_SIZE(fields); i++) {
		size_t n = strlen(fields[i].file);

		if (label + 1 <= n || strncmp(sentence + label + 1 - n, fields[i].file, n))
			continue;
		out_printf(o, "%s", fields[i].field);
		return sentence + label + 1;
	}
	return sentence;
}

/* The length of the phrase there; 0: it is not there. */
static size_t phrase_at(const char *text, size_t i)
{
	size_t n = strlen(phrases[i].tree);
	const char *end;

	if (*text != *phrases[i].tree || strncmp(text, phrases[i].tree, n))
		return 0;
	end = phrases[i].end ? strstr(text + n, phrases[i].end) : NULL;
	return end ? (size_t)(end - text) + 1 : n;
}

char *words_for_cluster(const char *sentence)
{
	struct out o = { 0 }, said = { 0 };

	out_for_all(&said, sentence);
	sentence = put_field(&o, out_text(&said));
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
