/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers for all parts: cleanup, bounded text, strict numbers. */
#ifndef PCIDEVFS_UTIL_H
#define PCIDEVFS_UTIL_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Closes it before its owner ends. */
static inline void drop_fd(int *fd)
{
	closep(fd);
	*fd = -1;
}

/* Takes a descriptor from _close_: the caller owns it from then on. */
static inline int steal_fd(int *fd)
{
	int ret = *fd;

	*fd = -1;
	return ret;
}

static inline void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _free_ __attribute__((cleanup(freep)))
#define _close_ __attribute__((cleanup(closep)))
#define _closedir_ __attribute__((cleanup(closedirp)))

/* Text that grows. Start with `struct out o = { 0 }`, end with out_free(). If memory runs out,
 * `failed` is set, later calls do nothing and data stays a valid string; check once at the end. */
struct out {
	char *data; /* NUL-terminated once anything was written, else NULL */
	size_t len;
	size_t cap;
	bool failed;
};

__attribute__((format(printf, 2, 3))) void out_printf(struct out *o, const char *fmt, ...);
void out_put(struct out *o, const char *text, size_t len);
/* Appends " key=value" as in inventory and events. The value is quoted, with \" \\ and \xHH, if it
 * is empty, holds a blank, a quote or a backslash, or is not clean (str_clean()). The
 * leading blank is left out at the start of a line. */
void out_pair(struct out *o, const char *key, const char *value);
/* Likewise for bytes, which may include NUL; a NUL must follow the last one. */
void out_pair_bytes(struct out *o, const char *key, const char *value, size_t size);
/* Appends name="value" as in Prometheus' text format, with \" and \\; ? in place of a byte
 * that is not clean. */
void out_label(struct out *o, const char *name, const char *value);
/* Clean is UTF-8 without control characters and without characters that are not seen or turn the
 * direction of a text: it can be shown on a terminal, and an API server takes it. Text that comes
 * from users, processes, disks and drivers is made clean or refused where it comes in.
 * str_clean() puts ? in place of each other byte. str_clean_len() tells how many of the first size
 * bytes come before one; behind them stands a NUL, or a newline that is not among them. */
void str_clean(char *text);
size_t str_clean_len(const char *text, size_t size);
/* Appends a sentence for those who may not read `holders`: "held by a process, see holders" stands in place
 * of "held by NAME (pid N)". */
void out_for_all(struct out *o, const char *text);
/* "key=2026-11-26T23:45:01.446Z" */
void out_time(struct out *o, const char *key, uint64_t real_ns);
const char *out_text(const struct out *o); /* never NULL */
void out_free(struct out *o);

/* Parses the whole text as a number (0x allowed); else -EINVAL; -ERANGE above max. */
int parse_u64(const char *text, uint64_t max, uint64_t *ret);
/* Likewise, with an optional leading '-'; -ERANGE outside of [min, max]. */
int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret);
/* 0/1, y/n, yes/no, on/off, true/false in any case; else -EINVAL. */
int parse_bool(const char *text, bool *ret);
/* A number from 0.001 to 1000, the factor of deadlines; else -EINVAL. */
int parse_factor(const char *text, double *ret);

/* Do two values of allocated_to (NAMESPACE/POD/CONTAINER) name the same pod, in any container? */
bool same_pod(const char *allocated, const char *other);

/* Copies what fits, always terminated. Returns false if the text was cut, which leaves no part of a
 * letter. */
bool str_copy(char *dst, size_t size, const char *src);
/* Makes a sentence fit into size bytes: replaces the middle of its longest words, which are names,
 * by "...", so that its subject and its end stay readable. */
void str_fit(char *text, size_t size);
/* Into dst, an array; text must be writable and is cut as well. */
#define STR_FIT(dst, text) (str_fit((text), sizeof(dst)), STR_COPY((dst), (text)))
#define STR_COPY(dst, src) str_copy((dst), sizeof(dst), (src))

/* Of memory that others could write: reading a bool that is neither 0 nor 1 is undefined. */
static inline bool flag_valid(const bool *flag)
{
	return *(const unsigned char *)flag <= 1;
}

/* FNV-1a, continued from h; start with FNV1A. */
#define FNV1A 0xcbf29ce484222325ull
uint64_t fnv1a(uint64_t h, const char *text, size_t len);

/* Makes room for one element after n: returns rows, or a larger copy and the new *cap. NULL: no
 * memory, rows stays valid. */
void *more_rows(void *rows, size_t n, size_t *cap, size_t size);
/* Likewise for a row at this place, of *n; rows that nobody has written are zero. */
void *rows_upto(void *rows, size_t at, size_t *n, size_t size);
/* The index of the first of n sorted rows that is not below the key, as compare(row, key) tells; n:
 * there is none. */
size_t rows_first(const void *rows, size_t n, size_t size, const void *key,
		  int (*compare)(const void *row, const void *key));

/* A text file, up to a NUL; the caller frees it. NULL with errno: it is empty or cannot be read. */
char *file_text(int dir, const char *path);
/* Reads until the end or until size is full. Returns the number of bytes or -errno. */
ssize_t read_all(int fd, void *buf, size_t size);

/* Returns the pause before the next try: first, then twice the last one, up to max. *pause holds
 * the last one; set it to 0 to start anew. */
unsigned int back_off(unsigned int *pause, unsigned int first, unsigned int max);

/* Makes an eventfd readable. */
void event_ring(int fd);

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t now_ms(void);
uint64_t now_us(void);
uint64_t now_real_ns(void); /* of the calendar */

#endif
