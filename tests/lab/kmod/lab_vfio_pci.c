// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A vendor's variant of vfio-pci as small as one can be, for the lab's edu (1234:11e8). What such a variant is
 * for, migration, it has none of: it is there to be found in modules.alias, loaded, bound and opened.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <linux/vfio_pci_core.h>

static int lab_open(struct vfio_device *dev)
{
	struct vfio_pci_core_device *core =
		container_of(dev, struct vfio_pci_core_device, vdev);
	int ret = vfio_pci_core_enable(core);

	if (!ret)
		vfio_pci_core_finish_enable(core);
	return ret;
}

static const struct vfio_device_ops lab_ops = {
	.name = KBUILD_MODNAME,
	.init = vfio_pci_core_init_dev,
	.release = vfio_pci_core_release_dev,
	.open_device = lab_open,
	.close_device = vfio_pci_core_close_device,
	.ioctl = vfio_pci_core_ioctl,
	.device_feature = vfio_pci_core_ioctl_feature,
	.read = vfio_pci_core_read,
	.write = vfio_pci_core_write,
	.mmap = vfio_pci_core_mmap,
	.request = vfio_pci_core_request,
	.match = vfio_pci_core_match,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	.bind_iommufd = vfio_iommufd_physical_bind,
	.unbind_iommufd = vfio_iommufd_physical_unbind,
	.attach_ioas = vfio_iommufd_physical_attach_ioas,
	.detach_ioas = vfio_iommufd_physical_detach_ioas,
#endif
};

static int lab_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vfio_pci_core_device *core;
	int ret;

	core = vfio_alloc_device(vfio_pci_core_device, vdev, &pdev->dev, &lab_ops);
	if (IS_ERR(core))
		return PTR_ERR(core);
	dev_set_drvdata(&pdev->dev, core);
	ret = vfio_pci_core_register_device(core);
	if (ret)
		vfio_put_device(&core->vdev);
	return ret;
}

static void lab_remove(struct pci_dev *pdev)
{
	struct vfio_pci_core_device *core = dev_get_drvdata(&pdev->dev);

	vfio_pci_core_unregister_device(core);
	vfio_put_device(&core->vdev);
}

static const struct pci_device_id lab_table[] = {
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(0x1234, 0x11e8) },
	{}
};
MODULE_DEVICE_TABLE(pci, lab_table);

static struct pci_driver lab_driver = {
	.name = KBUILD_MODNAME,
	.id_table = lab_table,
	.probe = lab_probe,
	.remove = lab_remove,
	.err_handler = &vfio_pci_core_err_handlers,
	.driver_managed_dma = true,
};
module_pci_driver(lab_driver);

MODULE_DESCRIPTION("A variant of vfio-pci for the lab");
MODULE_LICENSE("GPL");
