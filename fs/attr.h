/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vocabulary of the tables: a row is a file, link or directory; an object is the subject of a
 * directory; a view is a rule that puts links to devices into a directory.
 *
 * To add a file: one row in attrs_pci.c, attrs_claim.c, ... (or attrs_root.c) with its show and
 * store. To add a view: one row in views.c, with its rule. To add a bus, or another kind of object:
 * a number in enum obj_kind and its row in kinds.c. A bus needs rows outside fs as well:
 * docs/HACKING.md.
 */
#ifndef FS_ATTR_H
#define FS_ATTR_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pcidevfs/change.h"

struct creds;
struct device;
struct err;
struct out;
struct ring;
struct tree;
struct request;

/* Objects with a directory of their own. The numbers are in the stash: append, never reorder. */
enum obj_kind {
	OBJ_ROOT,
	OBJ_DEVICE, /* a PCI function */
	OBJ_MDEV,
	OBJ_USB,
	OBJ_VENDOR,
	OBJ_RESOURCE,
	OBJ_KINDS,
	OBJ_LABEL = 64, /* plus the id of a view's directory: its subdirectories, one per label */
};

/* The low 8 bits of a node id. The kernel remembers them over restarts and upgrades, so an id must
 * never be given to another row of the same kind. Ids end at ROW_MAX. */
#define ROW_SELF 1 /* the object's own directory; so the root's node id is 1 */
#define ROW_MAX 128

enum attr_flag {
	ATTR_CONST = 1 << 0, /* constant until its bits change: exact size, cached by the kernel */
	/* may take seconds: made by its own thread, after refresh(), for all within 100 ms */
	ATTR_SLOW = 1 << 1,
	/* too much work for the FUSE thread: made by the tree's worker, for all readers */
	ATTR_WORK = 1 << 2,
	/* A long text: the first read takes it, later ones continue it, or get ESTALE; a read at
	 * offset 0 starts anew. Once it is open its size is the present one. */
	ATTR_SNAPSHOT = 1 << 3,
	ATTR_STREAM = 1 << 4, /* the event stream: blocks, has no position */
	ATTR_GROUP = 1 << 6,  /* a write binds the IOMMU group: needs the right to all members */
	/* transactions: text and answers of each file open for writing, no position; show says how
	 * it is written, to those who only read */
	ATTR_CTL = 1 << 7,
	/* a write is a request for another file of the device, which store names */
	ATTR_ALIAS = 1 << 5,
	ATTR_ASIDE = 1 << 8, /* a write requests nothing from the engine: store has done it */
	ATTR_HOLDER = 1 << 9, /* not every reader is told which process holds a device */
};

/* A change bit of the tree itself, besides those of change.h. */
#define CH_LOG CH_BIT(127)
static_assert(CH_END <= CH_LOG, "no bit of change.h is that of the tree's own");
#define CH_ANY (CH_ALL & ~CH_LOG & ~CH_INTERNAL & ~CH_RIGHTS)

/* The object whose file is read or written. */
struct subject {
	struct tree *tree;
	const struct attr *row;	  /* of the file, in its show and store */
	uint32_t slot;		  /* of its object */
	const struct device *dev; /* constant during the call; NULL if it is not a device */
	const struct creds *reader; /* of an ATTR_HOLDER file, who opened it; else NULL */
};

/* Entries of a directory that come and go with devices. */
struct entries {
	enum obj_kind child; /* their directories ... */
	uint16_t link;	     /* ... or, if not 0, links to devices of any bus: this row of theirs */
	const char *prefix;  /* entries are named <prefix><number>; NULL: by their object */
	/* Users choose the names: the kernel caches none, so changes do not flush other caches. */
	int brief;
};

struct attr {
	/* "mig/mode": mode in the directory of the row mig. A directory has none below itself. */
	const char *name;
	uint16_t id;
	mode_t mode;	     /* S_IFREG if no type is given */
	uint32_t caps;	     /* enum cap: devices with all of these have the row */
	uint32_t write_caps; /* and writing needs these; without them it shows no w */
	/* The file that is written instead without them, 1 or 0. NULL: none. */
	const char *instead;
	uint32_t flags;
	change_bits bits; /* the changes that alter it */
	/* Prints the file's text or the link's target; called by row_show(). Never blocks or fails.
	 * The model is not locked; a text beside the record (out_room()) takes its lock. */
	void (*show)(const struct subject *s, struct out *o);
	const char *text; /* for a show and store that several rows share: attrs/rows.h */
	size_t at;
	/* Parses the text, which has no final newline and is clean. Returns 0 with
	 * ret->value filled in (*ret is a request for this file of this device; ATTR_ALIAS: store
	 * sets ret->file), or -errno with the sentence. ATTR_ASIDE: does the work itself, and ret
	 * is unused. Only called by
	 * request_parse(). */
	int (*store)(const struct subject *s, const char *text, struct request *ret,
		     struct err *err);
	/* Returns -EACCES with the sentence if the value concerns more than this device, or others
	 * that use it, so that its owner's right is not enough. Only asked for users without group pcidevfs and
	 * CAP_DAC_OVERRIDE. NULL: it never does. */
	int (*reaches)(const struct subject *s, const struct request *request, struct err *err);
	/* Instead of show: lines, as in a file that grows and is rotated. */
	struct ring *(*ring)(const struct tree *t);
	/* Updates the model; may take seconds. ATTR_SLOW: before each text. Of a directory: openers
	 * of its files for reading wait for it, all for one. May be NULL. */
	void (*refresh)(const struct subject *s);
	const struct entries *entries; /* of a directory row; NULL: it contains only rows */
	const char *key;	       /* name in inventory and events; NULL: not there */
	const char *since; /* NULL: FIRST_RELEASE */
	const char *help;
};

