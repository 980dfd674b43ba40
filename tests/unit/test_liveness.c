// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices that stop answering, and answer again. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/pci/liveness.h"
#include "fakepci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"

#define NIC "0000:05:02.0"

/* A letter for each round: 'a' answers, 'f' reads ff, 'l' the kernel waits, '-' unknown. The report
 * after each: '.' good, or the fault. */
static void follow(struct liveness_row *row, const char *looks, const char *told)
{
	static const char signs[] = { [LIVENESS_GOOD] = 'a',
				      [LIVENESS_ONES] = 'f',
				      [LIVENESS_LATE] = 'l',
				      [LIVENESS_UNKNOWN] = '-' };
	char got[128] = "";

	CHECK(strlen(looks) < sizeof(got));
	for (size_t i = 0; looks[i]; i++) {
		row->saw = (enum liveness)((const char *)memchr(signs, looks[i], sizeof(signs)) -
					   signs);
		row->was = liveness_step(row);
		got[i] = row->was == LIVENESS_GOOD ? '.' : signs[row->was];
	}
	CHECK_STR(got, told);
}

DEFINE_TEST(liveness_is_told_once_it_lasts)
{
	static const struct {
		const char *looks, *told;
	} rows[] = {
		{ "aaaa", "...." },
		{ "fafafa", "......" }, /* one look is none */
		{ "affff", "..fff" },
		{ "ffaaaa", ".fff.." },
		{ "ffaafaaa", ".ffffff." }, /* three in a row */
		{ "f-f", "..f" },
		{ "ff--a-aa", ".ffffff." }, /* asleep, or an operation ran: as before */
		{ "lllla", "....." },	    /* a reset may take so long */
		{ "llllllaaa", "....llll." },
		{ "flaaa", "....." },
		{ "lfaaa", "....." }, /* each sort counts for itself */
		{ "lffaaa", "..fff." },
		{ "ffllllaaa", ".fffffff." }, /* as it was told first */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct liveness_row row = { .need = 3 };

		follow(&row, rows[i].looks, rows[i].told);
	}
}

/* Looks until one that failed is well again. */
static int recovery(struct liveness_row *row)
{
	int n = 0;

	follow(row, "ff", ".f");
	for (row->saw = LIVENESS_GOOD; row->was != LIVENESS_GOOD; n++)
		row->was = liveness_step(row);
	return n;
}

DEFINE_TEST(liveness_that_flaps_is_damped)
{
	struct liveness_row row = { .need = 3 };

	CHECK_EQ(recovery(&row), 3);
	CHECK_EQ(recovery(&row), 6);
	CHECK_EQ(recovery(&row), 12);
	for (int i = 0; i < 5; i++)
		recovery(&row);
	CHECK_EQ(recovery(&row), 48);
	for (int i = 0; i < 149; i++)
		follow(&row, "a", ".");
	CHECK_EQ(recovery(&row), 48);
	for (int i = 0; i < 150; i++)
		follow(&row, "a", ".");
	CHECK_EQ(recovery(&row), 3);
}

static void put_config(const char *address, uint32_t ids, uint32_t command)
{
	const uint32_t words[] = { ids, command };
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/config", test_dir(), address);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(write(fd, words, sizeof(words)), sizeof(words));
	close(fd);
}

static void scan(const char *words, const char *letters)
{
	struct roots roots = fake_roots();
	struct out o = { 0 };
	char text[256], asked[256], *save, *asked_save = NULL;
	size_t n = 0;
	struct sysfs s;

	CHECK(STR_COPY(text, words) && STR_COPY(asked, words));
	CHECK_EQ(sysfs_open(&s, roots.sysfs, roots.dev, roots.proc, NULL), 0);
	CHECK_EQ(tell_each(&s, text, liveness_tell, &o), 0);
	save = NULL;
	for (char *line = strtok_r((char *)out_text(&o), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *word = strtok_r(n ? NULL : asked, " ", &asked_save);

		CHECK(word != NULL);
		word += *word == '!';
		CHECK(!strncmp(line, word, strlen(word)) && line[strlen(word)] == ' ');
		CHECK_EQ(line[strlen(word) + 1], letters[n++]);
	}
	CHECK_EQ(letters[n], '\0');
	out_free(&o);
	sysfs_close(&s);
}

DEFINE_TEST(liveness_is_read_without_waking)
{
	fake_machine();
	fake_add(&(struct fake){ NIC, "0x8086\n", "0x10c9\n", "0x020000\n", "vfio-pci", 5 });
	scan(NIC, "-"); /* no config space to be had */
	put_config(NIC, 0x10c98086, 0x00100007);
	scan(NIC " 0000:99:00.0 !" NIC, "a-a");
	scan("usb/2-1 " NIC " !usb/2-1 " NIC, "-a-a"); /* those of another bus have none */
	put_config(NIC, UINT32_MAX, 0x00100007); /* a VF's ids are its PF's */
	scan(NIC, "a");
	put_config(NIC, UINT32_MAX, UINT32_MAX);
	scan(NIC, "f");
	fake_attr(NIC, "power_state", "D3hot\n");
	scan(NIC, "f");
	fake_attr(NIC, "power_state", "D3cold\n");
	scan(NIC " !" NIC, "-f");
	fake_attr(NIC, "power_state", "D0\n");
	fake_attr("", "power_state", "D3hot\n"); /* the bridge above */
	scan(NIC " !" NIC, "-f");
}
