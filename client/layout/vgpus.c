// SPDX-License-Identifier: GPL-2.0-or-later
/* vGPUs by type and count: which stay, which end, and where those that lack are made. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/yaml.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"
#include "work.h"

bool layout_type_is(const char *name, const char *text)
{
	const char *blank = strrchr(name, ' ');

	return !strcmp(name, text) || (blank && !strcmp(blank + 1, text));
}

/* ---- names of types */

static const struct {
	const char *of_type, *of_profile;
	bool ends_types; /* names of the driver's own types may end so */
} mig_words[] = {
	{ "MEALL", "+me.all", false }, /* before what it ends with */
	{ "NOME", "-me", false },
	{ "ME", "+me", true },
	{ "GFX", "+gfx", false },
};

/* The word at the end of the type; NULL: none. */
static const char *mig_word(const char *type, size_t *ret_i)
{
	size_t len = strlen(type);

	for (size_t i = 0; i < ARRAY_SIZE(mig_words); i++) {
		size_t n = strlen(mig_words[i].of_type);

		*ret_i = i;
		if (len > n && !strcmp(type + len - n, mig_words[i].of_type))
			return type + len - n;
	}
	return NULL;
}

bool layout_mig_profile(const char *type, char ret[static 32])
{
	const char *last = strrchr(type, ' ') ? strrchr(type, ' ') + 1 : type;
	size_t name = strspn(last, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), i;
	const char *word = mig_word(last, &i);
	unsigned int slices, gib;
	char series;
	int end = 0;

	if (!name || sscanf(last + name, "-%1u-%4u%c%n", &slices, &gib, &series, &end) != 3 ||
	    !slices || !strchr("ABCQ", series) ||
	    last[name + (size_t)end] != (word ? *word : '\0') ||
	    (word && last + name + end != word))
		return false;
	snprintf(ret, 32, "%ug.%ugb%s", slices, gib, word ? mig_words[i].of_profile : "");
	return true;
}

/* The name of the card's type that the text means; "": it has none; the text: they are not known. */
static void find_type(const char *profiles, const char *text, char *ret, size_t size)
{
	_free_ char *copy = strdup(profiles);
	struct pair p;

	*ret = '\0';
	for (char *rest = copy, *line; (line = line_next(&rest));)
		while (pair_next(&line, &p) == 1)
			if (!strcmp(p.key, "name") && layout_type_is(p.value, text) &&
			    (!*ret || !strcmp(p.value, text)))
				str_copy(ret, size, p.value);
}

static bool known(const char *profiles)
{
	return profiles && *profiles && strcmp(profiles, "none");
}

/* Boards with one device id: what their types begin with tells them apart before the driver does
 * (open-gpu-kernel-modules, README.md, "Compatible GPUs"). */
static const struct {
	uint32_t board;
	const char *types;
} boards[] = { { 0x14a910de, "A16-" }, { 0x157e10de, "A2-" } };

/* Is it a type of another board with this device id? */
static bool is_of_other_board(const struct layout_view *view, const struct tree_device *gpu,
			      const char *type)
{
	uint32_t board = strcmp(device_says(gpu, "device"), "0x25b6") ? 0 : layout_board(view, gpu);
	const char *last = strrchr(type, ' ') ? strrchr(type, ' ') + 1 : type;
	bool here = false, there = false;

	for (size_t i = 0; i < ARRAY_SIZE(boards); i++) {
		bool begins = !strncmp(last, boards[i].types, strlen(boards[i].types));

		here |= board == boards[i].board;
		there |= begins && board != boards[i].board;
	}
	return here && there;
}

/* As NVIDIA's manager: the type as it is written, else without the word of MIG at its end, which
 * the names of most types lack. */
