// SPDX-License-Identifier: GPL-2.0-or-later
/* Names, numbers and text from outside. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"
#include "test.h"

DEFINE_TEST(pci_addresses_have_one_spelling)
{
	static const char *const good[] = { "0000:00:00.0", "0000:08:00.4", "ffff:ff:1f.7",
					    "10000:e1:00.0", "fffffffe:00:00.0" };
	static const char *const bad[] = { "",
					   "0000:08:00",
					   "0000:08:00.8",
					   "0000:08:20.0",
					   "000:08:00.0",
					   "00000:08:00.0",
					   "0000:8:00.0",
					   "0000:08:00.0 ",
					   "0000:08:00.00",
					   "0000:0G:00.0",
					   "0000:0A:00.0",
					   "123456789:00:00.0",
					   "../../etc",
					   "0000:08:00.0/x",
					   "-000:08:00.0" };
	struct pci_addr a;
	struct key key;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK(pci_addr_parse(good[i], &a));
		CHECK(key_parse(good[i], &key));
		CHECK_STR(key.name, good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(!pci_addr_parse(bad[i], &a));
		CHECK(!key_parse(bad[i], &key));
	}
	CHECK(pci_addr_parse("10000:e1:1f.7", &a));
	CHECK_EQ(a.domain, 0x10000);
	CHECK_EQ(a.bus, 0xe1);
	CHECK_EQ(a.dev, 0x1f);
	CHECK_EQ(a.fn, 7);
}

DEFINE_TEST(ids_name_their_bus)
{
	char id[KEY_NAME + 8];
	struct key key;

	CHECK(key_parse("usb/2-1.4", &key));
	CHECK_EQ(key.bus, BUS_USB);
	CHECK_STR(key_id(&key, id), "usb/2-1.4");
	CHECK(key_parse("mdev/aaaaaaaa-0000-4000-8000-000000000001", &key));
	CHECK_EQ(key.bus, BUS_MDEV);
	CHECK(!key_parse("mdev/AAAAAAAA-0000-4000-8000-000000000001", &key));
	CHECK(!key_parse("usb/2", &key));
	CHECK(!key_parse("usb/2-", &key));
	CHECK(!key_parse("usb/2-1..4", &key));
	CHECK(!key_parse("usb/2-1-4", &key));
	CHECK(!key_parse("usb/../1", &key));
	CHECK(!key_parse("mdev/aaaaaaaa-0000-4000-8000-00000000000", &key));
}

DEFINE_TEST(numbers_are_parsed_whole)
{
	static const char *const no_factors[] = { "",	"x",   "2x",  "0.0009", "1001",
						  "-1", "nan", "inf", "1e9" };
	double factor = 7;
	uint64_t v = 77;
	bool b;

	CHECK_EQ(parse_u64("0x10de", 0xffff, &v), 0);
	CHECK_EQ(v, 0x10de);
	CHECK_EQ(parse_u64("18446744073709551615", UINT64_MAX, &v), 0);
	CHECK_EQ(parse_u64("18446744073709551616", UINT64_MAX, &v), -ERANGE);
	CHECK_EQ(parse_u64("8", 7, &v), -ERANGE);
	CHECK_EQ(parse_u64("", 7, &v), -EINVAL);
	CHECK_EQ(parse_u64("0x", 7, &v), -EINVAL);
	CHECK_EQ(parse_u64("-1", 7, &v), -EINVAL);
	CHECK_EQ(parse_u64(" 1", 7, &v), -EINVAL);
	CHECK_EQ(parse_u64("1 ", 7, &v), -EINVAL);
	CHECK_EQ(parse_bool("On", &b), 0);
	CHECK(b);
	CHECK_EQ(parse_bool("false", &b), 0);
	CHECK(!b);
	CHECK_EQ(parse_bool("", &b), -EINVAL);
	CHECK_EQ(parse_bool("2", &b), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(no_factors); i++)
		CHECK_EQ(parse_factor(no_factors[i], &factor), -EINVAL);
	CHECK(factor == 7);
	CHECK_EQ(parse_factor("0.05", &factor), 0);
	CHECK(factor == 0.05);
}

DEFINE_TEST(pauses_double_up_to_their_limit)
{
	unsigned int pause = 0;

	CHECK_EQ(back_off(&pause, 100, 700), 100);
	CHECK_EQ(back_off(&pause, 100, 700), 200);
	CHECK_EQ(back_off(&pause, 100, 700), 400);
	CHECK_EQ(back_off(&pause, 100, 700), 700);
	CHECK_EQ(back_off(&pause, 100, 700), 700);
	pause = 0;
	CHECK_EQ(back_off(&pause, 1, UINT_MAX), 1);
	pause = UINT_MAX / 2 + 1;
	CHECK_EQ(back_off(&pause, 1, UINT_MAX), UINT_MAX);
}

DEFINE_TEST(pairs_are_quoted_when_they_must_be)
{
	struct out o = { 0 };

	out_pair(&o, "a", "plain");
	out_pair(&o, "b", "two words");
	out_pair(&o, "c", "");
	out_pair(&o, "d", "q\"\\\n\x7f");
	CHECK_STR(out_text(&o), "a=plain b=\"two words\" c=\"\" d=\"q\\\"\\\\\\x0a\\x7f\"");
	out_free(&o);
	CHECK_STR(out_text(&o), "");
}

DEFINE_TEST(what_is_no_text_is_quoted)
{
	static const struct {
		const char *value, *told;
	} rows[] = {
		{ "caf\xc3\xa9", "caf\xc3\xa9" }, /* U+00E9 */
		{ "\xc2\xa0", "\xc2\xa0" },	  /* the first that is not for terminals alone */
		{ "\xc2\x9b"
		  "2J",
		  "\"\\xc2\\x9b2J\"" }, /* CSI */
		{ "\x9b", "\"\\x9b\"" },
		{ "\xc3", "\"\\xc3\"" },	  /* cut */
		{ "\xc0\xaf", "\"\\xc0\\xaf\"" }, /* longer than it need be */
		{ "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "\xe0\x80\xaf", "\"\\xe0\\x80\\xaf\"" },
		{ "\xe2\x82 ", "\"\\xe2\\x82 \"" },
		{ "\xed\xa0\x80", "\"\\xed\\xa0\\x80\"" }, /* a surrogate */
		{ "\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80" },
		{ "\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\"" }, /* beyond the last */
		{ "\xff", "\"\\xff\"" },
		{ "\xe2\x80\xae", "\"\\xe2\\x80\\xae\"" }, /* turns the text */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out o = { 0 };

		out_pair(&o, "k", rows[i].value);
		CHECK_STR(out_text(&o) + strlen("k="), rows[i].told);
		out_free(&o);
	}
}

