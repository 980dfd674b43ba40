// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/daemon/handoff.h"
#include "fs/session/inflight.h"
#include "fs/daemon/layouts.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/options.h"
#include "fs/daemon/retry.h"
#include "fs/daemon/server.h"
#include "fs/daemon/takeover.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/util.h"

static int parse(struct daemon_options *o, const char *const *args)
{
	char *argv[OPTIONS_ARGV + 1] = { "pcidevfsd" };
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	optind = 0;
	return options_parse(argc, argv, o);
}

#define PARSE(o, ...) parse(o, (const char *const[]){ __VA_ARGS__, NULL })

DEFINE_TEST(options_defaults)
{
	struct daemon_options o;

	CHECK_EQ(PARSE(&o, "/mnt"), 0);
	CHECK_STR(o.roots.sysfs, "/sys");
	CHECK_STR(o.roots.dev, "/dev");
	CHECK_STR(o.roots.proc, "/proc");
	CHECK_STR(o.roots.state, "/var/lib/pcidevfs");
	CHECK_STR(o.mountpoint, "/mnt");
	CHECK(o.deadline_factor > 0.99 && o.deadline_factor < 1.01);
	CHECK_STR(options_given(&o, 0), NULL);
	CHECK_EQ(o.roots.usb_owner.uid, 107);
	CHECK_EQ(o.roots.usb_owner.gid, 107);
}