static void name_type(const char *profiles, const char *text, char *ret, size_t size)
{
	char bare[64];
	size_t i;
	const char *word = layout_mig_profile(text, (char[32]){ 0 }) ? mig_word(text, &i) : NULL;

	snprintf(bare, sizeof(bare), "%.*s", (int)(word ? word - text : (long)strlen(text)), text);
	if (!known(profiles)) {
		str_copy(ret, size, word && mig_words[i].ends_types ? text : bare);
		return;
	}
	find_type(profiles, text, ret, size);
	if (!*ret)
		find_type(profiles, bare, ret, size);
}

/* "NVIDIA A2-1Q, NVIDIA A2-2Q, ...", as many as fit. */
static void list_types(const char *profiles, char *ret, size_t size)
{
	_free_ char *copy = strdup(profiles);
	size_t n = 0;
	struct pair p;

	*ret = '\0';
	for (char *rest = copy, *line; (line = line_next(&rest));)
		while (pair_next(&line, &p) == 1) {
			bool fits = n + strlen(p.value) + sizeof(", , ...") < size;

			if (strcmp(p.key, "name"))
				continue;
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? ", " : "",
					      fits ? p.value : "...");
			if (!fits)
				return;
		}
}

/* ---- what is asked for */

static struct layout_card *card_of(struct layout_work *w, const struct tree_device *gpu)
{
	struct layout_card *more;

	for (size_t i = 0; i < w->n_cards; i++)
		if (w->cards[i].gpu == gpu)
			return &w->cards[i];
	more = more_rows(w->cards, w->n_cards, &w->cap_cards, sizeof(*more));
	if (!more)
		return NULL;
	w->cards = more;
	more[w->n_cards] = (struct layout_card){ .gpu = gpu };
	return &more[w->n_cards++];
}

static int add_count(struct layout_work *w, struct layout_card *c, const char *profiles,
		     const char *type, json_object *o)
{
	const char *text = layout_scalar(w, type, o);
	char name[64], all[200];
	uint64_t n;

	if (!text)
		return -EINVAL;
	if (parse_u64(text, LAYOUT_LINES_MAX, &n) || !n)
		return layout_fail(w, EINVAL, yml_line(o),
				   "%.64s: \"%.32s\" is not a number of vGPUs from 1 to %d", type,
				   text, LAYOUT_LINES_MAX);
	if (c->counts.n == LAYOUT_TYPES_MAX)
		return layout_fail(w, E2BIG, yml_line(o), "one card has at most %d types",
				   LAYOUT_TYPES_MAX);
	if (!*type || strlen(type) >= sizeof(name) || type[str_clean_len(type, SIZE_MAX)])
		return layout_fail(w, EINVAL, yml_line(o), "\"%.80s\" is not a vGPU type", type);
	name_type(profiles, type, name, sizeof(name));
	if (!known(profiles) && is_of_other_board(w->view, c->gpu, type))
		fail(&c->foreign, EINVAL, "%s:%u: %s is another board than that of \"%.64s\"",
		     w->out->path, yml_line(o), c->gpu->id, type);
	if (!*name) {
		list_types(profiles, all, sizeof(all));
		fail(&c->foreign, EINVAL, "%s:%u: %s has no vGPU type \"%.64s\"; it has %s",
		     w->out->path, yml_line(o), c->gpu->id, type, all);
	}
	for (size_t i = 0; i < c->counts.n; i++)
		if (!strcmp(c->counts.v[i].name, name) && *name)
			return layout_fail(w, EINVAL, yml_line(o),
					   "%s comes twice, also in line %u", name,
					   c->counts.v[i].line);
	STR_COPY(c->counts.v[c->counts.n].name, name);
	if (!layout_mig_profile(type, c->counts.v[c->counts.n].mig))
		c->counts.v[c->counts.n].mig[0] = '\0';
	c->counts.v[c->counts.n].count = (unsigned int)n;
	c->counts.v[c->counts.n++].line = yml_line(o);
	return 0;
}

