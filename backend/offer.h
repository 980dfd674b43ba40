/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of resource_name and pooled. */
#ifndef BACKEND_OFFER_H
#define BACKEND_OFFER_H

struct method;

extern const struct method offer_name, offer_pooled;

#endif
