// SPDX-License-Identifier: GPL-2.0-or-later
#include "effects.h"
#include "kmsg.h"
#include "ops.h"
#include "rtnetlink.h"
#include "serve.h"
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Reads all waiting requests. Returns 0, or -errno if the mount is gone. */
static int drain(struct fuse_session *se, struct fuse_buf *buf)
{
	for (;;) {
		int n = fuse_session_receive_buf(se, buf);

		if (n == -EINTR || n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? n : -ENODEV;
		fuse_session_process_buf(se, buf);
	}
}

/* log: of kmsg.h, or NULL. */
static int loop(struct sim *s, struct fuse_session *se, struct fuse_session *log, int signals,
		int listener, int network)
{
	struct pollfd fds[] = {
		{ .fd = fuse_session_fd(se), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = listener, .events = POLLIN },
		{ .fd = network, .events = POLLIN },
		{ .fd = log ? fuse_session_fd(log) : -1, .events = POLLIN },
	};
	struct fuse_buf buf = { 0 }, log_buf = { 0 };
	int r = 0;

	/* A request may be withdrawn between poll and read. */
	for (int i = 0; i <= 4; i += 4)
		if (fds[i].fd >= 0)
			fcntl(fds[i].fd, F_SETFL, fcntl(fds[i].fd, F_GETFL) | O_NONBLOCK);
	while (!r && !fuse_session_exited(se)) {
		if (poll(fds, 5, -1) < 0 && errno != EINTR)
			r = -errno;
		if (fds[0].revents)
			r = drain(se, &buf);
		if (fds[4].revents && drain(log, &log_buf))
			fds[4].fd = -1;
		if (fds[1].revents)
			break;
		if (fds[2].revents)
			control_accept(s, listener);
		if (fds[3].revents)
			rtnetlink_accept(s, network);
	}
	free(buf.mem);
	free(log_buf.mem);
	if (r)
		fprintf(stderr, "pcidevfs-sim: the mount is gone: %s\n", strerror(-r));
	return r;
}

static struct fuse_session *session(struct sim *s)
{
	char *argv[] = { "pcidevfs-sim", "-o",
			 "fsname=pcidevfs-sim,subtype=sysfs,allow_other,default_permissions",
			 NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	return fuse_session_new(&args, &sim_ops, sizeof(sim_ops), s);
}

/* Threads inherit the mask, so only the loop receives signals. */
static int signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run(struct sim *s, const char *dir, struct fuse_session *se, int signals)
{
	struct fuse_session *log = s->log ? kmsg_mount(dir, s->log) : NULL;
	char sys[4096];
	int r, listener, network;

	snprintf(sys, sizeof(sys), "%s/sys", dir);
	if ((s->log && !log) || fuse_session_mount(se, sys))
		return -EIO;
	effects_session(s, se);
	listener = control_listen(s->base);
	network = listener < 0 ? listener : rtnetlink_listen(s->base);
	if (network >= 0) {
		puts("ready");
		fflush(stdout);
	}
	r = network < 0 ? network : loop(s, se, log, signals, listener, network);
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (network >= 0)
		close(network);
	if (listener >= 0)
		close(listener);
	return r;
}

int serve(struct sim *s, const char *dir, bool events)
{
	struct fuse_session *se;
	int signals = signal_fd(), r;

	r = signals < 0 ? -errno : effects_start(s, events);
	if (r) {
		fprintf(stderr, "pcidevfs-sim: can not start: %s\n", strerror(-r));
		return r;
	}
	se = session(s);
	/* Not closed before the process ends: threads may still write to it. */
	return se ? run(s, dir, se, signals) : -ENOMEM;
}
