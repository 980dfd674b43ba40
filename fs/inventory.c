// SPDX-License-Identifier: GPL-2.0-or-later
/* Many devices in one text: inventory lines, and the numbers for Prometheus. */
#include "inventory.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "record.h"

/* A file's text as a value: one line, a link as the name it leads to. */
static void print_value(const struct attr *row, const struct subject *s, struct out *o)
{
	struct out text = { 0 };
	char *v, *slash;

	row->show(s, &text);
	v = text.data;
	if (v) {
		if (text.len && v[text.len - 1] == '\n')
			v[text.len - 1] = '\0';
		for (char *nl = v; (nl = strchr(nl, '\n'));)
			*nl = ' ';
		slash = S_ISLNK(row->mode) ? strrchr(v, '/') : NULL;
		out_pair(o, row->key, slash ? slash + 1 : v);
	}
	o->failed |= text.failed;
	out_free(&text);
}

void inventory_line(struct tree *t, const struct device *dev, struct out *o)
{
	struct subject s = { .tree = t, .name = dev->key.name, .dev = dev };
	enum obj_kind kind = kind_of_bus(dev->key.bus);
	const struct attr *row;
	char id[KEY_NAME + 8];

	out_printf(o, "%s", key_id(&dev->key, id));
	for (size_t i = 0; (row = row_at(kind, i)); i++)
		if (row->key && row_fits(row, dev->caps))
			print_value(row, &s, o);
}

void changed_names(int bus, uint32_t caps, change_bits bits, struct out *o)
{
	enum obj_kind kind = kind_of_bus(bus);
	const struct attr *row;
	const char *sep = "";

	for (size_t i = 0; (row = row_at(kind, i)); i++) {
		if (!(row->bits & bits) || !row_fits(row, caps))
			continue;
		out_printf(o, "%s%s", sep, row->name);
		sep = ",";
	}
}

/* Walks all devices, each copied for itself: nobody waits for the lock while lines are made. */
static size_t each_device(struct model *m, void (*take)(const struct device *dev, void *ctx),
			  void *ctx)
{
	struct device copy;
	size_t pos = 0, n = 0;

	for (;;) {
		const struct device *dev;

		model_lock(m);
		dev = model_next(m, &pos);
		if (dev)
			copy = *dev;
		model_unlock(m);
		if (!dev)
			return n;
		take(&copy, ctx);
		n++;
	}
}

struct listing {
	struct tree *tree;
	struct out text;
};

static void add_line(const struct device *dev, void *ctx)
{
	struct listing *l = ctx;

	inventory_line(l->tree, dev, &l->text);
	out_put(&l->text, "\n", 1);
}

/* The generation is read first: lines may be newer than it says, never older, so that who applies the
 * later events to them misses nothing. */
void inventory_show(const struct subject *s, struct out *o)
{
	struct tree *t = s->tree;
	struct listing l = { .tree = t };
	uint64_t generation = atomic_load(&t->heard);
	size_t n = each_device(t->conf.model, add_line, &l);

	out_printf(o, "pcidevfs-inventory 1 generation=%llu", (unsigned long long)generation);
	out_pair(o, "boot", t->conf.boot_id);
	out_printf(o, " devices=%zu\n", n);
	if (l.text.data)
		out_put(o, l.text.data, l.text.len);
	o->failed |= l.text.failed;
	out_free(&l.text);
}

struct tally {
	size_t by[KIND_COUNT][STATE_COUNT];
	size_t claimed;
};

static void add_tally(const struct device *dev, void *ctx)
{
	struct tally *t = ctx;

	if (dev->kind < KIND_COUNT && dev->state < STATE_COUNT)
		t->by[dev->kind][dev->state]++;
	t->claimed += dev->want.claim[0] != '\0';
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
	struct tally tally = { 0 };

	each_device(t->conf.model, add_tally, &tally);
	metric(o, "pcidevfs_build_info", "gauge", "Always 1; the label tells the version.");
	out_printf(o, "pcidevfs_build_info{version=\"%s\"} 1\n", VERSION);
	print_devices(&tally, o);
	print_writes(t, o);
	print_number(o, "pcidevfs_generation", "gauge", "Generation of the model.",
		     model_generation(t->conf.model));
	print_number(o, "pcidevfs_events_total", "counter", "Lines written to events.",
		     ring_seq(t->events));
	print_number(o, "pcidevfs_restarts_total", "counter",
		     "Times that a new serving process took over the mount.",
		     objects_starts(t->objects) - 1);
}
