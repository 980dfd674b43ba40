// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints all sizes, offsets and numbers of abi.def: ours, or with -DOFFICIAL those of NVIDIA's header. */
#include <stddef.h>
#include <stdio.h>
#ifdef OFFICIAL
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#define STRUCT(ours, theirs) printf("%s %zu\n", #theirs, sizeof(theirs));
#define FIELD(ours, f, theirs, field)                                                              \
	printf("%s.%s %zu\n", #theirs, #field, offsetof(theirs, field));
#define NUMBER(ours, theirs) printf("%s %lld\n", #theirs, (long long)(theirs));
#else
#include "backend/gpu/nvml/abi.h"
#define STRUCT(ours, theirs) printf("%s %zu\n", #theirs, sizeof(struct ours));
#define FIELD(ours, f, theirs, field)                                                              \
	printf("%s.%s %zu\n", #theirs, #field, offsetof(struct ours, f));
#define NUMBER(ours, theirs) printf("%s %lld\n", #theirs, (long long)(ours));
#endif

int main(void)
{
#include "abi.def"
	return 0;
}
