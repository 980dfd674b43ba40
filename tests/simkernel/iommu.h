/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IOMMU groups. */
#ifndef SIM_IOMMU_H
#define SIM_IOMMU_H

#include <stdbool.h>
#include <sys/types.h>

#define GROUP_SETS 4096

struct dev;
struct node;
struct record;
struct sim;

struct group {
	int number;
	int set; /* the IOMMU cannot distinguish functions with equal sets */
	unsigned int members;
	pid_t holder;		 /* the simulated VMM that has it open, or 0 */
	unsigned int vfio;	 /* number of members on vfio-pci */
	struct record *vfio_rec; /* its device in class vfio, if any */
	struct group *next;
};

void group_join(struct sim *s, struct dev *d, int number);
void group_leave(struct sim *s, struct dev *d);
struct group *iommu_group_find(struct sim *s, int number);
/* Calls see(g) for each until it returns true; returns that group or NULL. */
struct group *group_each(struct sim *s, bool (*see)(const struct group *g, const void *arg),
			 const void *arg);
void group_record(struct sim *s, const struct record *r, struct node *dir);

#endif
