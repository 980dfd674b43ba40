// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

DEFINE_TEST(harness_own_dir)
{
	char path[4096];
	struct stat st;

	test_file("a/b/c", "text\n");
	snprintf(path, sizeof(path), "%s/a/b/c", test_dir());
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_size, 5);
	CHECK_IN(path, "/unit.");
	CHECK_STR(NULL, NULL);
}
