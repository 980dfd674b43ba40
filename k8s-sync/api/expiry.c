// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access.h"
#include "pcidevfs/util.h"

enum { WARN_S = 30 * 86400 };

/* DER (X.690): each value has a tag, a length and so many bytes. */
enum { SEQUENCE = 0x30, UTC_TIME = 0x17, GENERALIZED_TIME = 0x18, VERSION_TAG = 0xa0 };

struct der {
	const unsigned char *at, *end;
};

/* Takes the n-th value from here on; false: there are not so many that are whole. */
static bool take(struct der *from, int n, unsigned char *ret_tag, struct der *ret)
{
	size_t size, more;

	for (; n > 0; n--) {
		if (from->end - from->at < 2)
			return false;
		*ret_tag = *from->at++;
		size = *from->at++;
		if (size & 0x80) {
			more = size & 0x7f;
			if (more > 4 || (size_t)(from->end - from->at) < more)
				return false;
			for (size = 0; more; more--)
				size = size << 8 | *from->at++;
		}
		if ((size_t)(from->end - from->at) < size)
			return false;
		*ret = (struct der){ from->at, from->at + size };
		from->at += size;
	}
	return true;
}

static bool enter(struct der *from, struct der *ret)
{
	unsigned char tag;

	return take(from, 1, &tag, ret) && tag == SEQUENCE;
}

/* YYMMDDhhmmssZ, of 1950 to 2049, or YYYYMMDDhhmmssZ: RFC 5280, 4.1.2.5. */
static uint64_t time_of(unsigned char tag, const struct der *v)
{
	char text[16] = "";
	struct tm tm = { 0 };
	size_t n = (size_t)(v->end - v->at), year = tag == UTC_TIME ? 2 : 4;
	const char *rest;
	time_t t;

	if ((tag != UTC_TIME && tag != GENERALIZED_TIME) || n != year + 11)
		return 0;
	memcpy(text, v->at, n);
	rest = strptime(text, year == 2 ? "%y%m%d%H%M%S" : "%Y%m%d%H%M%S", &tm);
	t = rest && !strcmp(rest, "Z") ? timegm(&tm) : -1;
	return t > 0 ? (uint64_t)t : 0;
}

/* Certificate { TBSCertificate { [version], serial, algorithm, issuer,
 *				   { notBefore, notAfter } } } */
static uint64_t not_after(struct der der)
{
	struct der certificate, body, part, validity;
	unsigned char tag;

	if (!enter(&der, &certificate) || !enter(&certificate, &body) ||
	    !take(&body, 1, &tag, &part))
		return 0;
	if (tag == VERSION_TAG && !take(&body, 1, &tag, &part))
		return 0;
	if (!take(&body, 2, &tag, &part) || !enter(&body, &validity) ||
	    !take(&validity, 2, &tag, &part))
		return 0;
	return time_of(tag, &part);
}

uint64_t expiry_of(const char *pem)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	const char *from = pem ? strstr(pem, begin) : NULL;
	const char *end = from ? strstr(from, "-----END") : NULL;
	_free_ char *text = NULL, *der = NULL;
	size_t size;

	if (!end)
		return 0;
	from += strlen(begin);
	text = strndup(from, (size_t)(end - from));
	der = text ? base64_decode(text, &size) : NULL;
	if (!der)
		return 0;
	return not_after((struct der){ (unsigned char *)der, (unsigned char *)der + size });
}

void expiry_text(const char *pem, uint64_t now, char *ret, size_t size)
{
	time_t ends = (time_t)expiry_of(pem);
	char day[16];
	struct tm tm;

	*ret = '\0';
	if (!ends || (uint64_t)ends >= now + WARN_S || !gmtime_r(&ends, &tm))
		return;
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	snprintf(
		ret, size,
		"the client certificate of pcidevfs-sync %s on %s; make another one with sync-credential",
		(uint64_t)ends > now ? "ends" : "ended", day);
}
