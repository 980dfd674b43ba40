// SPDX-License-Identifier: GPL-2.0-or-later
/* The first byte says which of kubelet's messages the rest is; one is a line of inventory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../plugin/answer.h"
#include "../../plugin/cdi.h"
#include "../../plugin/devices.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define LINE                                                                                       \
	"resource_name=a.b/C claim=x iommu_group=%d nodes=\"/dev/vfio/vfio /dev/vfio/1\" state=claimed"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(struct devices *t)
{
	for (int i = 0; i < 8; i++) {
		char id[16], line[160];

		snprintf(id, sizeof(id), "%c", 'a' + i);
		snprintf(line, sizeof(line), LINE, i / 2);
		if (devices_take(t, id, line))
			abort();
	}
}

static void take_line(struct devices *t, const uint8_t *data, size_t size)
{
	char *line = calloc(1, size + 1);

	memcpy(line, data, size);
	if (!devices_take(t, "f", line)) {
		struct out o = { 0 };

		devices_judge(t, 1000);
		cdi_text(t, "/dev", &o);
		out_free(&o);
	}
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct devices t = { 0 };
	struct request r = { 0 };
	struct err err = { 0 };
	struct out o = { 0 };
	struct dev **v;
	size_t n;

	if (!size)
		return 0;
	fill(&t);
	devices_judge(&t, 1000);
	switch (data[0] % 4) {
	case 0:
		if (!request_allocate(data + 1, size - 1, &r, &err) &&
		    !request_check(&t, "a.b/C", &r, 1000, &err))
			answer_allocate(&t, "a.b/C", &r, "/dev", "pcidevfs/device", &o, &err);
		break;
	case 1:
		if (!request_prestart(data + 1, size - 1, &r, &err))
			request_check(&t, "a.b/C", &r, 1000, &err);
		break;
	case 2:
		answer_preferred(&t, "a.b/C", data + 1, size - 1, &o, &err);
		break;
	case 3:
		take_line(&t, data + 1, size - 1);
		v = devices_offered(&t, &n);
		if (v)
			answer_list(&t, v, n, 1000, false, &o);
		free(v);
		break;
	}
	request_free(&r);
	out_free(&o);
	devices_free(&t);
	return 0;
}
