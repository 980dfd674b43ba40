/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A refusal: an errno for the machine and one sentence for the person.
 *
 * A function that can fail returns 0 or -errno. If a user could ask why, its
 * last parameter is `struct err *err`: filled on failure, untouched on success;
 * NULL is allowed. The sentence names the value, the device, the cause and the
 * way out (DESIGN.md 14), has no final full stop and no newline.
 */
#ifndef PCIDEVFS_ERR_H
#define PCIDEVFS_ERR_H

#include <stdarg.h>

#define ERR_TEXT 480

struct err {
	int code; /* positive errno, 0 when nothing failed */
	char text[ERR_TEXT];
};

/* Fills err and returns -code. Control characters in the result become '?'. */
__attribute__((format(printf, 3, 4))) int fail(struct err *err, int code, const char *fmt, ...);

/* Puts "context: " in front of the sentence err already holds; returns -err->code (-EIO when err is NULL). */
__attribute__((format(printf, 2, 3))) int fail_wrap(struct err *err, const char *fmt, ...);

/* The errno's symbolic name, "EBUSY"; "ok" for 0. Never NULL. */
const char *err_name(int code);

#endif
