// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a recorded machine. Seeds: tests/machines/ and its .umockdev.gz files unpacked.
 * What is accepted must keep the promises of machine.h, or the tree built from it is not safe.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "../simkernel/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const struct machine *m, const struct record *r)
{
	check(!strncmp(r->path, "/devices/", 9) && !strstr(r->path, "/../"));
	check(machine_find(m, r->path) == r);
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		check(f->name[0] && f->name[0] != '/' && !strstr(f->name, "/../"));
		check(f->type == 'H' || strlen(f->data) <= f->len);
		check(record_field(r, f->type, f->name) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine_err why;
	struct machine *m;

	if (machine_parse((const char *)data, size, &m, &why))
		return 0;
	check(m->n > 0);
	for (size_t i = 0; i < m->n; i++)
		check_record(m, &m->records[i]);
	machine_free(m);
	return 0;
}
