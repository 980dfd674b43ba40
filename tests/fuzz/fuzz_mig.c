// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MIG: lines of pcidevfs-nvml up to a NUL, behind it a layout as a user writes it. What is planned fits: no slice
 * twice, nothing that is used goes, and a layout reads the same once it is printed. All of it as what pcidevfs-nvml
 * printed: an answer is lines up to one that says it is the end. And as the value of a step, which names one instance.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "backend/gpu/mig.h"
#include "backend/gpu/mig_steps.h"
#include "backend/gpu/nvml_ask.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mig m;

static void take(unsigned int profile, unsigned int start, unsigned int *taken)
{
	const struct mig_profile *p = &m.profiles[profile];
	unsigned int slices = ((1u << p->size) - 1) << start;

	check(p->starts & 1u << start);
	check(!(*taken & slices));
	*taken |= slices;
}

static void check_plan(const struct mig_wanted *w, const struct mig_plan *plan)
{
	uint8_t n[MIG_PROFILES] = { 0 };
	unsigned int taken = 0;

	for (size_t i = 0; i < m.n_instances; i++) {
		check(plan->keep[i] || !m.instances[i].used);
		if (!plan->keep[i])
			continue;
		take(m.instances[i].profile, m.instances[i].start, &taken);
		n[m.instances[i].profile]++;
	}
	for (size_t i = 0; i < plan->n; i++) {
		take(plan->add[i].profile, plan->add[i].start, &taken);
		n[plan->add[i].profile]++;
	}
	check(!memcmp(n, w->n, sizeof(n)));
}

static void check_text(const struct mig_wanted *w)
{
	struct mig_wanted again;
	struct out o = { 0 };

	mig_print_wanted(&m, w, &o);
	check(o.len > 511 ||
	      (!mig_parse(&m, out_text(&o), &again, NULL) && !memcmp(&again, w, sizeof(again))));
	out_free(&o);
}

/* As a step has an instance. */
static void check_spot(const char *text)
{
	struct mig_spot s, again;
	char printed[STEP_VALUE];

	if (mig_spot_read(text, &s))
		return;
	check(s.start + s.size <= MIG_SLICES);
	mig_spot_print(&s, printed);
	check(strlen(printed) == STEP_VALUE - 1 ||
	      (!mig_spot_read(printed, &again) && !memcmp(&s, &again, sizeof(s))));
}

static void check_answer(const char *text, size_t size)
{
	int number = -1, len = nvml_check(text, size, &number);

	if (len < 0)
		return;
	check((size_t)len < size && !memcmp(text + len, "end ", 4) && number >= 0);
	check(!len || text[len - 1] == '\n');
	check(!memchr(text, '\0', size) && !memchr(text, '\x1b', size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct mig_wanted w;
	struct mig_plan plan;
	struct err err = { 0 };
	size_t n;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_answer(text, size);
	n = strlen(text);
	check_spot(text);
	m = (struct mig){ 0 };
	if (!mig_read(text, &m) && !mig_parse(&m, n < size ? text + n + 1 : "", &w, &err)) {
		check_text(&w);
		if (!mig_fit(&m, &w, &plan, &err))
			check_plan(&w, &plan);
		else
			check(err.text[0]);
	}
	free(text);
	return 0;
}
