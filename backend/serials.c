// SPDX-License-Identifier: GPL-2.0-or-later
#include "serials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/pci_regs.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

#define EXTENDED 0x100
#define CONFIG_SIZE 4096
#define BATCH 64
#define BATCH_MS 2000

static bool dword(int config, off_t at, uint32_t *ret)
{
	uint8_t b[4];

	if (pread(config, b, sizeof(b), at) != sizeof(b))
		return false;
	*ret = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
	return true;
}

uint64_t serial_read(int config)
{
	uint32_t head, low, high;
	off_t at = EXTENDED;

	/* No chain is longer than what has room for it. */
	for (int n = 0; n < (CONFIG_SIZE - EXTENDED) / 8 && at >= EXTENDED; n++) {
		if (!dword(config, at, &head) || !head || head == UINT32_MAX)
			return 0;
		if (PCI_EXT_CAP_ID(head) == PCI_EXT_CAP_ID_DSN) {
			if (!dword(config, at + 4, &low) || !dword(config, at + 8, &high))
				return 0;
			return low == UINT32_MAX && high == UINT32_MAX ? 0
								       : (uint64_t)high << 32 | low;
		}
		at = PCI_EXT_CAP_NEXT(head);
	}
	return 0;
}

/* Something of ours has run out. What else fails is how the device answers, and asked again it would not
 * answer otherwise. */
static bool is_shortage(int rc)
{
	return rc == -ECHILD || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -EAGAIN;
}

int serials_scan(const struct sysfs *s, char *addresses, struct out *ret)
{
	char *save = NULL;

	for (char *name = strtok_r(addresses, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		char path[KEY_NAME + sizeof(PCI_DEVICES) + 16];
		uint64_t serial;
		_close_ int fd = -1;
		struct key key;

		if (!key_make(BUS_PCI, name, &key))
			return -EINVAL;
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/config", key.name);
		fd = openat(s->fd[ROOT_SYS], path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && is_shortage(-errno))
			return -errno;
		serial = fd >= 0 ? serial_read(fd) : 0;
		if (serial)
			out_printf(ret, "%s %" PRIx64 "\n", key.name, serial);
	}
	return 0;
}

static bool is_asked(const struct device *dev)
{
	return dev->key.bus == BUS_PCI && !dev->facts.serial_known;
}

/* Bridges are nobody's; a VF's is its PF's: its own config space has none. */
static bool tells_itself(const struct device *dev)
{
	return !dev->facts.physfn[0] && !device_is_bridge(&dev->facts);
}

/* Another card may come to the address before the answer does. */
struct asked {
	struct key key;
	uint64_t birth;
};

/* With the model locked: the next ones whose own config space tells. */
static size_t collect(struct model *m, struct asked v[static BATCH])
{
	const struct device *dev;
	size_t pos = 0, n = 0;

	while (n < BATCH && (dev = model_next(m, &pos)))
		if (is_asked(dev) && tells_itself(dev))
			v[n++] = (struct asked){ dev->key, dev->birth };
	return n;
}

/* Whose config space tells of it: a VF's PF's. NULL: nobody's, or it is gone. */
static const struct device *teller(struct model *m, const struct key *key)
{
	const struct device *dev = model_find(m, key);
	struct key pf;

	return dev && key_make(BUS_PCI, dev->facts.physfn, &pf) ? model_find(m, &pf) : dev;
}

/* The same, of these: from *pos on. */
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

/* Of the line that begins with name, 0 without one. */
static uint64_t find_serial(const char *answer, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = answer; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, name, n) && p[n] == ' ')
			return strtoull(p + n + 1, NULL, 16);
	return 0;
}

static void apply(struct model *m, const struct asked *v, size_t n, const char *answer)
{
	model_lock(m);
	for (size_t i = 0; i < n; i++) {
		const struct device *now = model_find(m, &v[i].key);
		struct device *dev =
			now && now->birth == v[i].birth ? model_edit(m, &v[i].key, false) : NULL;

		if (!dev)
			continue;
		dev->facts.serial = find_serial(answer, v[i].key.name);
		dev->facts.serial_known = true;
	}
	model_publish(m);
	model_unlock(m);
}

/* One that hangs is found by asking for fewer, and has none. -errno: nothing was learned of some of them. */
static int ask(struct backend *b, const struct asked *v, size_t n)
{
	struct out list = { 0 }, answer = { 0 };
	int rc = -ENOMEM;

	for (size_t i = 0; i < n; i++)
		out_printf(&list, "%s%s", i ? " " : "", v[i].key.name);
	if (!list.failed)
		rc = io_call(b->io, (const char *const[]){ "serials", out_text(&list), NULL },
			     BATCH_MS, &answer, NULL, NULL);
	out_free(&list);
	if (!rc && answer.failed)
		rc = -ENOMEM;
	if (rc && n > 1 && !is_shortage(rc)) {
		rc = ask(b, v, n / 2);
		rc = rc ? rc : ask(b, v + n / 2, n - n / 2);
	} else if (!is_shortage(rc)) {
		apply(b->model, v, n, rc ? "" : out_text(&answer));
		rc = 0;
	}
	out_free(&answer);
	return rc;
}

/* Those that others tell. */
static void complete(struct model *m)
{
	const struct device *dev;
	size_t pos = 0;

	model_lock(m);
	while ((dev = model_next(m, &pos))) {
		const struct device *pf = NULL;
		struct device *edit;
		struct key key;

		if (!is_asked(dev) || tells_itself(dev)) /* that one has come meanwhile */
			continue;
		if (key_make(BUS_PCI, dev->facts.physfn, &key))
			pf = model_find(m, &key);
		edit = model_edit(m, &dev->key, false);
		if (!edit)
			continue;
		edit->facts.serial = pf ? pf->facts.serial : 0;
		edit->facts.serial_known = !pf || pf->facts.serial_known;
	}
	model_publish(m);
	model_unlock(m);
}

int serials_run(struct backend *b)
{
	struct asked v[BATCH];
	int rc = 0;
	size_t n;

	do {
		model_lock(b->model);
		n = collect(b->model, v);
		model_unlock(b->model);
		rc = n ? ask(b, v, n) : 0;
	} while (n && !rc);
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
	} while (n == BATCH && !rc);
	complete(b->model);
}
