// SPDX-License-Identifier: GPL-2.0-or-later
#include "serials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/pci_regs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define EXTENDED 0x100
#define CONFIG_SIZE 4096
#define BATCH 64
#define BATCH_MS 300
#define EACH_MS 8000 /* a read may take most of a second, and the chain needs several reads */
#define SIDE_BY_SIDE 16 /* besides the thread that asks */

/* Returns how many of n dwords were read. */
static size_t dwords(int config, off_t at, uint32_t *ret, size_t n)
{
	uint8_t b[12];
	ssize_t len = pread(config, b, 4 * n, at);

	n = len > 0 ? (size_t)len / 4 : 0;
	for (size_t i = 0; i < n; i++)
		ret[i] = b[4 * i] | b[4 * i + 1] << 8 | b[4 * i + 2] << 16 |
			 (uint32_t)b[4 * i + 3] << 24;
	return n;
}

/* Some bits of the status are always 0. */
static bool is_mute(int config)
{
	uint32_t word;

	return dwords(config, PCI_COMMAND, &word, 1) && word == UINT32_MAX;
}

static uint64_t follow_chain(int config)
{
	/* the header and, of a serial, its halves: one read, because it may be slow */
	uint32_t d[3];
	off_t at = EXTENDED;

	/* No chain has more entries than fit into the space. */
	for (int n = 0; n < (CONFIG_SIZE - EXTENDED) / 8 && at >= EXTENDED; n++) {
		size_t got = dwords(config, at, d, 3);

		if (!got || !d[0] || d[0] == UINT32_MAX)
			return 0;
		if (PCI_EXT_CAP_ID(d[0]) == PCI_EXT_CAP_ID_DSN)
			return got < 3 || (d[1] == UINT32_MAX && d[2] == UINT32_MAX)
				       ? 0
				       : (uint64_t)d[2] << 32 | d[1];
		at = PCI_EXT_CAP_NEXT(d[0]);
	}
	return 0;
}

bool serial_read(int config, uint64_t *ret)
{
	*ret = follow_chain(config);
	return *ret || !is_mute(config); /* a value from before it fell silent may be wrong */
}

/* A resource of ours ran out. Other failures are the device's answer and would come again. */
static bool is_shortage(int rc)
{
	return rc == -ECHILD || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -EAGAIN;
}

int serials_scan(const struct sysfs *s, char *ids, struct out *ret)
{
	char *save = NULL;

	for (char *id = strtok_r(ids, " ", &save); id; id = strtok_r(NULL, " ", &save)) {
		char path[KEY_NAME + sizeof(PCI_DEVICES) + 16];
		uint64_t serial = 0;
		_close_ int fd = -1;
		struct key key;

		if (!key_parse(id, &key))
			return -EINVAL;
		if (key.bus != BUS_PCI)
			continue;
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/config", key.name);
		fd = openat(s->fd[ROOT_SYS], path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && is_shortage(-errno))
			return -errno;
		if (fd >= 0 && !serial_read(fd, &serial))
			out_printf(ret, "%s -\n", id);
		else if (serial)
			out_printf(ret, "%s %" PRIx64 "\n", id, serial);
	}
	return 0;
}

static bool is_asked(const struct device *dev)
{
	return dev->key.bus == BUS_PCI && !dev->facts.serial_known;
}

/* Bridges have none; a VF has the serial of its PF, because its own config space has none. */
static bool tells_itself(const struct device *dev)
{
	return !device_is_vf(dev) && !device_is_bridge(&dev->facts);
}

/* Another card may come to the address before the answer does. */
struct asked {
	struct key key;
	uint64_t birth;
};

/* Finds all devices whose own config space has the serial. Call it with the model locked. NULL:
 * none, or no memory. */
static struct asked *collect(struct model *m, size_t *ret_n)
{
	struct asked *v = calloc(model_count(m) + 1, sizeof(*v));
	const struct device *dev;
	size_t pos = 0;

