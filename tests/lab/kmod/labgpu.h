/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the parts of labgpu share; labgpu_main.c tells what it is. */
#ifndef LABGPU_H
#define LABGPU_H

#include <linux/mutex.h>
#include <linux/pci.h>

struct labtype {
	u32 id;
	u32 size;		/* framebuffer units */
	const char *name;
	char digits[12];	/* the id */
};

#define LAB_MAX_TYPES 16
extern struct labtype lab_types[LAB_MAX_TYPES];
extern uint lab_ntypes;
extern uint lab_fb;

struct labparent;

/* A card: the PF's driver data. */
struct labgpu {
	struct mutex lock;	/* of all below */
	u32 used;		/* framebuffer units in use */
	u32 size;		/* the size all its vGPUs share, unless mixed */
	u32 count;		/* vGPUs */
	bool mixed;		/* reset whenever VFs are made or removed */
	u32 users;		/* openers of /dev/nvidiaN */
	u32 vms;		/* vGPUs that a VMM has open */
	bool locked;		/* unbindLock is taken: nobody may open it */
	int minor;		/* N */
	const char *name;	/* its address */
	struct proc_dir_entry *proc;
	struct labparent *mp;	/* style=mdev-pf */
};

/* labgpu_main.c */
void lab_slow(void);
bool lab_is_style(const char *s);
u32 lab_room(const struct labgpu *g, const struct labtype *t);
int lab_take(struct labgpu *g, const struct labtype *t);
void lab_give(struct labgpu *g, const struct labtype *t);
int lab_vm_enters(struct labgpu *g);
void lab_vm_leaves(struct labgpu *g);

/* labgpu_vfio.c: a VF's driver data is that file's own */
extern const struct attribute_group *lab_nvidia_groups[];
int lab_vf_add(struct pci_dev *pdev, struct labgpu *g);
void lab_vf_del(struct pci_dev *pdev);

/* labgpu_mdev.c */
int lab_mdev_init(void);
void lab_mdev_exit(void);
struct labparent *lab_mp_add(struct device *dev, struct labgpu *g, u32 limit);
void lab_mp_del(struct labparent *mp);

/* labgpu_node.c */
int lab_nodes_init(void);
void lab_nodes_exit(void);
int lab_node_add(struct pci_dev *pdev, struct labgpu *g);
void lab_node_del(struct labgpu *g);

#endif
