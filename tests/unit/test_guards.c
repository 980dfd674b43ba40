// SPDX-License-Identifier: GPL-2.0-or-later
/* One question about devices of several buses: each gets its own answer. Only PCI is read yet, so
 * the others are published here. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "backend/guard/guards.h"
#include "backend/internal.h"
#include "backend/pci/serials.h"
#include "fakehost.h"
#include "fakepci.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define CONTROLLER "0000:00:14.0"
#define LPC "0000:00:1f.0"
#define USB "pci0000:00/" CONTROLLER "/usb2/2-1"
#define DISK_AT USB "/2-1:1.0/host6/target6:0:0/6:0:0:0/block"

static struct world_fake world;

static struct key put_stick(void)
{
	struct device *dev;
	struct key key;

	CHECK(key_parse("usb/2-1", &key));
	model_lock(world.model);
	dev = model_edit(world.model, &key, true);
	CHECK(dev != NULL);
	dev->facts.iommu_group = dev->facts.numa_node = dev->facts.index = -1;
	model_publish(world.model);
	model_unlock(world.model);
	return key;
}

static void check_facts(const struct key *key, const char *critical, const char *holders)
{
	model_lock(world.model);
	CHECK_STR(model_find(world.model, key)->facts.critical, critical);
	CHECK_STR(model_find(world.model, key)->facts.holder, holders);
	model_unlock(world.model);
}

static void put_machine_with_stick(void)
{
	fake_machine();
	fake_add(&(struct fake){ CONTROLLER, "0x8086\n", "0xa36d\n", "0x0c0330\n", "xhci_hcd", 4 });
	fake_add(&(struct fake){ LPC, "0x8086\n", "0xa308\n", "0x060100\n", NULL, 5 });
	host_class("block", DISK_AT, "sda");
	host_file("8:0\n", "sys/devices/" DISK_AT "/sda/dev");
	host_link("../../devices/" DISK_AT "/sda", "sys/dev/block/8:0");
	host_link("../../../../../bus/usb", "sys/devices/" USB "/subsystem");
	host_link("../../devices/" USB "/tty", "sys/dev/char/1:8");
	host_file("36 35 8:0 / / rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/1/mountinfo");
	host_file("usbip\n", "proc/7/comm");
	host_link("/dev/random", "proc/7/fd/3");
}

DEFINE_TEST(guards_answer_for_each_bus_in_one_question)
{
	static const char root[] = "disk sda is mounted on /", held[] = "pid=7 comm=\"usbip\"";
	struct key devs[3];

	put_machine_with_stick();
	world = fake_open();
	devs[0] = put_stick();
	devs[1] = fake_key(CONTROLLER);
	devs[2] = fake_key(LPC);
	for (int all = 0; all < 2; all++) {
		CHECK_EQ(ask_now(world.backend, &ask_critical, all ? NULL : devs, 3, 0, NULL), 0);
		CHECK_EQ(ask_now(world.backend, &ask_holders, all ? NULL : devs, 3, 0, NULL), 0);
		check_facts(&devs[0], root, held);
		check_facts(&devs[1], root, held);
		check_facts(&devs[2], "it is the ISA bridge", "");
	}
	fake_close(&world);
}

/* Texts of others until there is no room for one more block. */
static void fill_rooms(void)
{
	static char text[TEXT_MAX];
	size_t len = sizeof(text);
	char name[KEY_NAME];
	struct device *dev;
	struct key key;

	memset(text, 'x', sizeof(text));
	model_lock(world.model);
	for (unsigned int i = 0; len; i++) {
		snprintf(name, sizeof(name), "0001:%02x:%02x.0", i / 32, i % 32);
		CHECK(i < 2048 && key_make(BUS_PCI, name, &key));
		dev = model_edit(world.model, &key, true);
		CHECK(dev != NULL);
		dev->facts.iommu_group = dev->facts.numa_node = dev->facts.index = -1;
		while (len && model_set_text(world.model, &dev->facts.holders, text, len))
			len /= 2;
	}
	model_publish(world.model);
	model_unlock(world.model);
}

static void check_causes(const struct key *key, const char *causes)
{
	struct out o = { 0 };

	model_lock(world.model);
	model_text(world.model, &model_find(world.model, key)->facts.causes, &o);
	model_unlock(world.model);
	CHECK_STR(out_text(&o), causes);
	out_free(&o);
}

