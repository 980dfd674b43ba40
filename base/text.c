// SPDX-License-Identifier: GPL-2.0-or-later
/* Text: that grows (out_), that is clean, that fits (str_). */
#include "pcidevfs/util.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

/* Room for len more bytes and the NUL. */
static bool out_room(struct out *o, size_t len)
{
	size_t cap = o->cap ? o->cap : 256;
	char *data;

	if (o->failed || len > SIZE_MAX / 2 - o->len) {
		o->failed = true;
		return false;
	}
	while (cap < o->len + len + 1)
		cap *= 2;
	if (cap == o->cap)
		return true;
	data = realloc(o->data, cap);
	if (!data) {
		o->failed = true;
		return false;
	}
	o->data = data;
	o->cap = cap;
	return true;
}

void out_put(struct out *o, const char *text, size_t len)
{
	if (!out_room(o, len))
		return;
	memcpy(o->data + o->len, text, len);
	o->len += len;
	o->data[o->len] = '\0';
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	if (!out_room(o, 64))
		return;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(o->data + o->len, o->cap - o->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		o->failed = true;
	} else if ((size_t)n < o->cap - o->len) {
		o->len += (size_t)n;
	} else if (out_room(o, (size_t)n)) {
		vsnprintf(o->data + o->len, o->cap - o->len, fmt, again);
		o->len += (size_t)n;
	}
	va_end(again);
	if (o->data)
		o->data[o->len] = '\0';
}

/* Characters of which nothing is seen, or that turn or cut the text around them: what Unicode calls
 * default ignorable, the ends of lines and paragraphs, notes between lines, and what is not a
 * character. */
static bool is_unseen(const unsigned char *p, size_t len)
{
	static const uint32_t ranges[][2] = {
		{ 0xad, 0xad },	      { 0x34f, 0x34f },	      { 0x61c, 0x61c },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },     { 0x180b, 0x180f },
		{ 0x200b, 0x200f },   { 0x2028, 0x202f },     { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },     { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },     { 0xfffe, 0xffff },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },   { 0xe0000, 0xe0fff },
	};
	uint32_t c = *p & (0x7f >> len);
	size_t i = 0;

	while (--len)
		c = c << 6 | (*++p & 0x3f);
	while (i < ARRAY_SIZE(ranges) && c > ranges[i][1])
		i++;
	return i < ARRAY_SIZE(ranges) && c >= ranges[i][0];
}

