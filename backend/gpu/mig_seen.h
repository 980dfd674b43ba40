/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MIG instances as the kernel shows them to everybody, which wakes no card. */
#ifndef BACKEND_GPU_MIG_SEEN_H
#define BACKEND_GPU_MIG_SEEN_H

#include "backend/ask.h"

struct backend;
struct mig;

/* In a helper: "N HASH" of the card's instances, N of GPU and compute instances together; "": the
 * driver does not show any. */
ask_tell mig_seen_tell;
/* Likewise of what NVIDIA's library told. */
void mig_seen_print(const struct mig *m, char ret[static TELL_MAX]);

/* When the kernel was asked of a card; guarded by asker.lock. */
struct mig_seen_at {
	struct key card;
	/* Each look is paid with time; this may be ahead of the clock for a burst. */
	uint64_t paid_us;
};

/* A file of the card is opened: if its facts are older than a change, waits until the card was
 * asked, but not for long, and never if it may not be asked. Other cards that have changed are
 * asked at the same time. */
void mig_opened(struct backend *b, const struct key *card);

#endif
