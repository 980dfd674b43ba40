// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: the VFs of a PF, and the PF of a VF. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "rows.h"

static int numvfs_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err)
{
	const char *digits = text + (text[0] == '-');
	uint64_t n;
	int r = parse_u64(digits, UINT16_MAX, &n);

	if (text[0] == '0' && isdigit((unsigned char)text[1]) && r != -EINVAL) /* octal in sysfs */
		return fail(
			err, EINVAL,
			"sriov_numvfs: \"%s\" has a leading zero, which sysfs reads as octal; write "
			"%s for %s",
			text, text + strspn(text, "0") - !text[strspn(text, "0")],
			s->dev->key.name);
	if (r == -ERANGE && digits == text)
		return fail(err, ERANGE, "sriov_numvfs: %s asked, %s has at most %d", text,
			    s->dev->key.name, (int)s->dev->facts.total_vfs);
	if (r || digits > text)
		return fail(err, EINVAL,
			    "sriov_numvfs: \"%s\" is %s; write the number of VFs for %s, or 0",
			    text, r == -EINVAL ? "not a number" : "negative", s->dev->key.name);
	snprintf(ret->value, sizeof(ret->value), "%u", (unsigned int)n);
	return 0;
}

static void physfn_show(const struct subject *s, struct out *o)
{
	out_printf(o, "../%s", s->dev->facts.parent.name);
}

/* ---- settings of a NIC's VF */

/* at: enum vfconf */
static void setting_show(const struct subject *s, struct out *o)
{
	char value[VFCONF_VALUE];

	vfconf_get(s->dev->facts.vfconf, (enum vfconf)s->row->at, value);
	out_line(o, value);
}

static int setting_store(const struct subject *s, const char *text, struct request *ret,
			 struct err *err)
{
	static const char *const legal[VFCONF_COUNT] = {
		[VFCONF_MAC] = "an address of one card such as 52:54:00:12:34:56",
		[VFCONF_VLAN] = "a number up to 4094",
		[VFCONF_TRUST] = "1 or 0",
		[VFCONF_SPOOFCHK] = "1 or 0",
	};
	char value[VFCONF_VALUE];
	int rc;

	if (!strcmp(text, "none"))
		return 0;
	rc = vfconf_parse((enum vfconf)s->row->at, text, value);
	if (rc)
		return fail(err, -rc, "%s: \"%.64s\" is not %s; write one for %s, or none",
			    s->row->name, text, legal[s->row->at], s->dev->key.name);
	STR_COPY(ret->value, value);
	return 0;
}

/* They are what keeps a guest in its place on a network that others use. */
static int setting_reaches(const struct subject *s, const struct request *request, struct err *err)
{
	return fail(err, EACCES,
		    "%s: it decides what the guest of %s may do on its network; that needs the "
		    "group pcidevfs or root",
		    request->file, s->dev->key.name);
}

#define SETTING(name, number, which, bit)                                                          \
	RW(name, number, setting_show, setting_store), .at = (which), .bits = (bit),               \
		.caps = CAP_VF | CAP_NIC, .reaches = setting_reaches

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_RO_OF("sriov_totalvfs", 12, facts.total_vfs), .bits = CH_FACT(total_vfs), .caps = CAP_SRIOV,
	  .help = "how many VFs it can have" },
	{ KEY_RW_OF("sriov_numvfs", 13, facts.num_vfs, numvfs_store), .bits = CH_NUMVFS,
	  .caps = CAP_SRIOV, .write_caps = CAP_NUMVFS, .instead = "enabled",
	  .help = "how many VFs it has; the links virtfn<N> lead to them. Writing N "
		  "removes all present VFs, then makes N; refused while one is claimed or held. "
		  "Read only where the driver makes the VFs itself: enabled" },
	{ KEY_LINK("physfn", 14, physfn_show), .bits = CH_PARENT, .caps = CAP_VF,
	  .help = "its PF" },
	{ SETTING("mac", 70, VFCONF_MAC, CH_MAC),
	  .help = "the Ethernet address that the driver of its PF gives it, as the kernel says; none: "
		  "the driver of the VF chooses. Kept, and set again before its claim is restored; "
		  "none puts back what was there before, and so does the release of the claim if it "
		  "was set during that. Refused while it is held or allocated. Needs the group "
		  "pcidevfs, or root" },
	{ SETTING("vlan", 71, VFCONF_VLAN, CH_VLAN),
	  .help = "the VLAN (802.1Q, up to 4094) in which all its frames are; 0: none is added. Kept "
		  "likewise" },
	{ SETTING("trust", 72, VFCONF_TRUST, CH_TRUST),
	  .help = "1: its guest may change its address and see all frames, where the driver allows "
		  "that; none: the driver has no such setting. Kept likewise" },
	{ SETTING("spoofchk", 73, VFCONF_SPOOFCHK, CH_SPOOFCHK),
	  .help = "1: frames with another sender's address are dropped; none: the driver has no such "
		  "setting. Kept likewise" },
};
/* clang-format on */

const struct attr_table attrs_sriov = { rows, ARRAY_SIZE(rows) };