/* Former causes may be those that were forced, and restore would take the device for a new one. */
DEFINE_TEST(guards_leave_no_former_causes_where_there_is_no_room)
{
	struct key key;

	put_machine_with_stick();
	world = fake_open();
	key = fake_key(CONTROLLER);
	/* so that no text changes later */
	CHECK_EQ(ask_now(world.backend, &ask_critical, NULL, 0, 0, NULL), 0);
	CHECK_EQ(ask_now(world.backend, &ask_holders, NULL, 0, 0, NULL), 0);
	check_causes(&key, "disk sda is mounted on /\ncause=mount sda /");
	fill_rooms();
	host_file("36 35 8:0 / /srv rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/1/mountinfo");
	CHECK_EQ(ask_now(world.backend, &ask_critical, &key, 1, 0, NULL), 0);
	check_facts(&key, "disk sda is mounted on /srv", "pid=7 comm=\"usbip\"");
	check_causes(&key, "");
	fake_close(&world);
}

/* Of two answers about a device the one counts that was begun last; an operation has its own when
 * it goes on, whatever else is still asked. */
DEFINE_TEST(guards_answers_overtake_older_ones)
{
	struct asking ours = { .row = &ask_critical, .own = true };
	struct ask_lane *own;
	struct key key;

	put_machine_with_stick();
	world = fake_open();
	key = fake_key(CONTROLLER);
	ours.b = world.backend;
	ours.lane = own = &ask_state(world.backend, &ask_critical)->own;
	own->asks = true;
	own->began_us = UINT64_MAX;
	host_file("36 35 8:0 / /srv rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/1/mountinfo");
	CHECK_EQ(ask_now(world.backend, &ask_critical, &key, 1, 0, NULL), 0);
	check_facts(&key, "disk sda is mounted on /srv", "pid=7 comm=\"usbip\"");
	CHECK_EQ(ask_takes(&ours, &key), 1);
	own->began_us = 1;
	CHECK_EQ(ask_now(world.backend, &ask_critical, &key, 1, 0, NULL), 0);
	CHECK_EQ(ask_takes(&ours, &key), 0);
	own->asks = false;
	fake_close(&world);
}

/* An operation waits for the question of our thread that is about its device too; not if that, or a
 * later one, has failed. */
DEFINE_TEST(guards_a_question_that_failed_answers_nobody)
{
	struct ask_lane *own;
	struct key key;

	put_machine_with_stick();
	world = fake_open();
	key = fake_key(CONTROLLER);
	own = &ask_state(world.backend, &ask_critical)->own;
	*own = (struct ask_lane){ .now.all = true,
				  .asks = true,
				  .began_us = UINT64_MAX,
				  .started = 1,
				  .ended = 2,
				  .failed = 1,
				  .rc = -EIO };
	host_file("36 35 8:0 / /srv rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/1/mountinfo");
	CHECK_EQ(ask_now(world.backend, &ask_critical, &key, 1, 1, NULL), 0);
	check_facts(&key, "disk sda is mounted on /srv", "pid=7 comm=\"usbip\"");
	own->failed = 0;
	host_file("36 35 8:0 / /usr rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/1/mountinfo");
	CHECK_EQ(ask_now(world.backend, &ask_critical, &key, 1, 1, NULL), 0);
	check_facts(&key, "disk sda is mounted on /srv", "pid=7 comm=\"usbip\"");
	own->asks = false;
	fake_close(&world);
}

static void to_busy(struct device *dev)
{
	STR_COPY(dev->busy, "claim");
}

/* Our thread leaves a device to the operation on it, which must not take that for an answer. */
DEFINE_TEST(guards_put_off_who_is_busy)
{
	struct asking own = { .row = &ask_critical, .own = true };
	struct key key;

	put_machine_with_stick();
	world = fake_open();
	fake_edit(&world, CONTROLLER, to_busy);
	key = fake_key(CONTROLLER);
	own.b = world.backend;
	CHECK_EQ(ask_run(&own, &key, 1), 0);
	CHECK(own.put_off && ask_set_has(&ask_state(world.backend, &ask_critical)->own.next, &key));
	fake_close(&world);
}

static void to_vfio(struct device *dev)
{
	dev->facts.use = USE_GUEST;
	STR_COPY(dev->facts.nodes, "/dev/vfio/vfio /dev/vfio/4");
}

static void to_host(struct device *dev)
{
	dev->facts.use = USE_HOST;
}

