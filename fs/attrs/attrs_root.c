// SPDX-License-Identifier: GPL-2.0-or-later
/* The files and directories of the root, and those of a resource. */
#include <string.h>
#include <sys/stat.h>

#include "fs/ctl/ctl.h"
#include "fs/internal.h"
#include "fs/inventory.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "rows.h"

static const char readme[] =
	"A write was refused? Read last_error in the same directory: it says why, and the way out.\n"
	"  cat devices/ADDRESS/last_error             log has the last writes\n"
	"\n"
	"This tree shows every PCI function and USB device of this machine, and changes them by\n"
	"plain writes.\n"
	"  cat overview                               all of them in one table: watch cat overview\n"
	"  ls devices                                 all PCI functions by address\n"
	"  ls -l gpus vgpus nics vfs usb iommu_groups the same by what they are\n"
	"  grep -d skip . devices/ADDRESS/*           one function: facts, state, reason\n"
	"  grep . devices/*/claimable                 what can be given away, and why the others cannot\n"
	"  echo alice > devices/ADDRESS/claim         take it, with its IOMMU group, for a VM\n"
	"  virsh attach-device VM devices/ADDRESS/hostdev.xml   into the VM; its managed='no' leaves\n"
	"                                             the claim alone; qemu has QEMU's words\n"
	"  qm set 100 --hostpci0 ADDRESS,pcie=1       Proxmox VE: into VM 100, machine q35\n"
	"  echo none > devices/ADDRESS/claim          give it back to the driver it had\n"
	"  ls claims/alice                            what alice holds; alice is a label, not a user\n"
	"  echo claim alice > devices/ADDRESS/plan; cat devices/ADDRESS/plan\n"
	"                                             what that would do, without doing it\n"
	"Several at once, all or nothing: ctl takes lines ADDRESS/FILE VALUE, then commit.\n"
	"What was asked is kept over reboots: intents shows it; journalctl -u pcidevfsd has what\n"
	"was changed and refused since then. chown USER claim plan ctl, and profile enabled of a\n"
	"vGPU, in its directory and in each of its iommu_group, lets USER claim it.\n"
	"\n"
	"state is one word, reason the sentence behind it; host_critical says what the host needs.\n"
	"inventory is everything in one read, events the last changes, events_pipe the same as\n"
	"they come (it waits for more). poll (POLLPRI) wakes on every file that changes, except\n"
	"health: read that again.\n"
	"health says what this machine lacks, metrics.prom is for Prometheus.\n"
	"`sudo echo x > file` writes as you, not as root: echo x | sudo tee file\n";

static struct ring *events_ring(const struct tree *t)
{
	return t->events;
}

static struct ring *log_ring(const struct tree *t)
{
	return t->log;
}

static void last_error_show(const struct subject *s, struct out *o)
{
	char text[LAST_ERROR];
	uid_t uid = record_root_error(s->tree, text);

	out_refusal(s, text, uid, o);
}

static void health_show(const struct subject *s, struct out *o)
{
	const struct tree_conf *conf = &s->tree->conf;

	if (conf->health)
		conf->health(conf->health_ctx, o);
	ctl_clients(s->tree->ctl, false, o);
}

static void intents_show(const struct subject *s, struct out *o)
{
	if (s->tree->conf.intents)
		intents_print(s->tree->conf.intents, o);
}

