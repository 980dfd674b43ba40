// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of a client of the tree. */
#include <errno.h>
#include <getopt.h>

#include "client/start.h"
#include "test.h"

static const char *dir, *flag;
static const struct option_row rows[] = { { "dir", "DIR", "a place", &dir },
					  { "flag", NULL, "a word", &flag },
					  { 0 } };

static int parse(char *first, char *second)
{
	char program[] = "client", *argv[] = { program, first, second, NULL };

	optind = 0; /* anew */
	dir = flag = NULL;
	return client_options(first ? second ? 3 : 2 : 1, argv, "Does nothing.", rows);
}

DEFINE_TEST(client_options_are_rows)
{
	char d[] = "--dir", joined[] = "--dir=/x", f[] = "--flag", value[] = "/y";

	CHECK_EQ(parse(NULL, NULL), 0);
	CHECK(!dir && !flag);
	CHECK_EQ(parse(joined, f), 0);
	CHECK_STR(dir, "/x");
	CHECK_STR(flag, "");
	CHECK_EQ(parse(d, value), 0);
	CHECK_STR(dir, "/y");
	CHECK(!flag);
}

DEFINE_TEST(client_options_that_are_none_are_refused)
{
	char unknown[] = "--none", word[] = "word", d[] = "--dir", f[] = "--flag=1";

	CHECK_EQ(parse(unknown, NULL), -EINVAL);
	CHECK_EQ(parse(word, NULL), -EINVAL);
	CHECK_EQ(parse(d, NULL), -EINVAL);
	CHECK_EQ(parse(f, NULL), -EINVAL);
}
