// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands to a running simulation. One message each way: the words, each ended by a NUL; then the
 * exit status as a digit, and the answer's text. */
#include "device.h"
#include "effects.h"
#include "func.h"
#include "kmsg.h"
#include "rtnetlink.h"
#include "serve.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_MAX 8192
#define WORDS_MAX 16

struct connection {
	struct sim *s;
	int fd;
};

struct command {
	const char *name, *args;
	int min, max; /* number of words behind the name */
	const char *help;
	int (*run)(struct sim *s, int argc, char **argv);
	/* Instead of run: for commands with an answer. */
	int (*tell)(struct sim *s, char **argv, char *ret, size_t size);
};

static bool number(const char *text, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 10);
	return end != text && !*end && !errno;
}

static int run_plug(struct sim *s, int argc, char **argv)
{
	if (argc == 1)
		return plug(s, argv[0], NULL);
	return argc == 3 && !strcmp(argv[1], "from") ? plug(s, argv[0], argv[2]) : -EINVAL;
}

static int run_unplug(struct sim *s, int argc, char **argv)
{
	return unplug(s, argv[0]);
}

/* EBUSY, or its number. */
static int errno_of(const char *text)
{
	long n;

	if (number(text, &n))
		return n > 0 && n < 134 ? (int)n : 0;
	for (int i = 1; i < 134; i++)
		if (strerrorname_np(i) && !strcmp(strerrorname_np(i), text))
			return i;
	return 0;
}

static int run_fail(struct sim *s, int argc, char **argv)
{
	int err = errno_of(argv[1]);
	long count = -1;

	if (!err || (argc > 2 && (!number(argv[2], &count) || count < 0)))
		return -EINVAL;
	return fault_fail(s, argv[0], err, count);
}

static int run_slow(struct sim *s, int argc, char **argv)
{
	long ms;

	return number(argv[1], &ms) && ms >= 0 ? fault_slow(s, argv[0], ms) : -EINVAL;
}

static int run_hang(struct sim *s, int argc, char **argv)
{
	return fault_hang(s, argv[0]);
}

static int run_unhang(struct sim *s, int argc, char **argv)
{
	return fault_unhang(s, argv[0]);
}

static int run_inside(struct sim *s, int argc, char **argv)
{
	return fault_inside(s, argv[0]) ? 0 : -ENOENT;
}

static int run_nth(struct sim *s, int argc, char **argv)
{
	static const char *const hows[] = { "fail", "from", "before", "after" };
	int err = argc > 2 ? errno_of(argv[2]) : 0;
	long n;

	if (!number(argv[0], &n) || n < 0 || (n > 0) != (argc > 1))
		return -EINVAL;
	if (!n)
		nth_set(s, 0, NTH_FAIL, 0);
	for (int how = NTH_FAIL; n && how <= NTH_AFTER; how++)
		if (!strcmp(argv[1], hows[how])) {
			if ((how <= NTH_FROM) != (err > 0))
				return -EINVAL;
			nth_set(s, n, (enum nth_how)how, err);
			return 0;
		}
	return n ? -EINVAL : 0;
}

static int run_met(struct sim *s, int argc, char **argv)
{
	(void)argc, (void)argv;
	return nth_met(s) ? 0 : -ENOENT;
}

static int run_hold(struct sim *s, int argc, char **argv)
{
	long group, pid;

	if (!number(argv[0], &group) || !number(argv[1], &pid) || pid < 2 || group < 0)
		return -EINVAL;
	return vfio_hold(s, (int)group, (pid_t)pid, argv[2]);
}

static int run_viable(struct sim *s, int argc, char **argv)
{
	long group;

	return number(argv[0], &group) ? vfio_viable(s, (int)group) : -EINVAL;
}

static int run_release(struct sim *s, int argc, char **argv)
{
	long group;

	return number(argv[0], &group) ? vfio_release(s, (int)group) : -EINVAL;
}

