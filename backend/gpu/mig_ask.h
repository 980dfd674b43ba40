/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the driver tells of MIG (facts.mig, facts.mig_lack), and which library told it. */
#ifndef BACKEND_GPU_MIG_ASK_H
#define BACKEND_GPU_MIG_ASK_H

#include <stdbool.h>
#include <stdint.h>

struct ask_row;
struct backend;
struct device;
struct mig;
struct key;
struct nvml_place;
struct out;

/* Is this NVIDIA device of a family that can be divided into instances? */
bool mig_family(uint16_t device);

/* In a helper: appends for each id "<id> <line>" for the lines of pcidevfs-nvml about it; or one
 * "<id> asleep", unless a "!" before the id allows to wake it; or one "<id> lack SENTENCE". About the
 * library: "- root DIR", "- library VERSION", "- module VERSION", or "- lack SENTENCE". The ids are
 * overwritten. ms: the time for each. */
int mig_tell(const struct nvml_place *at, char *ids, unsigned int ms, struct out *ret);

/* Asked after looks at a card, but only while it is the host's and no operation runs there. An
 * operation asks by ask_now(), which may wake it. */
extern const struct ask_row ask_mig;

/* The card's driver has logged this error (card_health.h): it is asked again, and the card is sick until
 * its driver says otherwise, if it does not go on with it. past: before we began to listen, so that
 * only the answer counts: the card may have been reset since. */
void card_heard(struct backend *b, const struct key *card, unsigned int number, bool past);
/* Lines of the log are lost: in ms all cards are asked. */
void cards_unheard(struct backend *b, unsigned int ms);

/* Has the library told facts of the card, and may it be asked again? Call with the model locked. */
bool mig_is_told(struct backend *b, const struct device *dev, struct mig *ret);

/* The host's mounts have changed: a driver may have come in a container. */
void mig_mounted(struct backend *b);

/* asker.lock guards all of it. */
struct nvml_told {
	bool asked;
	char root[64], library[32], module[32]; /* "": unknown */
	char lack[192];				/* why nothing is told */
};
/* Appends a line for health, if there is a card that could be asked. */
void mig_health(struct backend *b, struct out *o);
/* There is a card whose errors are not heard, because the kernel's log cannot be read. */
bool log_lacks(struct backend *b);
/* Appends a line for health in that case. */
void log_health(struct backend *b, struct out *o);

#endif
