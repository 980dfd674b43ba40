// SPDX-License-Identifier: GPL-2.0-or-later
/* The helper process: serves one request after another; each may sleep in the kernel for
 * ever. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "attributes.h"
#include "host.h"
#include "kmod.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/group.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "program.h"
#include "backend/gpu/daemons.h"
#include "backend/gpu/mig_ask.h"
#include "backend/gpu/mig_seen.h"
#include "backend/gpu/nvidia.h"
#include "backend/gpu/nvml_ask.h"
#include "backend/guard/rtnl.h"
#include "backend/guard/vfconf.h"
#include "backend/pci/liveness.h"
#include "backend/pci/reserved.h"
#include "backend/pci/serials.h"
#include "wire.h"

/* Ten times what the slowest step has, a vendor's program. */
#define DEADLINE_MAX_MS 1200000

/* The roots and the deadline of a request. */
struct task {
	const struct sysfs *s;
	const char *state;  /* the state directory; "": none */
	const char *driver; /* root directory of the vendor's driver; "": to be found */
	unsigned int deadline_ms;
	struct hold_asker asker;
	struct nvml_place nvml;
	int rtnl; /* HELPER_VFCONF: a socket, or -errno */
};

static int do_write(const struct task *t, char *const *argv, struct out *answer)
{
	return attribute_write(t->s, argv[1], argv[2]);
}

static int do_read(const struct task *t, char *const *argv, struct out *answer)
{
	_free_ char *value = malloc(SYSFS_PAGE);
	int n = value ? sysfs_read(t->s, ROOT_SYS, value, SYSFS_PAGE, "%s", argv[1]) : -ENOMEM;

	if (n < 0)
		return n;
	out_put(answer, value, (size_t)n);
	return 0;
}

static int do_link(const struct task *t, char *const *argv, struct out *answer)
{
	char name[256];
	int rc = sysfs_link(t->s, ROOT_SYS, name, sizeof(name), "%s", argv[1]);

	if (!rc)
		out_put(answer, name, strlen(name));
	return rc;
}

static const char *only(const char *ids)
{
	return *ids ? ids : NULL;
}

static int do_holders(const struct task *t, char *const *argv, struct out *answer)
{
	return holders_scan(t->s, &t->asker, only(argv[1]), answer);
}

static int do_daemons(const struct task *t, char *const *argv, struct out *answer)
{
	host_tell(t->s, answer);
	return daemons_scan(t->s, answer);
}

static int do_critical(const struct task *t, char *const *argv, struct out *answer)
{
	return critical_scan(t->s, only(argv[1]), answer);
}

static int do_unbind_lock(const struct task *t, char *const *argv, struct out *answer)
{
	return nvidia_unbind_lock(t->s, argv[1], argv[2], answer);
}

static int do_program(const struct task *t, char *const *argv, struct out *answer)
{
	return program_exec(t->s, t->driver, argv + 1, t->deadline_ms, answer);
}

static int do_nvml(const struct task *t, char *const *argv, struct out *answer)
{
	return nvml_exec(&t->nvml, argv[1], t->deadline_ms, answer);
}

static int do_mig(const struct task *t, char *const *argv, struct out *answer)
{
	return mig_tell(&t->nvml, argv[1], t->deadline_ms, answer);
}

static int do_group(const struct task *t, char *const *argv, struct out *answer)
{
	out_printf(answer, "%u", (unsigned int)group_find());
	return 0;
}

static int do_vfconf(const struct task *t, char *const *argv, struct out *answer)
{
	return vfconf_scan(t->s, t->rtnl, only(argv[1]), answer);
}

static int do_vfconf_set(const struct task *t, char *const *argv, struct out *answer)
{
	return vfconf_set(t->s, t->rtnl, argv[1], argv[2], answer);
}

static int do_modprobe(const struct task *t, char *const *argv, struct out *answer)
{
	return module_load(argv[1]);
}

