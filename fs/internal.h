/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the tree. Nobody else includes this. */
#ifndef FS_INTERNAL_H
#define FS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "attr.h"
#include "files.h"
#include "fs/cache/forget.h"
#include "fs/log/log_share.h"
#include "objects.h"
#include "pcidevfs/device.h"
#include "fs/log/ring.h"
#include "sets.h"
#include "fs/cache/texts.h"
#include "tree.h"

struct ctl_files;
struct droppers;
struct fuse_pollhandle;
struct fuse_req;
struct fuse_session;
struct journal;
struct record_head;
struct pool;
struct writers;

/* The place of a device in each view, for removing it when its record is gone. */
struct member {
	uint32_t caps;
	uint32_t listed; /* by these caps the kernel's list of its directory was made, or dropped */
	bool claimed, sick; /* as the journal was told: audit.c */
	bool owned;	    /* files of it have, or had, owners of their own */
	struct place {
		uint32_t in; /* slot of the directory's object, plus 1; 0: nowhere */
		uint32_t key;
	} at[VIEWS_MAX];
};

#define UID_MAP 256

struct tree {
	struct tree_conf conf;
	_Atomic gid_t group;   /* pcidevfs, or 0 if there is no such group */
	char uid_map[UID_MAP]; /* of our user namespace; "" if unknown: rights.c */
	struct fuse_session *se;
	int fuse_fd;

	/* Guards objects, sets and members. The FUSE thread takes it for lookups, the notifier for
	 * changes; never across a call that may wait. */
	pthread_mutex_t lock;
	struct objects *objects;
	struct sets *sets;
	struct member *members; /* by slot; n_members places */
	size_t n_members;

	struct files *files;
	struct ring *events;
	struct ring *log;
	struct record_head *record;
	struct log_shares log_shares; /* lock */
	struct stream *stream;
	struct journal *journal;
	/* All executors of the engine may be waiting for the kernel, and readers must not delay
	 * operations, so these have their own threads: one for texts that are too long for the FUSE
	 * thread, one for the lines of ctl, which must not wait for these texts (neither ever
	 * waits), and several for slow rows. */
	struct pool *worker, *commands, *readers, *openers;
	struct texts texts; /* made by these */
	struct ctl_files *ctl;
	struct writers *writers;

	/* Objects whose logs got a line that pollers were not woken for yet: a job is due. lock */
	struct wakes {
		uint32_t slots[32];
		size_t n;
	} wakes;

	atomic_bool no_epochs;	   /* the kernel does not know them */
	struct droppers *droppers; /* forget.c; from tree_start() to tree_stop() */
	/* when a directory last got or lost an entry, ns of the calendar; unique */
	_Atomic uint64_t listed_at;
	_Atomic uint64_t heard; /* the generation up to which events were sent */
	uint64_t quiet_until;	/* older devices are not news; notifier only */
	pthread_t notifier;
	bool notifying;
	int first;
};

/* A snapshot of one node. It does not change. */
struct node {
	uint64_t ino;  /* of the file: shown by stat, key of all data about it */
	uint64_t node; /* of the kernel: ino, or a twin of it */
	uint32_t slot;
	enum obj_kind kind;
	const struct attr *row; /* NULL: the object's own directory */
	char name[OBJECT_NAME]; /* of the object */
	uint32_t parent;	/* slot of the object's parent */
	struct device dev;	/* if subject.dev is set */
	struct subject subject; /* points into this node */
};

/* kinds.c */
/* Returns 0, or -ESTALE: never given out, or gone. */
int node_get(struct tree *t, uint64_t ino, struct node *ret);
bool node_is_dir(const struct node *n);
/* Name of the row that this name in the directory would be: "mig/mode". Returns name or buf. */
#define NODE_PATH (2 * OBJECT_NAME)
const char *node_path(const struct node *dir, const char *name, char buf[static NODE_PATH]);
/* The directory that contains this row of the node's object. */
uint64_t node_dir(const struct node *n, const struct attr *row);
/* NULL: it is not that of a device. */
static inline const struct key *node_device(const struct node *n)
{
	return n->subject.dev ? &n->dev.key : NULL;
}
bool node_has(const struct node *n, const struct attr *row);
const struct entries *node_entries(const struct node *n);
/* NO_SLOT: it has and had no directory. Call it with the tree's lock held. */
uint32_t device_slot(const struct tree *t, const struct key *key);
/* The key of a device's object. */
void object_key(const struct object *obj, struct key *ret);
/* Finds the child object that an entry names. Call it with the tree's lock held. */
uint32_t entry_find(struct tree *t, const struct entries *e, uint32_t dir_slot, uint64_t set,
		    const char *name);
