// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/uevent.h"

#include <errno.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

enum { F_ACTION, F_DEVPATH, F_SUBSYSTEM, F_SLOT, F_SEQNUM, F_COUNT };

static const char *const field_names[F_COUNT] = {
	[F_ACTION] = "ACTION=",	     [F_DEVPATH] = "DEVPATH=", [F_SUBSYSTEM] = "SUBSYSTEM=",
	[F_SLOT] = "PCI_SLOT_NAME=", [F_SEQNUM] = "SEQNUM=",
};

/* The kernel writes its own fields before those of drivers, so the first of a name counts. */
static void note_field(const char *text, const char *values[F_COUNT])
{
	for (int i = 0; i < F_COUNT; i++) {
		size_t n = strlen(field_names[i]);

		if (!values[i] && !strncmp(text, field_names[i], n))
			values[i] = text + n;
	}
}

int uevent_parse(char *buf, size_t len, struct uevent *ret)
{
	const char *values[F_COUNT] = { NULL }, *end = buf + len;
	uint64_t seqnum = 0;
	char *at;

	if (!len || len > UEVENT_MAX)
		return -EINVAL;
	buf[len - 1] = '\0';
	for (const char *p = buf + strlen(buf) + 1; p < end; p += strlen(p) + 1)
		note_field(p, values);
	at = strchr(buf, '@');
	if (!at || at == buf || at[1] != '/' || !values[F_ACTION] || !values[F_DEVPATH])
		return -EINVAL;
	if (strcmp(at + 1, values[F_DEVPATH]) || strlen(values[F_ACTION]) != (size_t)(at - buf) ||
	    strncmp(buf, values[F_ACTION], (size_t)(at - buf)))
		return -EINVAL;
	if (values[F_SEQNUM] && parse_u64(values[F_SEQNUM], UINT64_MAX, &seqnum))
		return -EINVAL;
	*ret = (struct uevent){
		.action = values[F_ACTION],
		.devpath = values[F_DEVPATH],
		.subsystem = values[F_SUBSYSTEM] ?: "",
		.slot = values[F_SLOT] ?: "",
		.seqnum = seqnum,
	};
	return 0;
}

bool uevent_trusted(const struct sockaddr_nl *from, const struct ucred *cred)
{
	/* The sender's pid is not checked: a request to the kernel's port makes the kernel
	 * broadcast in the name of a process that has CAP_SYS_ADMIN over the network namespace. */
	return from->nl_family == AF_NETLINK && from->nl_pid == 0 && from->nl_groups == 1 &&
	       (!cred || cred->uid == 0);
}

/* The last device of that bus on the way. */
static bool last_on_path(const char *p, enum bus bus, struct key *ret)
{
	bool found = false;

	while (*p) {
		char name[KEY_NAME];
		size_t n;

		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n && n < sizeof(name)) {
			memcpy(name, p, n);
			name[n] = '\0';
			found |= key_make(bus, name, ret);
		}
		p += n;
	}
	return found;
}

bool uevent_function(const struct uevent *ev, struct key *ret)
{
	return key_make(BUS_PCI, ev->slot, ret) || last_on_path(ev->devpath, BUS_PCI, ret);
}

bool uevent_usb(const struct uevent *ev, struct key *ret)
{
	return last_on_path(ev->devpath, BUS_USB, ret);
}

bool uevent_removes(const struct uevent *ev, const char *name)
{
	const char *slash = strrchr(ev->devpath, '/');

	return !strcmp(ev->action, "remove") && slash && !strcmp(slash + 1, name);
}
