/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A card's health, as its driver tells it and as the kernel's log tells its errors. Pure. */
#ifndef BACKEND_GPU_CARD_HEALTH_H
#define BACKEND_GPU_CARD_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"

struct card_told {
	bool told; /* anything */
	bool lost;
	int recovery;		      /* field 230; -1: this driver does not have it */
	unsigned int pending, failed; /* remapped rows of its memory */
};
#define CARD_TOLD_NOTHING ((struct card_told){ .recovery = -1 })

/* Reads a line "recovery N", "remapped N N N N" or "lost"; others tell nothing. */
void card_health_read(const char *line, struct card_told *told);
/* What is wrong with this card and what to do, or "". */
void card_sentence(const char *card, const struct card_told *told, char ret[static CARD_HEALTH]);

/* Likewise of an error that the driver has logged, by its number; "": the card goes on with it. */
void card_error(const char *card, unsigned int number, char ret[static CARD_HEALTH]);

/* A record of /dev/kmsg. */
struct kernel_line {
	uint64_t sequence; /* one more than that of the record before */
	bool kernels;	   /* the kernel itself has logged it: users may write to the log as well */
	const char *text;  /* within the record; not terminated */
	size_t len;
};
/* false: it makes no sense. */
bool kernel_line_read(const char *record, size_t len, struct kernel_line *ret);
/* Is it an error that the driver of a card has logged? */
bool card_logged(const struct kernel_line *line, struct key *ret_card, unsigned int *ret_number);

#endif
