// SPDX-License-Identifier: GPL-2.0-or-later
/* The helper process: one request after the other, each of which may sleep in the kernel for
 * ever. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kmod.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "pulse.h"
#include "serials.h"
#include "wire.h"

static int do_write(const struct sysfs *s, char *const *argv, struct out *answer)
{
	(void)answer;
	return sysfs_write(s, ROOT_SYS, argv[2], "%s", argv[1]);
}

static int do_read(const struct sysfs *s, char *const *argv, struct out *answer)
{
	char value[SYSFS_VALUE];
	int n = sysfs_read(s, ROOT_SYS, value, sizeof(value), "%s", argv[1]);

	if (n < 0)
		return n;
	out_put(answer, value, (size_t)n);
	return 0;
}

static int do_link(const struct sysfs *s, char *const *argv, struct out *answer)
{
	char name[256];
	int rc = sysfs_link(s, ROOT_SYS, name, sizeof(name), "%s", argv[1]);

	if (!rc)
		out_put(answer, name, strlen(name));
	return rc;
}

static const char *only(const char *addresses)
{
	return *addresses ? addresses : NULL;
}

static int do_holders(const struct sysfs *s, char *const *argv, struct out *answer)
{
	return holders_scan(s, only(argv[1]), answer);
}

static int do_critical(const struct sysfs *s, char *const *argv, struct out *answer)
{
	return critical_scan(s, only(argv[1]), answer);
}

static int do_modprobe(const struct sysfs *s, char *const *argv, struct out *answer)
{
	(void)s;
	(void)answer;
	return module_load(argv[1]);
}

static int do_serials(const struct sysfs *s, char *const *argv, struct out *answer)
{
	return serials_scan(s, argv[1], answer);
}

static int do_pulse(const struct sysfs *s, char *const *argv, struct out *answer)
{
	return pulse_scan(s, argv[1], answer);
}

/* What a helper can be asked for. Paths are relative to the sysfs root. A positive result is 0,
 * after which the helper ends. */
static const struct {
	const char *name;
	unsigned int words; /* with the name */
	bool reads;	    /* and changes nothing */
	int (*run)(const struct sysfs *s, char *const *argv, struct out *answer);
} requests[] = {
	{ "write", 3, false, do_write },      /* path, text */
	{ "read", 2, true, do_read },	      /* path */
	{ "link", 2, true, do_link },	      /* path: last component of its target */
	{ "holders", 2, true, do_holders },   /* addresses, blanks between them; "": all */
	{ "critical", 2, true, do_critical }, /* likewise */
	{ "serials", 2, true, do_serials },   /* addresses */
	{ "pulse", 2, true, do_pulse },	      /* likewise, "!" before those that may be woken */
	{ "modprobe", 2, false, do_modprobe }, /* module */
};

bool request_reads(const char *name)
{
	bool reads = false;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		reads |= requests[i].reads && !strcmp(name, requests[i].name);
	return reads;
}

static int run_request(const struct sysfs *s, char *const *argv, unsigned int argc,
		       struct out *answer)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (!strcmp(argv[0], requests[i].name))
			return argc == requests[i].words ? requests[i].run(s, argv, answer)
							 : -EINVAL;
	return -ENOSYS;
}

/* Words in text, which holds size bytes and ends with a NUL; 0 when they are not argc. */
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
	head.size = head.result ? 0 : (uint32_t)answer->len;
	return wire_send(fd, &head, sizeof(head), answer->data, head.size);
}

static int serve_one(int fd, const struct sysfs *s, char *text)
{
	struct out answer = { 0 };
	struct wire_request head;
	char *argv[WIRE_WORDS];
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
	/* Who asked may be dead: its successor has other plans. */
	if (poll(&(struct pollfd){ .fd = fd, .events = POLLRDHUP }, 1, 0))
		return -EPIPE;
	done = run_request(s, argv, head.argc, &answer);
	rc = send_answer(fd, done > 0 ? 0 : done, &answer);
	out_free(&answer);
	return done > 0 && !rc ? -EPIPE : rc;
}

int backend_helper(int argc, char **argv)
{
	static char text[WIRE_REQUEST];
	struct sysfs s;
	int rc;

	prctl(PR_SET_NAME, "pcidevfs-io");
	signal(SIGPIPE, SIG_IGN);
	/* Only the socket was inherited: a file opened later must not be taken for standard
	 * output. */
	for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd < STDERR_FILENO;)
		fd = dup(fd);
	if (argc < 5)
		return 2;
	if (sysfs_open(&s, argv[2], argv[3], argv[4], NULL))
		return 1;
	do
		rc = serve_one(STDIN_FILENO, &s, text);
	while (!rc);
	sysfs_close(&s);
	return rc == -EPIPE ? 0 : 1;
}
