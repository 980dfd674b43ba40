// SPDX-License-Identifier: GPL-2.0-or-later
#include "holder_state.h"

#include "control.h"

#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

/* After a kill while we end: a thread that the kernel does not let go keeps the process. One that
 * only gives back the memory of 70 000 functions, on a busy machine, has longer. */
enum { UNREAPED_MS = 5000, GIVING_BACK_MS = 30000 };

static bool outlives_end(const struct holder *h)
{
	const struct server *s = &h->server;
	uint64_t now = now_ms();

	return now >= s->kill_at + UNREAPED_MS &&
	       (watchdog_waits(s->pid) || now >= s->kill_at + GIVING_BACK_MS);
}

void holder_finish(struct holder *h, int status)
{
	h->finished = true;
	h->status = status;
}

void holder_abort_what_stays(struct holder *h)
{
	struct err err = { 0 };

	if (h->finished || !h->server.pid ||
	    !(h->ending ? outlives_end(h) : server_stays(&h->server)))
		return;
	holder_deafen(h);
	if (h->ending || !h->mounted || h->server.aborted ||
	    mountpoint_detach(h->path, &h->mount, true)) {
		say("the serving process (pid %d) cannot end before the kernel releases one of its "
		    "threads; %s is unmounted without it",
		    (int)h->server.pid, h->path);
		holder_finish(h, 1);
		return;
	}
	h->server.aborted = true;
	say("the kernel does not release the serving process (pid %d); aborts its connection and "
	    "mounts %s anew",
	    (int)h->server.pid, h->path);
	h->mounted = !mountpoint_anew(h->path, &h->fuse, &h->mount, &err);
	if (h->mounted) {
		holder_listen(h);
		return;
	}
	say("%s", err.text);
	holder_finish(h, 1);
}

void holder_listen(struct holder *h)
{
	struct err err = { 0 };

	h->listen = control_listen(&h->mount, &err);
	if (h->listen < 0)
		say("--replace will not reach this daemon: %s", err.text);
}

void holder_deafen(struct holder *h)
{
	if (h->listen < 0)
		return;
	close(h->listen);
	h->listen = -1;
	control_forget(&h->mount);
}