static int run_set(struct sim *s, int argc, char **argv)
{
	struct node *n = tree_walk(s->tree, s->tree->root, argv[0]);
	char text[MESSAGE_MAX];

	if (!n || !S_ISREG(n->mode))
		return -ENOENT;
	snprintf(text, sizeof(text), "%s\n", argv[1]);
	n->row = NULL; /* the value that a test sets must stay */
	if (node_is_fixed(n))
		node_renew(s->tree, n->parent);
	return node_set(n, text, strlen(text));
}

static int run_make(struct sim *s, int argc, char **argv)
{
	int r = make_file(s, argv[0]);

	return r ? r : run_set(s, argc, argv);
}

static int run_module(struct sim *s, int argc, char **argv)
{
	long on;

	return number(argv[1], &on) && (on == 0 || on == 1) ? plug_module(s, argv[0], on) : -EINVAL;
}

/* The kernel leaves the directory it was in, which is empty then. */
static int run_netns(struct sim *s, int argc, char **argv)
{
	const char *subsystem;
	const struct record *r;
	char path[TREE_PATH_MAX];
	long away;

	snprintf(path, sizeof(path), "/%s", argv[0]);
	r = machine_find(s->machine, path);
	subsystem = r ? record_text(r, 'E', "SUBSYSTEM") : NULL;
	if (!subsystem || strcmp(subsystem, "net"))
		return -ENODEV;
	if (!number(argv[1], &away) || (away != 0 && away != 1))
		return -EINVAL;
	(away ? device_remove : device_add)(s, r);
	return 0;
}

static int run_mute(struct sim *s, int argc, char **argv)
{
	long on;

	return number(argv[1], &on) && (on == 0 || on == 1) ? func_mute(s, argv[0], on) : -EINVAL;
}

static int run_uevent(struct sim *s, int argc, char **argv)
{
	struct node *n = tree_walk(s->tree, s->tree->root, argv[1]), *subsystem;
	char path[TREE_PATH_MAX] = "/", env[TREE_PATH_MAX] = "";
	size_t at = 0;

	if (!n)
		return -ENOENT;
	subsystem = tree_walk(s->tree, n, "subsystem");
	if (subsystem)
		at = (size_t)snprintf(env, sizeof(env), "SUBSYSTEM=%s\n", subsystem->name);
	node_path(n, path + 1, sizeof(path) - 1);
	for (int i = 2; i < argc && at < sizeof(env); i++)
		at += (size_t)snprintf(env + at, sizeof(env) - at, "%s\n", argv[i]);
	uevent(s, argv[0], path, env);
	return 0;
}

static int run_flood(struct sim *s, int argc, char **argv)
{
	long n;

	if (!number(argv[0], &n) || n < 0 || n > 1000000)
		return -EINVAL;
	while (n--)
		uevent(s, "change", "/devices/virtual/flood/flood0", "SUBSYSTEM=flood\n");
	return 0;
}

static int run_functions(struct sim *s, int argc, char **argv)
{
	long n;

	return number(argv[0], &n) && n >= 0 && n <= 1000000 ? plug_many(s, (unsigned int)n)
							     : -EINVAL;
}

static int tell_binds(struct sim *s, char **argv, char *ret, size_t size)
{
	const struct func *f = func_find(s, argv[0]);

	if (!f)
		return -ENODEV;
	snprintf(ret, size, "%lu\n", f->vfio_binds);
	return 0;
}

/* A style that was not there before is one for what is bound from now on. */
static int run_gpu(struct sim *s, int argc, char **argv)
{
	int r = 0;

	for (int i = 0; i < argc && !r; i++)
		r = gpu_option(s, argv[i]);
	return r ? r : vgpu_build(s);
}

static int run_open(struct sim *s, int argc, char **argv)
{
	long on;

	return number(argv[1], &on) && (on == 0 || on == 1) ? card_open(s, argv[0], on) : -EINVAL;
}

static int tell_vf(struct sim *s, char **argv, char *ret, size_t size)
{
	return vf_config_tell(s, argv[0], ret, size);
}

static int run_vfset(struct sim *s, int argc, char **argv)
{
	return vf_config_set(s, argv[0], argv[1], argv[2]);
}

