// SPDX-License-Identifier: GPL-2.0-or-later
/* What the driver's library tells of vGPU types, by pcidevfs-nvml. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "types.h"

static const char *profile_name(const struct mig *m, long long id)
{
	for (size_t i = 0; i < m->n_profiles; i++)
		if (id >= 0 && m->profiles[i].id == (unsigned long long)id)
			return m->profiles[i].name;
	return "";
}

static void read_details(const char *line, struct type_details *d)
{
	if (sscanf(line, "type %*u %*d %*d %9d %*u %9d %9d %15[^\t]\t%63[^\t]", &d->max_per_vm,
		   &d->heads, &d->frame_rate_limit, d->class, d->license) < 4)
		*d = (struct type_details){ 0 };
	d->max_per_vm = d->max_per_vm > 0 ? d->max_per_vm : 0;
	d->heads = d->heads > 0 ? d->heads : 0;
	d->frame_rate_limit = d->frame_rate_limit > 0 ? d->frame_rate_limit : 0;
	if (!strcmp(d->class, "-"))
		d->class[0] = '\0';
}

/* "type ID GI_PROFILE MAX MAX_PER_VM FRAMEBUFFER_MIB HEADS FRAME_RATE CLASS", and behind tabs license
 * and name. Its framebuffer is less than the name's by what the driver keeps (spec/nvml.md 3.1). */
static bool read_type(const char *line, const struct mig *m, struct vgpu_type *ret)
{
	const char *name = strchr(line, '\t');
	long long gi;
	size_t len;

	*ret = (struct vgpu_type){ .available = 0, .max = -1, .framebuffer_mib = -1 };
	name = name ? strchr(name + 1, '\t') : NULL;
	if (!name || sscanf(line, "type %9[0-9] %10lld %9d", ret->id, &gi, &ret->max) != 3)
		return false;
	STR_COPY(ret->gi, profile_name(m, gi));
	read_details(line, &ret->details);
	len = strcspn(++name, "\n");
	if (len >= sizeof(ret->name))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)len, name);
	return len;
}

/* Mediated devices have ids such as "nvidia-745", and their parents list all types. */
static struct vgpu_type *find(struct vgpu_types *types, const char *id, bool *ret_mediated)
{
	char mediated[TYPE_ID];

	snprintf(mediated, sizeof(mediated), "nvidia-%.8s", id);
	*ret_mediated = types->n && !strncmp(types->v[0].id, "nvidia-", 7);
	return types_find_id(types, *ret_mediated ? mediated : id);
}

void types_tell(struct model *m, struct device *dev)
{
	_free_ struct vgpu_types *types = dev->caps & CAP_TYPES ? types_noted(m, dev) : NULL;
	struct out lines = { 0 };
	struct mig mig;

	if (!types || mig_of(m, dev, &mig))
		return;
	model_text(m, &dev->facts.mig, &lines);
	for (const char *line = out_text(&lines); *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		struct vgpu_type told, *known;
		bool mediated;

		if (!read_type(line, &mig, &told))
			continue;
		known = find(types, told.id, &mediated);
		if (known) {
			STR_COPY(known->gi, told.gi);
			known->details = told.details;
			known->max = known->max < 0 ? told.max : known->max;
		} else if (!mediated)
			types_add(types, &told);
	}
	types_keep(m, dev, types);
	out_free(&lines);
}
