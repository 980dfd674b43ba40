// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/mig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* ---- what the driver tells */

static const struct mig_profile *by_id(const struct mig *m, unsigned int id)
{
	for (size_t i = 0; i < m->n_profiles; i++)
		if (m->profiles[i].id == id)
			return &m->profiles[i];
	return NULL;
}

/* "0,2,4:2" */
static int read_places(const char *text, struct mig_profile *p)
{
	unsigned int start;
	int used;

	for (; sscanf(text, "%2u%n", &start, &used) == 1; text += used + (text[used] == ',')) {
		if (start >= MIG_SLICES)
			return -EBADMSG;
		p->starts |= (uint16_t)(1u << start);
		if (text[used] == ':')
			return sscanf(text + used, ":%2u", &p->size) == 1 && p->size &&
					       p->size <= MIG_SLICES
				       ? 0
				       : -EBADMSG;
	}
	return -EBADMSG;
}

static int read_profile(const char *line, struct mig *m)
{
	struct mig_profile p = { .available = -1 };
	char places[64];

	if (m->n_profiles == MIG_PROFILES ||
	    sscanf(line, "profile %9u %9u %9d %9u %9u %63s %31[^\n]", &p.id, &p.max, &p.available,
		   &p.mib, &p.compute, places, p.name) != 7 ||
	    strlen(p.name) != strcspn(p.name, " *") || by_id(m, p.id))
		return -EBADMSG;
	if (!strcmp(places, "-:0")) /* the driver does not say where */
		return 0;
	if (read_places(places, &p) || !p.max || p.max > MIG_INSTANCES || !p.compute ||
	    p.compute > MIG_SLICES)
		return -EBADMSG;
	m->profiles[m->n_profiles++] = p;
	return 0;
}

static int read_instance(const char *line, struct mig *m)
{
	struct mig_instance i = { 0 };
	const struct mig_profile *p;
	unsigned int id, size;

	if (m->n_instances == MIG_INSTANCES ||
	    sscanf(line, "instance %9u %9u %9u %9u", &i.id, &id, &i.start, &size) != 4)
		return -EBADMSG;
	p = by_id(m, id);
	if (!p || size != p->size || i.start >= MIG_SLICES || i.start + size > MIG_SLICES)
		return -EBADMSG;
	i.profile = (unsigned int)(p - m->profiles);
	m->instances[m->n_instances++] = i;
	return 0;
}

static struct mig_instance *instance_by_id(struct mig *m, unsigned int id)
{
	for (size_t i = 0; i < m->n_instances; i++)
		if (m->instances[i].id == id)
			return &m->instances[i];
	return NULL;
}

static int read_compute(const char *line, struct mig *m)
{
	struct mig_compute c;
	struct mig_instance *i;

	if (sscanf(line, "compute %9u %9u %*9u %9u", &c.gi, &c.id, &c.slices) != 3)
		return -EBADMSG;
	i = instance_by_id(m, c.gi);
	if (!i || !c.slices || c.slices >= MIG_SLICES || m->n_computes == MIG_COMPUTES)
		return -EBADMSG;
	i->computes[c.slices]++;
	m->computes[m->n_computes++] = c;
	return 0;
}

/* An instance that has gone meanwhile is in nobody's way. */
static void use(struct mig *m, int gi, const char *user)
{
	struct mig_instance *i = gi < 0 ? NULL : instance_by_id(m, (unsigned int)gi);

	if (!i)
		return;
	i->used = true;
	STR_COPY(i->user, user);
}

/* "process PID GI ...", "vm GI TYPE NAME" */
static int read_user(const char *line, struct mig *m)
{
	char user[48] = "a VM", name[37] = "";
	unsigned int pid;
	int gi;

	if (sscanf(line, "process %9u %9d", &pid, &gi) == 2)
		snprintf(user, sizeof(user), "process %u", pid);
	else if (sscanf(line, "vm %9d %*9u %36[^\n]", &gi, name) < 1)
		return -EBADMSG;
	if (name[0])
		snprintf(user, sizeof(user), "VM %s", name);
	use(m, gi, user);
	return 0;
}

static int read_line(const char *line, struct mig *m)
{
	unsigned int current, pending;

	if (sscanf(line, "mode %1u %1u", &current, &pending) == 2) {
		m->current = current;
		m->pending = pending;
		return 0;
	}
	if (!strncmp(line, "profile ", 8))
		return read_profile(line, m);
	if (!strncmp(line, "instance ", 9))
		return read_instance(line, m);
	if (!strncmp(line, "compute ", 8))
		return read_compute(line, m);
	if (!strncmp(line, "process ", 8) || !strncmp(line, "vm ", 3))
		return read_user(line, m);
	return 0;
}

/* A line at a time: sscanf() measures all that is left of a text, of up to 64 KiB, at each call. */
int mig_read(const char *text, struct mig *ret)
{
	char line[192];
	int rc = 0;

	for (size_t n; !rc && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		rc = read_line(line, ret);
	}
	return rc;
}

/* ---- layouts as text */

static const struct mig_profile *by_name(const struct mig *m, const char *name)
{
	for (size_t i = 0; i < m->n_profiles; i++)
		if (!strcmp(m->profiles[i].name, name))
			return &m->profiles[i];
	return NULL;
}

static int fail_unknown(const struct mig *m, const char *word, struct err *err)
{
	struct out all = { 0 };
	int rc;

	for (size_t i = 0; i < m->n_profiles; i++)
		out_printf(&all, "%s%s", i ? ", " : "", m->profiles[i].name);
	rc = fail(err, EINVAL, "\"%s\" is not a MIG profile of this card, which has %s", word,
		  all.len ? out_text(&all) : "none");
	out_free(&all);
	return rc;
}

