/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A libnvidia-ml.so.1 for tests. Its cards are files below cards/ beside it, by address, for example cards/0000:3b:00.0
 * (card.h); what is set is written there. It lies in usr/lib64 of a driver's root. If that has a sys with the card,
 * which is then a simulated one, the card must have its driver, and whoever has a handle has it open there.
 */
#ifndef TESTS_NVML_FAKE_H
#define TESTS_NVML_FAKE_H

#include <stddef.h>
#include <unistd.h>

#include "card.h"

#define FUNCTION(field, symbol, older, params) int symbol params;
#include "backend/gpu/nvml/functions.def"
/* For other clients. */
int nvmlSystemGetDriverVersion(char *to, unsigned int size);
int nvmlDeviceGetName(struct nvml_device *c, char *to, unsigned int size);

enum { LAST_PROFILE = 0x10, LAST_COMPUTE = 8 };

/* Those that were asked for. NULL: there is none of the number. */
const struct nvml_device *card_of(unsigned int number);
unsigned int card_number(const struct nvml_device *c);
/* The type of any card that was asked for. */
const struct type *type_of(uint32_t id);

/* The answer that the fault of a function has; -1: it has none. "garbage" fills what it answers. */
int fault(const char *function, void *where, size_t size);
bool is_garbage(const char *function);

#define FAULT(where, size)                                                                         \
	do {                                                                                       \
		int answer_ = fault(__func__, (where), (size));                                    \
		if (answer_ >= 0 || ((where) && is_garbage(__func__)))                             \
			return answer_ < 0 ? 0 : answer_;                                          \
	} while (0)

/* How a function begins that changes a card, as root alone may: nobody else does meanwhile, and it is as it is now. */
static inline void close_lock(int *fd)
{
	close(*fd);
}
int change(struct nvml_device *c);
#define CHANGE(card)                                                                               \
	FAULT(NULL, 0);                                                                            \
	if (geteuid())                                                                             \
		return NVML_NO_PERMISSION;                                                         \
	__attribute__((cleanup(close_lock), unused)) int lock_ = change(card)

int put(char *to, size_t size, const char *text);

#endif
