// SPDX-License-Identifier: GPL-2.0-or-later
#include "holder_state.h"

#include "control.h"

#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

/* After a kill: a thread that the kernel does not let go keeps the process. */
enum { UNREAPED_MS = 5000 };

void holder_finish(struct holder *h, int status)
{
	h->finished = true;
	h->status = status;
}

void holder_abort_what_stays(struct holder *h)
{
	struct err err = { 0 };

	if (h->finished || !h->server.pid ||
	    (h->ending ? now_ms() < h->server.kill_at + UNREAPED_MS : !server_stays(&h->server)))
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
