// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/driver/nvidia/capabilities/gpuMINOR/mig/giID/ciID: a card's directory is there while its
 * driver has the card, those of instances as long as they are (NVIDIA's MIG user guide, "Device
 * Nodes and Capabilities"; osRmCapRegisterGpu() and osRmCapRegisterSmcPartition() of the open
 * kernel modules). Without instances the mode does not show.
 */
#include "mig_seen.h"

#include <stdio.h>
#include <string.h>

#include "backend/internal.h"
#include "mig_ask.h"
#include "nvidia.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/key.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

enum {
	SEEN_MAX = 1024, /* entries of a directory */
	SEEN_MS = 1000,
	OPENED_MS = 6000, /* more than a question has before its program is killed */
	LOOK_US = 100000, /* a look at a card costs a process: one in this time */
	LOOKS = 32,	  /* besides those of a burst */
};

/* The order in which they come says nothing. */
struct seen_sum {
	unsigned int n;
	uint32_t sum;
};

static void add(struct seen_sum *s, unsigned int gi, unsigned int ci)
{
	const char ids[] = { (char)gi, (char)ci };

	s->n++;
	s->sum += (uint32_t)fnv1a(FNV1A, ids, sizeof(ids));
}

static void print(const struct seen_sum *s, char ret[static TELL_MAX])
{
	snprintf(ret, TELL_MAX, "%u %08x", s->n, s->sum);
}

/* "gi12" */
static bool read_name(const char *name, const char *prefix, unsigned int *ret)
{
	uint64_t id;

	if (strncmp(name, prefix, 2) || parse_u64(name + 2, 254, &id))
		return false;
	*ret = (unsigned int)id;
	return true;
}

static void add_computes(const struct sysfs *s, const char *mig, unsigned int gi,
			 struct seen_sum *all)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_PROC, "%s/gi%u", mig, gi);
	const struct dirent *e;
	unsigned int ci, n = 0;

	add(all, gi, 0xff);
	while (dir && n++ < SEEN_MAX && (e = readdir(dir)))
		if (read_name(e->d_name, "ci", &ci))
			add(all, gi, ci);
}

static bool find_dir(const struct sysfs *s, const struct key *card, char *buf, size_t size)
{
	char minor[NVIDIA_MINOR];

	if (!nvidia_minor(s, card->name, minor))
		return false;
	snprintf(buf, size, "driver/nvidia/capabilities/gpu%s/mig", minor);
	return true;
}

int mig_seen_tell(const struct sysfs *s, const struct key *dev, bool waking,
		  char ret[static TELL_MAX])
{
	char mig[64] = "";
	_closedir_ DIR *dir =
		find_dir(s, dev, mig, sizeof(mig)) ? sysfs_dir(s, ROOT_PROC, "%s", mig) : NULL;
	struct seen_sum all = { 0 };
	const struct dirent *e;
	unsigned int gi, n = 0;

	while (dir && n++ < SEEN_MAX && (e = readdir(dir)))
		if (read_name(e->d_name, "gi", &gi))
			add_computes(s, mig, gi, &all);
	if (dir)
		print(&all, ret);
	return 0;
}

void mig_seen_print(const struct mig *m, char ret[static TELL_MAX])
{
	struct seen_sum all = { 0 };

	for (size_t i = 0; i < m->n_instances; i++)
		add(&all, m->instances[i].id, 0xff);
	for (size_t i = 0; i < m->n_computes; i++)
		add(&all, m->computes[i].gi, m->computes[i].id);
	print(&all, ret);
}

/* ---- in the daemon */

struct seen_card {
	struct key key;
	char told[TELL_MAX];
};

/* Puts the card into ret if the library told of it, and with `all` the other such cards behind it.
 * Returns how many. */
static size_t find_told(struct backend *b, const struct key *card, bool all,
			struct seen_card ret[static QUESTION_MAX])
{
	const struct device *dev;
	size_t n = 0, pos = 0;
	struct mig m;

	model_lock(b->model);
	dev = model_find(b->model, card);
	while (dev && n < QUESTION_MAX) {
		if ((!n || !key_eq(&dev->key, card)) && mig_is_told(b, dev, &m)) {
			ret[n].key = dev->key;
			mig_seen_print(&m, ret[n++].told);
		}
		dev = n && all ? model_next(b->model, &pos) : NULL;
	}
	model_unlock(b->model);
	return n;
}

/* "ID N HASH" in one of the lines. */
static bool differs(const struct seen_card *c, const char *lines)
{
	char id[KEY_NAME + 8], word[sizeof(id) + 1];
	size_t len = strlen(c->told);

	snprintf(word, sizeof(word), "%s ", key_id(&c->key, id));
	for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, word, strlen(word))) {
			line += strlen(word);
			return strncmp(line, c->told, len) || line[len] != '\n';
		}
	return false;
}

/* Puts the keys of those into ret of which the kernel shows other instances. */
static size_t find_changed(struct backend *b, const struct seen_card *v, size_t n, struct key *ret)
{
	struct out words = { 0 }, lines = { 0 };
	char id[KEY_NAME + 8];
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		out_printf(&words, "%s%s", i ? " " : "", key_id(&v[i].key, id));
	if (!words.failed &&
	    !io_call(b->io, (const char *const[]){ "mig_seen", out_text(&words), NULL }, SEEN_MS,
		     &lines, NULL, NULL))
		for (size_t i = 0; i < n; i++)
			if (differs(&v[i], out_text(&lines)))
				ret[found++] = v[i].key;
	out_free(&words);
	out_free(&lines);
	return found;
}

/* Anybody may open a file in a loop. A look is refused at most LOOK_US after the last one. */
static bool may_look(struct backend *b, const struct key *card)
{
	const uint64_t now = now_us();
	struct mig_seen_at *at, *rows;
	bool may;

	pthread_mutex_lock(&b->asker.lock);
	for (at = b->seen; at < b->seen + b->n_seen && !key_eq(&at->card, card);)
		at++;
	if (at == b->seen + b->n_seen) {
		rows = more_rows(b->seen, b->n_seen, &b->cap_seen, sizeof(*rows));
		at = rows ? &rows[b->n_seen++] : NULL;
		b->seen = rows ?: b->seen;
		if (at)
			*at = (struct mig_seen_at){ *card, 0 };
	}
	may = at && at->paid_us < now + LOOKS * LOOK_US;
	if (may)
		at->paid_us = (at->paid_us > now ? at->paid_us : now) + LOOK_US;
	pthread_mutex_unlock(&b->asker.lock);
	return may;
}

void mig_opened(struct backend *b, const struct key *card)
{
	struct seen_card v[QUESTION_MAX];
	struct key changed[QUESTION_MAX];
	size_t n = find_told(b, card, false, v), all;

	if (!n)
		return;
	n = may_look(b, card) ? find_changed(b, v, 1, changed) : 0;
	all = n ? find_told(b, card, true, v) : 0;
	if (all > 1) /* apart: a card that hangs does not hide this one */
		n += find_changed(b, v + 1, all - 1, changed + 1);
	ask_await(b, &ask_mig, card, changed, n, OPENED_MS);
}