static bool same_counts(const struct vgpu_counts *a, const struct vgpu_counts *b)
{
	size_t same = 0;

	for (size_t i = 0; i < a->n; i++)
		for (size_t j = 0; j < b->n; j++)
			same += a->v[i].count == b->v[j].count &&
				!strcmp(a->v[i].name, b->v[j].name);
	return a->n == b->n && same == a->n;
}

int layout_want_vgpus(struct layout_work *w, const struct tree_device *gpu, json_object *types)
{
	_free_ char *profiles = w->view->text(w->view->ctx, gpu->id, "profiles");
	struct layout_card *c = card_of(w, gpu), asked = { .gpu = gpu, .line = yml_line(types) };
	int r = c ? 0 : fail_nomem(w->err);

	if (!r && !json_object_is_type(types, json_type_object))
		r = layout_fail(w, EINVAL, asked.line,
				"the vGPUs must be a map of types and numbers, {} for none");
	if (r)
		return r;
	json_object_object_foreach(types, type, count)
	{
		r = r ?: add_count(w, &asked, profiles, type, count);
	}
	if (r)
		return r;
	/* NVIDIA's default configuration has entries for two cards of one device id. */
	if (!c->line || (c->foreign.code && !asked.foreign.code))
		*c = asked;
	else if (!asked.foreign.code && !same_counts(&c->counts, &asked.counts))
		return layout_fail(
			w, EINVAL, asked.line, "line %u says otherwise which vGPUs %s is to have%s",
			c->line, gpu->id,
			known(profiles) ? ""
					: "; which types are its own is not known before its VFs "
					  "exist: write 1 to its enabled first");
	return 0;
}

/* ---- where they lie */

enum { RANKS = 4 };

struct vgpu_place {
	const struct tree_device *d; /* NULL: a VF that is made */
	char id[96];
	bool stays;
	int rank; /* the lowest stays first */
};

struct vgpu_places {
	struct vgpu_place *v;
	size_t n, cap;
};

/* Who would miss it most: whoever uses it, a name that claims it, ourselves, others. */
static int place_rank(const struct tree_device *d)
{
	const char *state = device_says(d, "state"), *claim = device_says(d, "claim");

	/* Of one that is busy or not healthy, state does not tell that it is used. */
	if (*device_says(d, "allocated_to") || !strcmp(state, "held") ||
	    !strcmp(state, "allocated"))
		return 0;
	return !*claim ? 3 : strcmp(claim, "admin") ? 1 : 2;
}

static int add_place(struct layout_work *w, struct vgpu_places *p, const struct tree_device *d,
		     const char *id)
{
	struct vgpu_place *more = more_rows(p->v, p->n, &p->cap, sizeof(*more));

	if (!more)
		return fail_nomem(w->err);
	p->v = more;
	more[p->n] = (struct vgpu_place){ .d = d, .rank = d ? place_rank(d) : RANKS };
	STR_COPY(more[p->n++].id, id);
	return 0;
}

/* VFs that are there, or will be; of a card without VFs the mediated devices that it has. VFs of
 * which the layout tells the profile by their numbers are left out. */
static int find_places(struct layout_work *w, const struct layout_card *c, bool makes_mdevs,
		       bool makes_vfs, struct vgpu_places *ret)
{
	const struct tree_inventory *inv = w->view->inv;
	const char *key = makes_mdevs ? "parent" : "physfn", *gpu = c->gpu->id;
	uint64_t total = 0;
	char id[96];
	size_t vf = 0;
	int r = 0;

	for (size_t i = 0; i < inv->n && !r && !makes_vfs; i++)
		if (!strcmp(device_says(&inv->devices[i], key), gpu) &&
		    (makes_mdevs || !layout_wants_vgpu(w, gpu, vf++)))
			r = add_place(w, ret, &inv->devices[i], inv->devices[i].id);
	if (!makes_vfs || parse_u64(device_says(c->gpu, "sriov_totalvfs"), 65535, &total))
		return r;
	for (; vf < total && !r; vf++) {
		snprintf(id, sizeof(id), "%s/virtfn%zu", gpu, vf);
		if (!layout_wants_vgpu(w, gpu, vf))
			r = add_place(w, ret, NULL, id);
	}
	return r;
}

