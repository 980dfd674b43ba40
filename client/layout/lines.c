// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines for ctl: what is asked of which file, and whether it is so. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/yaml.h"
#include "pcidevfs/scheduler.h"
#include "pcidevfs/util.h"
#include "work.h"

/* clang-format off: a row as it is read */
const struct layout_file layout_files[] = {
	{ "mig/mode", NULL, "0", .is_bool = true },
	{ "mig/layout", NULL, "none" },
	{ "sriov_numvfs", NULL, "0", .is_number = true },
	{ "enabled", NULL, "0", .is_bool = true },
	{ "mixed_sizes", NULL, "0", .is_bool = true },
	{ "scheduler", NULL, SCHEDULER_INITIAL },
	{ "mac", NULL, "none", .is_of_nic = true },
	{ "vlan", NULL, "none", .is_number = true, .is_of_nic = true },
	{ "trust", NULL, "none", .is_bool = true, .is_of_nic = true },
	{ "spoofchk", NULL, "none", .is_bool = true, .is_of_nic = true },
	{ "profile", NULL, "none" },
	{ "vgpu_params", NULL, "none", .is_of_vgpu = true },
	{ "claim", NULL, "none", .is_of_vgpu = true },
	{ "pooled", NULL, "1", .is_bool = true, .is_of_vgpu = true },
	{ "resource_name", "resource_override", "none", .is_of_vgpu = true },
	{ 0 },
};
/* clang-format on */

