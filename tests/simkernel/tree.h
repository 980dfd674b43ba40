/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sysfs tree in memory: directories, links, attributes. Knows neither FUSE nor PCI. Not locked:
 * the caller holds the simulation's lock. A removed node leaves the tree at once and is marked
 * dead; its memory stays while somebody has a reference. */
#ifndef SIM_TREE_H
#define SIM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define TREE_PATH_MAX 4096

struct reaction;

struct node {
	struct node *parent;
	struct node *hash_next;
	struct node *prev, *next; /* siblings, in order of creation */
	union {
		struct {
			struct node *first, *last;
			uint32_t subdirs;
		} dir;
		struct {
			const char *data;
			size_t len;
		} file; /* a link's data is its target */
	};
	const struct reaction *row; /* handles reads and writes; NULL: data is all */
	void *obj;		    /* for row */
	uint64_t id, ino; /* ino: what stat tells, see node_renew() */
	uint64_t size; /* of binary attributes; others show 4096 */
	uint32_t mode, uid, gid;
	uint32_t hash;
	uint32_t refs;
	bool dead;
	bool owned; /* data is freed with the node */
	char name[];
};

struct tree {
	struct node *root;
	struct node **buckets;
	size_t n_buckets, n;
	uint64_t last_ino;
	/* Called for the top of each removed subtree, and for the parent of a new or gone
	 * directory. */
	void (*gone)(void *ctx, struct node *parent, const char *name);
	void (*counted)(void *ctx, struct node *dir);
	void *ctx;
};

struct tree *tree_new(void);
void tree_free(struct tree *t);

struct node *tree_find(struct tree *t, const struct node *dir, const char *name);
/* The directory counts as another one now: the kernel gives no inode of sysfs twice. */
void node_renew(struct tree *t, struct node *dir);
/* Does the file stay the same for as long as its directory exists? */
bool node_is_fixed(const struct node *n);
/* Follows links and ".." like the kernel; NULL if the path does not exist. */
struct node *tree_walk(struct tree *t, struct node *from, const char *path);
/* "devices/pci0000:00/..." without a leading slash; truncated if size is too small. */
void node_path(const struct node *n, char *buf, size_t size);

/* Makers return the node, or NULL if memory ran out or a node of another kind has the name.
 * tree_dir() and tree_mkdirs() also return an existing directory; the others replace any node of
 * that name but a directory. */
struct node *tree_dir(struct tree *t, struct node *parent, const char *name);
struct node *tree_mkdirs(struct tree *t, struct node *from, const char *path);
struct node *tree_link(struct tree *t, struct node *parent, const char *name, const char *target);
/* A link to another node, relative as in sysfs. */
struct node *tree_link_to(struct tree *t, struct node *parent, const char *name,
			  const struct node *target);
/* data is not copied: it must live as long as the tree, unless node_set() replaces it. */
struct node *tree_file(struct tree *t, struct node *parent, const char *name, mode_t mode,
		       const char *data, size_t len);
/* Replaces a file's data by a copy. */
int node_set(struct node *n, const char *data, size_t len);

void tree_remove(struct tree *t, struct node *n);
void tree_remove_name(struct tree *t, const struct node *parent, const char *name);

static inline struct node *node_ref(struct node *n)
{
	n->refs++;
	return n;
}

void node_unref(struct node *n, uint32_t refs);
/* Another node of the same file, in no directory, because FUSE locks writers per node. The caller
 * owns the reference. */
struct node *node_alias(const struct node *n);

#endif