	*ret_n = 0;
	while (v && (dev = model_next(m, &pos)))
		if (is_asked(dev) && tells_itself(dev))
			v[(*ret_n)++] = (struct asked){ dev->key, dev->birth };
	return v;
}

/* The device whose config space has the serial: the PF of a VF. NULL: none, or it is gone. */
static const struct device *teller(struct model *m, const struct key *key)
{
	const struct device *dev = model_find(m, key);

	return dev && device_is_vf(dev) ? model_parent(m, dev) : dev;
}

/* Likewise among these, from *pos on. */
static size_t collect_of(struct model *m, const struct touched *of, size_t n_of, size_t *pos,
			 struct asked v[static BATCH])
{
	size_t n = 0;

	for (; n < BATCH && *pos < n_of; ++*pos) {
		const struct device *dev = teller(m, &of[*pos].key);

		if (dev && is_asked(dev) && tells_itself(dev) &&
		    !(n && key_eq(&v[n - 1].key, &dev->key)))
			v[n++] = (struct asked){ dev->key, dev->birth };
	}
	return n;
}

/* Takes the serial from the device's line; 0 without one. False: the device did not answer. */
static bool find_serial(const char *answer, const struct key *dev, uint64_t *ret)
{
	char id[KEY_NAME + 8];
	size_t n = strlen(key_id(dev, id));

	*ret = 0;
	for (const char *p = answer; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, id, n) && p[n] == ' ') {
			*ret = strtoull(p + n + 1, NULL, 16);
			return p[n + 1] != '-';
		}
	return true;
}

/* Returns -EAGAIN if one did not answer: its serial stays unknown. */
static int apply(struct model *m, const struct asked *v, size_t n, const char *answer)
{
	int rc = 0;

	model_lock(m);
	for (size_t i = 0; i < n; i++) {
		const struct device *now = model_find(m, &v[i].key);
		struct device *dev = NULL;
		uint64_t serial;

		if (!find_serial(answer, &v[i].key, &serial))
			rc = -EAGAIN;
		else if (now && now->birth == v[i].birth)
			dev = model_edit(m, &v[i].key, false);
		if (!dev)
			continue;
		dev->facts.serial = serial;
		dev->facts.serial_known = true;
	}
	model_publish(m);
	model_unlock(m);
	return rc;
}

static int call(struct backend *b, const struct asked *v, size_t n, unsigned int ms,
		struct helper_id *ret_who)
{
	struct out list = { 0 }, answer = { 0 };
	char id[KEY_NAME + 8];
	int rc = -ENOMEM;

	for (size_t i = 0; i < n; i++)
		out_printf(&list, "%s%s", i ? " " : "", key_id(&v[i].key, id));
	if (!list.failed)
		rc = io_call(b->io, (const char *const[]){ "serials", out_text(&list), NULL }, ms,
			     &answer, NULL, ret_who);
	if (!rc)
		rc = answer.failed ? -ENOMEM : apply(b->model, v, n, out_text(&answer));
	out_free(&list);
	out_free(&answer);
	return rc;
}

/* Does a helper already hang at this device? Another one would only hang beside it. */
static bool is_hung(struct serials *s, uint64_t birth)
{
	bool hung = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < ARRAY_SIZE(s->hung); i++) {
		if (s->hung[i].birth && !io_await(&s->hung[i].who, 0))
			s->hung[i].birth = 0;
		hung |= s->hung[i].birth == birth;
	}
	pthread_mutex_unlock(&s->lock);
	return hung;
}

/* False: there are too many already. */
static bool note_hung(struct serials *s, uint64_t birth, const struct helper_id *who)
{
	size_t i = 0;

	pthread_mutex_lock(&s->lock);
	while (i < ARRAY_SIZE(s->hung) && s->hung[i].birth)
		i++;
	if (i < ARRAY_SIZE(s->hung)) {
		s->hung[i].birth = birth;
		s->hung[i].who = *who;
	}
	pthread_mutex_unlock(&s->lock);
	return i < ARRAY_SIZE(s->hung);
}