const struct layout_file *layout_file(const char *name)
{
	for (const struct layout_file *f = layout_files; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

int layout_fail(struct layout_work *w, int code, unsigned int line, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail(w->err, code, "%s:%u: %s", w->out->path, line, text);
}

const char *layout_scalar(struct layout_work *w, const char *key, json_object *o)
{
	if (json_object_is_type(o, json_type_string))
		return json_object_get_string(o);
	layout_fail(w, EINVAL, yml_line(o), "%.64s must be one value, not a list or a map", key);
	return NULL;
}

/* ---- devices */

bool layout_is_vf(const struct tree_device *d)
{
	return device_get(d, "physfn") != NULL;
}

char *layout_now(const struct layout_view *view, const struct tree_device *d, const char *file)
{
	const char *reads = layout_file(file)->reads ?: file, *value = device_get(d, reads);

	return value ? strdup(value) : view->text(view->ctx, d->id, reads);
}

/* Others' settings of a NIC's VF are read too: of those only what was asked for counts. */
bool layout_was_asked(const char *intents, const char *id, const struct layout_file *f)
{
	char head[100], key[40];
	const char *at;

	if (!f->is_of_nic)
		return true;
	snprintf(head, sizeof(head), "%.80s ", id);
	snprintf(key, sizeof(key), " %.20s=", f->name);
	for (const char *line = intents, *end; line && *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		at = strncmp(line, head, strlen(head)) ? NULL : strstr(line, key);
		if (at && at < end)
			return true;
	}
	return false;
}

/* ---- what is asked */

static struct layout_line *add(struct layout_work *w, unsigned int line)
{
	struct layout *l = w->out;
	struct layout_line *more;

	if (l->n == LAYOUT_LINES_MAX) {
		layout_fail(w, E2BIG, line, "the layout asks for more than %d values",
			    LAYOUT_LINES_MAX);
		return NULL;
	}
	more = more_rows(l->v, l->n, &l->cap, sizeof(*more));
	if (!more) {
		fail_nomem(w->err);
		return NULL;
	}
	l->v = more;
	more[l->n] = (struct layout_line){ .line = line };
	return &more[l->n++];
}

int layout_want(struct layout_work *w, const char *id, const char *file, const char *value,
		unsigned int line)
{
	const struct layout_file *f = layout_file(file);
	struct layout_line *l;
	bool on;

	if (f && !strcmp(value, "none")) {
		value = f->unset;
	} else if (f && f->is_bool) {
		if (parse_bool(value, &on))
			return layout_fail(w, EINVAL, line, "%s is \"%.64s\"; write 0 or 1", file,
					   value);
		value = on ? "1" : "0";
	}
	if (!*value || value[str_clean_len(value, SIZE_MAX)])
		return layout_fail(w, EINVAL, line,
				   "%s must be one line of text; write none for nothing", file);
	l = add(w, line);
	if (!l)
		return -w->err->code;
	l->id = strdup(id);
	l->file = f ? f->name : "create"; /* which makes, and reads nothing */
	l->value = strdup(value);
	return l->id && l->value ? 0 : fail_nomem(w->err);
}

bool layout_wants_vgpu(const struct layout_work *w, const char *pf, size_t n)
{
	const struct tree_device *vf = layout_vf(w, pf, n);
	char id[96];

	snprintf(id, sizeof(id), "%s" LAYOUT_VF "%zu", pf, n);
	return layout_line_of(w, id, "profile", 0) ||
	       (vf && layout_line_of(w, vf->id, "profile", 0));
}

/* ---- what is so */

/* Of "3c.3g.40gb" the tree reads "3g.40gb": one compute instance of the whole size. */
static size_t whole_prefix(const char *name, size_t len)
{
	return len > 5 && name[0] >= '1' && name[0] <= '9' && !memcmp(name + 1, "c.", 2) &&
			       name[3] == name[0] && name[4] == 'g'
		       ? 3
		       : 0;
}

unsigned int layout_instances(const char *layout, const char *name, size_t len)
{
	size_t skip = whole_prefix(name, len);
	unsigned int n = 0;

	name += skip;
	len -= skip;
	for (const char *p = layout; *p;) {
		size_t word = strcspn(p, " "), bare = strcspn(p, " *");

		skip = whole_prefix(p, bare);
		if (bare - skip == len && !memcmp(p + skip, name, len))
			n += p[bare] == '*' ? (unsigned int)atoi(p + bare + 1) : 1;
		p += word + strspn(p + word, " ");
	}
	return n;
}

static bool covers(const char *a, const char *b)
{
	for (const char *p = b; *p;) {
		size_t word = strcspn(p, " "), bare = strcspn(p, " *");

		if (layout_instances(a, p, bare) != layout_instances(b, p, bare))
			return false;
		p += word + strspn(p + word, " ");
	}
	return true;
}

static bool reads(const char *file, const char *now, const char *value)
{
	const struct layout_file *f = layout_file(file);
	uint64_t a, b;

	if (f && f->is_number && !parse_u64(now, UINT64_MAX, &a) &&
	    !parse_u64(value, UINT64_MAX, &b))
		return a == b;
	if (!strcmp(file, "profile"))
		return layout_type_is(now, value);
	if (!strcmp(file, "mig/layout"))
		return covers(now, value) && covers(value, now);
	if (!strcmp(file, "mac"))
		return !strcasecmp(now, value);
	return !strcmp(now, value);
}

static bool unsets(const struct layout_line *l)
{
	const struct layout_file *f = layout_file(l->file);

	return f && reads(f->name, f->unset, l->value);
}

/* The line by which the function gets other VFs than it has, or has none: what it reads keeps
 * them. */
static const struct layout_line *makes_vfs(const struct layout_work *w, const char *pf, bool none)
{
	static const char *const makers[] = { "sriov_numvfs", "enabled" };
	const struct tree_device *d = device_by_id(w->view->inv, pf);
	const struct layout_line *l;

	for (size_t i = 0; i < ARRAY_SIZE(makers) && d; i++)
		for (size_t n = 0; (l = layout_line_of(w, pf, makers[i], n)); n++)
			if (unsets(l) == none &&
			    (none || !reads(l->file, device_says(d, l->file), l->value)))
				return l;
	return NULL;
}

/* The number of the VF that the line is about by its number, and of which function; else NULL. */
static const char *number_in(const struct layout_line *l, char pf[static 96])
{
	const char *slash = strstr(l->id, LAYOUT_VF);

	snprintf(pf, 96, "%.*s", slash ? (int)(slash - l->id) : 0, l->id);
	return slash ? slash + strlen(LAYOUT_VF) : NULL;
}

/* A VF named by its number is that of its address if it is there, and stays or is to lose what it
 * has; else NULL. made: of those that other VFs replace. */
static const struct tree_device *find_vf(const struct layout_work *w, const struct layout_line *l,
					 bool made)
{
	char pf[96];
	const char *number = number_in(l, pf);

	if (!number || (makes_vfs(w, pf, false) != NULL) != made || (made && !unsets(l)))
		return NULL;
	return layout_vf(w, pf, strtoul(number, NULL, 10));
}

/* All are found before any gets its address: the index has the ids. */
static int find_vfs(struct layout_work *w, bool made)
{
	struct layout *l = w->out;
	_free_ const struct tree_device **vfs = calloc(l->n + 1, sizeof(*vfs));
	int r = vfs ? layout_index_lines(w) : fail_nomem(w->err);

	for (size_t i = 0; i < l->n && !r; i++)
		vfs[i] = find_vf(w, &l->v[i], made);
	for (size_t i = 0; i < l->n && !r; i++) {
		if (!vfs[i])
			continue;
		free(l->v[i].id);
		l->v[i].id = strdup(vfs[i]->id);
		r = l->v[i].id ? 0 : fail_nomem(w->err);
	}
	return r ?: layout_index_lines(w);
}

/* Two entries may say the same of a device, not different things. */
static int refuse_contradiction(struct layout_work *w, const struct layout_line *l)
{
	const struct layout_line *o;

	for (size_t n = 0; (o = layout_line_of(w, l->id, l->file, n)) && o < l; n++)
		if (strcmp(l->file, "create") && !reads(l->file, o->value, l->value) &&
		    !reads(l->file, l->value, o->value))
			return layout_fail(w, EINVAL, l->line,
					   "%s of %s is to be %s, and line %u says %s", l->file,
					   l->id, l->value, o->line, o->value);
	return 0;
}

/* What a VF is to be needs the VF. */
static int refuse_without_vf(struct layout_work *w, const struct layout_line *l)
{
	const struct tree_device *d = device_by_id(w->view->inv, l->id);
	const struct layout_line *none;
	uint64_t total;
	char pf[96];
	const char *number = number_in(l, pf);

	if (d)
		STR_COPY(pf, device_says(d, "physfn"));
	if (unsets(l) || !*pf)
		return 0;
	none = makes_vfs(w, pf, true);
	if (none)
		return layout_fail(
			w, EINVAL, l->line,
			"%s of %s is to be %s, and line %u says that %s has no VFs: %s 0", l->file,
			l->id, l->value, none->line, pf, none->file);
	if (!number || makes_vfs(w, pf, false))
		return 0;
	d = device_by_id(w->view->inv, pf);
	if (parse_u64(d ? device_says(d, "sriov_totalvfs") : "", UINT16_MAX, &total))
		return layout_fail(w, ENODEV, l->line, "%s cannot have VFs", pf);
	return layout_fail(w, ENODEV, l->line,
			   strtoul(number, NULL, 10) < total
				   ? "%s has no VF %s; ask for more by its sriov_numvfs or enabled"
				   : "%s has no VF %s; it can have %u, of which the first is 0",
			   pf, number, (unsigned int)total);
}

/* Is something stored for a VF with the number of this one, which is not there? It would come back
 * with the VF. Which card it is of is not told. */
static bool is_stored(const char *intents, const char *id)
{
	const char *end, *at, *line = intents;
	char vf[24];

	snprintf(vf, sizeof(vf), ",vf%.10s ", strstr(id, LAYOUT_VF) + strlen(LAYOUT_VF));
	for (; line && *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		at = strstr(line, " device=none ");
		if (at && at < end && (at = strstr(line, vf)) && at < end)
			return true;
	}
	return false;
}

/* Is it so, or asked for by a line before, or gone with the vGPU that it is of? */
static bool needs_nothing(struct layout_work *w, struct layout_line *l, const char *intents)
{
	const struct tree_device *d = device_by_id(w->view->inv, l->id);
	const struct layout_line *profile = layout_line_of(w, l->id, "profile", 0);
	const struct layout_file *f = layout_file(l->file);
	char pf[96];

	if (!f)
		return false;
	if (layout_line_of(w, l->id, l->file, 0) != l)
		return true;
	if (f->is_of_vgpu && profile && !strcmp(profile->value, "none") && unsets(l))
		return true;
	if (!d) {
		number_in(l, pf);
		l->hidden = unsets(l);
		return l->hidden && (!makes_vfs(w, pf, false) || !is_stored(intents, l->id));
	}
	l->was = layout_now(w->view, d, l->file);
	if (unsets(l) &&
	    (!l->was || !strcmp(l->was, "none") || !layout_was_asked(intents, l->id, f)))
		return true;
	/* One that others have made is taken over by writing what it is (docs/VGPU.md). */
	if (!strcmp(l->file, "profile") && strcmp(l->value, "none") && !*device_says(d, "claim") &&
	    device_get(d, "claim")) {
		bool same = l->was && reads(l->file, l->was, l->value);
		const struct layout_line *claim = layout_line_of(w, l->id, "claim", 0);

		if (same && claim && unsets(claim))
			return true; /* it stays theirs */
		l->hidden = same && claim;
		l->takes = same && !l->hidden;
		return false;
	}
	/* What was not asked of it may be anything. */
	if (l->was && !strcmp(l->file, "scheduler"))
		return scheduler_fits(l->was, l->value);
	return l->was && reads(l->file, l->was, l->value);
}

/* A claim of a function, and its IOMMU group. */
struct group_claim {
	const char *group;
	const struct layout_line *l;
	unsigned int line; /* in the file, also once the line is marked as one that goes */
};

/* Those that need something come first in their group, then those that the file has first. */
static int by_group(const void *left, const void *right)
{
	const struct group_claim *a = left, *b = right;

	return strcmp(a->group, b->group) ?: !a->l->line - !b->l->line ?: a->l < b->l ? -1 : 1;
}

/* Returns how many there are. A vGPU is claimed without the others of its group. */
static size_t find_claims(const struct layout_work *w, struct group_claim *ret)
{
	size_t n = 0;

	for (const struct layout_line *l = w->out->v; l < w->out->v + w->out->n; l++) {
		const struct tree_device *d = device_by_id(w->view->inv, l->id);

		if (!d || strcmp(l->file, "claim") || device_get(d, "profile"))
			continue;
		ret[n] = (struct group_claim){ device_says(d, "iommu_group"), l, l->line };
		n += *ret[n].group != '\0';
	}
	return n;
}

/* A group has one owner. The tree would refuse both lines together, but it gets only those that need
 * something: then each apply would undo the other. */
static int refuse_discord(struct layout_work *w, const struct group_claim *claims, size_t n)
{
	const struct group_claim *of = claims, *first, *last;

	for (size_t i = 0; i < n; i++) {
		const struct group_claim *c = &claims[i];

		if (strcmp(of->group, c->group))
			of = c;
		if (!of->l->line || !strcmp(of->l->value, c->l->value))
			continue;
		first = of->l < c->l ? of : c;
		last = first == of ? c : of;
		return layout_fail(
			w, EINVAL, last->line,
			"claim of %s is to be %s, and line %u says %s of %s, which shares "
			"IOMMU group %s with it",
			last->l->id, last->l->value, first->line, first->l->value, first->l->id,
			of->group);
	}
	return 0;
}

static void drop(struct layout_line *l)
{
	free(l->id);
	free(l->value);
	free(l->was);
}

int layout_settle(struct layout_work *w)
{
	_free_ char *intents = w->view->text(w->view->ctx, NULL, "intents");
	_free_ struct group_claim *claims = NULL;
	struct layout *l = w->out;
	size_t n = 0, n_claims;
	int r = find_vfs(w, false);

	for (size_t i = 0; i < l->n && !r; i++)
		r = refuse_contradiction(w, &l->v[i]);
	for (size_t i = 0; i < l->n && !r; i++)
		r = refuse_without_vf(w, &l->v[i]);
	r = r ?: find_vfs(w, true);
	claims = r ? NULL : calloc(l->n + 1, sizeof(*claims));
	if (!claims)
		return r ?: fail_nomem(w->err);
	n_claims = find_claims(w, claims);
	/* Marked first: a line that goes may still tell what another one needs. */
	for (size_t i = 0; i < l->n; i++)
		if (needs_nothing(w, &l->v[i], intents))
			l->v[i].line = 0;
	qsort(claims, n_claims, sizeof(*claims), by_group);
	r = refuse_discord(w, claims, n_claims);
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].line)
			l->v[n++] = l->v[i];
		else
			drop(&l->v[i]);
	}
	l->n = n;
	return r;
}

void layout_free(struct layout *l)
{
	for (size_t i = 0; i < l->n; i++)
		drop(&l->v[i]);
	free(l->v);
	free(l->path);
	*l = (struct layout){ 0 };
}
