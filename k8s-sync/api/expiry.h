/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a certificate ends. Pure. */
#ifndef SYNC_EXPIRY_H
#define SYNC_EXPIRY_H

#include <stdint.h>

/* Of the first certificate of a PEM text, which may be NULL. Returns seconds since 1970; 0: it is
 * not known. */
uint64_t expiry_of(const char *pem);

#endif
