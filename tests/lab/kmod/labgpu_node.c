// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * labgpu: who has a GPU open. /dev/nvidiaN counts its openers, and
 * /proc/driver/nvidia/gpus/BDF has
 *
 *   unbindLock    1 written takes it if nobody has the GPU open, 0 releases it;
 *                 it reads 1 while it is taken, and then nobody can open the GPU
 *   information   tells N
 *
 * As with the vendor's driver, unbinding an open GPU does not return.
 */
#include <linux/cdev.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "labgpu.h"

#define MAJOR_NVIDIA 195	/* the kernel's list has it for the vendor's driver */

static DEFINE_MUTEX(cards_lock);	/* outside a card's own */
static struct labgpu *cards[8];
static struct proc_dir_entry *proc_nvidia, *proc_gpus;
static struct class nvidia_class = { .name = "nvidia" };

/* --- /dev/nvidiaN ---------------------------------------------------------- */

static int node_open(struct inode *inode, struct file *file)
{
	struct labgpu *g;
	int ret = -ENODEV;

	mutex_lock(&cards_lock);
	g = iminor(inode) < ARRAY_SIZE(cards) ? cards[iminor(inode)] : NULL;
	if (g) {
		mutex_lock(&g->lock);
		if (!g->locked) {
			g->users++;
			file->private_data = g;
			ret = 0;
		}
		mutex_unlock(&g->lock);
	}
	mutex_unlock(&cards_lock);
	return ret;
}

static int node_release(struct inode *inode, struct file *file)
{
	struct labgpu *g = file->private_data;

	/* Who waits in lab_node_del frees it after. */
	mutex_lock(&cards_lock);
	g->users--;
	mutex_unlock(&cards_lock);
	return 0;
}

static const struct file_operations node_ops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
};

/* --- /proc/driver/nvidia/gpus/BDF ------------------------------------------ */

static int lock_show(struct seq_file *s, void *data)
{
	struct labgpu *g = s->private;

	seq_printf(s, "%d\n", READ_ONCE(g->locked));
	return 0;
}

static int lock_open(struct inode *inode, struct file *file)
{
	return single_open(file, lock_show, pde_data(inode));
}

static ssize_t lock_write(struct file *file, const char __user *buf,
			  size_t count, loff_t *pos)
{
	struct labgpu *g = pde_data(file_inode(file));
	bool on;
	int ret = kstrtobool_from_user(buf, count, &on);

	if (ret)
		return ret;
	mutex_lock(&cards_lock);
	mutex_lock(&g->lock);
	g->locked = on && !g->users && !g->vms;
	mutex_unlock(&g->lock);
	mutex_unlock(&cards_lock);
	return count;
}

static const struct proc_ops lock_ops = {
	.proc_open = lock_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = lock_write,
};

static int information_show(struct seq_file *s, void *data)
{
	struct labgpu *g = s->private;

	seq_printf(s, "Model: \t\t NVIDIA LAB\nBus Type: \t PCIe\nBus Location: \t %s\n",
		   g->name);
	seq_printf(s, "Device Minor: \t %d\n", g->minor);
	return 0;
}

static int proc_add(struct labgpu *g)
{
	g->proc = proc_mkdir(g->name, proc_gpus);
	if (!g->proc || !proc_create_data("unbindLock", 0644, g->proc, &lock_ops, g) ||
	    !proc_create_single_data("information", 0444, g->proc, information_show, g)) {
		proc_remove(g->proc);
		return -ENOMEM;
	}
	return 0;
}

/* --- a card comes and goes ------------------------------------------------- */

int lab_node_add(struct pci_dev *pdev, struct labgpu *g)
{
	struct device *node;
	int ret = -ENOSPC;
	int n;

	g->name = pci_name(pdev);
	mutex_lock(&cards_lock);
	for (n = 0; n < ARRAY_SIZE(cards) && cards[n]; n++)
		;
	if (n < ARRAY_SIZE(cards)) {
		g->minor = n;
		ret = proc_add(g);
	}
	if (!ret) {
		node = device_create(&nvidia_class, NULL, MKDEV(MAJOR_NVIDIA, n),
				     NULL, "nvidia%d", n);
		ret = PTR_ERR_OR_ZERO(node);
		if (ret)
			proc_remove(g->proc);
		else
			cards[n] = g;
	}
	mutex_unlock(&cards_lock);
	return ret;
}

static bool forgotten(struct labgpu *g)
{
	bool done;

	mutex_lock(&cards_lock);
	done = !g->users;
	if (done)
		cards[g->minor] = NULL;
	mutex_unlock(&cards_lock);
	return done;
}

void lab_node_del(struct labgpu *g)
{
	for (bool told = false; !forgotten(g); told = true) {
		if (!told)
			pr_err("NVRM: Attempting to remove device %s with non-zero usage count!\n",
			       g->name);
		msleep(500);
	}
	device_destroy(&nvidia_class, MKDEV(MAJOR_NVIDIA, g->minor));
	proc_remove(g->proc);
}

int lab_nodes_init(void)
{
	int ret = -ENOMEM;

	proc_nvidia = proc_mkdir("driver/nvidia", NULL);
	proc_gpus = proc_nvidia ? proc_mkdir("gpus", proc_nvidia) : NULL;
	if (!proc_gpus)
		goto proc;
	ret = class_register(&nvidia_class);
	if (ret)
		goto proc;
	ret = register_chrdev(MAJOR_NVIDIA, "nvidia", &node_ops);
	if (!ret)
		return 0;
	class_unregister(&nvidia_class);
proc:
	proc_remove(proc_nvidia);
	return ret;
}

void lab_nodes_exit(void)
{
	unregister_chrdev(MAJOR_NVIDIA, "nvidia");
	class_unregister(&nvidia_class);
	proc_remove(proc_nvidia);
}
