// SPDX-License-Identifier: GPL-2.0-or-later
/* Frees the pages of records that nobody reads any more. */
#include <sys/mman.h>

#include "store.h"

static void drop_pages(const void *from, const void *to)
{
	uintptr_t first = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t last = (uintptr_t)to & ~(uintptr_t)4095;

	if (first < last)
		madvise((void *)first, last - first, MADV_REMOVE);
}

void spares_drop(struct model *m)
{
	uint32_t used = atomic_load(&m->a->used);

	for (int which = 0; which < 2; which++) {
		const struct device *rec = m->a->rec[which];
		uint32_t from = 0;

		for (uint32_t i = 0; i <= used; i++) {
			if (i < used && (!slot_word(m, i) || slot_spare(m, i) == &rec[i]))
				continue;
			drop_pages(&rec[from], &rec[i]);
			from = i + 1;
		}
	}
}
