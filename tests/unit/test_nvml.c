// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs-nvml as helpers run it, with the fake library (tests/nvml) below a root of its own. */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/gpu/nvml_ask.h"
#include "backend/internal.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"

#define GPU "0000:08:00.0"
#define CARDS "driver/usr/lib64/cards/"

static void check_text(const char *text, int len, int number)
{
	int n = -1, got = nvml_check(text, strlen(text), &n);

	if (got != len || (len >= 0 && n != number))
		FAIL("\"%s\": %d, number %d", text, got, n);
}

DEFINE_TEST(nvml_answers_end_with_their_number)
{
	check_text("end 0\n", 0, 0);
	check_text("mode 0 0\nname A\tB\nend 19\n", 18, 19);
	check_text("", -EBADMSG, 0);
	check_text("end 0", -EBADMSG, 0);
	check_text("mode 0 0\n", -EBADMSG, 0);
	check_text("end 0\nmode 0 0\n", -EBADMSG, 0);
	check_text("send 0\n", -EBADMSG, 0);
	check_text("end \n", -EBADMSG, 0);
	check_text("end:0\n", -EBADMSG, 0);
	check_text("end 0 \n", -EBADMSG, 0);
	check_text("end -1\n", -EBADMSG, 0);
	check_text("end 99999999999\n", -EBADMSG, 0);
	check_text("end 000000000000000000000000000000000\n", -EBADMSG, 0);
	check_text("mode\x1b[2J\nend 0\n", -EBADMSG, 0);
	check_text("vm 1 9 \xc3\xa4\nend 0\n", 10, 0);
	check_text("vm 1 9 \xc3\nend 0\n", -EBADMSG, 0);
	check_text("vm 1 9 \xe2\x80\xae\nend 0\n", -EBADMSG, 0);
	CHECK_EQ(nvml_check("a\0b\nend 0\n", 10, &(int){ 0 }), -EBADMSG);
}

static void card(const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), "name NVIDIA H100\nmig 0 0\n%s\n", more);
	test_file(CARDS GPU, text);
	test_file(CARDS "all", "driver 580.159.04\nlibrary 13.580.159.04\n");
}

static struct backend *start(void)
{
	static struct backend b;
	static char driver[512], own[PATH_MAX], library[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (geteuid() || confine_lacks(CAP(SETUID) | CAP(SETGID) | CAP(SYS_ADMIN)))
		SKIP("this needs capabilities");
	CHECK(n > 0);
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	umask(022);
	/* The fake library reads its cards as nobody. */
	CHECK(!chdir(test_dir()) && !chmod(".", 0755));
	card("");
	snprintf(library, sizeof(library), "cp %s/../tests/libnvidia-ml.so.1 driver/usr/lib64/",
		 own);
	CHECK_EQ(system(library), 0);
	snprintf(driver, sizeof(driver), "%s/driver", test_dir());
	b.roots = (struct roots){ test_dir(), test_dir(), test_dir(), driver };
	CHECK_EQ(backend_open_spawner(&b.roots, &b.roots.spawner, NULL), 0);
	CHECK_EQ(io_new(&b.roots, &b.io, NULL), 0);
	return &b;
}

static void check_ask(struct backend *b, const char *request, int code, const char *text)
{
	struct out answer = { 0 };
	struct err err = { 0 };
	struct step step = { 0 };
	uint64_t since = now_ms();
	int rc = nvml_ask(b, &step, code == ETIMEDOUT ? 1000 : 20000, request, &answer, &err);

	if (rc != -code || !strstr(code ? err.text : out_text(&answer), text))
		FAIL("%s: %s \"%s\" \"%s\", should be %s \"%s\"", request, err_name(-rc), err.text,
		     out_text(&answer), err_name(code), text);
	CHECK(!step.late);
	CHECK(code != ETIMEDOUT || now_ms() - since < 10000);
	out_free(&answer);
}

DEFINE_TEST(nvml_is_asked_and_set)
{
	struct backend *b = start();

	check_ask(b, "card " GPU, 0, "\nmode 0 0\n");
	check_ask(b, "card " GPU, 0, "library 13.580.159.04\n");
	check_ask(b, "set-mig-mode " GPU " 1", 0, "activation 0\nmode 1 1\n");
	check_ask(b, "card " GPU, 0, "\nmode 1 1\n");
	check_ask(b, "card 0000:09:00.0", ENODEV, "0000:09:00.0: the driver has no such card");
	/* Wrong words reach the program as words. */
	check_ask(b, "frob", EIO,
		  "ended with status 2: pcidevfs-nvml: what is asked is no request");
	check_ask(b, "--help", EIO, "ended with status 2");
	check_ask(b, "card 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", EIO, "status 2");
	io_free(b->io);
}

DEFINE_TEST(nvml_that_fails_reaches_nobody)
{
	struct backend *b = start();

	card("fault nvmlDeviceGetMigMode hang");
	check_ask(b, "card " GPU, ETIMEDOUT,
		  "pcidevfs-nvml card " GPU " did not end within 1000 ms and was killed");
	card("fault nvmlDeviceGetMigMode crash");
	check_ask(b, "card " GPU, EIO, "was killed by signal ");
	card("fault nvmlDeviceGetMigMode flood");
	check_ask(b, "card " GPU, EIO, "answered with more than 65536 bytes and was ended");
	card("fault nvmlDeviceGetMigMode 16");
	check_ask(b, "card " GPU, EBUSY, GPU ": MIG: the card must be reset first");
	card("fault nvmlDeviceGetMigMode 10"); /* ETIMEDOUT would say that the program was killed */
	check_ask(b, "card " GPU, EIO, "the card did not answer in time");
	card("");
	check_ask(b, "card " GPU, 0, "\nmode 0 0\n");
	CHECK_EQ(rename("driver/usr/lib64/libnvidia-ml.so.1", "driver/away"), 0);
	check_ask(b, "card " GPU, EOPNOTSUPP, "/driver has no libnvidia-ml.so.1: install");
	CHECK_EQ(rename("driver", "gone"), 0);
	check_ask(b, "card " GPU, EOPNOTSUPP, "/driver cannot be opened: No such file");
	io_free(b->io);
}