/* Those that are right stay, by their ranks. Leaves in left[] how many lack of each type. */
static void keep_right(const struct layout_card *c, struct vgpu_places *p, unsigned int *left)
{
	for (size_t t = 0; t < c->counts.n; t++)
		left[t] = c->counts.v[t].count;
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < p->n; i++)
			for (size_t t = 0; t < c->counts.n && !p->v[i].stays; t++) {
				if (p->v[i].rank != rank || !left[t] ||
				    !layout_type_is(device_says(p->v[i].d, "profile"),
						    c->counts.v[t].name))
					continue;
				p->v[i].stays = true;
				left[t]--;
			}
}

/* For NVIDIA's manager a vGPU is anybody's: one of others is taken over, but not from mdevctl,
 * which makes it itself. What our form counts stays whose it is. */
static int keep_lines(struct layout_work *w, const struct layout_card *c,
		      const struct vgpu_places *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n && !r && w->nvidia; i++) {
		const struct tree_device *d = p->v[i].d;
		_free_ char *mdevctl = NULL;

		if (!p->v[i].stays || *device_says(d, "claim"))
			continue;
		mdevctl = w->view->text(w->view->ctx, d->id, "mdevctl");
		if (!mdevctl || !strcmp(mdevctl, "none"))
			r = layout_want(w, d->id, "profile", device_says(d, "profile"), c->line);
	}
	return r;
}

/* The rest: each gets a type that lacks, in those without a vGPU first, or ends. */
static int place_rest(struct layout_work *w, const struct layout_card *c, struct vgpu_places *p,
		      unsigned int *left)
{
	size_t t = 0;
	int r = 0;

	for (int full = 0; full < 2; full++)
		for (size_t i = 0; i < p->n && !r; i++) {
			struct vgpu_place *at = &p->v[i];

			if (at->stays || (at->d && *device_says(at->d, "profile")) != full)
				continue;
			while (t < c->counts.n && !left[t])
				t++;
			if (t < c->counts.n && left[t]--)
				r = layout_want(w, at->id, "profile", c->counts.v[t].name,
						c->counts.v[t].line);
			else if (!at->d || full)
				r = layout_want(w, at->id, "profile", "none", c->line);
		}
	for (t = 0; t < c->counts.n && !r; t++)
		if (left[t])
			r = layout_fail(w, ENOSPC, c->counts.v[t].line,
					"%s has %zu VFs for vGPUs: %u of %s find no place",
					c->gpu->id, p->n, left[t], c->counts.v[t].name);
	return r;
}

/* Of a card that makes mediated devices of itself. */
static int make_rest(struct layout_work *w, const struct layout_card *c, struct vgpu_places *p,
		     unsigned int *left)
{
	char value[80];
	int r = 0;

	for (size_t i = 0; i < p->n && !r; i++)
		if (!p->v[i].stays)
			r = layout_want(w, p->v[i].id, "profile", "none", c->line);
	for (size_t t = 0; t < c->counts.n && !r; t++)
		for (snprintf(value, sizeof(value), "\"%s\"", c->counts.v[t].name); left[t] && !r;
		     left[t]--)
			r = layout_want(w, c->gpu->id, "create", value, c->counts.v[t].line);
	return r;
}

/* How many instances of this profile the types of the card need. */
static unsigned int count_instances(const struct layout_card *c, const char *mig)
{
	unsigned int n = 0;

	for (size_t t = 0; t < c->counts.n; t++)
		n += strcmp(c->counts.v[t].mig, mig) ? 0 : c->counts.v[t].count;
	return n;
}

/* Does this line, if there is one, tell as many instances as the types need, or more? */
static bool has_instances(const struct layout_line *l, const struct layout_card *c)
{
	for (size_t t = 0; t < c->counts.n && l; t++) {
		const char *mig = c->counts.v[t].mig;

		if (layout_instances(l->value, mig, strlen(mig)) < count_instances(c, mig))
			return false;
	}
	return l;
}

