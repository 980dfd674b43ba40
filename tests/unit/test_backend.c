// SPDX-License-Identifier: GPL-2.0-or-later
/* What the rows of backend/ promise to each other and to the tables of files. */
#include <stdio.h>
#include <string.h>

#include "../../backend/ops.h"
#include "../../fs/holder.h"
#include "../../fs/internal.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/plan.h"
#include "test.h"

static struct world_fake machine(void)
{
	fake_machine();
	return fake_open();
}

DEFINE_TEST(backends_are_complete)
{
	for (const struct backend_ops *const *b = backends; *b; b++)
		CHECK((*b)->name && (*b)->help && ((*b)->methods || (*b)->observe || (*b)->nodes));
}

/* The journal finds a step's verb by its name, the planner a method by its file. */
DEFINE_TEST(backends_use_no_name_twice)
{
	struct world_fake w = machine();
	const struct method *const *m = backend_methods(w.backend);
	const struct verb *const *v = backend_verbs(w.backend);

	CHECK(*m && *v);
	for (; *m; m++)
		CHECK(method_find(backend_methods(w.backend), (*m)->file) == *m);
	for (; *v; v++) {
		struct step s;

		CHECK(strlen((*v)->name) < sizeof(s.verb_name) && (*v)->run && (*v)->deadline_ms);
		for (const struct verb *const *other = v + 1; *other; other++)
			CHECK(strcmp((*v)->name, (*other)->name) != 0);
	}
	fake_close(&w);
}

/* Who stops the daemon leaves time for any step that has just begun. */
DEFINE_TEST(steps_end_within_the_grace)
{
	struct world_fake w = machine();

	for (const struct verb *const *v = backend_verbs(w.backend); *v; v++)
		if ((*v)->deadline_ms >= END_GRACE_MS)
			FAIL("%s may take %u ms, an end waits %u", (*v)->name, (*v)->deadline_ms, END_GRACE_MS);
	fake_close(&w);
}

/* A file that can be written is a row here and a method there; neither goes without the other. */
DEFINE_TEST(files_have_methods)
{
	struct world_fake w = machine();
	const struct method *const *methods = backend_methods(w.backend);

	for (size_t i = 0; i < n_attrs_device; i++)
		if (attrs_device[i].store && !(attrs_device[i].flags & ATTR_ASIDE))
			CHECK(method_find(methods, attrs_device[i].name));
	for (; *methods; methods++) {
		const struct attr *row = attr_by_name(OBJ_DEVICE, 0, (*methods)->file);

		CHECK(row && row->store);
	}
	fake_close(&w);
}
