// SPDX-License-Identifier: GPL-2.0-or-later
#include "liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <string.h>
#include <unistd.h>

#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

#define BAD_LOOKS 2
#define LATE_LOOKS 5
#define GOOD_LOOKS 3
#define GOOD_MOST 48
#define CALM_LOOKS 150

enum liveness liveness_step(struct liveness_row *row)
{
	uint8_t limit = row->saw == LIVENESS_LATE ? LATE_LOOKS : BAD_LOOKS;

	if (row->saw == LIVENESS_UNKNOWN)
		return row->was;
	if (row->saw != LIVENESS_GOOD) {
		row->good = 0;
		row->bad = row->bad && row->last != row->saw ? 0 : row->bad;
		row->last = row->saw;
		row->bad += row->bad < LATE_LOOKS;
		return row->was == LIVENESS_GOOD && row->bad >= limit ? row->saw : row->was;
	}
	row->bad = 0;
	row->good += row->good < CALM_LOOKS;
	if (row->was == LIVENESS_GOOD) {
		row->need = row->good == CALM_LOOKS ? GOOD_LOOKS : row->need;
		return LIVENESS_GOOD;
	}
	if (row->good < row->need)
		return row->was;
	row->good = 0;
	row->need = row->need < GOOD_MOST ? 2 * row->need : GOOD_MOST;
	return LIVENESS_GOOD;
}

/* Opens a file of the function or ("../") of the bridge above; sysfs_read() refuses such paths. */
static int open_file(const struct sysfs *s, const struct key *dev, const char *name)
{
	char path[sizeof(PCI_DEVICES "//../power_state") + KEY_NAME];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", dev->name, name);
	return openat(s->fd[ROOT_SYS], path, O_RDONLY | O_CLOEXEC);
}

static bool begins(const struct sysfs *s, const struct key *dev, const char *name, const char *text)
{
	_close_ int fd = open_file(s, dev, name);
	const size_t len = strlen(text);
	char buf[16];

	return fd >= 0 && read(fd, buf, len) == (ssize_t)len && !memcmp(buf, text, len);
}

/* Linux, pci_config_pm_runtime_get(): reading config space wakes the bridge above, and the function
 * if it has no power. */
static bool sleeps(const struct sysfs *s, const struct key *dev)
{
	return begins(s, dev, "power_state", "D3cold") || begins(s, dev, "../power_state", "D3");
}

/* Reads command and status, because the ids of a VF always read ffff. Some bits of the status are
 * always 0; Linux, pci_dev_wait(), waits for this word too. */
static char look_at_word(const struct sysfs *s, const struct key *dev)
{
	_close_ int fd = open_file(s, dev, "config");
	uint32_t word;

	if (fd < 0 || pread(fd, &word, sizeof(word), PCI_COMMAND) != sizeof(word))
		return '-';
	return word == UINT32_MAX ? 'f' : 'a';
}

int liveness_tell(const struct sysfs *s, const struct key *dev, bool waking,
		  char ret[static TELL_MAX])
{
	bool reads = dev->bus == BUS_PCI && (waking || !sleeps(s, dev));

	snprintf(ret, TELL_MAX, "%c", reads ? look_at_word(s, dev) : '-');
	return 0;
}

/* A device that was reported bad is watched until it is good: nobody else would report that. */
static bool is_watched(const struct device *dev)
{
	bool claimed = dev->intent.claim[0] || device_is_coming(dev);

	return dev->facts.liveness != LIVENESS_GOOD ||
	       (dev->caps & CAP_CLAIM && claimed && dev->facts.use == USE_GUEST);
}

/* NULL: it has none and make is false, or there is no memory: it counts from a later round on. */
static struct liveness_row *row_of(struct backend *b, const struct device *dev, bool make)
{
	struct liveness_rows *rows = &b->liveness;
	struct liveness_row *v = rows->v;

	for (size_t i = 0; i < rows->n; i++)
		if (v[i].birth == dev->birth && key_eq(&v[i].key, &dev->key))
			return &v[i];
	v = make ? more_rows(v, rows->n, &rows->cap, sizeof(*v)) : NULL;
	if (!v)
		return NULL;
	rows->v = v;
	v[rows->n] = (struct liveness_row){
		.key = dev->key, .birth = dev->birth, .need = GOOD_LOOKS, .watched = true
	};
	return &v[rows->n++];
}

/* An operation may be resetting it. */
static enum ask_which which_watched(struct backend *b, const struct device *dev)
{
	struct liveness_row *row = row_of(b, dev, false);
	bool watched = is_watched(dev);

	if (row)
		row->watched = watched;
	return !watched ? ASK_NOT : dev->busy[0] ? ASK_LATER
		: dev->facts.liveness || (row && row->bad) ? ASK_WAKING : ASK_IT;
}

static enum liveness sight(const struct told *t)
{
	char letter = t->line ? t->line->text[0] : '-';

	if (t->rc == -ETIMEDOUT)
		return LIVENESS_LATE;
	return letter == 'a' ? LIVENESS_GOOD : letter == 'f' ? LIVENESS_ONES : LIVENESS_UNKNOWN;
}

static int apply_liveness(struct backend *b, const struct device *dev, const struct told *t)
{
	enum liveness saw = sight(t), now;
	bool bad = dev->facts.liveness || saw == LIVENESS_ONES || saw == LIVENESS_LATE;
	struct liveness_row *row = row_of(b, dev, bad);

	if (!row)
		return 0;
	row->was = dev->facts.liveness;
	row->saw = saw;
	now = liveness_step(row);
	if (now != row->was)
		model_edit(b->model, &dev->key, false)->facts.liveness = now;
	return 0;
}

/* Drops the rows of devices that are not watched any more, or are as if they never had been bad. */
static void forget(struct backend *b)
{
	struct liveness_rows *rows = &b->liveness;
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct liveness_row row = rows->v[i];

		if (!row.watched || (!row.was && !row.bad && row.need == GOOD_LOOKS))
			continue;
		row.watched = false;
		rows->v[n++] = row;
	}
	rows->n = n;
}

const struct ask_row ask_liveness = { "liveness", "whether the devices answer", .deadline_ms = 500,
				      .batch = 256, .each_ms = 500, .period_ms = 2000,
				      .on = CH_CLAIM | CH_FACT(driver) | CH_FACT(profile_id),
				      .thread = ASKER_WATCH, .which = which_watched,
				      .apply = apply_liveness, .after = forget };
