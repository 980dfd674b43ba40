/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals, slowness and hangs on command. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>

struct node;
struct sim;

enum nth_how { NTH_FAIL, NTH_FROM, NTH_BEFORE, NTH_AFTER };

/* The n-th write from now on is refused (NTH_FROM: later ones too), or waits before or after it. */
struct nth {
	long left; /* 0: it has come, or none is set */
	enum nth_how how;
	int err;
	bool met;
};

bool fault_matches(struct sim *s, const struct node *n);
/* Waits or refuses according to the rules. */
int fault_meet(struct sim *s, const struct node *n);
int fault_fail(struct sim *s, const char *path, int err, long count);
int fault_slow(struct sim *s, const char *path, long ms);
int fault_hang(struct sim *s, const char *path);
int fault_unhang(struct sim *s, const char *path);
bool fault_inside(struct sim *s, const char *path);
/* n 0: none; a waiting write goes on. */
void nth_set(struct sim *s, long n, enum nth_how how, int err);
bool nth_met(const struct sim *s);
/* These bracket each write: is it the n-th one? Wait or refuse accordingly. */
int nth_before(struct sim *s, bool *ret_mine);
int nth_after(struct sim *s);

#endif