#define FIRST_RELEASE "0.1"

struct attr_table {
	const struct attr *rows;
	size_t n;
};

struct obj_type {
	const char *path; /* for FILES.md */
	/* of its rows, in order; NULL at the end */
	const struct attr_table *const *tables;
	/* For a bus: the root's row for the directories of its devices. */
	const struct attr *dir;
	/* Id of the row of its parent (slot 0: the root) that contains its directory. */
	uint16_t home;
	int bus;		       /* enum bus of devices; 0: not a device */
	int derived;		       /* exists as long as a view puts something into it */
	const struct entries *entries; /* of its own directory */
};

extern const struct attr_table attrs_pci, attrs_claim, attrs_sriov, attrs_vgpu, attrs_mig,
	attrs_usb;
extern const struct attr_table attrs_state, attrs_device;
extern const struct attr_table attrs_root, attrs_resource;
extern const struct attr_table *const no_tables[];

/* Ids that several tables need. */
enum { ROW_RES_DEVICES = 20, ROW_RESOURCES = 29, ROW_VIRTFN = 30 };

#define VIEW_DEPTH 2
#define VIEWS_MAX 16
#define OBJECT_NAME 256

/* A directory of links to devices. */
struct view {
	/* In the root; without a name the links are in existing directories. */
	struct attr dir;
	struct attr link;		/* for a device: the link to it in the view */
	struct obj_type label;		/* of OBJ_LABEL + dir.id, if such are on the path */
	enum obj_kind path[VIEW_DEPTH]; /* objects below dir, OBJ_ROOT: none */
	uint16_t leaf; /* row, in the last object, that has the links; 0: its own directory */
	int numbered;  /* links are sorted and named by facts.index */
	/* Devices that have these caps, and none of those, belong there ... */
	uint32_t caps, lacks;
	/* ... if this agrees, which fills in the names of the objects on the path. NULL: there are
	 * none. */
	int (*member)(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME]);
};

extern const struct view views[];
extern const size_t n_views;
extern const struct entries resource_devices, virtfns;
#define LINK_ID(dir) ((dir) + 77u)
/* The view whose directory, or whose link, has this id; NULL: none. */
const struct view *view_by_dir(unsigned int id);
const struct view *view_by_link(unsigned int id);

/* NULL for an unknown number. */
const struct obj_type *obj_type(unsigned int kind);
enum obj_kind kind_of_bus(int bus); /* OBJ_ROOT: it has no directory */
/* The root's directory for this bus: "devices". NULL: it has none. */
const char *bus_dir(int bus);
/* All rows of such an object, including those of other tables (buses, views); NULL at the end. */
const struct attr *row_at(enum obj_kind kind, size_t i);
static inline int row_readable(const struct attr *row)
{
	return row->show || row->ring || row->flags & (ATTR_CTL | ATTR_STREAM);
}
static inline int row_writable(const struct attr *row)
{
	return row->store || row->flags & ATTR_CTL;
}
static inline int row_fits(const struct attr *row, uint32_t caps)
{
	return (caps & row->caps) == row->caps;
}
static inline bool row_takes(const struct attr *row, uint32_t caps)
{
	return (caps & row->write_caps) == row->write_caps;
}
/* Is the file of a device that lacks its write_caps. Returns -EACCES. */
int row_refuse_write(const struct attr *row, const struct device *dev, struct err *err);
/* Prints what a row with a show reads for this subject. */
void row_show(const struct attr *row, const struct subject *s, struct out *o);
/* The directory row that contains it; NULL: the object's own directory. */
const struct attr *row_dir(enum obj_kind kind, const struct attr *row);
/* Is it in the directory of dir, or (NULL) of the object? */
bool row_is_in(const struct attr *row, const struct attr *dir);
/* Its name there: "mode". */
const char *row_leaf(const struct attr *row);
/* Also finds links to it elsewhere. */
const struct attr *attr_by_id(enum obj_kind kind, uint16_t id);
const struct attr *attr_by_name(enum obj_kind kind, const char *name);
/* Describes the caps of a mask, for people: "PF", "VF, in an IOMMU group". */
void caps_print(uint32_t caps, struct out *o);

#endif
