// SPDX-License-Identifier: GPL-2.0-or-later
/* What a written text becomes: a request, or a sentence. */
#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "fs/request.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

static const struct device a_function = {
	.key = { BUS_PCI, "0000:02:00.0" },
	.caps = CAP_PCI | CAP_IDS | CAP_CLAIM | CAP_NAMED | CAP_SRIOV | CAP_GROUP,
	.kind = KIND_SRIOV,
	.state = STATE_FREE,
};

static int text_of(const char *buf, size_t size, char *text)
{
	return request_text("claim", buf, size, text, NULL);
}

DEFINE_TEST(write_text_is_one_line)
{
	char text[WRITE_MAX + 1], big[WRITE_MAX + 1];
	struct err err = { 0 };

	CHECK_EQ(text_of("alice\n", 6, text), 0);
	CHECK_STR(text, "alice");
	CHECK_EQ(text_of("alice", 5, text), 0);
	CHECK_STR(text, "alice");
	CHECK_EQ(text_of("\n", 1, text), 0);
	CHECK_STR(text, "");
	CHECK_EQ(text_of("a\n\n", 3, text), -EINVAL);
	CHECK_EQ(text_of("a\nb\n", 4, text), -EINVAL);
	CHECK_EQ(request_text("claim", "a\nb", 3, text, &err), -EINVAL);
	CHECK_STR(err.text, "claim: one line at a time");
	CHECK_EQ(text_of("a\0b", 3, text), -EINVAL);
	CHECK_EQ(text_of("a\tb", 3, text), -EINVAL);
	memset(big, 'x', sizeof(big));
	CHECK_EQ(text_of(big, WRITE_MAX, text), 0);
	CHECK_EQ(text_of(big, WRITE_MAX + 1, text), -E2BIG);
}

static int claim(const char *text, struct request *request, struct err *err)
{
	struct device dev = a_function;
	struct subject s = { .dev = &dev };

	*request = (struct request){ 0 };
	*err = (struct err){ 0 };
	return request_parse(&s, attr_by_name(OBJ_DEVICE, "claim"), text, request, err);
}

static int value_store(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	STR_COPY(ret->value, text);
	return text[0] ? 0 : fail(err, EINVAL, "level: nothing was written");
}

/* What a store does not say of its request cannot be wrong. */
DEFINE_TEST(a_store_gives_the_value_and_its_row_the_rest)
{
	const struct attr level = { .name = "level", .store = value_store };
	const struct attr aside = { .name = "query", .flags = ATTR_ASIDE, .store = value_store };
	struct device dev = a_function;
	struct subject s = { .dev = &dev };
	struct request request = { .file = "former" };
	struct err err = { 0 };

	CHECK_EQ(request_parse(&s, &level, "", &request, &err), -EINVAL);
	CHECK_STR(request.file, "former");
	CHECK_EQ(request_parse(&s, &level, "5", &request, &err), 0);
	CHECK_STR(request.file, "level");
	CHECK_STR(request.value, "5");
	CHECK(key_eq(&request.dev, &dev.key));
	CHECK_EQ(request_parse(&s, &aside, "5", &request, &err), 0);
	CHECK_STR(request.file, ""); /* it is done */
}

DEFINE_TEST(claim_takes_labels)
{
	char label[CLAIM_NAME + 1] = { 0 };
	struct request request;
	struct err err;

	CHECK_EQ(claim("alice", &request, &err), 0);
	CHECK_STR(request.file, "claim");
	CHECK_STR(request.value, "alice");
	CHECK_STR(request.dev.name, "0000:02:00.0");
	CHECK_EQ(claim("none", &request, &err), 0);
	CHECK_STR(request.value, "");
	CHECK_EQ(claim("ns/pod:a_b@c.d-e", &request, &err), 0);
	CHECK_EQ(claim("Windows  11 x", &request, &err), 0);
	CHECK_STR(request.value, "Windows  11 x");
	memset(label, 'a', CLAIM_NAME - 1);
	CHECK_EQ(claim(label, &request, &err), 0);
	CHECK_STR(request.value, label);
	label[CLAIM_NAME - 1] = 'a';
	CHECK_EQ(claim(label, &request, &err), -EINVAL);
}

DEFINE_TEST(claim_refuses_with_a_sentence)
{
	static const char *const bad[] = { "",	  "1",	 "0", "yes", "off",	 "True", "n",
					   " a", "a ", "a=b", ".", "..", ".a", "-a",  "\xc3\xa9", "a\"",	 "a!b" };
	struct request request;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_EQ(claim(bad[i], &request, &err), -EINVAL);
		CHECK_IN(err.text, "claim: ");
		CHECK_STR(request.file, "");
	}
}

DEFINE_TEST(reset_takes_any_name)
{
	struct device dev = a_function;
	struct subject s = { .dev = &dev };
	const struct attr *row = attr_by_name(OBJ_DEVICE, "reset");
	struct request request;
	struct err err = { 0 };

	CHECK_EQ(request_parse(&s, row, "none", &request, &err), 0);
	CHECK_STR(request.value, "none");
	CHECK_EQ(request_parse(&s, row, "yes", &request, &err), 0);
	CHECK_STR(request.value, "1");
}
