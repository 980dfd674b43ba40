// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "pcidevfs/util.h"
#include "program.h"

static void sent(struct iovec *part, size_t *n)
{
	size_t here = *n < part->iov_len ? *n : part->iov_len;

	if (!here) /* a part without bytes may be nowhere */
		return;
	part->iov_base = (char *)part->iov_base + here;
	part->iov_len -= here;
	*n -= here;
}

int wire_send(int fd, const void *head, size_t head_size, const void *body, size_t size)
{
	struct iovec parts[] = { { (void *)head, head_size }, { (void *)body, size } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts) };

	while (parts[0].iov_len + parts[1].iov_len) {
		ssize_t rc = sendmsg(fd, &msg, MSG_NOSIGNAL);
		size_t n = rc > 0 ? (size_t)rc : 0;

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return -errno;
		sent(&parts[0], &n);
		sent(&parts[1], &n);
	}
	return 0;
}

int wire_receive(int fd, void *data, size_t size)
{
	char *p = data;

	while (size) {
		ssize_t n = recv(fd, p, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The caller needs only the kind of helper, and whether the request changes anything. */
int request_find(const char *name, enum helper_kind *ret_kind, bool *ret_reads)
{
	static const struct {
		const char *name;
		enum helper_kind kind;
		bool reads;
	} rows[] = {
#define REQUEST(name, words, kind, reads, ...) { #name, HELPER_##kind, reads },
#include "requests.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(name, rows[i].name)) {
			*ret_kind = rows[i].kind;
			*ret_reads = rows[i].reads;
			return 0;
		}
	return -ENOSYS;
}

unsigned int helper_grace(enum helper_kind kind)
{
	return kind == HELPER_PROGRAM || kind == HELPER_NVML || kind == HELPER_NVML_SET
		       ? PROGRAM_KILL_MS
		       : 0;
}
