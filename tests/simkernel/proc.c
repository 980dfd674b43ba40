// SPDX-License-Identifier: GPL-2.0-or-later
/* proc/ for a machine whose recording has only sysfs. */
#include "device.h"
#include "facts.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct text {
	char *data;
	size_t len;
	FILE *f;
};

static bool text_open(struct text *t)
{
	t->data = NULL;
	t->f = open_memstream(&t->data, &t->len);
	return t->f != NULL;
}

static void text_write(struct sim *s, struct text *t, const char *path)
{
	if (!fclose(t->f))
		facts_file(s, path, t->data);
	free(t->data);
}

static bool is_subsystem(const struct record *r, const char *name)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");

	return subsystem && !strcmp(subsystem, name);
}

static bool property_is(const struct record *r, const char *key, const char *value)
{
	const char *is = record_text(r, 'E', key);

	return is && !strcmp(is, value);
}

static int dev_len(const struct record *r)
{
	return (int)strcspn(record_text(r, 'A', "dev"), "\n");
}

/* File systems on hardware: the first is the root, the others are below /mnt. */
static void write_mounts(struct sim *s)
{
	struct text mounts, info, swaps;
	int id = 20;

	if (!text_open(&mounts) || !text_open(&info) || !text_open(&swaps))
		return;
	fprintf(swaps.f, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	for (size_t i = 0; i < s->machine->n; i++) {
		const struct record *r = &s->machine->records[i];
		const char *type = record_text(r, 'E', "ID_FS_TYPE"), *name = base_name(r->path);
		char at[300] = "/";

		if (!type || !is_subsystem(r, "block") || strstr(r->path, "/virtual/block/loop") ||
		    !record_text(r, 'A', "dev"))
			continue;
		if (!strcmp(type, "swap"))
			fprintf(swaps.f, "/dev/%s partition\t1048572\t\t0\t\t-2\n", name);
		if (!property_is(r, "ID_FS_USAGE", "filesystem"))
			continue;
		if (id > 20)
			snprintf(at, sizeof(at), "/mnt/%s", name);
		fprintf(mounts.f, "/dev/%s %s %s rw,relatime 0 0\n", name, at, type);
		fprintf(info.f, "%d 1 %.*s / %s rw,relatime shared:1 - %s /dev/%s rw\n", id++,
			dev_len(r), record_text(r, 'A', "dev"), at, type, name);
	}
	fprintf(mounts.f, "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n");
	fprintf(info.f, "%d 20 0:21 / /proc rw shared:2 - proc proc rw\n", id);
	text_write(s, &mounts, "proc/1/mounts");
	text_write(s, &info, "proc/1/mountinfo");
	text_write(s, &swaps, "proc/swaps");
}

/* How likely an interface has the default route: a bridge, a bond, a port without a master. */
static int route_rank(const struct record *r)
{
	const char *state = record_text(r, 'A', "operstate");

	if (!is_subsystem(r, "net") || !state || strcmp(state, "up\n") ||
	    record_field(r, 'L', "master"))
		return 0;
	if (property_is(r, "DEVTYPE", "bridge"))
		return 4;
	if (property_is(r, "DEVTYPE", "bond"))
		return 3;
	if (property_is(r, "DEVTYPE", "vlan"))
		return 2;
	return record_field(r, 'L', "device") ? 1 : 0;
}

static const struct record *way_out(const struct machine *m)
{
	const struct record *best = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (route_rank(&m->records[i]) > (best ? route_rank(best) : 0))
			best = &m->records[i];
	return best;
}

static void write_net(struct sim *s)
{
	const struct record *out = way_out(s->machine);
	const char *name = out ? base_name(out->path) : NULL, *index = NULL;
	struct text route, inet6, dev;

	if (!text_open(&route) || !text_open(&inet6) || !text_open(&dev))
		return;
	fprintf(route.f, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\t"
			 "Window\tIRTT                                                       \n");
	fprintf(inet6.f, "00000000000000000000000000000001 01 80 10 80       lo\n");
	fprintf(dev.f,
		"Inter-|   Receive                                                |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
		"drop fifo colls carrier compressed\n");
	if (out)
		index = record_text(out, 'E', "IFINDEX");
	if (name)
		fprintf(route.f,
			"%s\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
			"%s\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
			name, name);
	if (index)
		fprintf(inet6.f, "20010db8000000010000000000000002 %02x 40 00 80 %8s\n",
			atoi(index), name);
	for (size_t i = 0; i < s->machine->n; i++)
		if (is_subsystem(&s->machine->records[i], "net") &&
		    record_field(&s->machine->records[i], 'A', "ifindex"))
			fprintf(dev.f, "%6s: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
				base_name(s->machine->records[i].path));
	text_write(s, &route, "proc/1/net/route");
	text_write(s, &inet6, "proc/1/net/if_inet6");
	text_write(s, &dev, "proc/1/net/dev");
	facts_file(s, "proc/1/net/ipv6_route", "");
}

static void write_partitions(struct sim *s)
{
	struct text t;

	if (!text_open(&t))
		return;
	fprintf(t.f, "major minor  #blocks  name\n\n");
	for (size_t i = 0; i < s->machine->n; i++) {
		const struct record *r = &s->machine->records[i];
		const char *size = record_text(r, 'A', "size"), *dev = record_text(r, 'A', "dev");
		unsigned int major, minor;

		if (is_subsystem(r, "block") && size && dev &&
		    sscanf(dev, "%u:%u", &major, &minor) == 2)
			fprintf(t.f, "%4u %7u %10llu %s\n", major, minor,
				strtoull(size, NULL, 10) / 2, base_name(r->path));
	}
	text_write(s, &t, "proc/partitions");
}

static void write_modules(struct sim *s)
{
	const struct node *all = tree_walk(s->tree, s->tree->root, "module");
	struct text t;

	if (!text_open(&t))
		return;
	for (const struct node *n = all->dir.first; n; n = n->next)
		fprintf(t.f, "%s 16384 0 - Live 0x0000000000000000\n", n->name);
	text_write(s, &t, "proc/modules");
}

static void write_boot_id(struct sim *s)
{
	unsigned char b[16] = { 0 };
	char id[64];

	/* Each start counts as a boot. */
	if (getrandom(b, sizeof(b), 0) < 0)
		return;
	snprintf(id, sizeof(id),
		 "%02x%02x%02x%02x-%02x%02x-4%01x%02x-8%01x%02x-%02x%02x%02x%02x%02x%02x\n", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6] & 15, b[7], b[8] & 15, b[9], b[10], b[11],
		 b[12], b[13], b[14], b[15]);
	facts_file(s, "proc/sys/kernel/random/boot_id", id);
}

static void write_process(struct sim *s, int pid, const char *comm)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	facts_file(s, path, text);
	snprintf(path, sizeof(path), "proc/%d/cmdline", pid);
	facts_file(s, path, comm);
	snprintf(path, sizeof(path), "proc/%d/status", pid);
	snprintf(text, sizeof(text), "Name:\t%s\nState:\tS (sleeping)\nPid:\t%d\n", comm, pid);
	facts_file(s, path, text);
	snprintf(path, sizeof(path), "proc/%d/fd/0", pid);
	facts_link(s, path, "/dev/null");
}

void proc_derive(struct sim *s)
{
	write_mounts(s);
	write_net(s);
	write_partitions(s);
	write_modules(s);
	write_boot_id(s);
	facts_file(s, "proc/consoles", "tty0                 -WU (EC  p  )    4:1\n");
	facts_file(s, "proc/cmdline",
		   s->iommu ? "BOOT_IMAGE=/boot/vmlinuz intel_iommu=on iommu=pt\n"
			    : "BOOT_IMAGE=/boot/vmlinuz\n");
	write_process(s, 1, "systemd");
	write_process(s, 2, "kthreadd");
	write_process(s, 612, "sshd");
	write_process(s, 840, "irqbalance");
}
