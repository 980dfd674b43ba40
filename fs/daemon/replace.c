// SPDX-License-Identifier: GPL-2.0-or-later
/* The caller's side of --replace. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "handoff.h"
#include "mountpoint.h"
#include "options.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

/* Prints the holder's messages up to the last one. */
static int follow(int fd)
{
	struct report_msg msg;
	int r;

	/* A holder that refuses before it reads the offer resets the connection, then sends its
	 * reason. */
	while (!(r = fdmsg_recv(fd, &msg, sizeof(msg), NULL, 0)) || r == -ECONNRESET) {
		if (r)
			continue;
		msg.text[sizeof(msg.text) - 1] = '\0';
		fprintf(msg.what == REPORT_REFUSED ? stderr : stdout, "pcidevfsd: %s\n", msg.text);
		fflush(stdout);
		if (msg.what == REPORT_DONE || msg.what == REPORT_REFUSED)
			return msg.what == REPORT_DONE ? 0 : 1;
	}
	say("the daemon did not report the result%s; see its log",
	    r == -EAGAIN ? " within a minute" : "");
	return 1;
}

static int replace_connect(const struct daemon_options *o, struct err *err)
{
	_free_ char *path = NULL;
	struct mount_entry mount;
	int r = mountpoint_resolve(o->mountpoint, &path, err);
	pid_t pid;

	if (r)
		return r;
	if (mountpoint_find(path, &mount) || !mount.ours)
		return fail(err, ENOENT,
			    "%s is not a mount of pcidevfsd, so there is nothing to replace; start "
			    "it without --replace",
			    path);
	r = control_connect(&mount, &pid, err);
	return r < 0 ? fail_wrap(err, "%s cannot be taken over", path) : r;
}

int replace_run(const struct daemon_options *o)
{
	struct offer offer = { .version = VERSION };
	struct err err = { 0 };
	_close_ int fd = replace_connect(o, &err);
	_close_ int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0 || options_offer(o, offer.options, sizeof(offer.options), &err)) {
		say("%s", err.text);
		return 1;
	}
	r = exe < 0 ? -errno : fdmsg_send(fd, &offer, sizeof(offer), &exe, 1);
	/* A holder that refuses has closed its end, after the message with the reason. */
	if (r && r != -EPIPE) {
		say("cannot hand this program over: %s", strerror(-r));
		return 1;
	}
	return follow(fd);
}
