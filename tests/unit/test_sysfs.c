// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

static struct sysfs open_own(void)
{
	struct sysfs s;
	struct err err = { 0 };

	if (sysfs_open(&s, test_dir(), test_dir(), test_dir(), &err))
		FAIL("%s", err.text);
	return s;
}

static void bytes(const char *name, const void *data, size_t size)
{
	FILE *f;

	CHECK(!chdir(test_dir()));
	f = fopen(name, "w");
	CHECK(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

DEFINE_TEST(sysfs_reads_what_is_there)
{
	struct sysfs s = open_own();
	char value[16];

	test_file("a/vendor", "0x10de\n");
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "%s/vendor", "a"), 6);
	CHECK_STR(value, "0x10de");
	test_file("a/empty", "");
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "a/empty"), 0);
	CHECK_STR(value, "");
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "a/none"), -ENOENT);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "a"), -EISDIR);
	CHECK(sysfs_exists(&s, ROOT_SYS, "a/vendor"));
	CHECK(!sysfs_exists(&s, ROOT_SYS, "a/none"));
	sysfs_close(&s);
}

DEFINE_TEST(sysfs_bounds_what_it_reads)
{
	struct sysfs s = open_own();
	char value[16];
	size_t size = 10 << 20;
	char *big = malloc(size);

	CHECK(big);
	memset(big, 'x', size);
	bytes("big", big, size);
	free(big);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "big"), -EFBIG);
	bytes("fits", "123456789012345", 15);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "fits"), 15);
	bytes("full", "1234567890123456", 16);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "full"), -EFBIG);
	bytes("nul", "ab\0cd\n", 6);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "nul"), 2);
	CHECK_STR(value, "ab");
	bytes("rubbish", "\xff\x01\n\n", 4);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "rubbish"), 2);
	CHECK_STR(value, "\xff\x01");
	sysfs_close(&s);
}

DEFINE_TEST(sysfs_refuses_ways_out)
{
	static const char *const bad[] = { "",	   "/etc/passwd", "..",	    "../x",
					   "a/..", "a/../../x",	  "a//../b" };
	struct sysfs s = open_own();
	char value[16];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "%s", bad[i]), -EINVAL);
		CHECK_EQ(sysfs_write(&s, ROOT_SYS, "x", "%s", bad[i]), -EINVAL);
		CHECK(!sysfs_exists(&s, ROOT_SYS, "%s", bad[i]));
		CHECK(!sysfs_dir(&s, ROOT_SYS, "%s", bad[i]));
		CHECK_EQ(errno, EINVAL);
	}
	test_file("a/..b", "1\n");
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "a/..b"), 1);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "%5000d", 1), -ENAMETOOLONG);
	sysfs_close(&s);
}

DEFINE_TEST(sysfs_numbers_are_strict)
{
	static const struct {
		const char *text;
		int rc;
		int64_t value;
	} rows[] = {
		{ "0x8086\n", 0, 0x8086 },
		{ "-1\n", 0, -1 },
		{ "64\n", 0, 64 },
		{ "010\n", 0, 10 },
		{ "70000\n", -ERANGE, 0 },
		{ "-2\n", -ERANGE, 0 },
		{ "\n", -EINVAL, 0 },
		{ "-\n", -EINVAL, 0 },
		{ "12 \n", -EINVAL, 0 },
		{ "--1\n", -EINVAL, 0 },
		{ "\xff\xfe\n", -EINVAL, 0 },
		{ "1\n2\n", -EINVAL, 0 },
	};
	struct sysfs s = open_own();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t n = 7;

		test_file("n", rows[i].text);
		if (sysfs_number(&s, ROOT_SYS, -1, 0xffff, &n, "n") != rows[i].rc)
			FAIL("%s: not %d", rows[i].text, rows[i].rc);
		CHECK_EQ(n, rows[i].rc ? 7 : rows[i].value);
	}
	sysfs_close(&s);
}

DEFINE_TEST(sysfs_links_and_writes)
{
	struct sysfs s = open_own();
	char name[8], value[32];

	CHECK(!chdir(test_dir()));
	CHECK(!symlink("../../bus/pci/drivers/nvme", "driver"));
	CHECK(!symlink("bus/averylongname", "long"));
	test_file("file", "before and longer\n");
	CHECK_EQ(sysfs_link(&s, ROOT_SYS, name, sizeof(name), "driver"), 0);
	CHECK_STR(name, "nvme");
	CHECK_EQ(sysfs_link(&s, ROOT_SYS, name, sizeof(name), "long"), -ENAMETOOLONG);
	CHECK_EQ(sysfs_link(&s, ROOT_SYS, name, sizeof(name), "file"), -ENOENT);
	CHECK_EQ(sysfs_link(&s, ROOT_SYS, name, sizeof(name), "none"), -ENOENT);
	CHECK_EQ(sysfs_write(&s, ROOT_SYS, "after", "file"), 0);
	CHECK_EQ(sysfs_read(&s, ROOT_SYS, value, sizeof(value), "file"), 17);
	CHECK_STR(value, "aftere and longer");
	CHECK_EQ(sysfs_write(&s, ROOT_SYS, "x", "new"), -ENOENT);
	CHECK(access("new", F_OK));
	sysfs_close(&s);
}

DEFINE_TEST(sysfs_names_the_root_that_is_missing)
{
	struct err err = { 0 };
	struct sysfs s;

	CHECK_EQ(sysfs_open(&s, "/nonexistent/tree", NULL, NULL, &err), -ENOENT);
	CHECK_IN(err.text, "/nonexistent/tree");
}
