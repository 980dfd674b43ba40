/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that keeps the mount while serving processes come and go (docs/SURVIVAL.md).
 *
 * It has one thread, makes no libfuse call, never touches the tree and waits for nobody: it is a
 * poll loop over signals, the serving process and callers of --replace.
 */
#ifndef FS_HOLDER_H
#define FS_HOLDER_H

struct daemon_options;

/* Time for running operations when the daemon must end: more than the longest deadline of a step.
 * Unfinished ones then end with us. deploy/pcidevfsd.service waits longer. */
#define END_GRACE_MS 135000

/* Starts a serving process, mounts, and stays until told to end. Returns the exit status; an error
 * is one sentence on stderr. */
int holder_run(const struct daemon_options *o);
/* Likewise after takeover_exec(): continues with what o->adopt names. */
int holder_adopt(const struct daemon_options *o);

#endif