/* A program such as DPDK or SPDK may use a device by vfio that nobody has claimed. */
DEFINE_TEST(guards_look_again_only_where_somebody_may_come_unheard)
{
	put_machine_with_stick();
	world = fake_open();
	CHECK(!ask_holders.again(world.model));
	fake_edit(&world, CONTROLLER, to_vfio);
	CHECK(ask_holders.again(world.model));
	fake_edit(&world, CONTROLLER, to_host);
	CHECK(!ask_holders.again(world.model));
	fake_edit(&world, CONTROLLER, fake_by_alice);
	CHECK(ask_holders.again(world.model));
	fake_close(&world);
}

DEFINE_TEST(guards_serials_of_functions_asked_about_with_others)
{
	char ids[] = "usb/2-1 " CONTROLLER;
	struct roots roots = fake_roots();
	struct out o = { 0 };
	struct sysfs s;

	put_machine_with_stick();
	fake_attr(CONTROLLER, "config", "\xff\xff\xff\xff\xff\xff\xff\xff");
	CHECK_EQ(sysfs_open(&s, roots.sysfs, roots.dev, roots.proc, NULL), 0);
	CHECK_EQ(tell_each(&s, ids, serial_tell, &o), 0);
	CHECK_STR(out_text(&o), CONTROLLER " -\n");
	out_free(&o);
	sysfs_close(&s);
}

#define STAYS                                                                                      \
	"the daemon has the capabilities for that, but a process whose user namespace is not "     \
	"below the daemon's (process 1 of a container, for example), or that a security module "   \
	"hides, stays unseen"
#define X16 "xxxxxxxxxxxxxxxx"

DEFINE_TEST(guards_tell_health_of_the_unseen)
{
	static const struct {
		const char *text, *says; /* NULL: nothing */
		uint64_t lacks;
		const char *hint;
	} rows[] = {
		{ "", NULL, 0, NULL },
		{ "x", NULL, 0, NULL },
		{ "0 pid=1 comm=\"a\"", NULL, 0, NULL },
		{ "-1", NULL, 0, NULL },
		{ "1 pid=1 comm=\"systemd\"", "1", 0, STAYS },
		{ "12", "12", 0, STAYS },
		{ "2 pid=7 comm=\"\"", "2", CAP(SYS_PTRACE),
		  "give the daemon CAP_SYS_PTRACE" },
		{ "2 pid=7 comm=\"a b\xff=\"", "2",
		  CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH),
		  "give the daemon CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE" },
		{ "2 pid=x", "2", 0, STAYS },
		{ "2 pid=7 comm=\"\\\"b", "2", 0, STAYS },
		{ "2 pid=7 comm=\"" X16 X16 X16 X16 X16,
		  "2", 0, STAYS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out o = { 0 }, should = { 0 };

		unseen_health(rows[i].text, rows[i].lacks, &o);
		if (rows[i].says)
			out_printf(&should,
				   "holders_unseen=%s hint=\"the open files of that many processes "
				   "cannot be seen; %s\"\n",
				   rows[i].says, rows[i].hint);
		CHECK_STR(out_text(&o), out_text(&should));
		out_free(&o);
		out_free(&should);
	}
}

/* Our thread puts off a device that is busy: the operation's answer about it counts, also beside
 * more devices than a question names. */
DEFINE_TEST(guards_that_put_off_a_device_overtake_no_answer_about_it)
{
	struct asking op = { .row = &ask_critical };
	struct ask_state *st;
	struct key devs[2];

	put_machine_with_stick();
	world = fake_open();
	fake_edit(&world, CONTROLLER, to_busy);
	devs[0] = fake_key(CONTROLLER);
	devs[1] = fake_key(LPC);
	st = ask_state(world.backend, &ask_critical);
	op.b = world.backend;
	op.lane = &st->ops;
	st->own.began_us = 5;
	st->ops.asks = true;
	st->ops.began_us = 1;
	for (int i = 0; i <= QUESTION_MAX; i++) {
		struct asking own = {
			.b = world.backend, .row = &ask_critical, .own = true, .lane = &st->own
		};

		CHECK_EQ(ask_run(&own, devs, 2), 0);
	}
	CHECK_EQ(ask_takes(&op, &devs[1]), 0);
	CHECK_EQ(ask_takes(&op, &devs[0]), 1);
	fake_close(&world);
}
