/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVIDIA's daemons: nvidia-vgpud tells the driver the vGPU types, without which it lists none,
 * nvidia-vgpu-mgr serves the vGPUs, nv-fabricmanager brings the links of NVSwitches up. */
#ifndef BACKEND_GPU_DAEMONS_H
#define BACKEND_GPU_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>

struct ask_row;
struct backend;
struct out;
struct sysfs;
struct told;

enum vendor_daemon { DAEMON_VGPUD, DAEMON_VGPU_MGR, DAEMON_FABRIC, DAEMONS };

/* In a helper: calls found for each of those for vGPUs that runs, until that returns false. What
 * counts is a process of root, in the initial user namespace and with these capabilities, whose
 * program belongs to root and can be written by nobody else; the name alone anybody can have. dir:
 * that of the process in proc. -errno. */
typedef bool daemon_found(void *ctx, int dir, const char *pid, const char *name);
int daemons_each(const struct sysfs *s, uint64_t caps, daemon_found *found, void *ctx);
/* Likewise, appends a line "- NAME PID" for each of all, and one if /proc has not all processes. Of
 * the fabric manager the program alone counts: nothing is entrusted to it. */
int daemons_scan(const struct sysfs *s, struct out *ret);
/* Instead of the number of a process. */
enum { DAEMON_UNSEEN = -2, DAEMON_UNKNOWN = -1, DAEMON_ENDED = 0 };
/* The process in such an answer; DAEMON_UNSEEN: it may run where it cannot be seen. */
int daemon_told(const struct told *t, enum vendor_daemon which);
/* Does this process still have its name? */
bool daemon_runs(const struct sysfs *s, enum vendor_daemon which, int pid);

/* In the daemon: is it known not to run? Notices that it has ended since it was looked for. Reads
 * one file of /proc; call it without the model locked. */
bool daemon_lacks(struct backend *b, enum vendor_daemon which);

extern const struct ask_row ask_awaited, ask_daemons, ask_vgpus;

#endif