unsigned int mig_share(const struct mig_profile *p, const uint16_t computes[static MIG_SLICES],
		       uint8_t rows[MIG_INSTANCES][MIG_SLICES])
{
	unsigned int left[MIG_INSTANCES], n = 0;

	memset(rows, 0, MIG_INSTANCES * sizeof(*rows));
	for (unsigned int slices = p->compute - 1; slices; slices--)
		for (unsigned int k = 0; k < computes[slices]; k++) {
			unsigned int i = 0;

			while (i < n && left[i] < slices)
				i++;
			if (i == MIG_INSTANCES)
				return n + 1;
			if (i == n)
				left[n++] = p->compute;
			left[i] -= slices;
			rows[i][slices]++;
		}
	return n;
}

/* "NAME", "NAME*N", "1c.NAME*N" */
static int parse_word(const struct mig *m, char *word, struct mig_wanted *w,
		      unsigned int whole[static MIG_PROFILES], struct err *err)
{
	char *star = strchr(word, '*');
	const struct mig_profile *p;
	unsigned int slices = 0;
	uint64_t n = 1;
	int used = 0;

	if (star)
		*star = '\0';
	if (star && (parse_u64(star + 1, MIG_INSTANCES, &n) || !n))
		return fail(err, EINVAL, "\"%s*%s\" must end in a number from 1 to %d", word,
			    star + 1, MIG_INSTANCES);
	if (sscanf(word, "%1uc.%n", &slices, &used) != 1 || !used)
		slices = 0;
	p = by_name(m, word + used);
	if (!p || slices > p->compute || (used && !slices))
		return fail_unknown(m, word, err);
	/* A GPU instance with one compute instance of its own size is the same as without "Nc.". */
	if (slices && slices != p->compute)
		w->computes[p - m->profiles][slices] += (uint16_t)n;
	else
		whole[p - m->profiles] += (unsigned int)n;
	return 0;
}

static int count(const struct mig *m, const unsigned int whole[static MIG_PROFILES],
		 struct mig_wanted *w, struct err *err)
{
	for (size_t i = 0; i < m->n_profiles; i++) {
		uint8_t rows[MIG_INSTANCES][MIG_SLICES];
		const struct mig_profile *p = &m->profiles[i];
		unsigned int n = whole[i] + mig_share(p, w->computes[i], rows);

		if (n > p->max)
			return fail(err, ERANGE, "%u of %s are wanted; the card can have %u", n,
				    p->name, p->max);
		w->n[i] = (uint8_t)n;
	}
	return 0;
}

int mig_parse(const struct mig *m, const char *text, struct mig_wanted *ret, struct err *err)
{
	unsigned int whole[MIG_PROFILES] = { 0 };
	char copy[512], *rest = copy, *word;
	int rc = 0;

	*ret = (struct mig_wanted){ 0 };
	if (!STR_COPY(copy, text))
		return fail(err, EINVAL, "a layout has at most %zu bytes", sizeof(copy) - 1);
	if (!strcmp(text, "none"))
		return 0;
	while (!rc && (word = strsep(&rest, " \t")))
		rc = *word ? parse_word(m, word, ret, whole, err) : 0;
	return rc ? rc : count(m, whole, ret, err);
}

/* Larger profiles first: by memory, then by slices, then as the driver has them. */
static bool is_larger(const struct mig_profile *a, const struct mig_profile *b)
{
	return a->mib != b->mib ? a->mib > b->mib : a->compute > b->compute;
}

/* The order in which profiles are printed and tried. */
static void sort_profiles(const struct mig *m, unsigned int order[MIG_PROFILES])
{
	for (unsigned int i = 0; i < m->n_profiles; i++) {
		unsigned int at = i;

		for (; at && is_larger(&m->profiles[i], &m->profiles[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static void print_name(struct out *o, bool first, const char *name, unsigned int n)
{
	out_printf(o, "%s%s", first ? "" : " ", name);
	if (n > 1)
		out_printf(o, "*%u", n);
}

void mig_print_wanted(const struct mig *m, const struct mig_wanted *w, struct out *o)
{
	unsigned int order[MIG_PROFILES] = { 0 };
	uint8_t rows[MIG_INSTANCES][MIG_SLICES];
	size_t before = o->len;

	sort_profiles(m, order);
	for (size_t k = 0; k < m->n_profiles; k++) {
		const struct mig_profile *p = &m->profiles[order[k]];
		const uint16_t *parts = w->computes[order[k]];
		unsigned int n = w->n[order[k]], shared = mig_share(p, parts, rows);

		for (unsigned int slices = 1; slices < p->compute; slices++) {
			char name[MIG_NAME + 4];

			snprintf(name, sizeof(name), "%uc.%s", slices, p->name);
			if (parts[slices])
				print_name(o, o->len == before, name, parts[slices]);
		}
		if (n > shared)
			print_name(o, o->len == before, p->name, n - shared);
	}
	if (o->len == before)
		out_printf(o, "none");
}

void mig_print(const struct mig *m, struct out *o)
{
	struct mig_wanted has = { 0 };

	for (size_t i = 0; i < m->n_instances; i++) {
		const struct mig_instance *in = &m->instances[i];

		has.n[in->profile]++;
		for (unsigned int s = 1; s < m->profiles[in->profile].compute; s++)
			has.computes[in->profile][s] += in->computes[s];
	}
	mig_print_wanted(m, &has, o);
}
