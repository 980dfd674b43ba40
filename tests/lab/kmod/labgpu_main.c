// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * labgpu - a pretend vGPU-capable GPU driver for the pcidevfs lab.
 *
 * It takes over PCI functions that QEMU emulates (an NVMe or igb controller
 * with SR-IOV), gives them the vendor, device and class of a GPU in sysfs,
 * and drives them under the driver name "nvidia". The kernel's own PCI,
 * SR-IOV, VFIO and mdev code does everything else, so what a program sees in
 * /sys and on the uevent socket is the real thing; only the GPU is pretended.
 *
 *   pf=BDF[,BDF...]   physical functions to turn into GPUs (before binding)
 *   style=vfio        VFs get nvidia/{creatable_vgpu_types,current_vgpu_type,...}
 *   style=mdev        VFs become mdev parents (mdev_supported_types/nvidia-N)
 *   style=mdev-pf     the PF itself is the mdev parent (GPUs before Ampere)
 *   fb=N              framebuffer units of each GPU (default 16)
 *   types=N           how many types there are (default 6, at most 16)
 *   ids=N             is added to the id of each type
 *   order=name        creatable_vgpu_types has "NAME ID" lines (default id: "ID : NAME")
 *   header=1          ... and keeps its header where it would be empty
 *   mixed=1           vGPUs of different sizes may share a GPU: what the PF's
 *                     nvidia/heterogeneous_mode is reset to
 *   numvfs=0          refuse sriov_numvfs through sysfs, as the vendor's driver does,
 *                     to all but who holds the GPU's unbindLock
 *   delay_ms=N        every state change takes that long
 *
 * order, header, mixed, numvfs and delay_ms can be written later, in
 * /sys/module/labgpu/parameters.
 */
#include <linux/delay.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "labgpu.h"

static char *pf[8];
static int npf;
module_param_array(pf, charp, &npf, 0444);
static char *style = "vfio";
module_param(style, charp, 0444);
uint lab_fb = 16;
module_param_named(fb, lab_fb, uint, 0444);
uint lab_ntypes = 6;
module_param_named(types, lab_ntypes, uint, 0444);
static uint ids;
module_param(ids, uint, 0444);
static bool mixed;
module_param(mixed, bool, 0644);
static bool numvfs = true;
module_param(numvfs, bool, 0644);
static uint delay_ms;
module_param(delay_ms, uint, 0644);
static ushort device_id = 0x25b6;
module_param(device_id, ushort, 0444);

#define GPU_VENDOR 0x10de
#define GPU_CLASS 0x030200

/* Invented ids and sizes in the shape of the vendor's. */
struct labtype lab_types[LAB_MAX_TYPES] = {
	{ 741, 1, "NVIDIA LAB-1B" },
	{ 742, 2, "NVIDIA LAB-2B" },
	{ 745, 2, "NVIDIA LAB-2Q" },
	{ 747, 4, "NVIDIA LAB-4Q" },
	{ 748, 8, "NVIDIA LAB-8Q" },
	{ 749, 16, "NVIDIA LAB-16Q" },
	{ 750, 32, "NVIDIA LAB-32Q" },
	{ 751, 48, "NVIDIA LAB-48Q" },
	{ 752, 1, "NVIDIA LAB-1A" },
	{ 753, 2, "NVIDIA LAB-2A" },
	{ 754, 4, "NVIDIA LAB-4A" },
	{ 755, 8, "NVIDIA LAB-8A" },
	{ 756, 16, "NVIDIA LAB-16A" },
	{ 757, 4, "NVIDIA LAB-4C" },
	{ 758, 8, "NVIDIA LAB-8C" },
	{ 759, 16, "NVIDIA LAB-16C" },
};

void lab_slow(void)
{
	if (delay_ms)
		msleep(delay_ms);
}

bool lab_is_style(const char *s)
{
	return !strcmp(style, s);
}

/* --- the pretended GPU: a budget of framebuffer, and who has it open ------ */

u32 lab_room(const struct labgpu *g, const struct labtype *t)
{
	if (g->count && !g->mixed && g->size != t->size)
		return 0;
	return (lab_fb - g->used) / t->size;
}

int lab_take(struct labgpu *g, const struct labtype *t)
{
	if (!lab_room(g, t))
		return -ENOSPC;
	g->used += t->size;
	g->size = t->size;
	g->count++;
	return 0;
}

void lab_give(struct labgpu *g, const struct labtype *t)
{
	g->used -= t->size;
	g->count--;
}

int lab_vm_enters(struct labgpu *g)
{
	if (g->locked)
		return -EBUSY;
	g->vms++;
	return 0;
}

void lab_vm_leaves(struct labgpu *g)
{
	g->vms--;
}

/* --- the PCI driver -------------------------------------------------------- */

