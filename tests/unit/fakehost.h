/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host of plain files in the test's own directory: sys/, dev/ and proc/. */
#ifndef PCIDEVFS_TEST_FAKEHOST_H
#define PCIDEVFS_TEST_FAKEHOST_H

struct out;
struct sysfs;

/* Makes a file or a link at a printf-like path, with its directories. */
__attribute__((format(printf, 2, 3))) void host_file(const char *text, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void host_link(const char *target, const char *fmt, ...);
/* Makes a device of a class; where is below sys/devices. */
void host_class(const char *class, const char *where, const char *name);
/* Mounts a file system there that does not answer until the returned descriptor is closed; skips
 * the test if that is impossible. */
int host_hang(const char *dir);
void host_open(struct sysfs *s);

/* critical_scan() on this host. */
int host_critical(const char *only, struct out *o);
/* Likewise, with the lines of the causes. */
int host_critical_causes(const char *only, struct out *o);
void host_expect_critical(const char *only, const char *mounts, const char *lines, const char *file,
			  int line);
void host_expect_causes(const char *mounts, const char *lines, const char *file, int line);

/* Expects these lines with this mount table; for all functions, or only these. */
#define EXPECT_CRITICAL(mounts, lines) host_expect_critical(NULL, mounts, lines, __FILE__, __LINE__)
#define EXPECT_ONLY(only, mounts, lines)                                                           \
	host_expect_critical(only, mounts, lines, __FILE__, __LINE__)
/* Expects all lines of all functions, also those of the causes. */
#define EXPECT_CAUSES(mounts, lines) host_expect_causes(mounts, lines, __FILE__, __LINE__)

#endif
