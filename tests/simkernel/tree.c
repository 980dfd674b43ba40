// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINKS 40

static uint32_t hash_of(const struct node *dir, const char *name, size_t len)
{
	uint32_t h = 2166136261u ^ (uint32_t)dir->id * 2654435761u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct node *find(struct tree *t, const struct node *dir, const char *name, size_t len)
{
	uint32_t h = hash_of(dir, name, len);
	struct node *n = t->buckets[h & (t->n_buckets - 1)];

	for (; n; n = n->hash_next)
		if (n->hash == h && n->parent == dir && !strncmp(n->name, name, len) &&
		    !n->name[len])
			return n;
	return NULL;
}

struct node *tree_find(struct tree *t, const struct node *dir, const char *name)
{
	return find(t, dir, name, strlen(name));
}

static int rehash(struct tree *t, size_t want)
{
	struct node **buckets = calloc(want, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_buckets; i++)
		for (struct node *n = t->buckets[i], *next; n; n = next) {
			next = n->hash_next;
			n->hash_next = buckets[n->hash & (want - 1)];
			buckets[n->hash & (want - 1)] = n;
		}
	free(t->buckets);
	t->buckets = buckets;
	t->n_buckets = want;
	return 0;
}

static void enlist(struct tree *t, struct node *parent, struct node *n)
{
	n->parent = node_ref(parent);
	n->prev = parent->dir.last;
	if (n->prev)
		n->prev->next = n;
	else
		parent->dir.first = n;
	parent->dir.last = n;
	n->hash_next = t->buckets[n->hash & (t->n_buckets - 1)];
	t->buckets[n->hash & (t->n_buckets - 1)] = n;
	t->n++;
	if (!S_ISDIR(n->mode))
		return;
	parent->dir.subdirs++;
	if (t->counted)
		t->counted(t->ctx, parent);
}

static struct node *node_new(struct tree *t, struct node *parent, const char *name, size_t len,
			     mode_t mode)
{
	struct node *n;

	if (parent && name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return NULL;
	/* A table that cannot grow is slow, but correct. */
	if (t->n > t->n_buckets)
		rehash(t, t->n_buckets * 2);
	n = calloc(1, sizeof(*n) + len + 1);
	if (!n)
		return NULL;
	memcpy(n->name, name, len);
	n->id = n->ino = ++t->last_ino;
	n->mode = mode;
	n->refs = 1;
	if (parent) {
		n->hash = hash_of(parent, name, len);
		enlist(t, parent, n);
	}
	return n;
}

void node_renew(struct tree *t, struct node *dir)
{
	dir->ino = ++t->last_ino;
	if (t->counted)
		t->counted(t->ctx, dir);
}

bool node_is_fixed(const struct node *n)
{
	static const char *const names[] = { "vendor",	 "device", "subsystem_vendor",
					     "revision", "name",   "subsystem_device",
					     "description", NULL };
	const char *const *one = names;

	while (*one && strcmp(n->name, *one))
		one++;
	return *one;
}

struct tree *tree_new(void)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (!rehash(t, 4096))
		t->root = node_new(t, NULL, "", 0, S_IFDIR | 0755);
	if (!t->root) {
		tree_free(t);
		return NULL;
	}
	return t;
}

void node_unref(struct node *n, uint32_t refs)
{
	while (n && (n->refs -= refs) == 0) {
		struct node *parent = n->parent;

		if (n->owned)
			free((char *)n->file.data);
		free(n);
		n = parent;
		refs = 1;
	}
}

struct node *node_alias(const struct node *n)
{
	size_t len = strlen(n->name) + 1;
	struct node *copy = malloc(sizeof(*n) + len);

	if (!copy)
		return NULL;
	*copy = *n;
	memcpy(copy->name, n->name, len);
	copy->parent = node_ref(n->parent);
	copy->refs = 1;
	copy->owned = false;
	return copy;
}

static void unlist(struct tree *t, struct node *n)
{
	struct node **at = &t->buckets[n->hash & (t->n_buckets - 1)], *parent = n->parent;

	while (*at != n)
		at = &(*at)->hash_next;
	*at = n->hash_next;
	t->n--;
	*(n->prev ? &n->prev->next : &parent->dir.first) = n->next;
	*(n->next ? &n->next->prev : &parent->dir.last) = n->prev;
	n->prev = n->next = NULL;
	n->dead = true;
	if (S_ISDIR(n->mode))
		parent->dir.subdirs--;
}

static void remove_below(struct tree *t, struct node *dir)
{
	while (S_ISDIR(dir->mode) && dir->dir.first) {
		struct node *n = dir->dir.first;

		remove_below(t, n);
		unlist(t, n);
		node_unref(n, 1);
	}
}

void tree_remove(struct tree *t, struct node *n)
{
	struct node *parent = n->parent;

	remove_below(t, n);
	unlist(t, n);
	if (t->gone)
		t->gone(t->ctx, parent, n->name);
	if (t->counted && S_ISDIR(n->mode))
		t->counted(t->ctx, parent);
	node_unref(n, 1);
}

void tree_remove_name(struct tree *t, const struct node *parent, const char *name)
{
	struct node *n = tree_find(t, parent, name);

	if (n)
		tree_remove(t, n);
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	if (t->root) {
		remove_below(t, t->root);
		node_unref(t->root, 1);
	}
	free(t->buckets);
	free(t);
}

void node_path(const struct node *n, char *buf, size_t size)
{
	const struct node *up[256];
	size_t depth = 0, at = 0;

	for (; n->parent && depth < 256; n = n->parent)
		up[depth++] = n;
	buf[0] = 0;
	while (depth-- && at < size)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? "/" : "", up[depth]->name);
}

