// SPDX-License-Identifier: GPL-2.0-or-later
/* The process that starts helpers. It does nothing but fork, so a fork has little to copy and
 * nothing to lose. It has all rights that any helper needs; a helper keeps those of its kind. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/gpu/nvml_ask.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/util.h"
#include "wire.h"

/* Helpers that need it have pcidevfs-nvml open as this. */
enum { NVML_FD = STDERR_FILENO + 1 };

/* The capabilities of a kind of helper, and the groups of calls that it may use. */
static const struct helper_rights {
	uint64_t caps;
	unsigned int calls;
} kinds[HELPER_KINDS] = {
	[HELPER_SYSFS] = { 0 },
	/* Config space beyond the 64 bytes that everybody may read. */
	[HELPER_CONFIG] = { CAP(SYS_ADMIN) },
	[HELPER_HOLDERS] = { CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH) },
	/* Routes are those of the network namespace of process 1, which may not be the daemon's. */
	[HELPER_CRITICAL] = { CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH) | CAP(SYS_ADMIN), DENY_NS },
	[HELPER_MODULE] = { CAP(SYS_MODULE), DENY_MODULE },
	/* It enters the driver's root, which may be that of another process, and a pid namespace,
	 * which limits its signals. The program may load modules and make nodes, and drivers
	 * require SYS_ADMIN. */
	[HELPER_PROGRAM] = { CAP(SYS_CHROOT) | CAP(SYS_PTRACE) | CAP(SYS_MODULE) | CAP(MKNOD) |
				     CAP(SYS_ADMIN),
			     DENY_EXEC | DENY_FORK | DENY_SIGNAL | DENY_MODULE | DENY_CHROOT },
	[HELPER_STATE] = { 0 },
	/* Its socket was opened before, in the network namespace of process 1. */
	[HELPER_VFCONF] = { CAP(NET_ADMIN) },
	/* The program gives them up before it loads the library: a query runs as nobody, and needs no
	 * right (spec/nvml.md 9). The helper enters the root of another process. */
	[HELPER_NVML] = { CAP(SETUID) | CAP(SETGID) | CAP(SYS_PTRACE) | CAP(SYS_CHROOT),
			  DENY_EXEC | DENY_FORK | DENY_SIGNAL | DENY_CHROOT },
	[HELPER_NVML_SET] = { CAP(SYS_ADMIN) | CAP(SYS_MODULE) | CAP(MKNOD) | CAP(SYS_PTRACE) |
				      CAP(SYS_CHROOT),
			      DENY_EXEC | DENY_FORK | DENY_SIGNAL | DENY_MODULE | DENY_CHROOT },
};

/* Calls that no helper uses; each helper's filter adds more. */
#define NEVER (DENY_DEBUG | DENY_MOUNT | DENY_SYSTEM)

uint64_t backend_spawner_caps(void)
{
	uint64_t all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		all |= kinds[i].caps;
	return all;
}

/* In the helper. It runs with less than it should rather than with more than it may. */
static uint64_t enter(enum helper_kind kind)
{
	const struct helper_rights *k = &kinds[kind];
	uint64_t lacks = confine_lacks(k->caps);

	if (confine_caps(k->caps, k->caps, NULL))
		_exit(1);
	confine_calls(DENY_ALL & ~NEVER & ~k->calls, NULL);
	return lacks;
}

/* In its own session: a terminal's interrupt must not end a write half way. */
static void __attribute__((noreturn))
become_helper(enum helper_kind kind, int sock, const struct roots *roots,
	      const struct hold_asker *family)
{
	prctl(PR_SET_NAME, "pcidevfs-io");
	setsid();
	signal(SIGCHLD, SIG_DFL);
	dup2(sock, STDIN_FILENO);
	closefrom(NVML_FD + (kind == HELPER_NVML || kind == HELPER_NVML_SET));
	_exit(helper_run(kind, STDIN_FILENO, roots, family, enter));
}

/* A helper leads a session of its own until it ends. */
bool helpers_fit(struct helpers *h)
{
	size_t n = 0;

	if (h->n < HELPERS_MAX)
		return true;
	for (size_t i = 0; i < h->n; i++)
		if (getsid(h->pids[i]) == h->pids[i])
			h->pids[n++] = h->pids[i];
	h->n = n;
	return n < HELPERS_MAX;
}

/* On failure the caller reads the end of the socket. */
static int serve_one(const struct roots *roots, const struct hold_asker *family, struct helpers *h)
{
	struct wire_spawn what;
	int sock, rc = fdmsg_recv(STDIN_FILENO, &what, sizeof(what), &sock, 1);
	pid_t pid;

	if (rc)
		return rc;
	if (what.magic == WIRE_SPAWN && what.kind < HELPER_KINDS && helpers_fit(h)) {
		pid = fork();
		if (!pid)
			become_helper(what.kind, sock, roots, family);
		if (pid > 0)
			h->pids[h->n++] = pid;
	}
	close(sock);
	return 0;
}

/* A file opened later must not become standard output. */
static void leave_outputs(struct roots *roots)
{
	int nvml = nvml_open_program();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	roots->nvml = nvml < 0 ? nvml : dup2(nvml, NVML_FD);
	closefrom(NVML_FD + (nvml >= 0));
}

int backend_spawner(int argc, char **argv)
{
	/* The parent sees to it that we end with it. */
	const struct hold_asker family = { .holder = getppid(), .spawner = getpid() };
	struct helpers helpers = { .n = 0 };
	struct roots roots = { 0 };
	sigset_t none;
	int rc;

	if (argc != 7)
		return 2;
	prctl(PR_SET_NAME, "pcidevfs-spawn");
	roots = (struct roots){ argv[2], argv[3], argv[4], argv[5], .state = argv[6] };
	/* Nobody reaps helpers: those who wait for one use its pid. */
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	leave_outputs(&roots);
	if (confine_caps(backend_spawner_caps() | CAP(SETPCAP), ~UINT64_C(0), NULL))
		return 1;
	confine_calls(NEVER, NULL);
	do
		rc = serve_one(&roots, &family, &helpers);
	while (!rc || rc == -EPROTO);
	return rc == -EPIPE ? 0 : 1;
}

static void __attribute__((noreturn))
become_spawner(const struct roots *roots, int sock, pid_t parent)
{
	char *argv[] = { (char *)"pcidevfs-spawner",
			 (char *)SPAWNER_ARG,
			 (char *)roots->sysfs,
			 (char *)roots->dev,
			 (char *)roots->proc,
			 (char *)(roots->driver ? roots->driver : ""),
			 (char *)(roots->state ? roots->state : ""),
			 NULL };

	prctl(PR_SET_NAME, "pcidevfs-spawn");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(sock, STDIN_FILENO) == STDIN_FILENO)
		execv("/proc/self/exe", argv);
	_exit(1);
}

pid_t backend_spawn(const struct roots *roots, int sock)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		become_spawner(roots, sock, parent);
	return pid < 0 ? -errno : pid;
}

int backend_open_spawner(const struct roots *roots, int *ret_sock, struct err *err)
{
	pid_t pid = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(err, errno, "no socket for the helpers: %s", strerror(errno));
	pid = backend_spawn(roots, pair[1]);
	close(pair[1]);
	if (pid > 0) {
		*ret_sock = pair[0];
		return 0;
	}
	close(pair[0]);
	return fail(err, -pid, "the process that starts helpers cannot be started: %s",
		    strerror(-pid));
}
