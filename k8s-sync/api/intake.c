// SPDX-License-Identifier: GPL-2.0-or-later
#include "intake.h"

#include <errno.h>
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "pcidevfs/util.h"

int intake_open(struct intake *r, bool many)
{
	*r = (struct intake){ .many = many, .tokener = json_tokener_new_ex(ANSWER_DEPTH) };
	return r->tokener ? 0 : -ENOMEM;
}

void intake_close(struct intake *r)
{
	if (r->tokener)
		json_tokener_free(r->tokener);
	json_object_put(r->one);
	r->tokener = NULL;
	r->one = NULL;
}

static int take(struct intake *r, json_object *doc)
{
	if (!json_object_is_type(doc, json_type_object)) {
		json_object_put(doc);
		return fail(&r->err, EPROTO, "the API server answered with what is not an object");
	}
	if (r->many) {
		r->document(r->ctx, doc);
		json_object_put(doc);
	} else {
		json_object_put(r->one);
		r->one = doc;
	}
	return 0;
}

static int not_json(struct intake *r, const char *bytes, size_t size)
{
	return fail(&r->err, EPROTO,
		    "the API server answered with what is not JSON, beginning with \"%.*s\"",
		    (int)(size < 40 ? size : 40), bytes);
}

static size_t blanks(const char *bytes, size_t size)
{
	size_t n = 0;

	while (n < size && strchr(" \t\r\n", bytes[n]) && bytes[n])
		n++;
	return n;
}

int intake_feed(struct intake *r, const char *bytes, size_t size)
{
	while (size) {
		size_t max = r->many ? WATCHED_MAX : ANSWER_MAX, n;
		json_object *doc;

		if (!r->size) {
			n = blanks(bytes, size);
			bytes += n;
			size -= n;
			if (!size)
				break;
			if (*bytes != '{' || r->one)
				return not_json(r, bytes, size);
		}
		n = size < 65536 ? size : 65536;
		doc = json_tokener_parse_ex(r->tokener, bytes, (int)n);
		if (!doc && json_tokener_get_error(r->tokener) != json_tokener_continue)
			return not_json(r, bytes, size);
		if (doc)
			n = json_tokener_get_parse_end(r->tokener);
		r->size += n;
		if (r->size > max) {
			json_object_put(doc);
			return fail(&r->err, E2BIG,
				    "the API server's answer has more than %zu bytes", max);
		}
		bytes += n;
		size -= n;
		if (!doc)
			continue;
		r->size = 0;
		json_tokener_reset(r->tokener);
		if (take(r, doc))
			return -r->err.code;
	}
	return 0;
}

static int errno_of(long status)
{
	static const struct {
		long status;
		int code;
	} rows[] = {
		{ 400, EINVAL }, { 401, EACCES }, { 403, EPERM },  { 404, ENOENT }, { 409, EBUSY },
		{ 410, ESTALE }, { 422, EINVAL }, { 429, EAGAIN }, { 503, EAGAIN }, { 504, EAGAIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return EIO;
}

static bool is_failure(json_object *doc)
{
	return !strcmp(js_text(doc, "kind"), "Status") &&
	       !strcmp(js_text(doc, "status"), "Failure");
}

/* A number that is one of HTTP's; what else it says does not count. */
static long code_of(json_object *doc)
{
	json_object *code = js_get(doc, "code");
	int64_t n = json_object_is_type(code, json_type_int) ? json_object_get_int64(code) : 0;

	return n >= 400 && n < 600 ? (long)n : 500;
}

int intake_verdict(const struct intake *r, long http, long *ret_status, struct err *err)
{
	const char *said = js_text(r->one, "message");

	*ret_status = http;
	if (r->err.code && http < 300)
		return fail(err, r->err.code, "%s", r->err.text);
	if (http < 300 && is_failure(r->one))
		*ret_status = code_of(r->one);
	else if (http < 300 && !r->many && !r->one)
		return fail(err, EPROTO, "the API server's answer ended before it was complete");
	if (*ret_status < 300)
		return 0;
	if (*said)
		return fail(err, errno_of(*ret_status), "%s", said);
	return fail(err, errno_of(*ret_status), "the API server answered %ld without a reason",
		    *ret_status);
}

bool answer_lacks_webhook(json_object *answer, const char *name)
{
	static const char says[] = "failed calling webhook \"";
	const char *at = strstr(js_text(answer, "message"), says);

	return at && !strncmp(at + strlen(says), name, strlen(name));
}

unsigned int intake_retry_after(const struct intake *r)
{
	json_object *s = js_get(r->one, "details.retryAfterSeconds");
	int64_t n = json_object_is_type(s, json_type_int) ? json_object_get_int64(s) : 0;

	return n > 0 && n < 3600 ? (unsigned int)n : 0;
}

enum watched watch_event(json_object *doc, json_object **ret, struct err *err)
{
	static const struct {
		const char *type;
		enum watched is;
	} rows[] = {
		{ "ADDED", WATCHED_ADDED },
		{ "MODIFIED", WATCHED_ADDED },
		{ "DELETED", WATCHED_DELETED },
		{ "BOOKMARK", WATCHED_BOOKMARK },
	};
	const char *type = js_text(doc, "type");

	*ret = js_get(doc, "object");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(type, rows[i].type) && *js_text(*ret, "metadata.resourceVersion"))
			return rows[i].is;
	if (!strcmp(type, "ERROR") && code_of(*ret) == 410)
		return WATCHED_GONE;
	fail(err, EIO, "the watch ended: %s",
	     *js_text(*ret, "message") ? js_text(*ret, "message") : "an event of no known form");
	return WATCHED_ERROR;
}

/* ---- paths */

#define DIGITS "0123456789"
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS "-_~"

void path_put(struct out *path, const char *text)
{
	bool dots = !text[strspn(text, ".")]; /* a segment of nothing else leads upwards */

	for (; *text; text++)
		if (strchr(PLAIN, *text) || (*text == '.' && !dots))
			out_put(path, text, 1);
		else
			out_printf(path, "%%%02X", (unsigned char)*text);
}

bool path_is_version(const char *text)
{
	size_t n = strspn(text, DIGITS);

	return n && n <= 20 && !text[n];
}