DEFINE_TEST(options_wrong_use)
{
	static const char *const owners[] = { "",	   "107",   "107:",	    ":107",
					      "qemu:qemu", "1:2:3", "4294967295:0", "-1:0" };
	struct daemon_options o;

	CHECK_EQ(PARSE(&o, "--frobnicate", "/mnt"), -EINVAL);
	CHECK_EQ(PARSE(&o, "-x", "/mnt"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--sysfs"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--state", "/s"), -EINVAL);
	CHECK_EQ(PARSE(&o, ""), -EINVAL);
	CHECK_EQ(PARSE(&o, "/a", "/b"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--deadline", "2x", "/a"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--deadline", "0", "/a"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--deadline", "nan", "/a"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--deadline", "1e9", "/a"), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		CHECK_EQ(PARSE(&o, "--usb-owner", owners[i], "/a"), -EINVAL);
	CHECK_EQ(PARSE(&o, "--help", "--deadline", "rubbish"), 0);
}

/* The serving process must be started with exactly what the holder was. */
DEFINE_TEST(options_reach_the_serving_process)
{
	const char *argv[OPTIONS_ARGV];
	struct daemon_options o, again;

	CHECK_EQ(PARSE(&o, "--sysfs=/s", "--dev", "/d", "--proc", "/p", "--state", "/st",
		       "--driver-root", "/r", "--deadline", "0.5", "--usb-owner", "64055:108",
		       "mnt"),
		 0);
	CHECK_STR(options_given(&o, 0), "/s");
	options_argv(&o, "--serve", "7", "/abs/-mnt", argv);
	CHECK_EQ(parse(&again, argv + 1), 0);
	CHECK_STR(again.serve, "7");
	CHECK_STR(again.roots.sysfs, "/s");
	CHECK_STR(again.roots.dev, "/d");
	CHECK_STR(again.roots.proc, "/p");
	CHECK_STR(again.roots.state, "/st");
	CHECK_STR(again.roots.driver, "/r");
	CHECK_STR(again.mountpoint, "/abs/-mnt");
	CHECK(again.deadline_factor > 0.49 && again.deadline_factor < 0.51);
	CHECK_EQ(again.roots.usb_owner.uid, 64055);
	CHECK_EQ(again.roots.usb_owner.gid, 108);
}

DEFINE_TEST(handoff_carries_descriptors)
{
	struct handover in = { .generation = 3 }, out = { 0 };
	int pair[2], fds[2], got[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(fdmsg_send(pair[0], &in, sizeof(in), fds, 2), 0);
	CHECK_EQ(fdmsg_recv(pair[1], &out, sizeof(out), got, 2), 0);
	CHECK_EQ(out.generation, 3);
	CHECK(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(write(got[1], "x", 1), 1);
	CHECK_EQ(read(fds[0], &(char){ 0 }, 1), 1);
}

DEFINE_TEST(handoff_refuses_other_messages)
{
	struct handover msg = { 0 };
	char byte = 'x';
	int pair[2], fds[2], got[2] = { -7, -7 }, lowest;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	CHECK_EQ(pipe(fds), 0);
	lowest = dup(0);
	close(lowest);
	CHECK_EQ(fdmsg_recv(pair[1], &msg, sizeof(msg), got, 2), -EAGAIN);
	/* Short, without descriptors, with too few, with too many, too long. */
	CHECK_EQ(fdmsg_send(pair[0], &byte, 1, fds, 2), 0);
	CHECK_EQ(fdmsg_recv(pair[1], &msg, sizeof(msg), got, 2), -EPROTO);
	CHECK_EQ(fdmsg_send(pair[0], &msg, sizeof(msg), NULL, 0), 0);
	CHECK_EQ(fdmsg_recv(pair[1], &msg, sizeof(msg), got, 2), -EPROTO);
	CHECK_EQ(fdmsg_send(pair[0], &msg, sizeof(msg), fds, 1), 0);
	CHECK_EQ(fdmsg_recv(pair[1], &msg, sizeof(msg), got, 2), -EPROTO);
	CHECK_EQ(fdmsg_send(pair[0], &msg, sizeof(msg), fds, 2), 0);
	CHECK_EQ(fdmsg_recv(pair[1], &msg, sizeof(msg), got, 1), -EPROTO);
	CHECK_EQ(fdmsg_send(pair[0], &msg, sizeof(msg), fds, 2), 0);
	CHECK_EQ(fdmsg_recv(pair[1], &byte, 1, got, 2), -EPROTO);
	CHECK_EQ(got[0], -7);
	/* None of the refused descriptors stayed open. */
	CHECK_EQ(dup(0), lowest);
	close(pair[0]);
	CHECK_EQ(fdmsg_recv(pair[1], &msg, sizeof(msg), NULL, 0), -EPIPE);
}

DEFINE_TEST(takeover_estate_is_checked)
{
	struct estate e;

	CHECK_EQ(takeover_parse("", &e), -EINVAL);
	CHECK_EQ(takeover_parse("fuse=0", &e), -EINVAL);
	CHECK_EQ(takeover_parse(
			 "fuse=999,stash=1,listen=-1,conn=-1,former=-1,gen=1,restarts=0,dev=0:1",
			 &e),
		 -EINVAL);
	CHECK_EQ(
		takeover_parse(
			"fuse=0,stash=1,listen=-1,conn=-1,former=-1,gen=4,restarts=2,dev=0:1x", &e),
		-EINVAL);
	CHECK_EQ(
		takeover_parse(
			"fuse=0,stash=1,listen=-1,conn=-1,former=-1,gen=4,restarts=2,dev=0:61", &e),
		0);
	CHECK_EQ(e.generation, 4);
	CHECK_EQ(e.restarts, 2);
	CHECK_EQ(e.minor, 61);
}

static void note(struct inflight *f, uint64_t unique, uint32_t pid, uint64_t node)
{
	struct fuse_in_header in = { .unique = unique, .pid = pid, .nodeid = node };

	inflight_note(f, &in);
}

/* Was unique answered EIO? The pipe stands for the connection. */
static bool failed(int fd, uint64_t unique)
{
	struct fuse_out_header out;
	bool found = false;

	while (read(fd, &out, sizeof(out)) == (ssize_t)sizeof(out)) {
		CHECK_EQ(out.error, -EIO);
		found |= out.unique == unique;
	}
	return found;
}

DEFINE_TEST(inflight_keeps_who_waits_long)
{
	struct inflight *f = calloc(1, sizeof(*f));
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	note(f, 10, 4000, 1);
	/* Others go on reading for a long time. */
	for (uint64_t i = 0; i < 1000000; i++)
		note(f, 12 + 2 * i, 5000 + i % 7, 1);
	CHECK_EQ(inflight_fail_all(f, p[1]), 8 + 64);
	CHECK(failed(p[0], 10));
	free(f);
}

DEFINE_TEST(inflight_forgets_what_was_followed)
{
	struct inflight *f = calloc(1, sizeof(*f));
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	note(f, 10, 4000, 1);
	note(f, 12, 4000, 2);
	inflight_fail_all(f, p[1]);
	CHECK(!failed(p[0], 10));
	free(f);
}

DEFINE_TEST(inflight_knows_strangers_by_node)
{
	struct inflight *f = calloc(1, sizeof(*f));
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	note(f, 10, 0, 77);
	note(f, 12, 0, 78);
	inflight_fail_all(f, p[1]);
	CHECK(failed(p[0], 10));
	free(f);
}

DEFINE_TEST(mountpoint_resolves_without_looking)
{
	struct err err = { 0 };
	struct mount_entry entry;
	char *path;

	CHECK_EQ(mountpoint_resolve("/proc/", &path, &err), 0);
	CHECK_STR(path, "/proc");
	CHECK_EQ(mountpoint_find(path, &entry), 0);
	CHECK(!entry.ours);
	free(path);
	CHECK_EQ(mountpoint_resolve("/proc/..//tmp/new name", &path, &err), 0);
	CHECK_STR(path, "/tmp/new name");
	CHECK_EQ(mountpoint_find(path, &entry), -ENOENT);
	free(path);
	CHECK_EQ(mountpoint_resolve("/", &path, &err), 0);
	CHECK_STR(path, "/");
	free(path);
	CHECK_EQ(mountpoint_resolve("/none/at/all", &path, &err), -ENOENT);
	CHECK_IN(err.text, "/none/at/all");
}

DEFINE_TEST(layouts_refuse_what_differs)
{
	char text[LAYOUTS_TEXT], other[LAYOUTS_TEXT];
	struct err err = { 0 };
	char *at;

	layouts_print(text);
	CHECK(strlen(text) < LAYOUTS_TEXT - 64);
	CHECK_EQ(layouts_check(text, &err), 0);
	/* Each region that keeps something stands there. */
	for (const char *const *name =
		     (const char *const[]){ "session=", " model=", " objects=", " ctl=", " events=",
					    " record=", " log=", " files=", " journal=", " engine=",
					    " stash=", " estate=", NULL };
	     *name; name++)
		CHECK_IN(text, *name);
	/* A record that grew. */
	strcpy(other, text);
	at = strstr(other, " files=");
	at[strcspn(at + 1, " ")]++;
	CHECK_EQ(layouts_check(other, &err), -EPROTO);
	CHECK_IN(err.text, "it keeps files=");
	CHECK_IN(err.text, "the mount has files=");
	CHECK(!strstr(err.text, "objects"));
	/* One that a scan makes anew, with as many digits and with more. */
	for (const char *const *word =
		     (const char *const[]){ " model=1/2 ", " model=4711/123456 ", NULL };
	     *word; word++) {
		at = strstr(text, " model=");
		snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - text), text, *word,
			 at + 1 + strcspn(at + 1, " ") + 1);
		CHECK_EQ(layouts_check(other, &err), 0);
	}
	at = strstr(other, "model=");
	at[0] = 'n';
	CHECK_EQ(layouts_check(other, &err), -EPROTO);
	/* One more, one less, nothing. */
	strcat(text, " more=1/2");
	CHECK_EQ(layouts_check(text, &err), -EPROTO);
	text[strcspn(text, " ")] = '\0';
	CHECK_EQ(layouts_check(text, &err), -EPROTO);
	CHECK_EQ(layouts_check("", &err), -EPROTO);
}

/* A forget's unique is newer than those of requests that wait; an interrupt's is odd and old. */
DEFINE_TEST(inflight_is_not_led_astray)
{
	struct inflight *f = calloc(1, sizeof(*f));
	struct fuse_in_header forget = { .opcode = FUSE_FORGET, .unique = 1000 };
	struct fuse_in_header interrupt = { .opcode = FUSE_INTERRUPT, .unique = 11 };
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	note(f, 10, 4000, 1);
	inflight_note(f, &forget);
	inflight_note(f, &interrupt);
	/* 12 was read after the FORGET and not noted; so might be the first one after it. */
	CHECK_EQ(inflight_fail_all(f, p[1]), 1 + (1000 - 10) / 2 + 64);
	CHECK(failed(p[0], 12));
	inflight_fail_all(f, p[1]);
	CHECK(failed(p[0], 1002));
	free(f);
}

DEFINE_TEST(retry_is_patient_and_ends)
{
	static const unsigned int failed[] = { 0, 0, 0, 0, 20, 40, 80 }, late[] = { 5000, 5000 };
	struct retry r = { 0 };

	for (size_t i = 0; i < 7; i++, retry_note(&r, SERVER_FAILED))
		CHECK_EQ(retry_pause_ms(&r), failed[i]);
	while (r.failed < 18)
		retry_note(&r, SERVER_FAILED);
	for (size_t i = 0; i < 2; i++, retry_note(&r, SERVER_FAILED)) {
		CHECK_EQ(retry_pause_ms(&r), late[i]);
		CHECK(!retry_hopeless(&r));
	}
	CHECK(retry_hopeless(&r));
	retry_note(&r, SERVER_SERVED);
	CHECK(!retry_hopeless(&r));
	CHECK_EQ(retry_pause_ms(&r), 0);
}

DEFINE_TEST(retry_forgets_what_may_end_them)
{
	struct retry r = { 0 };

	for (int i = 1; i <= 12; i++) {
		retry_note(&r, SERVER_UNBORN);
		CHECK_EQ(retry_forget(&r), i == 3 || i == 6    ? FORGET_MODEL
					   : i == 9 || i == 12 ? FORGET_OPERATIONS
							       : FORGET_NOTHING);
		retry_note(&r, SERVER_KILLED);
		CHECK_EQ(retry_forget(&r), FORGET_NOTHING);
	}
	retry_note(&r, SERVER_SERVED);
	for (int i = 1; i <= 12; i++) {
		retry_note(&r, SERVER_FAILED);
		CHECK_EQ(retry_forget(&r), i == 6    ? FORGET_MODEL
					   : i == 12 ? FORGET_OPERATIONS
						     : FORGET_NOTHING);
	}
}

/* A process that grows by what it takes over is killed by the kernel, which looks like a kill by
 * somebody. */
DEFINE_TEST(retry_forgets_what_may_get_them_killed)
{
	struct retry r = { 0 };

	for (int round = 0; round < 2; round++) {
		for (int i = 1; i <= 100; i++) {
			retry_note(&r, SERVER_KILLED);
			CHECK_EQ(retry_forget(&r), i == 20 ? FORGET_MODEL : FORGET_NOTHING);
		}
		retry_note(&r, SERVER_SERVED);
		CHECK_EQ(retry_forget(&r), FORGET_NOTHING);
	}
}

/* Who kills faster than it can start does not make everybody else wait for seconds. */
DEFINE_TEST(retry_after_kills_waits_less)
{
	struct retry r = { 0 };

	for (int i = 0; i < 99; i++) {
		CHECK(retry_pause_ms(&r) <= 200);
		retry_note(&r, SERVER_KILLED);
		CHECK(!retry_hopeless(&r));
	}
	CHECK_EQ(retry_pause_ms(&r), 200);
	/* The longer of both. */
	for (int i = 0; i < 10; i++)
		retry_note(&r, SERVER_FAILED);
	CHECK_EQ(retry_pause_ms(&r), 1280);
	retry_note(&r, SERVER_KILLED);
	CHECK(retry_hopeless(&r));
}

/* How a serving process ends that kills itself by sig, or ends with status 1. */
static enum server_end end_of(struct server s, int sig)
{
	enum server_end end;
	struct handover next;

	s.pid = fork();
	if (!s.pid) {
		if (sig)
			kill(getpid(), sig);
		_exit(1);
	}
	s.pidfd = s.sock = -1;
	end = server_ended(&s, &next);
	CHECK_EQ(next.killed, sig == SIGKILL);
	server_drop(&s);
	return end;
}

DEFINE_TEST(server_end_is_judged)
{
	uint64_t now = now_ms();

	CHECK_EQ(end_of((struct server){ .since = now }, SIGKILL), SERVER_KILLED);
	CHECK_EQ(end_of((struct server){ .since = now }, SIGTERM), SERVER_UNBORN);
	CHECK_EQ(end_of((struct server){ .since = now }, 0), SERVER_UNBORN);
	/* It never came so far in a long time, and was killed for that. */
	CHECK_EQ(end_of((struct server){ .stopping = SERVER_LEAVE, .failing = "deaf" }, SIGKILL),
		 SERVER_UNBORN);
	CHECK_EQ(end_of((struct server){ .since = now, .served = true }, SIGKILL), SERVER_SERVED);
	CHECK_EQ(end_of((struct server){ .since = now, .served = true }, SIGTERM), SERVER_FAILED);
	CHECK_EQ(end_of((struct server){ .served = true }, SIGTERM), SERVER_SERVED);
	CHECK_EQ(end_of((struct server){ .since = now, .stopping = SERVER_END }, 0), SERVER_SERVED);
}
