/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulation as a process: mounts, the loop, the control socket. */
#ifndef SIM_SERVE_H
#define SIM_SERVE_H

#include <stdbool.h>

struct sim;

/* All of these return -errno after one sentence on stderr. */

/* Mounts a tmpfs at dir, which is made if it is missing, after unmounting what a killed simulation
 * left. Returns a descriptor of it. */
int mount_base(const char *dir);
void unmount_base(const char *dir);

/* Serves until SIGTERM, SIGINT or "quit"; prints "ready" when everything exists. */
int serve(struct sim *s, const char *dir, bool events);

/* control.c: the socket at base/control, and its other end. */
int control_listen(int base);
void control_accept(struct sim *s, int listener);
/* Runs a command in the simulation at dir, prints its answer, returns the exit status. */
int control_send(const char *dir, int argc, char **argv);
/* Does a simulation listen there? */
bool control_alive(const char *dir);
void control_help(void);

#endif