/* ---- the state file */

static int result(int rc)
{
	return rc ? -errno : 0;
}

/* The daemon is the only one that writes here, unless another one has come meanwhile. */
static int check_lock(int dir)
{
	_close_ int fd = lockfile_take(dir, INTENT_LOCK, NULL);

	return fd >= 0 ? 0 : fd == -EWOULDBLOCK ? -EBUSY : fd;
}

static int do_make(int dir, const char *text)
{
	return check_lock(dir);
}

static int do_create(int dir, const char *text)
{
	int rc = check_lock(dir);
	_close_ int fd = -1;

	if (rc)
		return rc;
	fd = openat(dir, INTENT_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

static int open_new(int dir)
{
	int fd = openat(dir, INTENT_NEW, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int do_append(int dir, const char *text)
{
	_close_ int fd = open_new(dir);
	size_t len = strlen(text);

	while (fd >= 0 && len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return fd < 0 ? fd : 0;
}

static int do_sync(int dir, const char *text)
{
	_close_ int fd = open_new(dir);

	return fd < 0 ? fd : result(fsync(fd));
}

static int do_rename(int dir, const char *text)
{
	return result(renameat(dir, INTENT_NEW, dir, INTENT_FILE));
}

static int do_sync_dir(int dir, const char *text)
{
	return result(fsync(dir));
}

static const struct state_call {
	const char *what;
	int (*run)(int dir, const char *text);
} calls[] = {
	{ "make", do_make }, { "create", do_create }, { "append", do_append },
	{ "sync", do_sync }, { "rename", do_rename }, { "sync_dir", do_sync_dir },
};

/* One call on the state file (world.state, txn.h). The daemon writes it itself as long as
 * landlock(7) lets it; a directory that was made anew is another one. */
static int do_state(const struct task *t, char *const *argv, struct out *answer)
{
	const struct state_call *call = calls, *end = calls + ARRAY_SIZE(calls);
	_close_ int fd = -1;

	while (call < end && strcmp(argv[1], call->what))
		call++;
	if (call == end || !*t->state)
		return -EPERM;
	if (call->run == do_make && mkdir(t->state, 0700) && errno != EEXIST)
		return -errno;
	fd = open(t->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : call->run(fd, argv[2]);
}

/* ---- all requests */

int tell_each(const struct sysfs *s, char *ids, ask_tell *tell, struct out *ret)
{
	char *save = NULL;
	int rc = 0;

	for (char *w = strtok_r(ids, " ", &save); w && !rc; w = strtok_r(NULL, " ", &save)) {
		const char *id = w + (*w == '!');
		char text[TELL_MAX] = "";
		struct key key;

		rc = key_parse(id, &key) ? tell(s, &key, id > w, text) : -EINVAL;
		if (text[0])
			out_printf(ret, "%s %s\n", id, text);
	}
	return rc;
}

/* A positive result is sent as 0, and the helper then ends. */
static const struct helper_request {
	const char *name;
	unsigned int words; /* including the name */
	enum helper_kind kind;
	bool reads; /* changes nothing */
	int (*run)(const struct task *t, char *const *argv, struct out *answer);
	bool tells;	/* on failure the answer is a sentence */
	ask_tell *tell; /* run, for each id */
} requests[] = {
#define REQUEST(name, words, kind, reads, ...) { #name, words, HELPER_##kind, reads, __VA_ARGS__ },
#include "requests.def"
};

static const struct helper_request *find_request(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (!strcmp(name, requests[i].name))
			return &requests[i];
	return NULL;
}

/* The caller has gone by then, and a slow read would run beside the next one, which is slow too.
 * The default action of the signal ends the helper like SIGKILL, even while it waits. */
static void end_in(unsigned int ms)
{
	const struct itimerval at = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	setitimer(ITIMER_REAL, &at, NULL);
}

static int run_request(const struct task *t, enum helper_kind kind, char *const *argv,
		       unsigned int argc, struct out *answer)
{
	const struct helper_request *row = find_request(argv[0]);
	int rc;

	if (!row)
		return -ENOSYS;
	if (row->kind != kind)
		return -EPERM;
	if (argc != row->words)
		return -EINVAL;
	if (row->reads)
		end_in((t->deadline_ms ? t->deadline_ms : 1) + helper_grace(kind));
	rc = row->tell ? tell_each(t->s, argv[1], row->tell, answer) : row->run(t, argv, answer);
	end_in(0);
	if (rc < 0 && !row->tells)
		answer->len = 0;
	return rc;
}

/* Splits text, of size bytes with a NUL at the end. Returns the number of words; 0: not argc. */
static unsigned int split_words(char *text, size_t size, unsigned int argc, char *argv[WIRE_WORDS])
{
	unsigned int n = 0;

	for (char *p = text; p < text + size; p += strlen(p) + 1) {
		if (n == WIRE_WORDS)
			return 0;
		argv[n++] = p;
	}
	return n == argc ? n : 0;
}

static int send_answer(int fd, int result, struct out *answer)
{
	struct wire_answer head = { .result = result };

	if (answer->failed)
		head.result = -ENOMEM;
	else if (answer->len > WIRE_ANSWER)
		head.result = -EFBIG;
	head.size = head.result == result ? (uint32_t)answer->len : 0;
	return wire_send(fd, &head, sizeof(head), answer->data, head.size);
}

static int serve_one(int fd, enum helper_kind kind, struct task *t, char *text)
{
	struct out answer = { 0 };
	struct wire_request head;
	char *argv[WIRE_WORDS] = { NULL };
	int done, rc = wire_receive(fd, &head, sizeof(head));

	if (rc)
		return rc;
	if (!head.size || head.size > WIRE_REQUEST)
		return -EPROTO;
	rc = wire_receive(fd, text, head.size);
	if (rc)
		return rc;
	text[head.size - 1] = '\0';
	if (!split_words(text, head.size, head.argc, argv))
		return -EPROTO;
	/* The caller may be dead: its successor has other plans. */
	if (poll(&(struct pollfd){ .fd = fd, .events = POLLRDHUP }, 1, 0))
		return -EPIPE;
	t->deadline_ms = head.deadline_ms < DEADLINE_MAX_MS ? head.deadline_ms : DEADLINE_MAX_MS;
	done = run_request(t, kind, argv, head.argc, &answer);
	rc = send_answer(fd, done > 0 ? 0 : done, &answer);
	out_free(&answer);
	return done > 0 && !rc ? -EPIPE : rc;
}

/* Who made the socket's other end. */
static pid_t server_of(int sock)
{
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &size) ? 0 : who.pid;
}

int helper_run(enum helper_kind kind, int sock, const struct roots *roots,
	       const struct hold_asker *family, uint64_t (*enter)(enum helper_kind kind))
{
	static char text[WIRE_REQUEST];
	struct wire_hello hello = { .started = process_started(getpid()) };
	struct sysfs s;
	struct task t = { .s = &s,
			  .state = roots->state ? roots->state : "",
			  .driver = roots->driver,
			  .nvml = { &s, roots->driver, roots->nvml },
			  .asker = *family };
	int rc;

	t.asker.server = server_of(sock);
	if (sysfs_open(&s, roots->sysfs, roots->dev, roots->proc, NULL))
		return 1;
	/* Enters another network namespace, if need be, which its kind may not. */
	if (kind == HELPER_VFCONF)
		t.rtnl = rtnl_open_vfs(&s);
	if (enter)
		hello.lacks = enter(kind);
	rc = wire_send(sock, &hello, sizeof(hello), NULL, 0);
	while (!rc)
		rc = serve_one(sock, kind, &t, text);
	sysfs_close(&s);
	return rc == -EPIPE ? 0 : 1;
}
