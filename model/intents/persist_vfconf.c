// SPDX-License-Identifier: GPL-2.0-or-later
/* The settings of a NIC's VF as intents. The driver of the PF forgets them with its VFs. They come
 * back before the claim: no guest gets a VF with another address, or in another VLAN, than stored.
 */
#include <string.h>

#include "persist.h"
#include "pcidevfs/util.h"

static bool has_drifted(const struct device *dev, enum vfconf which, const char *stored, char *ret,
			size_t size)
{
	char now[VFCONF_VALUE];

	vfconf_get(dev->facts.vfconf, which, now);
	if (!dev->facts.vfconf[0] || !strcmp(now, stored))
		return false;
	snprintf(ret, size, "its %s is %s although %s is stored; write its %s again",
		 vfconf_name(which), now[0] ? now : "none", stored, vfconf_name(which));
	return true;
}

static const char *wait_for_pf(const struct device *dev)
{
	return dev->facts.vfconf[0]
		       ? NULL
		       : "its PF has no network interface here that tells the settings of its VFs";
}

/* The fields name, name_before and name_claimed of struct intent. */
#define SETTING(name, which)                                                                       \
	static void name##_note(struct record *r, struct device *dev, bool ended)                  \
	{                                                                                          \
		if (ended || dev->intent.name##_before[0])                                         \
			return;                                                                    \
		STR_COPY(dev->intent.name##_before, r->intent.name##_before);                      \
		dev->intent.name##_claimed = r->intent.name##_claimed;                             \
	}                                                                                          \
                                                                                                   \
	static void name##_value(const struct record *r, char ret[static REQUEST_VALUE])           \
	{                                                                                          \
		str_copy(ret, REQUEST_VALUE, r->intent.name);                                      \
	}                                                                                          \
                                                                                                   \
	static bool name##_drifted(const struct record *r, const struct device *dev, char *ret,    \
				   size_t size)                                                    \
	{                                                                                          \
		return has_drifted(dev, which, r->intent.name, ret, size);                         \
	}                                                                                          \
                                                                                                   \
	const struct persist persist_##name = {                                                    \
		.file = #name,                                                                     \
		.keys = { PERSIST_KEY(#name, KEY_TEXT, false, intent.name),                        \
			  PERSIST_KEY(#name "_before", KEY_TEXT, false, intent.name##_before),     \
			  PERSIST_KEY(#name "_claimed", KEY_FLAG, false, intent.name##_claimed) }, \
		.fields = { PERSIST_TEXT(name), PERSIST_TEXT(name##_before),                       \
			    PERSIST_NUMBER(name##_claimed) },                                      \
		.until_release = offsetof(struct intent, name##_claimed),                          \
		.note = name##_note,                                                               \
		.value = name##_value,                                                             \
		.none = "none",                                                                    \
		.waits = wait_for_pf,                                                              \
		.drifted = name##_drifted,                                                         \
	}

SETTING(mac, VFCONF_MAC);
SETTING(vlan, VFCONF_VLAN);
SETTING(trust, VFCONF_TRUST);
SETTING(spoofchk, VFCONF_SPOOFCHK);
