// SPDX-License-Identifier: GPL-2.0-or-later
#include "confined.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "control.h"
#include "fs/fault.h"
#include "fs/tree.h"
#include "options.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

/* For giving nodes to their users. The kernel tells who may use the files of the tree. */
#define SERVER_CAPS (CAP(CHOWN) | CAP(FOWNER))
/* Needed until the sockets, and the log, that it listens to are open. */
#define START_CAPS (CAP(NET_ADMIN) | CAP(DAC_OVERRIDE) | CAP(SYSLOG))
/* Mounts, unmounts, aborts; inspects a process that does not end, and the caller of --replace. */
#define HOLDER_USES (CAP(SYS_ADMIN) | CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH))

static void tell(struct err *err)
{
	say("goes on unconfined: %s", err->text);
}

static uint64_t all_caps(void)
{
	return SERVER_CAPS | START_CAPS | HOLDER_USES | backend_spawner_caps();
}

void confine_holder(bool again)
{
	uint64_t keep = all_caps() | CAP(SETPCAP);
	struct err err = { 0 };

	if (confine_caps(keep, HOLDER_USES, &err))
		tell(&err);
	/* Filters stay over an exec and would pile up. Programs started later are under this one
	 * too, so it denies only what nobody will need. */
	if (again && prctl(PR_GET_SECCOMP) > 0)
		return;
	if (confine_calls(DENY_DEBUG | DENY_SYSTEM, &err))
		tell(&err);
}

static struct {
	bool caps, calls, paths;
	uint64_t lacks; /* before any were dropped */
} failed;

static int confine_files(const struct daemon_options *o, struct err *err)
{
	char mdevctl[PATH_MAX] = "";
	const struct confine_path paths[] = {
		{ o->roots.sysfs },
		{ o->roots.proc },
		{ "/proc" },
		{ "/usr" },		       /* pci.ids, libraries, names of modules */
		{ "/usr/share/misc/usb.ids" }, /* and what it is a link to: of Debian's below */
		{ "/usr/share/misc/pci.ids" },
		{ "/usr/share/hwdata/usb.ids" },
		{ "/usr/share/hwdata/pci.ids" },
		{ "/var/lib/usbutils" },
		{ "/lib" },
		{ "/lib64" },
		{ "/etc/group" },
		{ "/etc/ld.so.cache" },
		{ mdevctl },
		{ "/dev/null", true },
		{ CONTROL_DIR, true },
		{ o->roots.state, true },
	};

	snprintf(mdevctl, sizeof(mdevctl), "%s/" MDEVCTL_DIR, o->roots.sysfs);
	return confine_paths(paths, ARRAY_SIZE(paths), err);
}

void confine_server(const struct daemon_options *o, const struct roots *roots)
{
	struct err err = { 0 };
	int r = fault_is("no-landlock") ? -EOPNOTSUPP : confine_files(o, &err);

	failed.lacks = confine_lacks(all_caps());
	failed.paths = r;
	if (r && r != -EOPNOTSUPP)
		tell(&err);
	failed.caps = confine_caps(SERVER_CAPS, SERVER_CAPS, &err);
	if (failed.caps)
		tell(&err);
	failed.calls = confine_calls(DENY_ALL, &err);
	if (failed.calls)
		tell(&err);
	if (fault_is("foreign-code"))
		foreign_code(o, roots);
}

/* SYS_ADMIN is not listed: without it nothing is mounted. */
static const struct {
	uint64_t caps;
	const char *without;
} uses[] = {
	{ CAP(CHOWN) | CAP(FOWNER), "device nodes are not given to the owners of claim files" },
	{ CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH),
	  "open files of other processes are not seen, nor what the host needs in its network namespace" },
	{ CAP(SYS_MODULE), "a claim loads no driver" },
	{ CAP(SYS_CHROOT) | CAP(MKNOD),
	  "programs of a vendor's driver do not run, or not "
	  "completely, and its library is not asked in its own root" },
	{ CAP(SETUID) | CAP(SETGID), "NVIDIA's library is not asked: nothing is known of MIG" },
	{ CAP(NET_ADMIN),
	  "mac, vlan, trust and spoofchk of a NIC's VF cannot be written, and a burst of events "
	  "overflows its buffer sooner" },
	{ CAP(DAC_OVERRIDE),
	  "the state directory, and all that is opened at the start, must be root's" },
};

void confined_metrics(struct out *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		for (uint64_t caps = failed.lacks & uses[i].caps; caps; caps &= caps - 1)
			health_metric(o, "lacks", confine_name(caps));
}

void confined_health(struct out *o)
{
	bool all = !failed.caps && !failed.calls && !failed.paths;

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		for (uint64_t caps = failed.lacks & uses[i].caps; caps; caps &= caps - 1) {
			out_printf(o, "lacks=%s", confine_name(caps));
			out_pair(o, "hint", uses[i].without);
			out_printf(o, "\n");
		}
	if (all) {
		out_printf(o, "confined=yes\n");
		return;
	}
	out_printf(o, "confined=partly no_capabilities_dropped=%d no_seccomp=%d no_landlock=%d",
		   failed.caps, failed.calls, failed.paths);
	out_pair(o, "hint",
		 failed.calls || failed.caps
			 ? "the daemon's log says why"
			 : "boot with landlock among lsm=, or make sure that DevicePolicy=closed "
			   "is set");
	out_printf(o, "\n");
}
