/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A test is a row and its body:
 *
 *	DEFINE_TEST(claim_value_is_bounded)
 *	{
 *		CHECK_EQ(claim_parse("a b", &err), -EINVAL);
 *	}
 *
 * Each test runs in a process of its own with a time limit. A failed check prints where it stands
 * and both values, and ends the test; so does SKIP, which gives the reason.
 */
#ifndef PCIDEVFS_TEST_H
#define PCIDEVFS_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*run)(void);
	unsigned int seconds; /* time limit */
	struct test *next;
};

/* Called by each row before main(). Keeps @test, which must be static. */
void test_register(struct test *test);

/* It ends what hangs and times nothing: sanitizers on a busy machine take a hundred times as long. */
#define DEFINE_TEST(fn) DEFINE_SLOW_TEST(fn, 240)

#define DEFINE_SLOW_TEST(fn, limit)                                                                \
	static void fn(void);                                                                      \
	static void __attribute__((constructor)) register_##fn(void)                               \
	{                                                                                          \
		static struct test row = { .name = #fn, .run = fn, .seconds = limit };             \
		test_register(&row);                                                               \
	}                                                                                          \
	static void fn(void)

/* The test's own directory, empty at its start and removed after it. */
const char *test_dir(void);

/* Writes @text to @path (below test_dir() unless absolute), making the directories it needs. */
void test_file(const char *path, const char *text);

void test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void test_skip(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

void test_check_eq(const char *file, int line, const char *what, intmax_t got, intmax_t want);
void test_check_str(const char *file, int line, const char *what, const char *got,
		    const char *want);
void test_check_in(const char *file, int line, const char *what, const char *got, const char *part);

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			test_fail(__FILE__, __LINE__, "%s does not hold", #cond);                  \
	} while (0)

/* Two integers of any type. */
#define CHECK_EQ(got, want) test_check_eq(__FILE__, __LINE__, #got, (got), (want))

/* Two strings; either may be NULL, which equals only NULL. */
#define CHECK_STR(got, want) test_check_str(__FILE__, __LINE__, #got, (got), (want))

/* The string @got contains @part. */
#define CHECK_IN(got, part) test_check_in(__FILE__, __LINE__, #got, (got), (part))

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) test_skip(__VA_ARGS__)

#endif
