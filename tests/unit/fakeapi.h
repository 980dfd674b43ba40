/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An API server that answers what a test answers. */
#ifndef TEST_FAKEAPI_H
#define TEST_FAKEAPI_H

#include "k8s-sync/api/http.h"

enum { QUEUED_MAX = 8 };

/* Sent, and not answered yet. */
extern struct call *queued[QUEUED_MAX];
extern unsigned int n_queued;

/* It is to be answered: takes it out of the queue. */
void fakeapi_leave(struct call *c);

#endif