static struct node *walk(struct tree *t, struct node *at, const char *path, int links)
{
	while (at && *path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !strncmp(path, "..", 2))
			at = at->parent ? at->parent : at;
		else if (n && !(n == 1 && *path == '.'))
			at = S_ISDIR(at->mode) ? find(t, at, path, n) : NULL;
		if (at && S_ISLNK(at->mode))
			at = links ? walk(t, at->parent, at->file.data, links - 1) : NULL;
		path += n + (path[n] == '/');
	}
	return at;
}

struct node *tree_walk(struct tree *t, struct node *from, const char *path)
{
	return walk(t, from, path, MAX_LINKS);
}

static struct node *dir_of(struct tree *t, struct node *parent, const char *name, size_t len)
{
	struct node *n = find(t, parent, name, len);

	if (n)
		return S_ISDIR(n->mode) ? n : NULL;
	return node_new(t, parent, name, len, S_IFDIR | 0755);
}

struct node *tree_dir(struct tree *t, struct node *parent, const char *name)
{
	return parent ? dir_of(t, parent, name, strlen(name)) : NULL;
}

struct node *tree_mkdirs(struct tree *t, struct node *at, const char *path)
{
	while (at && *path) {
		size_t n = strcspn(path, "/");

		if (n)
			at = dir_of(t, at, path, n);
		path += n + (path[n] == '/');
	}
	return at;
}

/* Makes a place for a link or file: replaces anything of that name but a directory. */
static struct node *fresh(struct tree *t, struct node *parent, const char *name, mode_t mode)
{
	struct node *old = parent ? tree_find(t, parent, name) : NULL;

	if (!parent || !S_ISDIR(parent->mode) || (old && S_ISDIR(old->mode)))
		return NULL;
	if (old)
		tree_remove(t, old);
	return node_new(t, parent, name, strlen(name), mode);
}

struct node *tree_file(struct tree *t, struct node *parent, const char *name, mode_t mode,
		       const char *data, size_t len)
{
	struct node *n = fresh(t, parent, name, S_IFREG | mode);

	if (n) {
		n->file.data = data;
		n->file.len = len;
	}
	return n;
}

int node_set(struct node *n, const char *data, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	copy[len] = 0;
	if (n->owned)
		free((char *)n->file.data);
	n->file.data = copy;
	n->file.len = len;
	n->owned = true;
	return 0;
}

struct node *tree_link(struct tree *t, struct node *parent, const char *name, const char *target)
{
	struct node *n = fresh(t, parent, name, S_IFLNK | 0777);

	if (n && node_set(n, target, strlen(target))) {
		tree_remove(t, n);
		return NULL;
	}
	return n;
}

struct node *tree_link_to(struct tree *t, struct node *parent, const char *name,
			  const struct node *target)
{
	char path[TREE_PATH_MAX], from[TREE_PATH_MAX], to[TREE_PATH_MAX];
	size_t same = 0, at = 0;

	if (!parent || !target)
		return NULL;
	node_path(parent, from, sizeof(from));
	node_path(target, to, sizeof(to));
	for (size_t i = 0; from[i] == to[i] || (!from[i] && to[i] == '/'); i++) {
		if (!from[i] || from[i] == '/')
			same = i + 1;
		if (!from[i] || !to[i])
			break;
	}
	for (const char *p = from + (same > strlen(from) ? strlen(from) : same);
	     *p && at < sizeof(path);) {
		at += (size_t)snprintf(path + at, sizeof(path) - at, "../");
		p += strcspn(p, "/");
		p += *p == '/';
	}
	if (at + strlen(to + same) >= sizeof(path))
		return NULL;
	strcpy(path + at, to + same);
	return tree_link(t, parent, name, path);
}