static int run_quit(struct sim *s, int argc, char **argv)
{
	(void)s, (void)argc, (void)argv;
	kill(getpid(), SIGTERM);
	return 0;
}

static const struct command commands[] = {
	{ "plug", "ADDRESS [from ADDRESS2]", 1, 3,
	  "a function, or USB device, comes (back), or a copy of another", run_plug },
	{ "unplug", "ADDRESS", 1, 1, "a function is pulled out; no rescan finds it", run_unplug },
	{ "fail", "PATH ERRNO [COUNT]", 2, 3, "the next COUNT (all) reads and writes are refused",
	  run_fail },
	{ "slow", "PATH MS", 2, 2, "reads and writes wait so long first; 0: no more", run_slow },
	{ "hang", "PATH", 1, 1, "reads and writes wait until told otherwise", run_hang },
	{ "unhang", "PATH", 1, 1, "and go on", run_unhang },
	{ "inside", "PATH", 1, 1, "does one wait so, slow or hanging?", run_inside },
	{ "nth", "N HOW [ERRNO]", 1, 3,
	  "fail: the Nth write is refused; from: later ones too; before, after: it waits before or\n"
	  "                                       after its work; N 0: no more",
	  run_nth },
	{ "met", "", 0, 0, "has that write come?", run_met },
	{ "hold", "GROUP PID COMM", 3, 3, "a VMM opens an IOMMU group", run_hold },
	{ "viable", "GROUP", 1, 1, "would he get a device of it?", run_viable },
	{ "release", "GROUP", 1, 1, "and lets it go", run_release },
	{ "set", "PATH VALUE", 2, 2, "an attribute changes, without an event", run_set },
	{ "make", "PATH VALUE", 2, 2, "likewise a file that was not there", run_make },
	{ "module", "NAME 0|1", 2, 2, "a module without a driver is loaded, or unloaded",
	  run_module },
	{ "netns", "PATH 0|1", 2, 2, "an interface comes back from another namespace, or goes",
	  run_netns },
	{ "mute", "ADDRESS 0|1", 2, 2, "config space of a function reads ff only, or as it was",
	  run_mute },
	{ "uevent", "ACTION PATH [KEY=VALUE]...", 2, WORDS_MAX - 1, "an event is sent",
	  run_uevent },
	{ "flood", "N", 1, 1, "so many events are sent at once", run_flood },
	{ "functions", "N", 1, 1, "so many more functions come", run_functions },
	{ "binds", "ADDRESS", 1, 1, "how often vfio-pci took the function", .tell = tell_binds },
	{ "gpu", "OPTION...", 1, WORDS_MAX - 1, "options of the GPUs change, see below", run_gpu },
	{ "open", "ADDRESS 0|1", 2, 2, "somebody opens the node of such a GPU, or closes it",
	  run_open },
	{ "vf", "ADDRESS", 1, 1, "what the driver of its PF holds for a NIC's VF",
	  .tell = tell_vf },
	{ "vfset", "ADDRESS NAME VALUE", 3, 3,
	  "somebody sets that by hand: mac, vlan, trust, spoofchk", run_vfset },
	{ "log", "PRIORITY TEXT [COUNT]", 2, 3,
	  "the log gets such a record; below 8: the kernel's own", kmsg_log },
	{ "quit", "", 0, 0, "the simulation ends", run_quit },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

void control_help(void)
{
	puts("\nCommands for --control; PATH is below sys/, a link or a fnmatch(3) pattern:");
	for (size_t i = 0; i < N_COMMANDS; i++)
		printf("  %-9s %-26s %s\n", commands[i].name, commands[i].args, commands[i].help);
}

static int dispatch(struct sim *s, int argc, char **argv, char *answer, size_t size)
{
	int r;

	for (size_t i = 0; argc && i < N_COMMANDS; i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->name, argv[0]))
			continue;
		if (argc - 1 < c->min || argc - 1 > c->max) {
			snprintf(answer, size, "usage: %s %s\n", c->name, c->args);
			return 2;
		}
		pthread_mutex_lock(&s->lock);
		r = c->run ? c->run(s, argc - 1, argv + 1) : c->tell(s, argv + 1, answer, size);
		sim_sync(s);
		pthread_mutex_unlock(&s->lock);
		if (r)
			snprintf(answer, size, "%s: %s\n", c->name, strerror(-r));
		return r ? 1 : 0;
	}
	snprintf(answer, size, "no such command; see --help\n");
	return 2;
}