static int probe_pf(struct pci_dev *pdev)
{
	struct labgpu *g = kzalloc(sizeof(*g), GFP_KERNEL);
	int ret;

	if (!g)
		return -ENOMEM;
	mutex_init(&g->lock);
	g->mixed = mixed;
	pci_set_drvdata(pdev, g);
	ret = lab_node_add(pdev, g);
	if (ret)
		goto free;
	if (lab_is_style("mdev-pf")) {
		g->mp = lab_mp_add(&pdev->dev, g, lab_fb);
		ret = PTR_ERR_OR_ZERO(g->mp);
		if (ret)
			goto node;
	}
	return 0;
node:
	lab_node_del(g);
free:
	pci_set_drvdata(pdev, NULL);
	kfree(g);
	return ret;
}

static int probe_vf(struct pci_dev *pdev)
{
	struct labgpu *g = pci_get_drvdata(pdev->physfn);

	if (!g || pdev->physfn->driver != pdev->driver)
		return -EPROBE_DEFER;
	return lab_vf_add(pdev, g);
}

static int lab_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	lab_slow();
	return pdev->is_virtfn ? probe_vf(pdev) : probe_pf(pdev);
}

static void lab_remove(struct pci_dev *pdev)
{
	struct labgpu *g;

	if (pdev->is_virtfn) {
		lab_vf_del(pdev);
		return;
	}
	g = pci_get_drvdata(pdev);
	lab_node_del(g);
	pci_disable_sriov(pdev);
	lab_mp_del(g->mp);
	pci_set_drvdata(pdev, NULL);
	kfree(g);
}

static int lab_sriov(struct pci_dev *pdev, int n)
{
	struct labgpu *g = pci_get_drvdata(pdev);
	int ret = 0;

	lab_slow();
	mutex_lock(&g->lock);
	if (!numvfs && !g->locked)
		ret = -EPERM;
	else if (!n && g->count)
		ret = -EBUSY;
	else
		g->mixed = mixed;
	mutex_unlock(&g->lock);
	if (ret)
		return ret;
	if (n) {
		ret = pci_enable_sriov(pdev, n);
		return ret ? ret : n;
	}
	pci_disable_sriov(pdev);
	return 0;
}

static const struct pci_device_id lab_ids[] = {
	{ PCI_DEVICE(GPU_VENDOR, PCI_ANY_ID) },
	{ }
};

static struct pci_driver lab_driver = {
	.name = "nvidia",
	.id_table = lab_ids,
	.probe = lab_probe,
	.remove = lab_remove,
	.sriov_configure = lab_sriov,
	.dev_groups = lab_nvidia_groups,
	.driver_managed_dma = true,
};

/* Give a function the identity of a GPU before anyone is told of it. */
static void disguise(struct pci_dev *pdev)
{
	pdev->vendor = GPU_VENDOR;
	pdev->device = device_id;
	pdev->class = (GPU_CLASS);
}

static bool chosen(struct pci_dev *pdev)
{
	int n;

	for (n = 0; n < npf; n++)
		if (!strcmp(pci_name(pdev), pf[n]))
			return true;
	return false;
}

static int on_bus(struct notifier_block *nb, unsigned long what, void *data)
{
	struct pci_dev *pdev = to_pci_dev((struct device *)data);

	if (what == BUS_NOTIFY_ADD_DEVICE &&
	    (chosen(pdev) || (pdev->is_virtfn && chosen(pdev->physfn))))
		disguise(pdev);
	return NOTIFY_OK;
}

static struct notifier_block watcher = { .notifier_call = on_bus };

static void name_types(void)
{
	struct labtype *t;

	lab_ntypes = min_t(uint, lab_ntypes, LAB_MAX_TYPES);
	for (t = lab_types; t < lab_types + LAB_MAX_TYPES; t++) {
		t->id += ids;
		snprintf(t->digits, sizeof(t->digits), "%u", t->id);
	}
}

static int __init lab_init(void)
{
	struct pci_dev *pdev = NULL;
	int ret;

	name_types();
	for_each_pci_dev(pdev)
		if (chosen(pdev) && !pdev->driver)
			disguise(pdev);
	ret = lab_nodes_init();
	if (ret)
		return ret;
	ret = lab_mdev_init();
	if (ret)
		goto nodes;
	bus_register_notifier(&pci_bus_type, &watcher);
	ret = pci_register_driver(&lab_driver);
	if (!ret)
		return 0;
	bus_unregister_notifier(&pci_bus_type, &watcher);
	lab_mdev_exit();
nodes:
	lab_nodes_exit();
	return ret;
}

static void __exit lab_exit(void)
{
	pci_unregister_driver(&lab_driver);
	bus_unregister_notifier(&pci_bus_type, &watcher);
	lab_mdev_exit();
	lab_nodes_exit();
}

module_init(lab_init);
module_exit(lab_exit);
MODULE_DESCRIPTION("pretend vGPU-capable GPU for the pcidevfs lab");
MODULE_LICENSE("Dual MIT/GPL");