DEFINE_TEST(text_grows_without_bound_of_format)
{
	struct out o = { 0 };
	char big[3000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		out_printf(&o, "%s%d", big, i % 10);
	CHECK_EQ(o.len, 300000);
	CHECK_EQ(o.data[299999], '9');
	CHECK(!o.failed);
	out_free(&o);
}

DEFINE_TEST(refusals_hold_no_control_characters)
{
	struct err err = { 0 };

	CHECK_EQ(fail(&err, EBUSY, "x\033[31m%s", "\n"), -EBUSY);
	CHECK_STR(err.text, "x?[31m?");
	CHECK_EQ(fail_wrap(&err, "claim"), -EBUSY);
	CHECK_STR(err.text, "claim: x?[31m?");
	CHECK_EQ(fail(NULL, EBUSY, "nobody asks"), -EBUSY);
	fail(&err, EBUSY, "held by q\302\233x%s", "\303");
	CHECK_STR(err.text, "held by q??x?");
	fail_wrap(&err, "\302\233%.1s", "\303\244"); /* a letter that is cut by its length */
	CHECK_STR(err.text, "???: held by q??x?");
	fail(&err, EIO, "the cause");
	fail(&err, EIO, "%s; and more", err.text);
	CHECK_STR(err.text, "the cause; and more");
	CHECK_STR(err_name(EOPNOTSUPP), "EOPNOTSUPP");
	CHECK_STR(err_name(0), "ok");
	CHECK_STR(err_name(99999), "EIO");
}

static void check_fit(const char *text, size_t size, const char *expected)
{
	char buf[256];

	STR_COPY(buf, text);
	str_fit(buf, size);
	CHECK_STR(buf, expected);
	CHECK(strlen(buf) < size);
}

/* Who it is about, and the way out, stand at the ends. */
DEFINE_TEST(a_sentence_that_is_too_long_loses_the_middle_of_a_name)
{
#define DIGITS "0123456789012345678901234567890123456789"
	check_fit("it is with nobody; wait", 24, "it is with nobody; wait");
	check_fit("it is with " DIGITS "; end that first", 60,
		  "it is with 012345678901234...67890123456789; end that first");
	/* The longer one first, and none to nothing for another's sake. */
	check_fit("by " DIGITS DIGITS " with " DIGITS ", so", 70,
		  "by 01234567890123456...34567890123456789 with 012345678...3456789, so");
	/* A letter is whole or gone. */
	check_fit("on /ääääääääää now", 25, "on /äää...äää now");
	/* Where there are no names, it ends early. */
	check_fit("a b c d e f g h i", 8, "a b c d");
	check_fit("a b c d \303\244 f g h i", 10, "a b c d ");
}

DEFINE_TEST(a_refusal_keeps_its_way_out)
{
	char name[ERR_TEXT];
	struct err err = { 0 };

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	fail(&err, EBUSY, "it is with %s; end that first", name);
	CHECK_EQ(strlen(err.text), ERR_TEXT - 1);
	CHECK_IN(err.text, "n...n");
	CHECK_IN(err.text, "n; end that first");
	fail_wrap(&err, "0000:01:00.0");
	CHECK_IN(err.text, "0000:01:00.0: it is with n");
	CHECK_IN(err.text, "n; end that first");
}

/* As Prometheus reads it: only quotes and backslashes are escaped, and nothing ends a line. */
DEFINE_TEST(text_label_is_quoted_for_prometheus)
{
	static const char *const rows[][2] = {
		{ "alice", "l=\"alice\"" },
		{ "Windows 11", "l=\"Windows 11\"" },
		{ "a\"} 1\nb", "l=\"a\\\"} 1?b\"" },
		{ "c:\\d", "l=\"c:\\\\d\"" },
		{ "gr\303\266\303\237e\377", "l=\"gr\303\266\303\237e?\"" },
		{ "", "l=\"\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out o = { 0 };

		out_label(&o, "l", rows[i][0]);
		CHECK_STR(out_text(&o), rows[i][1]);
		out_free(&o);
	}
}

DEFINE_TEST(a_copy_that_is_cut_holds_no_part_of_a_letter)
{
	static const char *const rows[][2] = {
		{ "abcdefgh", "abcde" },
		{ "abcd\303\244", "abcd" },
		{ "abc\342\202\254", "abc" },
		{ "ab\360\237\232\200", "ab" },
		{ "a\360\237\232\200x", "a\360\237\232\200" },
		{ "\200\200\200\200\200\200\200", "\200\200\200\200\200" }, /* no letters at all */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[6];

		CHECK(!STR_COPY(text, rows[i][0]));
		CHECK_STR(text, rows[i][1]);
	}
}

DEFINE_TEST(text_clean_is_fit_for_a_terminal)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "Gr\303\266\303\237e \"3\"", "Gr\303\266\303\237e \"3\"" },
		{ "\033[31m\177\n", "?[31m??" },
		{ "\302\205\303", "???" },
		{ "a\342\200\256b\342\201\246c\357\273\277", "a???b???c???" },
		{ "q\302\233x", "q??x" },			  /* U+009B, CSI */
		{ "a\302\255b\330\234c", "a??b??c" },	  /* U+00AD, U+061C */
		{ "\363\240\200\201\363\240\201\237x", "????????x" }, /* U+E0001, U+E005F */
		{ "\357\277\276\357\277\277", "??????" },	  /* U+FFFE, U+FFFF */
		{ "\357\277\275\302\240\364\217\277\277", "\357\277\275\302\240\364\217\277\277" },
		{ "\342\200", "??" },
		{ "\346\274\242\345\255\227", "\346\274\242\345\255\227" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[32];

		STR_COPY(text, rows[i][0]);
		str_clean(text);
		CHECK_STR(text, rows[i][1]);
	}
}

DEFINE_TEST(text_for_all_names_no_holder)
{
	static const char *const rows[][2] = {
		{ "0000:05:02.0 is held by qemu (pid 7); stop it and write again",
		  "0000:05:02.0 is held by a process, see holders; stop it and write again" },
		{ "perhaps held by a (pid 1) (pid 81234), whose", "perhaps held by a process, see holders, whose" },
		{ "it is held by x (pid 1) and held by y (pid 2)",
		  "it is held by a process, see holders and held by a process, see holders" },
		{ "held by a process, see holders", "held by a process, see holders" },
		{ "held by nobody of 15 letters or so (pid 3)", "held by nobody of 15 letters or so (pid 3)" },
		{ "claimed by alice", "claimed by alice" },
		{ "held by ", "held by " },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out o = { 0 };

		out_for_all(&o, rows[i][0]);
		CHECK_STR(out_text(&o), rows[i][1]);
		out_free(&o);
	}
}