/* Directories of devices are rows of kinds.c and views.c. */
/* clang-format off */
static const struct attr root_rows[] = {
	{ ROW("README", 2, 0444), FIXED(readme), .flags = ATTR_CONST,
	  .help = "how to use this tree" },
	{ ROW("version", 3, 0444), FIXED(VERSION "\n"), .flags = ATTR_CONST,
	  .help = "version of the program that mounted it" },
	{ RO("overview", 13, overview_show), .bits = CH_ANY, .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .help = "for people: a table of all devices, sorted by address, and of claimed ones that are "
		  "gone, with their intent's state; long names lose their middle. No line has more "
		  "than 120 characters, so `watch cat overview` is a dashboard" },
	{ RO("inventory", 4, inventory_show), .bits = CH_ANY, .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .help = "all devices in one read, sorted by id: a head line, then a line each: ID key=value ..." },
	{ ROW("events", 5, 0444), .bits = CH_ANY, .ring = events_ring,
	  .help = "the last changes, a line each: seq= generation= action= changed=, inventory line" },
	{ ROW("events_pipe", 6, 0444), .bits = CH_ANY, .flags = ATTR_STREAM,
	  .help = "the same as a stream: a line with action=hello, then what comes; waits for more. "
		  "action=lost: read inventory again" },
	{ ROW("log", 7, 0440), .bits = CH_LOG, .ring = log_ring,
	  .help = "the last writes and their verdicts: seq= time= id= file= value= pid= uid= comm= "
		  "result= text=; value=? if the value is not known; file=owner.FILE value=UID:GID:MODE "
		  "for chown and chmod; comm=pcidevfsd-restore: a stored intent was applied; force=1 if ctl's force was "
		  "given for it; opener= the user who opened the file and whose rights counted, if "
		  "not the writer; loginuid= who had logged in before sudo or su, where the writer "
		  "belongs to a session (a process of none can set its own); caps=none user 0 "
		  "without capabilities; again= how often: a user's 1st, 10th and 100th equal refusal, or equal "
		  "change, is logged (the journal has each change); skipped= lines about no change that were "
		  "dropped beyond that user's share" },
	{ RO("last_error", 8, last_error_show), .bits = CH_LOG, .flags = ATTR_HOLDER,
	  .help = "as in a device directory, for files of the root" },
	{ RO("health", 9, health_show), .flags = ATTR_SLOW | ATTR_SNAPSHOT,
	  .help = "what this machine and this mount can and cannot do, a line each; ready=yes: all that is "
		  "asked of devices has what it needs, else missing= names it (docs/READY.md)" },
	{ RO("metrics.prom", 10, metrics_show), .bits = CH_ANY | CH_LOG, .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .help = "numbers in Prometheus' text format" },
	{ ROW("ctl", 11, 0660), .flags = ATTR_CTL,
	  FIXED("write lines ADDRESS/FILE VALUE, then commit, check or abort; answers are read from the "
		"same open file\n"),
	  .help = "transactions over several devices: lines ADDRESS/FILE VALUE, then commit, check or abort; "
		  "the answer is read from the same open file (docs/CTL.md)" },
	{ RO("intents", 12, intents_show), .bits = CH_ANY | CH_LOG, .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .help = "what was asked and is kept over reboots, a line each, also for devices that are not there: "
		  "ADDRESS state= device=, what was asked, reason= identity=, and what only the daemon "
		  "needs; by address" },
};
const struct attr_table attrs_root = { root_rows, ARRAY_SIZE(root_rows) };

enum { CAPACITY, HEALTHY, ALLOCATED, FREE };

static bool counts(const struct device *dev, size_t which)
{
	switch (which) {
	case HEALTHY:
		return dev->state != STATE_STUCK && dev->state != STATE_UNHEALTHY;
	case ALLOCATED:
		return device_is_allocated(dev) || dev->state == STATE_HELD;
	case FREE:
		return dev->state == STATE_CLAIMED && !dev->taken;
	default:
		return true;
	}
}

/* Prints how many of the resource's devices are so. at: which of them. */
static void count_devices(const struct subject *s, struct out *o)
{
	struct tree *t = s->tree;
	uint64_t set = set_id(s->slot, ROW_RES_DEVICES);
	uint32_t key = 0;
	size_t count = 0;

	for (;;) {
		const struct device *d = NULL;
		struct key dev = { 0 };
		const struct elem *e;
		size_t n;

		pthread_mutex_lock(&t->lock);
		e = set_from(t->sets, set, key, &n);
		if (e) {
			key = e->key + 1;
			object_key(objects_at(t->objects, e->slot), &dev);
		}
		pthread_mutex_unlock(&t->lock);
		if (!n)
			break;
		model_lock(t->conf.model);
		d = model_find(t->conf.model, &dev);
		count += d && counts(d, s->row->at);
		model_unlock(t->conf.model);
	}
	out_printf(o, "%zu\n", count);
}

#define COUNT(name, number, which)                                                                 \
	RO(name, number, count_devices), .at = (which), .flags = ATTR_WORK | ATTR_SNAPSHOT,        \
		.bits = CH_STATE | CH_BEHIND | CH_CLAIM | CH_NAME | CH_ALLOCATED

static const struct attr resource_rows[] = {
	{ COUNT("capacity", 2, CAPACITY),
	  .help = "devices offered under this name, in use or not" },
	{ COUNT("healthy", 3, HEALTHY),
	  .help = "those that are neither stuck nor unhealthy" },
	{ COUNT("allocated", 4, ALLOCATED),
	  .help = "those that are allocated or held open" },
	{ COUNT("free", 5, FREE),
	  .help = "those that can be allocated now" },
	{ ROW("devices", ROW_RES_DEVICES, S_IFDIR | 0755), .entries = &resource_devices,
	  .help = "links to the devices" },
};
const struct attr_table attrs_resource = { resource_rows, ARRAY_SIZE(resource_rows) };