/* MIG of the card as its types need it, as NVIDIA's manager has it (spec/peers.md 1.3). */
static int want_mig(struct layout_work *w, const struct layout_card *c)
{
	_free_ char *mode = w->view->text(w->view->ctx, c->gpu->id, "mig/mode");
	struct out text = { 0 };
	size_t backed = 0;
	int r = 0;

	for (size_t t = 0; t < c->counts.n; t++) {
		const char *mig = c->counts.v[t].mig;

		backed += *mig != '\0';
		if (!*mig || layout_instances(out_text(&text), mig, strlen(mig)))
			continue;
		out_printf(&text, "%s%s*%u", text.len ? " " : "", mig, count_instances(c, mig));
	}
	if (backed && backed < c->counts.n)
		r = layout_fail(w, EINVAL, c->line,
				"vGPUs in MIG instances and others cannot share a card");
	else if (backed && !mode)
		r = layout_fail(w, EOPNOTSUPP, c->line,
				"%s has no MIG, and %s is a type of an instance", c->gpu->id,
				c->counts.v[0].name);
	else if (backed || (c->counts.n && w->nvidia && mode && !strcmp(mode, "1")))
		r = layout_want(w, c->gpu->id, "mig/mode", backed ? "1" : "0", c->line);
	if (!r && backed && !has_instances(layout_line_of(w, c->gpu->id, "mig/layout", 0), c))
		r = text.failed
			    ? fail_nomem(w->err)
			    : layout_want(w, c->gpu->id, "mig/layout", out_text(&text), c->line);
	out_free(&text);
	return r;
}

static bool asks_for_vfs(const struct layout_work *w, const struct layout_card *c)
{
	const struct layout_line *enabled = layout_line_of(w, c->gpu->id, "enabled", 0);

	return c->counts.n || (enabled && !strcmp(enabled->value, "1"));
}

static int plan_card(struct layout_work *w, const struct layout_card *c)
{
	_free_ char *create = w->view->text(w->view->ctx, c->gpu->id, "create");
	_free_ char *support = w->view->text(w->view->ctx, c->gpu->id, "vgpu_support");
	bool has_vfs = device_get(c->gpu, "enabled") != NULL;
	bool makes_vfs = has_vfs && !create && !strcmp(device_says(c->gpu, "enabled"), "0");
	unsigned int left[LAYOUT_TYPES_MAX];
	struct vgpu_places places = { 0 };
	int r = 0;

	if (makes_vfs && !asks_for_vfs(w, c))
		return 0; /* it has none, nor gets any */
	if (!c->counts.n && !create && !has_vfs)
		return 0;
	if (!create && !has_vfs)
		return layout_fail(w, EOPNOTSUPP, c->line, "%s has no vGPUs: %s", c->gpu->id,
				   support && !strncmp(support, "no: ", 4)
					   ? support + 4
					   : "it is not a GPU that makes them");
	r = want_mig(w, c) ?: find_places(w, c, create, makes_vfs, &places);
	if (!r) {
		keep_right(c, &places, left);
		r = keep_lines(w, c, &places);
	}
	if (!r && has_vfs && !create && c->counts.n)
		r = layout_want(w, c->gpu->id, "enabled", "1", c->line);
	r = r ?: create ? make_rest(w, c, &places, left) : place_rest(w, c, &places, left);
	free(places.v);
	return r;
}

int layout_plan_vgpus(struct layout_work *w)
{
	int r = 0;

	for (size_t i = 0; i < w->n_cards && !r; i++) {
		if (w->cards[i].foreign.code)
			r = fail(w->err, w->cards[i].foreign.code, "%s", w->cards[i].foreign.text);
		else
			r = plan_card(w, &w->cards[i]);
	}
	return r;
}
