// SPDX-License-Identifier: GPL-2.0-or-later
#include "handoff.h"

#include "pcidevfs/fdmsg.h"
#include "pcidevfs/util.h"

int handoff_report(int sock, enum report what, const char *text)
{
	struct report_msg msg = { .what = what };

	STR_COPY(msg.text, text);
	return fdmsg_send(sock, &msg, sizeof(msg), NULL, 0);
}
