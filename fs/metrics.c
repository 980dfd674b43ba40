// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers for Prometheus. */
#include <string.h>

#include "fs/ctl/ctl.h"
#include "internal.h"
#include "inventory.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"

struct tally {
	size_t by[KIND_COUNT][STATE_COUNT];
	size_t claimed;
	struct model *m;
	struct out devices, room;
};

/* Bridges are left out: nothing happens to them. */
static void print_device(const struct device *dev, struct out *o)
{
	char id[KEY_NAME + 8], claim[CLAIM_NAME];
	const char *pod = dev->intent.allocated, *profile = dev->facts.profile;

	device_claim(dev, claim);
	out_printf(o, "pcidevfs_device_info{device=\"%s\",kind=\"%s\",state=\"%s\",",
		   key_id(&dev->key, id), kind_name(dev->kind), state_name(dev->state));
	out_label(o, "claim", claim[0] ? claim : "none");
	out_put(o, ",", 1);
	out_label(o, "pod", pod[0] ? pod : "none");
	out_put(o, ",", 1);
	out_label(o, "profile", profile[0] ? profile : "none");
	out_put(o, "} 1\n", 4);
}

static void print_room(struct model *m, const struct device *dev, struct out *o)
{
	char id[KEY_NAME + 8], *at;
	struct out all = { 0 };
	struct type_line type;

	device_text(m, &dev->key, offsetof(struct device, facts.profiles), &all);
	for (at = all.data; type_next(&at, &type);) {
		out_printf(o, "pcidevfs_vgpu_room{device=\"%s\",", key_id(&dev->key, id));
		out_label(o, "profile", type.name);
		out_printf(o, "} %llu\n", (unsigned long long)type.available);
	}
	o->failed |= all.failed;
	out_free(&all);
}

static void add_tally(const struct device *dev, void *ctx)
{
	struct tally *t = ctx;

	if (dev->kind < KIND_COUNT && dev->state < STATE_COUNT)
		t->by[dev->kind][dev->state]++;
	t->claimed += dev->intent.claim[0] != '\0';
	if (dev->kind != KIND_BRIDGE)
		print_device(dev, &t->devices);
	if (dev->caps & CAP_TYPES && !(dev->caps & CAP_VF))
		print_room(t->m, dev, &t->room);
}

static void metric(struct out *o, const char *name, const char *type, const char *help)
{
	out_printf(o, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_devices(const struct tally *tally, struct out *o)
{
	metric(o, "pcidevfs_devices", "gauge", "Devices by kind and state.");
	for (int k = 0; k < KIND_COUNT; k++)
		for (int s = 0; s < STATE_COUNT; s++)
			if (tally->by[k][s])
				out_printf(o, "pcidevfs_devices{kind=\"%s\",state=\"%s\"} %zu\n",
					   kind_name(k), state_name(s), tally->by[k][s]);
	metric(o, "pcidevfs_claimed_devices", "gauge", "Devices claimed for passthrough.");
	out_printf(o, "pcidevfs_claimed_devices %zu\n", tally->claimed);
	metric(o, "pcidevfs_device_info", "gauge",
	       "Always 1; the labels tell state, claimant, pod and vGPU type of each device but "
	       "bridges.");
	out_put(o, out_text(&tally->devices), tally->devices.len);
	metric(o, "pcidevfs_vgpu_room", "gauge",
	       "vGPUs of each type that a card has room for now.");
	out_put(o, out_text(&tally->room), tally->room.len);
	o->failed |= tally->devices.failed || tally->room.failed;
}

void health_metric(struct out *o, const char *key, const char *value)
{
	out_printf(o, "pcidevfs_health{key=\"%s\",value=\"%s\"} 1\n", key, value);
}

static void print_writes(struct tree *t, struct out *o)
{
	metric(o, "pcidevfs_writes_total", "counter", "Verdicts on writes, by result.");
	for (int code = 0; code < RECORD_CODES; code++)
		if (!code || record_count(t, code))
			out_printf(o, "pcidevfs_writes_total{result=\"%s\"} %llu\n", err_name(code),
				   (unsigned long long)record_count(t, code));
}

static void print_number(struct out *o, const char *name, const char *type, const char *help,
			 uint64_t value)
{
	metric(o, name, type, help);
	out_printf(o, "%s %llu\n", name, (unsigned long long)value);
}

void metrics_show(const struct subject *s, struct out *o)
{
	struct tree *t = s->tree;
	struct tally tally = { .m = t->conf.model };

	each_device(t->conf.model, add_tally, &tally, &o->failed);
	metric(o, "pcidevfs_build_info", "gauge", "Always 1; the label tells the version.");
	out_printf(o, "pcidevfs_build_info{version=\"%s\"} 1\n", VERSION);
	print_devices(&tally, o);
	metric(o, "pcidevfs_health", "gauge",
	       "Always 1; the labels tell what health says of the state directory, the IOMMU and the "
	       "kernel's log, whether all is ready, each prerequisite that is missing, and each "
	       "capability that the daemon lacks.");
	if (t->conf.metrics)
		t->conf.metrics(t->conf.health_ctx, o);
	metric(o, "pcidevfs_client", "gauge",
	       "Always 1; the labels tell each client that keeps the tree open, and what it has to say.");
	ctl_clients(t->ctl, true, o);
	metric(o, "pcidevfs_intent", "gauge",
	       "Always 1; the labels tell state and claimant of each stored intent, and whether its "
	       "card is present.");
	if (t->conf.intents)
		intents_metrics(t->conf.intents, o);
	print_writes(t, o);
	print_number(o, "pcidevfs_generation", "gauge", "Generation of the model.",
		     model_generation(t->conf.model));
	print_number(o, "pcidevfs_events_total", "counter", "Lines written to events.",
		     ring_seq(t->events));
	print_number(o, "pcidevfs_restarts_total", "counter",
		     "Times that a new serving process took over the mount.",
		     objects_starts(t->objects) - 1);
	out_free(&tally.devices);
	out_free(&tally.room);
}
