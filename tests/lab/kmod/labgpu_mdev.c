// SPDX-License-Identifier: GPL-2.0 OR MIT
/* labgpu: style=mdev and mdev-pf. */
#include <linux/mdev.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vfio.h>
#include <linux/version.h>

#include "labgpu.h"

/* An mdev parent: a VF, or the whole PF. */
struct labparent {
	struct mdev_parent parent;
	struct mdev_type mtypes[LAB_MAX_TYPES];
	struct mdev_type *ptrs[LAB_MAX_TYPES];
	struct labgpu *gpu;
	u32 limit;		/* instances at once */
	u32 count;
};

struct labmdev {
	struct vfio_device vdev;
	struct labparent *mp;
	const struct labtype *type;
};

static struct labparent *to_mp(struct mdev_parent *p)
{
	return container_of(p, struct labparent, parent);
}

static const struct labtype *to_type(struct mdev_type *mt)
{
	return &lab_types[mt - to_mp(mt->parent)->mtypes];
}

static int mdev_init(struct vfio_device *vd)
{
	return 0;
}

static void mdev_release(struct vfio_device *vd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	vfio_free_device(vd);
#endif
}

static int mdev_open(struct vfio_device *vd)
{
	struct labgpu *g = container_of(vd, struct labmdev, vdev)->mp->gpu;
	int ret;

	mutex_lock(&g->lock);
	ret = lab_vm_enters(g);
	mutex_unlock(&g->lock);
	return ret;
}

static void mdev_close(struct vfio_device *vd)
{
	struct labgpu *g = container_of(vd, struct labmdev, vdev)->mp->gpu;

	mutex_lock(&g->lock);
	lab_vm_leaves(g);
	mutex_unlock(&g->lock);
}

static const struct vfio_device_ops mdev_ops = {
	.name = "nvidia-vgpu-vfio",
	.init = mdev_init,
	.release = mdev_release,
	.open_device = mdev_open,
	.close_device = mdev_close,
};

static void mdev_gone(struct labparent *mp, const struct labtype *t)
{
	mutex_lock(&mp->gpu->lock);
	lab_give(mp->gpu, t);
	mp->count--;
	mutex_unlock(&mp->gpu->lock);
}

static int lab_mdev_probe(struct mdev_device *mdev)
{
	struct labparent *mp = to_mp(mdev->type->parent);
	const struct labtype *t = to_type(mdev->type);
	struct labmdev *m;
	int ret;

	lab_slow();
	mutex_lock(&mp->gpu->lock);
	ret = mp->count >= mp->limit ? -ENOSPC : lab_take(mp->gpu, t);
	if (!ret)
		mp->count++;
	mutex_unlock(&mp->gpu->lock);
	if (ret)
		return ret;
	m = vfio_alloc_device(labmdev, vdev, &mdev->dev, &mdev_ops);
	if (IS_ERR(m)) {
		ret = PTR_ERR(m);
		goto undo;
	}
	m->mp = mp;
	m->type = t;
	ret = vfio_register_emulated_iommu_dev(&m->vdev);
	if (ret) {
		vfio_put_device(&m->vdev);
		goto undo;
	}
	dev_set_drvdata(&mdev->dev, m);
	return 0;
undo:
	mdev_gone(mp, t);
	return ret;
}

static void lab_mdev_remove(struct mdev_device *mdev)
{
	struct labmdev *m = dev_get_drvdata(&mdev->dev);
	struct labparent *mp = m->mp;
	const struct labtype *t = m->type;

	vfio_unregister_group_dev(&m->vdev);
	vfio_put_device(&m->vdev);
	lab_slow();
	mdev_gone(mp, t);
}

static unsigned int lab_mdev_available(struct mdev_type *mt)
{
	struct labparent *mp = to_mp(mt->parent);
	u32 n;

	mutex_lock(&mp->gpu->lock);
	n = min(lab_room(mp->gpu, to_type(mt)), mp->limit - mp->count);
	mutex_unlock(&mp->gpu->lock);
	return n;
}

static ssize_t lab_mdev_description(struct mdev_type *mt, char *buf)
{
	const struct labtype *t = to_type(mt);

	return sysfs_emit(buf, "num_heads=4, frl_config=60, framebuffer=%uM, max_resolution=4096x2160, max_instance=%u\n",
			  t->size * 1024, lab_fb / t->size);
}

static struct mdev_driver lab_mdev_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.probe = lab_mdev_probe,
	.remove = lab_mdev_remove,
	.get_available = lab_mdev_available,
	.show_description = lab_mdev_description,
	.driver = {
		.name = "nvidia-vgpu-vfio",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
	},
};

struct labparent *lab_mp_add(struct device *dev, struct labgpu *g, u32 limit)
{
	struct labparent *mp = kzalloc(sizeof(*mp), GFP_KERNEL);
	int n, ret;

	if (!mp)
		return ERR_PTR(-ENOMEM);
	mp->gpu = g;
	mp->limit = limit;
	for (n = 0; n < lab_ntypes; n++) {
		mp->mtypes[n].sysfs_name = lab_types[n].digits;
		mp->mtypes[n].pretty_name = lab_types[n].name;
		mp->ptrs[n] = &mp->mtypes[n];
	}
	ret = mdev_register_parent(&mp->parent, dev, &lab_mdev_driver, mp->ptrs,
				   lab_ntypes);
	if (ret) {
		kfree(mp);
		return ERR_PTR(ret);
	}
	return mp;
}

void lab_mp_del(struct labparent *mp)
{
	if (IS_ERR_OR_NULL(mp))
		return;
	mdev_unregister_parent(&mp->parent);
	kfree(mp);
}

int lab_mdev_init(void)
{
	return mdev_register_driver(&lab_mdev_driver);
}

void lab_mdev_exit(void)
{
	mdev_unregister_driver(&lab_mdev_driver);
}
