// SPDX-License-Identifier: GPL-2.0-or-later
/* Serials that are read while cards come and go. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/pci/serials.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "test.h"

#define PF "0000:02:00.0"
#define VF "0000:02:10.0"

static struct world_fake server(void)
{
	fake_machine();
	fake_add(&(struct fake){ PF, "0x8086\n", "0x10c9\n", "0x020000\n", "igb", 5 });
	fake_add(&(struct fake){ VF, "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 6 });
	fake_virtfn(PF, 0, VF);
	return fake_open();
}

static void config_path(char *buf, size_t size)
{
	snprintf(buf, size, "%s/sys/bus/pci/devices/" PF "/config", test_dir());
}

static void put_serial(uint32_t serial)
{
	const uint32_t words[] = { 0x00010003, serial,
				   0 }; /* a Device Serial Number, and no other capability */
	char path[300];
	int fd;

	config_path(path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(pwrite(fd, words, sizeof(words), 0x100), sizeof(words));
	close(fd);
}

static struct facts facts_of(struct world_fake *w, const char *address)
{
	struct key key = fake_key(address);
	struct facts facts;

	model_lock(w->model);
	facts = model_find(w->model, &key)->facts;
	model_unlock(w->model);
	return facts;
}

static void *run_serials(void *backend)
{
	ask_now(backend, &ask_serial, NULL, 0, 0, NULL);
	return NULL;
}

/* While a card is asked for its serial, another comes to its address: the answer is not its own. */
DEFINE_TEST(serials_are_those_of_the_card_that_was_asked)
{
	struct world_fake w = server();
	struct key key = fake_key(PF);
	pthread_t asker;
	char path[300];
	int fd;

	config_path(path, sizeof(path));
	unlink(path);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(pthread_create(&asker, NULL, run_serials, w.backend), 0);
	/* Once it is asked; what it answers waits for the model. */
	for (model_lock(w.model); (fd = open(path, O_WRONLY | O_NONBLOCK)) < 0;
	     model_lock(w.model)) {
		model_unlock(w.model);
		usleep(1000);
	}
	CHECK_EQ(unlink(path), 0);
	put_serial(77);
	model_remove(w.model, &key);
	model_edit(w.model, &key, true)->facts.vendor = 0x8086;
	model_publish(w.model);
	model_unlock(w.model);
	close(fd);
	pthread_join(asker, NULL);
	CHECK(!facts_of(&w, PF).serial_known);
	CHECK_EQ(ask_now(w.backend, &ask_serial, NULL, 0, 0, NULL), 0);
	CHECK_EQ(facts_of(&w, PF).serial, 77);
	fake_close(&w);
}

/* An intent for a device is stored for its card, so the serial is known before; of a VF by its
 * PF. */
DEFINE_TEST(serials_are_known_before_an_op)
{
	struct world_fake w = server();
	struct key vf = fake_key(VF);
	struct err err = { 0 };

	put_serial(78);
	CHECK_EQ(backend_observe(w.backend, &vf, 1, false, &err), 0);
	CHECK_EQ(facts_of(&w, VF).serial, 78);
	CHECK(facts_of(&w, VF).serial_known);
	fake_close(&w);
}

#define UNKNOWN 0xdeadull

/* A config space whose extended part holds these dwords, from 0x100 on. */
static uint64_t serial_of(const uint32_t *words, size_t n)
{
	char path[256];
	int fd;
	uint64_t serial;

	snprintf(path, sizeof(path), "%s/config", test_dir());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, n ? 4096 : 256), 0);
	if (n)
		CHECK_EQ(pwrite(fd, words, n * sizeof(*words), 0x100),
			 (ssize_t)(n * sizeof(*words)));
	if (!serial_read(fd, &serial))
		serial = UNKNOWN;
	close(fd);
	return serial;
}

DEFINE_TEST(serials_come_from_the_chain)
{
	static const uint32_t first[] = { 0x00010003, 0xbeefbeef, 0x00253858 },
			      second[] = { 0x11010001, 0, 0, 0, 0x00010003, 7, 0 },
			      none[] = { 0x00010001 },
			      gone[] = { UINT32_MAX, UINT32_MAX, UINT32_MAX },
			      ones[] = { 0x00010003, UINT32_MAX, UINT32_MAX },
			      loop[] = { 0x10010001 }, back[] = { 0x04010001 };

	CHECK_EQ(serial_of(first, 3), 0x00253858beefbeef);
	CHECK_EQ(serial_of((const uint32_t[]){ 0x11010001, 0, 0, 0, 0x00010003, 7, 0 }, 7), 7);
	CHECK_EQ(serial_of(second, 4), 0);
	CHECK_EQ(serial_of(none, 1), 0);
	CHECK_EQ(serial_of(gone, 3), 0);
	CHECK_EQ(serial_of(ones, 3), 0);
	CHECK_EQ(serial_of(loop, 1), 0);
	CHECK_EQ(serial_of(back, 1), 0);
	CHECK_EQ(serial_of(NULL, 0), 0);
}

static void fill_config(const char *address, int byte)
{
	char path[300], bytes[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/config", test_dir(), address);
	memset(bytes, byte, sizeof(bytes));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
}

/* All ones: it exists and does not answer. So its identity is unknown, and that of its VFs. */
DEFINE_TEST(serials_of_a_mute_card_are_not_known_yet)
{
	struct world_fake w = server();

	fill_config(PF, 0xff);
	CHECK_EQ(ask_now(w.backend, &ask_serial, NULL, 0, 0, NULL), -EAGAIN);
	CHECK(!facts_of(&w, PF).serial_known && !facts_of(&w, VF).serial_known);
	put_serial(79);
	CHECK_EQ(ask_now(w.backend, &ask_serial, NULL, 0, 0, NULL), 0);
	CHECK_EQ(facts_of(&w, VF).serial, 79);
	CHECK(facts_of(&w, PF).serial_known);
	fake_close(&w);
}
