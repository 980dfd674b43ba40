// SPDX-License-Identifier: GPL-2.0-or-later
#include "liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <string.h>
#include <unistd.h>

#include "backend/gpu/world.h"
#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define PERIOD_MS 2000
#define VGPU_ROUNDS 8 /* looks at VFs whose vGPUs others may change: a scan each */
#define ASK_MS 500
#define EACH_MS 50 /* after one of a batch hung: a whole bus may hang */
#define BATCH 256

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

int liveness_scan(const struct sysfs *s, char *words, struct out *ret)
{
	char *save = NULL;

	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		struct key key;

		if (!key_parse(w + (*w == '!'), &key))
			return -EINVAL;
		if (key.bus != BUS_PCI || (*w != '!' && sleeps(s, &key)))
			out_printf(ret, "-");
		else
			out_printf(ret, "%c", look_at_word(s, &key));
	}
	return 0;
}

/* A device that was reported bad is watched until it is good: nobody else would report that. */
static bool is_watched(const struct device *dev)
{
	bool claimed = dev->intent.claim[0] || device_is_coming(dev);

	return dev->facts.liveness != LIVENESS_GOOD ||
	       (dev->caps & CAP_CLAIM && claimed && dev->facts.use == USE_GUEST);
}

static int by_key(const void *left, const void *right)
{
	const struct liveness_row *a = left, *b = right;

	return key_cmp(&a->key, &b->key);
}

static struct liveness_row row_of(const struct probes *p, const struct device *dev)
{
	struct liveness_row new = { .key = dev->key, .birth = dev->birth, .need = GOOD_LOOKS };
	const struct liveness_row *old =
		p->n ? bsearch(&new, p->rows, p->n, sizeof(new), by_key) : NULL;
	struct liveness_row row = old && old->birth == dev->birth ? *old : new;

	row.was = dev->facts.liveness;
	row.saw = LIVENESS_UNKNOWN;
	row.busy = dev->busy[0];
	return row;
}

/* Devices that we cannot allocate a row for are probed in a later round. */
static void collect(struct model *m, struct probes *p)
{
	struct liveness_row *rows = NULL;
	const struct device *dev;
	size_t n = 0, cap = 0, pos = 0;

	model_lock(m);
	while ((dev = model_next(m, &pos))) {
		struct liveness_row *more = NULL;

		if (!is_watched(dev))
			continue;
		more = more_rows(rows, n, &cap, sizeof(*rows));
		if (!more)
			break;
		rows = more;
		rows[n++] = row_of(p, dev);
	}
	model_unlock(m);
	if (n)
		qsort(rows, n, sizeof(*rows), by_key);
	free(p->rows);
	p->rows = rows;
	p->n = n;
}

/* Another helper would only hang beside the first. */
static bool is_hung(struct liveness_row *row)
{
	if (row->hung.pid && !io_await(&row->hung, 0))
		row->hung.pid = 0;
	return row->hung.pid;
}

static bool is_asked(const struct liveness_row *row)
{
	return !row->busy && row->saw == LIVENESS_UNKNOWN;
}

static void note(struct liveness_row *v, size_t n, const char *letters)
{
	for (size_t i = 0; i < n && *letters; i++) {
		if (!is_asked(&v[i]))
			continue;
		if (*letters != '-')
			v[i].saw = *letters == 'a' ? LIVENESS_GOOD : LIVENESS_ONES;
		letters++;
	}
}

static int ask(struct backend *b, struct liveness_row *v, size_t n, unsigned int ms,
	       struct helper_id *ret_who)
{
	struct out words = { 0 }, answer = { 0 };
	char id[KEY_NAME + 8];
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (is_asked(&v[i]))
			out_printf(&words, "%s%s ", v[i].was || v[i].bad ? "!" : "",
				   key_id(&v[i].key, id));
	if (words.failed)
		rc = -ENOMEM;
	else if (words.len)
		rc = io_call(b->io, (const char *const[]){ "pulse", out_text(&words), NULL }, ms,
			     &answer, NULL, ret_who);
	if (!rc && !answer.failed)
		note(v, n, out_text(&answer));
	out_free(&words);
	out_free(&answer);
	return rc;
}