/* "virtfn3", or the object's name. Call it with the tree's lock held. */
void entry_name(struct tree *t, const struct entries *e, const struct elem *elem,
		char buf[OBJECT_NAME]);

/* stat.c */
struct stat;
static inline struct timespec time_of_ns(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}
/* Fills st for a node, or for another row of n's object (row NULL: its directory). Does not make
 * long texts for their size. */
void node_stat(struct tree *t, const struct node *n, const struct attr *row, struct stat *st);
/* Does stat show the exact size of a file of this row, unless somebody has it open for writing? */
bool row_is_sized(const struct attr *row);
/* Fills mode and owner of a file only. */
void node_rights(struct tree *t, const struct node *n, const struct attr *row, struct stat *st);
/* How long the kernel may cache attributes of an open file of this row. */
double attr_seconds(const struct attr *row);
/* Mode and owner of a file in an object's directory, and their initial values. */
void file_rights(struct tree *t, enum obj_kind kind, uint64_t dir_ino, const char *name,
		 const struct attr *row, struct stat *st);
void rights_at_birth(const struct tree *t, const struct attr *row, struct stat *st);
/* Belongs a file of this row to the group, if nobody has changed that? */
bool row_is_groups(const struct attr *row);
#define DIR_MODE 0755
/* Likewise, for an existing file: a file is not writable if its device lacks the capability. */
void node_rights_at_birth(const struct tree *t, const struct node *n, const struct attr *row,
			  struct stat *st);
/* stat of an entry that is a directory or a link; does not look at its device. Call it with the
 * tree's lock held. */
void entry_stat(struct tree *t, const struct entries *e, uint32_t slot, struct stat *st);

/* Is the owner stored with a device's intents (row NULL: its directory)? Owners of links have no
 * effect. */
bool owner_is_kept(const struct tree *t, enum obj_kind kind, const struct attr *row);
/* owners.c */
void owner_setattr(struct fuse_req *req, uint64_t ino, const struct stat *attr, int to_set);
/* Drops the stored owners of a device, or (NULL) of the root: its files get their initial ones. Not
 * for the FUSE thread. */
void owners_forget(struct tree *t, const struct key *dev);

/* place.c */
/* Adds, moves or removes (dev NULL) the device. notes may be NULL. Needs the tree's lock. */
void views_place(struct tree *t, uint32_t slot, const struct device *dev, struct forgets *notes);
/* The kernel's list of a device's directory goes if it was made by other caps; once, for a GETATTR
 * that meets an invalidation leaves the old mtime. Call it with the tree's lock held. */
void forget_rows_list(struct tree *t, uint32_t slot, uint32_t caps);
/* Adds all devices of the model; kills objects that the model lacks. Call it before serving. */
int views_build(struct tree *t, struct err *err);

/* changes.c */
/* Notes what the kernel may have cached of rows that bits change. Call it with the tree's lock
 * held. */
void forget_rows(struct tree *t, uint32_t slot, change_bits bits, struct forgets *notes);
int changes_start(struct tree *t, struct err *err);
void changes_stop(struct tree *t);
/* Marks the rows of this object that the bits change: the next files_tell() wakes their pollers,
 * and the kernel asks for their sizes again. Any thread may call it; other caches: the notifier. */
void tree_touch(struct tree *t, uint32_t slot, change_bits bits);

/* dir.c, rw.c, write.c: the handlers listed in ops.c */
struct fuse_file_info;
void node_getattr(struct fuse_req *req, uint64_t ino, struct fuse_file_info *fi);
void dir_lookup(struct fuse_req *req, uint64_t parent, const char *name);
void dir_open(struct fuse_req *req, uint64_t ino, struct fuse_file_info *fi);
void dir_read(struct fuse_req *req, uint64_t ino, size_t size, off_t off,
	      struct fuse_file_info *fi);
void dir_readplus(struct fuse_req *req, uint64_t ino, size_t size, off_t off,
		  struct fuse_file_info *fi);
void file_open(struct fuse_req *req, uint64_t ino, struct fuse_file_info *fi);
void file_read(struct fuse_req *req, uint64_t ino, size_t size, off_t off,
	       struct fuse_file_info *fi);
void file_write(struct fuse_req *req, uint64_t ino, const char *buf, size_t size, off_t off,
		struct fuse_file_info *fi);
void file_release(struct fuse_req *req, uint64_t ino, struct fuse_file_info *fi);
void file_poll(struct fuse_req *req, uint64_t ino, struct fuse_file_info *fi,
	       struct fuse_pollhandle *ph);

/* How long the kernel may cache: until we invalidate. */
#define CACHE_SECONDS (30.0 * 24 * 3600)

#endif
