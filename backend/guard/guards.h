/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the host needs a device, who holds it, and what the network tells of it. */
#ifndef PCIDEVFS_BACKEND_GUARDS_H
#define PCIDEVFS_BACKEND_GUARDS_H

#include "backend/ask.h"

struct out;

extern const struct ask_row *const guards_watch[];

/* Blocks until the host's needs and the holders are known of those of these devices that an
 * operation could take away; or refuses in a sentence. */
int guards_now(struct backend *b, const struct touched *v, size_t n, struct err *err);

/* Asks soon whether the host needs a PCI function, and its USB devices, whose disks hang on both.
 * All are asked about if the function cannot be told (""), or is behind its own root bus (a domain
 * of more than 16 bits) and also concerns the one that carries that bus. */
void host_use_changed(struct backend *b, const char *function);
/* Likewise, and about the settings of this PF's VFs: the network interface of this function has
 * changed, or anything else of the network (""), or messages about it were lost (NULL). */
void network_changed(void *backend, const char *function);
/* Somebody opened or closed this node below dev, for example "vfio/14". */
void node_used(struct backend *b, const char *node);

/* The line of health about processes whose open files could not be seen. text: what
 * holders_scan() wrote behind "unseen="; "" or rubbish prints nothing. lacks: the capabilities that
 * the one who looked lacked (io_lacks()). */
void unseen_health(const char *text, uint64_t lacks, struct out *o);

#endif
