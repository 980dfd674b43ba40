/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the listener's files share: the kernel's broadcasts, tables of mounts and swaps, nodes. */
#ifndef BACKEND_LISTEN_H
#define BACKEND_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct device;
struct inotify_event;
struct model;
struct pollfd;

/* Opens the kernel's broadcast socket; returns it or -errno. */
int listen_open(void);
/* Opens, or takes over, the inotify descriptor for nodes. */
int listen_watch(const struct backend *b);
/* Something changed in this table of mounts or swaps, or it cannot be polled any more. */
void listen_drain_table(struct backend *b, struct pollfd *p);
/* The kernel's log. */
struct log_heard {
	uint64_t read; /* the sequence number behind the last record that was read here; 0: none */
	uint64_t unheard_ms; /* when cards are, or were, asked because lines are lost; 0: never */
	bool past;	     /* it is read for the first time, and what it has was logged before */
};
/* Begins behind what a former process has heard, or at the oldest record. */
void listen_open_log(struct backend *b, struct log_heard *l);
/* Something is in it. Not called at any rate: LOG_MS. */
void listen_drain_log(struct backend *b, struct log_heard *l, struct pollfd *p);
#define NODE_NAME 64
#define NODE_DIRS 72 /* USB has at most 64 buses */
struct node_dir {
	int wd;
	char name[24];
};
struct node_dirs {
	size_t n;
	struct node_dir v[NODE_DIRS];
	int group_wd;		/* of the directory of /etc/group, plus 1; 0: not heard yet */
	bool group_changed;
	char opened[NODE_NAME]; /* asked about next; "": none */
	unsigned int asked;	/* nodes since the last node_opened_all() */
};
/* Hears by fd of the nodes in the directories of dev that are there and not heard yet, and of
 * /etc/group. */
void listen_watch_dirs(const struct backend *b, int fd, struct node_dirs *d);
/* Likewise in one whose appearance this event tells, if it does. */
void listen_watch_new(const struct backend *b, int fd, struct node_dirs *d,
		      const struct inotify_event *e);
/* Gets the node below dev that an event is about; false: it is about no node. */
bool listen_node(struct node_dirs *d, const struct inotify_event *e, char ret[static NODE_NAME]);
/* Somebody opened or closed a node. Any user may open a USB device's node at any rate: events in a
 * row for one node are one, and more than NODES_ASKED nodes are all. After the last event of any
 * sort call node_opened_all(). */
#define NODES_ASKED 64
void node_opened(struct backend *b, struct node_dirs *d, const char *node);
void node_opened_all(struct backend *b, struct node_dirs *d);
/* Nodes are named below dev. Is it that of a group, and of which one? */
bool node_group(const char *node, int32_t *ret);
/* The device whose facts have it, or NULL. Call it with the model locked. */
const struct device *node_device(struct model *m, const char *node);
/* Its owner or mode was changed: a pod that has the device gets it again, soon. */
void node_keep(struct backend *b, const char *node);

#endif