/* The length of a UTF-8 character; 0: invalid, a control character (below U+00A0), or unseen. */
static size_t char_len(const char *at)
{
	static const struct {
		/* limits of the first byte, then of the second */
		unsigned char first, last, min, max;
		size_t len;
	} rows[] = {
		{ 0xc2, 0xc2, 0xa0, 0xbf, 2 }, { 0xc3, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	const unsigned char *p = (const unsigned char *)at;
	size_t row = 0, len = 1;

	if (*p < 0x80)
		return *p >= ' ' && *p != 0x7f;
	while (row < ARRAY_SIZE(rows) && *p > rows[row].last)
		row++;
	if (row == ARRAY_SIZE(rows) || *p < rows[row].first || p[1] < rows[row].min ||
	    p[1] > rows[row].max)
		return 0;
	while (++len < rows[row].len)
		if ((p[len] & 0xc0) != 0x80)
			return 0;
	return is_unseen(p, len) ? 0 : len;
}

/* How much of the text needs no escape. */
static size_t quotable(const char *text, size_t size)
{
	size_t at = 0, len;

	while (at < size && text[at] != '"' && text[at] != '\\' && (len = char_len(text + at)))
		at += len;
	return at < size ? at : size;
}

/* hex: what is not clean as \xHH, else as ?. */
static void put_quoted(struct out *o, const char *value, size_t size, bool hex)
{
	const char *end = value + size;

	out_put(o, "=\"", 2);
	for (size_t len; value < end; value += len) {
		len = quotable(value, (size_t)(end - value));
		out_put(o, value, len);
		if (len)
			continue;
		len = 1;
		if (*value == '"' || *value == '\\')
			out_printf(o, "\\%c", *value);
		else if (hex)
			out_printf(o, "\\x%02x", (unsigned char)*value);
		else
			out_put(o, "?", 1);
	}
	out_put(o, "\"", 1);
}

void out_label(struct out *o, const char *name, const char *value)
{
	out_put(o, name, strlen(name));
	put_quoted(o, value, strlen(value), false);
}

size_t str_clean_len(const char *text, size_t size)
{
	size_t at = 0, len;

	while (at < size && (len = char_len(text + at)))
		at += len;
	return at;
}

/* Most texts are; and the compiler makes one loop of it without branches. */
static bool is_printable_ascii(const char *text)
{
	size_t n = strlen(text);
	unsigned int others = 0;

	for (size_t i = 0; i < n; i++)
		others += (unsigned char)(text[i] - ' ') > '~' - ' ';
	return !others;
}

void str_clean(char *text)
{
	if (is_printable_ascii(text))
		return;
	while (*(text += str_clean_len(text, SIZE_MAX)))
		*text = '?';
}

void out_pair(struct out *o, const char *key, const char *value)
{
	out_pair_bytes(o, key, value, strlen(value));
}

/* Most of what the daemon prints are pairs: without printf(), which takes ten times as long. */
void out_pair_bytes(struct out *o, const char *key, const char *value, size_t size)
{
	if (o->len && o->data[o->len - 1] != '\n')
		out_put(o, " ", 1);
	out_put(o, key, strlen(key));
	if (!size || quotable(value, size) < size || memchr(value, ' ', size)) {
		put_quoted(o, value, size, true);
		return;
	}
	out_put(o, "=", 1);
	out_put(o, value, size);
}

void out_time(struct out *o, const char *key, uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	out_printf(o, "%s=%s.%03uZ", key, text, (unsigned int)(real_ns / 1000000 % 1000));
}

const char *out_text(const struct out *o)
{
	return o->data ? o->data : "";
}

void out_free(struct out *o)
{
	free(o->data);
	*o = (struct out){ 0 };
}

static bool is_amid_letter(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* At most n bytes of a longer text: a letter is whole or gone. What is no UTF-8 is cut anywhere. */
static size_t whole(const char *text, size_t n)
{
	size_t less = n;

	while (less && n - less < 3 && is_amid_letter(text[less]))
		less--;
	return is_amid_letter(text[less]) ? n : less;
}

bool str_copy(char *dst, size_t size, const char *src)
{
	size_t n = strnlen(src, size);
	bool fits = n < size;

	if (!size)
		return false;
	if (!fits)
		n = whole(src, size - 1);
	memmove(dst, src, n);
	dst[n] = '\0';
	return fits;
}

/* Finds the first word of the greatest length; returns the length. */
static size_t longest_word(char *text, char **ret)
{
	size_t longest = 0;

	for (char *p = text; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n > longest) {
			longest = n;
			*ret = p;
		}
		p += n;
	}
	return longest;
}

/* Shortens a word to about `keep` bytes, dots included. */
static void cut_word(char *word, size_t n, size_t keep)
{
	size_t head = (keep - 2) / 2, tail = (keep - 3) / 2;

	while (head && is_amid_letter(word[head]))
		head--;
	while (tail && is_amid_letter(word[n - tail]))
		tail--;
	memset(word + head, '.', 3);
	memmove(word + head + 3, word + n - tail, strlen(word + n - tail) + 1);
}

#define WORD_LEAST 16 /* shorter words stay as they are */

void str_fit(char *text, size_t size)
{
	size_t len, n;
	char *word;

	while ((len = strlen(text)) >= size) {
		size_t over = len - size + 1;

		n = longest_word(text, &word);
		if (n < WORD_LEAST) {
			text[whole(text, size - 1)] = '\0';
			return;
		}
		/* At most half of it at once, so that other words take their share. */
		cut_word(word, n, n > 2 * over ? n - over : n / 2);
	}
}
