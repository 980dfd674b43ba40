/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a claim (vfio_steps.c), planned by its method (vfio.c). */
#ifndef PCIDEVFS_BACKEND_VFIO_H
#define PCIDEVFS_BACKEND_VFIO_H

struct verb;

extern const struct verb vfio_override; /* value: the driver, "" none */
extern const struct verb vfio_unbind;	/* value: the driver it is taken from */
extern const struct verb vfio_bind;	/* value: the driver that must take it */
extern const struct verb
	vfio_rebind; /* value: the driver it had; when that is gone the kernel chooses */
extern const struct verb vfio_probe; /* the kernel chooses */
extern const struct verb vfio_node;  /* value: /dev/vfio/<group>, waited for */

#endif
