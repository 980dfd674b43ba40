// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/mig.h"

#include <errno.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/scheduler.h"
#include "pcidevfs/util.h"

/* A layout too long for the fact is shown by mig/layout alone, and is none that was asked for. */
void mig_keep(struct model *m, struct device *dev, const char *lines)
{
	struct facts *f = &dev->facts;
	struct out layout = { 0 };
	struct mig mig = { 0 };
	bool known = lines[0] && !mig_read(lines, &mig) &&
		     !model_set_text(m, &f->mig, lines, strlen(lines));

	if (known)
		mig_print(&mig, &layout);
	else
		model_set_text(m, &f->mig, "", 0);
	STR_COPY(f->mig_mode, !known ? "" : mig.current ? "1" : "0");
	STR_COPY(f->mig_pending, !known ? "" : mig.pending ? "1" : "0");
	f->mig_unbinds = dev->unbinds;
	STR_COPY(f->mig_layout, known ? out_text(&layout) : "");
	settings_read(known ? lines : "", f->mixed_sizes, f->scheduler);
	out_free(&layout);
}

int mig_of(struct model *m, const struct device *dev, struct mig *ret)
{
	struct out o = { 0 };
	int rc;

	*ret = (struct mig){ 0 };
	model_text(m, &dev->facts.mig, &o);
	rc = !o.len || o.failed || mig_read(out_text(&o), ret) ? -ENODATA : 0;
	out_free(&o);
	return rc;
}
