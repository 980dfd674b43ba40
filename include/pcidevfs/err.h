/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A refusal: an errno for the machine and one sentence for the person.
 *
 * A function that can fail returns 0 or -errno. If a user could ask why, its last parameter is
 * `struct err *err`: filled on failure, untouched on success; NULL is allowed. The sentence names
 * the value, the device, the cause and the way out (DESIGN.md 14); it has no final full stop and no
 * newline.
 */
#ifndef PCIDEVFS_ERR_H
#define PCIDEVFS_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define ERR_TEXT 480

struct err {
	int code; /* positive errno, 0 when nothing failed */
	/* The request.line (plan.h) of the refused request; 0: the whole transaction. */
	uint16_t line;
	bool passing; /* only because another operation runs or began first */
	bool idle;    /* no error (code 0): everything was so already, nothing changed */
	char text[ERR_TEXT];
};

/* Fills err, with line 0 and not passing, and returns -code. Control characters become '?'. */
__attribute__((format(printf, 3, 4))) int fail(struct err *err, int code, const char *fmt, ...);

/* "no memory": which allocation failed helps nobody. */
int fail_nomem(struct err *err);

/* Puts "context: " in front of the sentence in err. Returns -err->code (-EIO if err is NULL). */
__attribute__((format(printf, 2, 3))) int fail_wrap(struct err *err, const char *fmt, ...);

/* r is the result of a request: if not 0, sets err->line to that request's line. Returns r. */
int err_blame(struct err *err, int r, uint16_t line);

/* The errno's symbolic name, "EBUSY"; "ok" for 0. Never NULL. */
const char *err_name(int code);

#endif
