// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <time.h>

int parse_u64(const char *text, uint64_t max, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
	const char *p = hex ? text + 2 : text;
	unsigned long long v;

	if (!*p || p[strspn(p, digits)])
		return -EINVAL;
	errno = 0;
	v = strtoull(p, NULL, hex ? 16 : 10);
	if (errno || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = text[0] == '-';
	int64_t value;
	uint64_t u;
	int rc = parse_u64(text + negative, INT64_MAX, &u);

	if (rc)
		return rc;
	value = negative ? -(int64_t)u : (int64_t)u;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int parse_bool(const char *text, bool *ret)
{
	static const char *const words[][2] = {
		{ "0", "1" }, { "n", "y" }, { "no", "yes" }, { "off", "on" }, { "false", "true" },
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(words); i++)
		if (!strcasecmp(text, words[i / 2][i % 2])) {
			*ret = i % 2;
			return 0;
		}
	return -EINVAL;
}

int parse_factor(const char *text, double *ret)
{
	char *end;
	double factor = strtod(text, &end);

	if (end == text || *end || !(factor >= 0.001 && factor <= 1000))
		return -EINVAL;
	*ret = factor;
	return 0;
}

bool same_pod(const char *allocated, const char *other)
{
	const char *end = strrchr(allocated, '/');

	if (!end)
		return !strcmp(allocated, other);
	return !strncmp(allocated, other, (size_t)(end + 1 - allocated));
}

void *more_rows(void *rows, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *grown;

	if (n < *cap)
		return rows;
	grown = reallocarray(rows, more, size);
	if (grown)
		*cap = more;
	return grown;
}

void *rows_upto(void *rows, size_t at, size_t *n, size_t size)
{
	size_t more = 2 * at + 64;
	char *grown;

	if (at < *n)
		return rows;
	grown = reallocarray(rows, more, size);
	if (!grown)
		return NULL;
	memset(grown + *n * size, 0, (more - *n) * size);
	*n = more;
	return grown;
}

size_t rows_first(const void *rows, size_t n, size_t size, const void *key,
		  int (*compare)(const void *row, const void *key))
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (compare((const char *)rows + mid * size, key) < 0)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

uint64_t fnv1a(uint64_t h, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return h;
}

unsigned int back_off(unsigned int *pause, unsigned int first, unsigned int max)
{
	*pause = !*pause ? first : *pause <= max / 2 ? 2 * *pause : max;
	return *pause;
}

void event_ring(int fd)
{
	const uint64_t one = 1;

	/* If the counter is at its limit, it is readable already. */
	(void)!write(fd, &one, sizeof(one));
}

uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t now_real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t now_ms(void)
{
	return now_us() / 1000;
}

ssize_t read_all(int fd, void *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, (char *)buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* The more there is, the more each read asks for: in a tree each is a request. */
char *file_text(int dir, const char *path)
{
	_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, size = 2048;
	char *text = NULL, *more;
	ssize_t n;

	do {
		more = fd < 0 ? NULL : realloc(text, size *= 2);
		n = more ? read_all(fd, more + len, size - 1 - len) : -1;
		if (more)
			text = more;
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len == size - 1);
	if (n >= 0 && len) {
		text[len] = '\0';
		return text;
	}
	free(text);
	return NULL;
}
