// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of the lines that are wanted the tree gets now. What waits behind a long operation might be
 * taken back meanwhile: it is decided anew when that has ended. */
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"

const struct inv_dev *line_device(const struct world *w, const char *about)
{
	char id[sizeof(((struct action *)NULL)->about)];
	const struct inv_dev *d = NULL;
	char *slash;

	STR_COPY(id, about);
	while (!d &&
	       (slash = strrchr(id, '/'))) { /* a file may be in a directory of the device's */
		*slash = '\0';
		d = inventory_find(w->inv, id);
	}
	return d;
}

static const struct inv_dev *root_of(const struct world *w, const struct inv_dev *d)
{
	static const char *const keys[] = { "physfn", "controller" };
	const struct inv_dev *above;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if ((above = inventory_find(w->inv, dev_get(d, keys[i]))))
			return above;
	return d;
}

/* Does what is done to one decide about the other? */
static bool meet(const struct world *w, const char *a, const char *b)
{
	const struct inv_dev *x = line_device(w, a), *y = line_device(w, b), *above_x, *above_y;

	if (!x || !y)
		return false;
	above_x = root_of(w, x);
	above_y = root_of(w, y);
	return above_x == above_y || dev_is_one_group(x, y) || dev_is_one_group(above_x, above_y);
}

/* chosen: those that are begun now, among others. */
static bool is_free(const struct world *w, const struct action *chosen, const struct action *a)
{
	for (const struct verdict *v = w->verdicts; v; v = v->next)
		if (v->running && meet(w, v->about, a->about))
			return false;
	for (; chosen; chosen = chosen->next)
		if (chosen->act == ACT_CTL && meet(w, chosen->about, a->about))
			return false;
	return true;
}

/* The one whose turn was the longest time ago: none waits for ever behind one that is refused again
 * and again. */
static struct action **next_line(const struct world *w, const struct action *chosen,
				 struct action **lines)
{
	struct action **next = NULL;
	uint64_t turn = UINT64_MAX;

	for (struct action **at = lines; *at; at = &(*at)->next) {
		const struct verdict *v = verdict_about(w, (*at)->about);
		uint64_t last = v ? v->turn : 0;

		if (last >= turn || !is_free(w, chosen, *at))
			continue;
		next = at;
		turn = last;
	}
	return next;
}

void lines_keep(const struct world *w, struct actions *list)
{
	struct actions kept = { 0 }, lines = { 0 };
	size_t room = w->one_line ? 1 : LINES_MAX;
	struct action **next;

	for (struct action *a = list->first, *after; a; a = after) {
		after = a->next;
		actions_append(a->act == ACT_CTL ? &lines : &kept, a);
	}
	for (const struct verdict *v = w->verdicts; v; v = v->next)
		room -= v->running && room;
	for (; room && (next = next_line(w, kept.first, &lines.first)); room--) {
		struct action *a = *next;

		*next = a->next;
		actions_append(&kept, a);
	}
	actions_free(lines.first);
	*list = kept;
}
