/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the drivers of NICs hold for their VFs, and rtnetlink about that: a socket at
 * proc/1/net/rtnetlink that takes the kernel's messages. A connection that asks for nothing hears of
 * changes. */
#ifndef SIM_RTNETLINK_H
#define SIM_RTNETLINK_H

#include <stddef.h>
#include <stdint.h>

struct func;
struct sim;

/* Of a VF, as `ip link` names them. */
struct vf_config {
	uint8_t mac[6];
	uint32_t vlan, trust, spoofchk;
};

/* As the driver begins with it. */
void vf_config_init(struct vf_config *c);
/* "mac 00:00:00:00:00:00 vlan 0 trust 0 spoofchk 1" of the VF. */
int vf_config_tell(struct sim *s, const char *addr, char *ret, size_t size);
/* Somebody sets it by hand: "vlan", "5". */
int vf_config_set(struct sim *s, const char *addr, const char *name, const char *value);

/* Returns the listening socket or -errno. */
int rtnetlink_listen(int base);
void rtnetlink_accept(struct sim *s, int listener);

#endif