/* One device per question, several side by side. */
struct each {
	struct backend *b;
	const struct asked *v;
	size_t n;
	atomic_size_t next;
	atomic_int rc;
};

static void *ask_some(void *ctx)
{
	struct each *e = ctx;
	size_t i;

	while ((i = atomic_fetch_add(&e->next, 1)) < e->n) {
		struct helper_id who = { 0 };
		int rc = is_hung(&e->b->serials, e->v[i].birth)
				 ? -EAGAIN
				 : call(e->b, &e->v[i], 1, EACH_MS, &who);

		if (rc == -ETIMEDOUT && !note_hung(&e->b->serials, e->v[i].birth, &who))
			atomic_store(&e->next, e->n);
		if (rc == -EIO) /* the device made its helper die */
			rc = apply(e->b->model, &e->v[i], 1, "");
		if (rc)
			atomic_store(&e->rc, rc == -ETIMEDOUT ? -EAGAIN : rc);
	}
	return NULL;
}

static int ask_each(struct backend *b, const struct asked *v, size_t n)
{
	struct each e = { .b = b, .v = v, .n = n };
	pthread_t threads[SIDE_BY_SIDE];
	size_t started = 0;

	while (started < SIDE_BY_SIDE && started + 1 < n &&
	       !thread_start(&threads[started], ask_some, &e))
		started++;
	ask_some(&e);
	while (started)
		pthread_join(threads[--started], NULL);
	return atomic_load(&e.rc);
}

/* Asks for all at once, which is fastest if none is slow. -errno: some stay unknown. */
static int ask(struct backend *b, const struct asked *v, size_t n)
{
	struct helper_id who = { 0 };
	int rc = n > 1 ? call(b, v, n, BATCH_MS, &who) : -ETIMEDOUT;

	return !rc || rc == -EAGAIN || is_shortage(rc) ? rc : ask_each(b, v, n);
}

/* Sets the serials of devices that have another's or none. */
static void complete(struct model *m)
{
	const struct device *dev;
	size_t pos = 0;

	model_lock(m);
	while ((dev = model_next(m, &pos))) {
		const struct device *pf;
		struct device *edit;

		if (!is_asked(dev) || tells_itself(dev)) /* one that has come meanwhile */
			continue;
		pf = model_parent(m, dev);
		edit = model_edit(m, &dev->key, false);
		if (!edit)
			continue;
		edit->facts.serial = pf ? pf->facts.serial : 0;
		edit->facts.serial_known = !pf || pf->facts.serial_known;
	}
	model_publish(m);
	model_unlock(m);
}

/* Asks for all serials that are missing now. */
static int run_once(struct backend *b, size_t *ret_n)
{
	_free_ struct asked *v = NULL;
	int rc, first = 0;

	model_lock(b->model);
	v = collect(b->model, ret_n);
	model_unlock(b->model);
	for (size_t at = 0; at < *ret_n; at += BATCH) {
		rc = ask(b, v + at, *ret_n - at < BATCH ? *ret_n - at : BATCH);
		first = first ? first : rc;
		if (rc && rc != -EAGAIN)
			break;
	}
	return v ? first : -ENOMEM;
}

int serials_run(struct backend *b)
{
	size_t n;
	int rc;

	do
		rc = run_once(b, &n);
	while (n && !rc);
	complete(b->model);
	return rc;
}

void serials_of(struct backend *b, const struct touched *of, size_t n_of)
{
	struct asked v[BATCH];
	size_t n, pos = 0;
	int rc;

	do {
		model_lock(b->model);
		n = collect_of(b->model, of, n_of, &pos, v);
		model_unlock(b->model);
		rc = n ? ask(b, v, n) : 0;
	} while (n == BATCH && (!rc || rc == -EAGAIN));
	complete(b->model);
}
