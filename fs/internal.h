/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the tree share. Nobody else includes this. */
#ifndef FS_INTERNAL_H
#define FS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attr.h"
#include "files.h"
#include "forget.h"
#include "log_share.h"
#include "objects.h"
#include "pcidevfs/device.h"
#include "ring.h"
#include "sets.h"
#include "tree.h"

struct ctl_files;
struct droppers;
struct fuse_pollhandle;
struct fuse_req;
struct fuse_session;
struct journal;
struct record_head;
struct pool;
struct twins;

/* Where a device lies in each view, so that it can be taken out again when its record is gone. */
struct member {
	uint32_t caps;
	struct place {
		uint32_t in; /* slot of the object whose directory it is, and 1; 0: nowhere */
		uint32_t key;
	} at[VIEWS_MAX];
};

#define UID_MAP 256

struct tree {
	struct tree_conf conf;
	gid_t group;	       /* pcidevfs, or 0 when there is no such group */
	char uid_map[UID_MAP]; /* of our user namespace; "" when it cannot be known: rights.c */
	struct fuse_session *se;
	int fuse_fd;

	/* Taken by the FUSE thread for lookups, by the notifier for changes; never across a call
	 * that may wait. Guards objects, sets and members. */
	pthread_mutex_t lock;
	struct objects *objects;
	struct sets *sets;
	struct member *members; /* by slot, n_members places */
	uint32_t n_members;

	struct files *files;
	struct ring *events;
	struct ring *log;
	struct record_head *record;
	struct log_shares log_shares; /* lock */
	struct stream *stream;
	struct journal *journal;
	/* The engine's executors may all be waiting for the kernel, and who may read must not keep
	 * them from operations. For what is too much work for the FUSE thread, but waits for
	 * nobody: one thread; and for slow rows. */
	struct pool *worker, *readers;
	struct texts *texts; /* what these make */
	struct ctl_files *ctl;
	struct twins *twins; /* writes in job */

	/* Whose logs got a line that nobody who polls them was told of yet. */
	struct wakes {
		pthread_mutex_t lock;
		uint32_t slots[32];
		size_t n;
		bool due;
	} wakes;

	struct droppers *droppers;  /* forget.c; dropping guards the pointer */
	pthread_mutex_t dropping;
	/* when any directory last got or lost an entry, in ns of the calendar: no two alike */
	_Atomic uint64_t listed_at;
	_Atomic uint64_t heard; /* the generation that events tell up to now */
	uint64_t quiet_until;	/* what was there before the tree is no news; notifier only */
	pthread_t notifier;
	bool notifying;
	int first;
};

static inline uint64_t set_id(uint32_t slot, uint16_t row)
{
	return (uint64_t)slot << 16 | row;
}

/* One node, looked at once. What is in here does not change. */
struct node {
	uint64_t ino;  /* the file's: what stat shows, and what all that is known of it goes by */
	uint64_t node; /* the kernel's: that, or a twin of it */
	uint32_t slot;
	enum obj_kind kind;
	const struct attr *row; /* NULL: the object's own directory */
	char name[OBJECT_NAME]; /* of the object */
	uint32_t parent;	/* of the object: slot */
	struct device dev;	/* when subject.dev is set */
	struct subject subject; /* points into this node */
};

/* kinds.c */
/* -ESTALE: never given, or gone. */
int node_get(struct tree *t, uint64_t ino, struct node *ret);
bool node_is_dir(const struct node *n);
bool node_has(const struct node *n, const struct attr *row);
const struct entries *node_entries(const struct node *n);
/* With the tree's lock held. NO_SLOT: it has, and had, no directory. */
uint32_t device_slot(const struct tree *t, const struct key *key);
/* Of a device's object. */
void object_key(const struct object *obj, struct key *ret);
/* The child object that an entry names; with the tree's lock held. */
uint32_t entry_find(struct tree *t, const struct entries *e, uint32_t dir_slot, uint64_t set,
		    const char *name);
/* "virtfn3", or the object's name; with the tree's lock held. */
void entry_name(struct tree *t, const struct entries *e, const struct elem *elem,
		char buf[OBJECT_NAME]);

/* stat.c */
struct stat;
/* Fills st of a node, or of a row in the same object as n (row NULL: its directory). The size of a
 * long text is not looked at. */
void node_stat(struct tree *t, const struct node *n, const struct attr *row, struct stat *st);
/* Has a file of this row the size of what it would read now, while nobody has it open for
 * writing? */
bool row_is_sized(const struct attr *row);
/* Only mode and owner, of a file. */
void node_rights(struct tree *t, const struct node *n, const struct attr *row, struct stat *st);
void node_getattr(struct fuse_req *req, uint64_t ino);
/* How long the kernel may believe what it was told of an open file of this row. */
double attr_seconds(const struct attr *row);
/* Mode and owner of a file in the directory of an object; those that it is born with. */
void file_rights(struct tree *t, enum obj_kind kind, uint64_t dir_ino, const char *name,
		 const struct attr *row, struct stat *st);
void rights_at_birth(const struct tree *t, const struct attr *row, struct stat *st);
#define DIR_MODE 0755
/* Likewise of a file that is there: nobody may write what its device cannot do. */
void node_rights_at_birth(const struct tree *t, const struct node *n, const struct attr *row,
			  struct stat *st);
/* Of an entry that is a directory of its own, or a link, without looking at its device: with the
 * tree's lock held. */
void entry_stat(struct tree *t, const struct entries *e, uint32_t slot, struct stat *st);

/* Mode, uid and gid that are kept with what was asked of a device; row NULL: its directory. */
bool owner_kept(struct tree *t, enum obj_kind kind, const char *name, const struct attr *row,
		struct owner *own);
/* Could it be? Links have owners that count for nothing. */
bool owner_is_kept(const struct tree *t, enum obj_kind kind, const struct attr *row);
/* owners.c */
void owner_setattr(struct fuse_req *req, uint64_t ino, const struct stat *attr, int to_set);
/* What was kept of the owners of a device, or (NULL) of the root, is forgotten: its files are as
 * they were born. Not on the FUSE thread. */
void owners_forget(struct tree *t, const struct key *dev);

/* place.c */
/* Takes the device in, moves it, or lets it go (dev NULL). With the tree's lock held. notes may be
 * NULL. */
void views_place(struct tree *t, uint32_t slot, const struct device *dev, struct forgets *notes);
/* All devices of the model; what the table holds and the model does not is dead. Before serving. */
int views_build(struct tree *t, struct err *err);

/* changes.c */
int changes_start(struct tree *t, struct err *err);
void changes_stop(struct tree *t);
/* Who polls the rows of this object that the bits alter is woken by the next files_tell(), and
 * their sizes are asked for anew. From any thread: of the kernel's caches only the notifier drops
 * more. */
void tree_touch(struct tree *t, uint32_t slot, change_bits bits);

/* dir.c, rw.c: the handlers that ops.c lists */
struct fuse_file_info;
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

/* How long the kernel may believe us: until we tell it otherwise. */
#define CACHE_SECONDS (30.0 * 24 * 3600)

#endif
