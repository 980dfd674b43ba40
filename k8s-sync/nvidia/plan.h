/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What values of the labels ask for: make() of their rows. */
#ifndef SYNC_NVIDIA_PLAN_H
#define SYNC_NVIDIA_PLAN_H

struct label_plan;
struct label_source;

/* Behind the value in a note: its change has begun, and may be done by half. */
#define LABEL_BEGUN " begun"
/* Likewise: it does not count as agreed any more. It was left in the midst, or another label has
 * ended since what it made, or may have. */
#define LABEL_ENDED " ended"

/* The value is the name of a layout: one transaction. */
void plan_layout(const struct label_source *source, struct label_plan *plan);
/* The value is a workload: one transaction for each GPU and NVSwitch. */
void plan_workload(const struct label_source *source, struct label_plan *plan);

#endif
