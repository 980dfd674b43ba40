// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kubelet's list of pods: eight bytes say what the tree has of eight devices, one what else kubelet
 * knows, the rest is the message. Whatever it is, what is written are lines that set the
 * allocated_to of a device that is offered to a name that the tree takes, at most once; and when
 * they are written, the same list asks for nothing more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "plugin/kubelet/listing.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "fs/internal.h"
#include "fs/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COUNT 8
#define AT 100000 /* ms: now */
#define LINE                                                                                       \
	"resource_name=a.b/C claim=x iommu_group=%zu nodes=/dev/vfio/%zu state=claimed "           \
	"allocated_to=%s allocated_as=%s"

static const char *const had[] = { "none",  "pending", "n/p/c", "n/p/d",
				   "n/q/c", "claim:u", "a/b/c", "pending" };

static void put(struct devices *t, size_t i, const char *allocated, bool renamed)
{
	char id[2] = { (char)('a' + i) }, line[1024];

	snprintf(line, sizeof(line), LINE, i / 2, i / 2, allocated,
		 renamed ? "a.b/Former" : "none");
	check(!devices_take(t, id, line));
}

/* As the tree would. */
static void write_line(struct devices *t, char *line, bool set, unsigned int *written)
{
	static struct device dev = { .key = { BUS_PCI, "0000:02:00.0" } };
	const struct subject s = { .dev = &dev };
	char *slash = strchr(line, '/'), *value = strchr(line, ' ');
	struct err err = { 0 };
	struct request request;

	check(slash == line + 1 && value && !strncmp(slash, "/allocated_to ", 14));
	check(line[0] >= 'a' && line[0] < 'a' + COUNT);
	check(!request_parse(&s, attr_by_name(OBJ_DEVICE, "allocated_to"), ++value, &request, &err));
	check(set || !strcmp(value, "none"));
	check(!(*written & 1u << (line[0] - 'a')));
	*written |= 1u << (line[0] - 'a');
	put(t, (size_t)(line[0] - 'a'), value, false);
}

static void write_lines(struct devices *t, struct out *text, bool set, unsigned int *written)
{
	char *save;

	check(!text->failed && (!text->len || text->data[text->len - 1] == '\n'));
	if (!text->len)
		return;
	for (char *line = strtok_r(text->data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		write_line(t, line, set, written);
}

static bool is_forgotten(void *ctx, const char *device_id)
{
	return *(const uint8_t *)ctx >> (device_id[0] - 'a') & 1;
}

/* How many batches there were. */
static size_t compare(struct devices *t, const uint8_t *data, size_t size, uint8_t forgotten)
{
	struct listing l = { .now = AT,
			     .asked = AT,
			     .kubelet = 1,
			     .is_forgotten = is_forgotten,
			     .ctx = &forgotten };
	unsigned int cleared = 0, set = 0;
	size_t n = 0;

	if (!listing_read(&l, data, size)) {
		listing_settle(&l, t);
		check(l.odd <= COUNT);
	}
	for (struct batch *b = l.batches; b; b = b->next, n++) {
		check(b->set.len > 0);
		write_lines(t, &b->clear, false, &cleared);
		write_lines(t, &b->set, true, &set);
		check((cleared & set) == cleared);
	}
	listing_free(&l);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct devices t = { 0 };

	if (size < COUNT + 1)
		return 0;
	for (size_t i = 0; i < COUNT; i++)
		put(&t, i, had[data[i] % 8], data[i] & 8);
	/* Some have been pending for long. */
	for (size_t i = 0; i < COUNT; i++) {
		t.v[i]->pending_at = data[i] & 16 ? 1 : AT;
		t.v[i]->given_at = data[i] & 32 ? UINT64_MAX : 0;
	}
	compare(&t, data + COUNT + 1, size - COUNT - 1, data[COUNT]);
	check(!compare(&t, data + COUNT + 1, size - COUNT - 1, data[COUNT]));
	devices_free(&t);
	return 0;
}
