// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: the VFs of a PF, and the PF of a VF. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "rows.h"

static void totalvfs_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", (int)s->dev->facts.total_vfs);
}

static void numvfs_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%d\n", (int)s->dev->facts.num_vfs);
}

static int numvfs_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
{
	const char *digits = text + (text[0] == '-');
	uint64_t n;
	int r = parse_u64(digits, UINT16_MAX, &n);

	if (digits > text && r != -EINVAL)
		return fail(err, EINVAL,
			    "sriov_numvfs: \"%s\" is negative; write the number of VFs for %s, or 0",
			    text, s->dev->key.name);
	if (text[0] == '0' && isdigit((unsigned char)text[1]) && r != -EINVAL) /* octal in sysfs */
		return fail(
			err, EINVAL,
			"sriov_numvfs: \"%s\" has a leading zero, which sysfs reads as octal; write "
			"%s for %s",
			text, text + strspn(text, "0") - !text[strspn(text, "0")],
			s->dev->key.name);
	if (r == -ERANGE)
		return fail(err, ERANGE, "sriov_numvfs: %s asked, %s has at most %d", text,
			    s->dev->key.name, (int)s->dev->facts.total_vfs);
	if (r)
		return fail(
			err, EINVAL,
			"sriov_numvfs: \"%s\" is not a number; write the number of VFs for %s, or 0",
			text, s->dev->key.name);
	snprintf(ret->value, sizeof(ret->value), "%u", (unsigned int)n);
	return 0;
}

static void physfn_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../%s", s->dev->facts.parent.name);
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_RO("sriov_totalvfs", 12, totalvfs_show), .bits = CH_FACT(total_vfs), .caps = CAP_SRIOV,
	  .help = "how many VFs it can have" },
	{ KEY_RW("sriov_numvfs", 13, numvfs_show, numvfs_store), .bits = CH_NUMVFS,
	  .caps = CAP_SRIOV, .write_caps = CAP_NUMVFS,
	  .help = "how many VFs it has; the links virtfn<N> lead to them. Writing N "
		  "removes all present VFs, then makes N; refused while one is claimed or held. "
		  "Read only where the driver makes the VFs itself" },
	{ KEY_LINK("physfn", 14, physfn_show), .bits = CH_PARENT, .caps = CAP_VF,
	  .help = "its PF" },
};
/* clang-format on */

const struct attr_table attrs_sriov = { rows, ARRAY_SIZE(rows) };
