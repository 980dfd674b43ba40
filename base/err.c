// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"

/* Length before STR_FIT(): three of the longest names. */
#define SENTENCE_MAX (3 * ERR_TEXT)

int fail(struct err *err, int code, const char *fmt, ...)
{
	char text[SENTENCE_MAX]; /* a buffer of its own: err->text may be an argument */
	va_list ap;

	if (!err)
		return -code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_clean(text);
	err->code = code;
	STR_FIT(err->text, text);
	err->line = 0;
	err->passing = err->idle = false;
	return -code;
}

int fail_nomem(struct err *err)
{
	return fail(err, ENOMEM, "no memory");
}

int fail_wrap(struct err *err, const char *fmt, ...)
{
	char context[ERR_TEXT], whole[SENTENCE_MAX];
	va_list ap;

	if (!err)
		return -EIO;
	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	str_clean(context);
	snprintf(whole, sizeof(whole), "%s: %s", context, err->text);
	STR_FIT(err->text, whole);
	return -err->code;
}

int err_blame(struct err *err, int r, uint16_t line)
{
	if (r && err)
		err->line = line;
	return r;
}

const char *err_name(int code)
{
	const char *name = code ? strerrorname_np(code) : "ok";

	return name ? name : "EIO";
}
