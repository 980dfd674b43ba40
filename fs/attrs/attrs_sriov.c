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

/* ---- settings of a NIC's VF */

static void setting_show(const struct subject *s, enum vfconf which, struct out *o)
{
	char value[VFCONF_VALUE];

	vfconf_get(s->dev->facts.vfconf, which, value);
	out_line(o, value);
}

static int setting_store(const struct subject *s, enum vfconf which, const char *text,
			 struct request *ret, struct err *err)
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
	rc = vfconf_parse(which, text, value);
	if (rc)
		return fail(err, -rc, "%s: \"%.64s\" is not %s; write one for %s, or none",
			    vfconf_name(which), text, legal[which], s->dev->key.name);
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

#define SETTING(name, which)                                                                       \
	static void name##_show(const struct subject *s, struct out *o)                            \
	{                                                                                          \
		setting_show(s, which, o);                                                         \
	}                                                                                          \
                                                                                                   \
	static int name##_store(const struct subject *s, const char *text, struct request *ret,    \
				struct err *err)                                                   \
	{                                                                                          \
		return setting_store(s, which, text, ret, err);                                    \
	}

SETTING(mac, VFCONF_MAC)
SETTING(vlan, VFCONF_VLAN)
SETTING(trust, VFCONF_TRUST)
SETTING(spoofchk, VFCONF_SPOOFCHK)

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ KEY_RO("sriov_totalvfs", 12, totalvfs_show), .bits = CH_FACT(total_vfs), .caps = CAP_SRIOV,
	  .help = "how many VFs it can have" },
	{ KEY_RW("sriov_numvfs", 13, numvfs_show, numvfs_store), .bits = CH_NUMVFS,
	  .caps = CAP_SRIOV, .write_caps = CAP_NUMVFS, .instead = "enabled",
	  .help = "how many VFs it has; the links virtfn<N> lead to them. Writing N "
		  "removes all present VFs, then makes N; refused while one is claimed or held. "
		  "Read only where the driver makes the VFs itself: enabled" },
	{ KEY_LINK("physfn", 14, physfn_show), .bits = CH_PARENT, .caps = CAP_VF,
	  .help = "its PF" },
	{ RW("mac", 70, mac_show, mac_store), .bits = CH_MAC, .caps = CAP_VF | CAP_NIC,
	  .reaches = setting_reaches,
	  .help = "the Ethernet address that the driver of its PF gives it, as the kernel says; none: "
		  "the driver of the VF chooses. Kept, and set again before its claim is restored; "
		  "none puts back what was there before, and so does the release of the claim if it "
		  "was set during that. Refused while it is held or allocated. Needs the group "
		  "pcidevfs, or root" },
	{ RW("vlan", 71, vlan_show, vlan_store), .bits = CH_VLAN, .caps = CAP_VF | CAP_NIC,
	  .reaches = setting_reaches,
	  .help = "the VLAN (802.1Q, up to 4094) in which all its frames are; 0: none is added. Kept "
		  "likewise" },
	{ RW("trust", 72, trust_show, trust_store), .bits = CH_TRUST, .caps = CAP_VF | CAP_NIC,
	  .reaches = setting_reaches,
	  .help = "1: its guest may change its address and see all frames, where the driver allows "
		  "that; none: the driver has no such setting. Kept likewise" },
	{ RW("spoofchk", 73, spoofchk_show, spoofchk_store), .bits = CH_SPOOFCHK,
	  .caps = CAP_VF | CAP_NIC, .reaches = setting_reaches,
	  .help = "1: frames with another sender's address are dropped; none: the driver has no such "
		  "setting. Kept likewise" },
};
/* clang-format on */

const struct attr_table attrs_sriov = { rows, ARRAY_SIZE(rows) };
