// SPDX-License-Identifier: GPL-2.0-or-later
/* What NVML's answers mean, and the way out of each. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "nvml.h"
#include "backend/gpu/module_version.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static const struct cause {
	int number;
	int code;
	const char *cause; /* and the way out */
} answers[] = {
#define ANSWER(...) { __VA_ARGS__ },
#include "backend/gpu/nvml_answers.def"
};

static const struct cause *find(int number)
{
	for (const struct cause *a = answers; a < answers + ARRAY_SIZE(answers); a++)
		if (a->number == number)
			return a;
	return NULL;
}

static void name_versions(const struct nvml *n, struct err *err)
{
	_free_ char *text = file_text(AT_FDCWD, "/proc/driver/nvidia/version");
	char library[NVML_VERSION] = "";
	const char *module = text ? module_version(text) : NULL;

	if (NVML(n, nvml_version, library, sizeof(library)))
		return;
	nvml_clean(library, sizeof(library));
	/* It begins with the generation of the interface: 13.580.159.04. */
	fail_wrap(err, "the library is %s, the module %.31s",
		  strchr(library, '.') ? strchr(library, '.') + 1 : library,
		  module ?: "not loaded");
}

int nvml_fail(const struct nvml *n, int answer, const char *address, const char *what,
	      struct err *err)
{
	const struct cause *a = find(answer);

	if (!answer)
		return 0;
	if (a)
		fail(err, a->code, "%s", a->cause);
	else
		fail(err, EIO, "the driver answers %d, which is unknown", answer);
	if (answer == NVML_VERSION_MISMATCH)
		name_versions(n, err);
	if (what)
		fail_wrap(err, "%s", what);
	if (address)
		fail_wrap(err, "%s", address);
	return answer;
}

int nvml_bool(const char *word, uint32_t *ret, struct err *err)
{
	bool on;

	if (parse_bool(word, &on)) {
		fail(err, EINVAL, "\"%s\" is neither 0 nor 1", word);
		return NVML_INVALID_ARGUMENT;
	}
	*ret = on;
	return 0;
}

void nvml_clean(char *name, size_t size)
{
	name[size - 1] = '\0';
	str_clean(name);
}
