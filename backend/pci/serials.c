// SPDX-License-Identifier: GPL-2.0-or-later
#include "serials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

#define EXTENDED 0x100
#define CONFIG_SIZE 4096

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
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -EAGAIN;
}

/* "00-25-38-58-be-ef-be-ef", since Linux 6.18, where config space has one: unlike that, it needs no
 * capability. 0: there is none, or the device does not answer. */
static uint64_t read_attribute(const struct sysfs *s, const struct key *dev)
{
	uint64_t serial = 0;
	char text[32];

	if (sysfs_read(s, ROOT_SYS, text, sizeof(text), PCI_DEVICES "/%s/serial_number",
		       dev->name) != 23)
		return 0;
	for (int i = 0; i < 8; i++)
		serial = serial << 8 | (strtoul(text + 3 * i, NULL, 16) & 0xff);
	return serial == UINT64_MAX ? 0 : serial;
}

int serial_tell(const struct sysfs *s, const struct key *dev, bool waking,
		char ret[static TELL_MAX])
{
	char path[KEY_NAME + sizeof(PCI_DEVICES "//config")];
	_close_ int fd = -1;
	uint64_t serial;

	if (dev->bus != BUS_PCI)
		return 0;
	serial = read_attribute(s, dev);
	snprintf(path, sizeof(path), PCI_DEVICES "/%s/config", dev->name);
	if (!serial && (fd = openat(s->fd[ROOT_SYS], path, O_RDONLY | O_CLOEXEC)) < 0)
		return is_shortage(-errno) ? -errno : 0;
	if (!serial && !serial_read(fd, &serial))
		snprintf(ret, TELL_MAX, "-");
	else if (serial)
		snprintf(ret, TELL_MAX, "%" PRIx64, serial);
	return 0;
}

/* Bridges have none; a VF has the serial of its PF, because its own config space has none. */
static bool tells_itself(const struct device *dev)
{
	return !device_is_vf(dev) && !device_is_bridge(&dev->facts);
}

static bool is_unknown(const struct device *dev)
{
	return dev->key.bus == BUS_PCI && !dev->facts.serial_known;
}

static enum ask_which which_serial(struct backend *b, const struct device *dev)
{
	return is_unknown(dev) && tells_itself(dev) ? ASK_IT : ASK_NOT;
}

static const struct device *serial_teller(struct model *m, const struct device *dev)
{
	return device_is_vf(dev) ? model_parent(m, dev) : dev;
}

static void know(struct model *m, const struct device *dev, uint64_t serial)
{
	struct device *edit = model_edit(m, &dev->key, false);

	edit->facts.serial = serial;
	edit->facts.serial_known = true;
}

/* Without a line it has none; nor has one that made its helper die. */
static int apply_serial(struct backend *b, const struct device *dev, const struct told *t)
{
	if (t->rc == -ETIMEDOUT || (t->line && t->line->text[0] == '-'))
		return -EAGAIN;
	know(b->model, dev, t->line ? strtoull(t->line->text, NULL, 16) : 0);
	return 0;
}

/* Sets those of devices that have another's or none. */
static void complete(struct backend *b)
{
	const struct device *dev, *pf;
	size_t pos = 0;

	model_lock(b->model);
	while ((dev = model_next(b->model, &pos))) {
		if (!is_unknown(dev) || tells_itself(dev))
			continue;
		pf = model_parent(b->model, dev);
		if (!pf || pf->facts.serial_known)
			know(b->model, dev, pf ? pf->facts.serial : 0);
	}
	model_publish(b->model);
	model_unlock(b->model);
}

/* A read may take most of a second, and the chain needs several. */
const struct ask_row ask_serial = { "serials", "the serial numbers", .deadline_ms = 300,
				    .batch = 64, .each_ms = 8000, .retries = true,
				    .thread = ASKER_CARDS, .which = which_serial,
				    .teller = serial_teller, .apply = apply_serial,
				    .after = complete };
