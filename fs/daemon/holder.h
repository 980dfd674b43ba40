/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that keeps the mount while serving processes come and go (docs/SURVIVAL.md).
 *
 * It has one thread, makes no libfuse call, never touches the tree and waits for nobody: all it
 * does is a poll loop over signals, the serving process and who wants to take over.
 */
#ifndef FS_HOLDER_H
#define FS_HOLDER_H

struct options;

/* What operations that run get to come to their end when all shall end: more than the longest
 * deadline of a step. What is not done then ends with us. deploy/pcidevfsd.service waits longer. */
#define END_GRACE_MS 75000

/* Starts serving, mounts, stays until told to end. Returns the exit status; what was wrong stands
 * in one sentence on stderr. */
int holder_run(const struct options *o);
/* The same behind takeover_exec(): goes on with what o->adopt names. */
int holder_adopt(const struct options *o);

#endif
