// SPDX-License-Identifier: GPL-2.0-or-later
/* What health says of processes that could not be looked at: how many, and the remedy. */
#include <stdio.h>
#include <string.h>

#include "backend/guard/guards.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/util.h"

static void tell_why(uint64_t lacks, struct out *o)
{
	out_printf(o, " hint=\"the open files of that many processes cannot be seen; ");
	if (lacks)
		out_printf(o, "give the daemon %s", confine_name(lacks));
	else
		out_printf(o, "the daemon has the capabilities for that, but a process whose user "
			      "namespace is not below the daemon's (process 1 of a container, for "
			      "example), or that a security module hides, stays unseen");
	while (lacks &= lacks - 1)
		out_printf(o, " and %s", confine_name(lacks));
	out_printf(o, "\"\n");
}

void unseen_health(const char *text, uint64_t lacks, struct out *o)
{
	char number[11] = "";

	if (sscanf(text, "%10[0-9]", number) < 1 || !strcmp(number, "0"))
		return;
	out_printf(o, "holders_unseen=%s", number);
	tell_why(lacks, o);
}