static bool is_stopped(struct probes *p)
{
	bool stop;

	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

/* Asks for each device alone, to find the one that hangs. */
static void ask_each(struct backend *b, struct liveness_row *v, size_t n)
{
	unsigned int ms = ASK_MS;

	for (size_t i = 0; i < n && !is_stopped(&b->probes); i++) {
		struct helper_id who = { 0 };

		if (is_asked(&v[i]) && ask(b, &v[i], 1, ms, &who) == -ETIMEDOUT) {
			v[i].saw = LIVENESS_LATE;
			v[i].hung = who;
			ms = EACH_MS;
		}
	}
}

/* Call it with the model locked. */
static void tell(struct model *m, const struct liveness_row *row, enum liveness now)
{
	const struct device *dev = model_find(m, &row->key);
	struct device *edit =
		dev && dev->birth == row->birth ? model_edit(m, &row->key, false) : NULL;

	if (edit)
		edit->facts.liveness = now;
}

static void judge(struct model *m, struct liveness_row *v, size_t n)
{
	model_lock(m);
	for (size_t i = 0; i < n; i++) {
		enum liveness now = liveness_step(&v[i]);

		if (now != v[i].was)
			tell(m, &v[i], now);
	}
	model_publish(m);
	model_unlock(m);
}

/* Returns false if there is nothing to watch. */
static bool look(struct backend *b)
{
	struct probes *p = &b->probes;

	collect(b->model, p);
	for (size_t i = 0; i < p->n; i++)
		if (!p->rows[i].busy && is_hung(&p->rows[i]))
			p->rows[i].saw = LIVENESS_LATE;
	for (size_t at = 0; at < p->n && !is_stopped(p); at += BATCH) {
		size_t n = p->n - at < BATCH ? p->n - at : BATCH;

		if (ask(b, p->rows + at, n, ASK_MS, NULL) == -ETIMEDOUT)
			ask_each(b, p->rows + at, n);
		judge(b->model, p->rows + at, n);
	}
	return p->n;
}

/* Waits for the next period or, if nothing is watched, until that may have changed. False: stop. */
static bool wait_next(struct probes *p, bool looking)
{
	struct timespec until = in_ms(PERIOD_MS);
	int rc = 0;
	bool stop;

	pthread_mutex_lock(&p->lock);
	while (!p->stop && rc != ETIMEDOUT && (looking || !p->kick))
		rc = looking ? pthread_cond_timedwait(&p->wake, &p->lock, &until)
			     : pthread_cond_wait(&p->wake, &p->lock);
	p->kick = false;
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return !stop;
}

void *liveness_main(void *arg)
{
	struct backend *b = arg;
	unsigned int round = 0;
	bool looking = false;

	while (wait_next(&b->probes, looking)) {
		looking = look(b);
		looking |= vgpu_watch(b, ++round % VGPU_ROUNDS == 0);
	}
	return NULL;
}

static void kick(struct probes *p, bool stop)
{
	pthread_mutex_lock(&p->lock);
	p->kick = true;
	p->stop |= stop;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

void liveness_stop(struct backend *b)
{
	kick(&b->probes, true);
}

static void changed(void *ctx, const struct change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (changes[i].action != ACTION_REMOVE &&
		    changes[i].bits & (CH_CLAIM | CH_NUMVFS | CH_FACT(driver))) {
			kick(ctx, false);
			return;
		}
}

void liveness_open(struct backend *b)
{
	struct probes *p = &b->probes;

	pthread_mutex_init(&p->lock, NULL);
	cond_init(&p->wake);
	p->kick = true; /* a former process may have left claims */
}

void liveness_hear(struct backend *b)
{
	model_observe(b->model, &(struct observer){ changed, &b->probes });
}

void liveness_free(struct backend *b)
{
	free(b->probes.rows);
	pthread_cond_destroy(&b->probes.wake);
	pthread_mutex_destroy(&b->probes.lock);
}