static void *converse(void *arg)
{
	struct connection *c = arg;
	char message[MESSAGE_MAX + 1], answer[512] = "", *argv[WORDS_MAX + 1];
	ssize_t n = recv(c->fd, message, MESSAGE_MAX, 0);
	int argc = 0, status;

	if (n > 0) {
		message[n] = 0;
		for (char *p = message; p < message + n && argc < WORDS_MAX; p += strlen(p) + 1)
			argv[argc++] = p;
		argv[argc] = NULL;
		status = dispatch(c->s, argc, argv, answer + 1, sizeof(answer) - 1);
		answer[0] = (char)('0' + status);
		send(c->fd, answer, 1 + strlen(answer + 1), MSG_NOSIGNAL);
	}
	close(c->fd);
	free(c);
	return NULL;
}

void control_accept(struct sim *s, int listener)
{
	struct connection *c = malloc(sizeof(*c));
	pthread_t thread;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (!c || fd < 0) {
		free(c);
		if (fd >= 0)
			close(fd);
		return;
	}
	*c = (struct connection){ s, fd };
	if (pthread_create(&thread, NULL, converse, c)) {
		close(fd);
		free(c);
		return;
	}
	pthread_detach(thread);
}

/* By descriptor, because a socket's path is limited to 107 bytes. */
static void address(int base, struct sockaddr_un *un)
{
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(un->sun_path, sizeof(un->sun_path), "/proc/self/fd/%d/control", base);
}

int control_listen(int base)
{
	struct sockaddr_un un;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	address(base, &un);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) || listen(fd, 16)) {
		int r = -errno;

		fprintf(stderr, "pcidevfs-sim: no control socket: %s\n", strerror(errno));
		if (fd >= 0)
			close(fd);
		return r;
	}
	return fd;
}

static int reach(const char *dir)
{
	struct sockaddr_un un;
	int base = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r = 0;

	if (base < 0 || fd < 0)
		r = -errno;
	address(base, &un);
	if (!r && connect(fd, (struct sockaddr *)&un, sizeof(un)))
		r = -errno;
	if (base >= 0)
		close(base);
	if (r && fd >= 0)
		close(fd);
	return r ? r : fd;
}

bool control_alive(const char *dir)
{
	int fd = reach(dir);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int exchange(int fd, int argc, char **argv)
{
	char message[MESSAGE_MAX], answer[1024];
	size_t len = 0;
	ssize_t n;

	for (int i = 0; i < argc; i++) {
		size_t word = strlen(argv[i]) + 1;

		if (argc > WORDS_MAX || word > sizeof(message) - len) {
			fprintf(stderr, "pcidevfs-sim: the command is too long\n");
			return 2;
		}
		memcpy(message + len, argv[i], word);
		len += word;
	}
	n = send(fd, message, len, MSG_NOSIGNAL) < 0 ? -1 : recv(fd, answer, sizeof(answer) - 1, 0);
	if (n < 1) {
		fprintf(stderr, "pcidevfs-sim: the simulation did not answer\n");
		return 1;
	}
	answer[n] = 0;
	fputs(answer + 1, answer[0] == '0' ? stdout : stderr);
	return isdigit((unsigned char)answer[0]) ? answer[0] - '0' : 1;
}

int control_send(const char *dir, int argc, char **argv)
{
	int fd = reach(dir), status;

	if (fd < 0) {
		fprintf(stderr, "pcidevfs-sim: no simulation at %s: %s\n", dir, strerror(-fd));
		return 1;
	}
	status = exchange(fd, argc, argv);
	close(fd);
	return status;
}
