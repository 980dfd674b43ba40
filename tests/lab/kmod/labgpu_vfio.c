// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * labgpu: VFs. With style=vfio each has a directory nvidia/ in sysfs, and is a
 * device of VFIO that opens once it has a type.
 */
#include <linux/module.h>
#include <linux/vfio.h>
#include <linux/vfio_pci_core.h>

#include "labgpu.h"

static char order[8] = "id";
module_param_string(order, order, sizeof(order), 0644);
static bool header;
module_param(header, bool, 0644);

struct labvf {
	struct vfio_pci_core_device core;	/* first: drvdata must be it */
	struct labgpu *gpu;
	struct labparent *mp;
	const struct labtype *type;
	bool open;
	char params[256];
};

static struct labvf *to_vf(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* --- the nvidia/ directory of a VF ---------------------------------------- */

static ssize_t creatable_vgpu_types_show(struct device *dev,
					 struct device_attribute *a, char *buf)
{
	struct labvf *v = to_vf(dev);
	bool names = !strncmp(order, "name", 4);
	int len = sysfs_emit(buf, names ? "vGPU Name : ID\n" :
					  "ID    : vGPU Name\n");
	int head = len;
	const struct labtype *t;

	mutex_lock(&v->gpu->lock);
	for (t = lab_types; t < lab_types + lab_ntypes && !v->type; t++) {
		if (!lab_room(v->gpu, t))
			continue;
		if (names)
			len += sysfs_emit_at(buf, len, "%s %u\n", t->name, t->id);
		else
			len += sysfs_emit_at(buf, len, "%-5u : %s\n", t->id, t->name);
	}
	mutex_unlock(&v->gpu->lock);
	return len > head || header ? len : 0;
}
static DEVICE_ATTR_RO(creatable_vgpu_types);

static ssize_t current_vgpu_type_show(struct device *dev,
				      struct device_attribute *a, char *buf)
{
	const struct labtype *t = READ_ONCE(to_vf(dev)->type);

	return sysfs_emit(buf, "%u\n", t ? t->id : 0);
}

static void clear_type(struct labvf *v)
{
	if (v->type)
		lab_give(v->gpu, v->type);
	v->type = NULL;
	v->params[0] = '\0';
}

/* Whatever was refused but for an open VF: it has no type then. */
static int set_type(struct labvf *v, u32 id)
{
	bool had = v->type;
	const struct labtype *t;

	if (v->open)
		return -EPERM;
	clear_type(v);
	if (!id)
		return 0;
	if (had)
		return -EIO;
	for (t = lab_types; t < lab_types + lab_ntypes; t++) {
		if (t->id != id)
			continue;
		if (lab_take(v->gpu, t))
			return -EIO;
		v->type = t;
		return 0;
	}
	return -EIO;
}

static ssize_t current_vgpu_type_store(struct device *dev,
				       struct device_attribute *a,
				       const char *buf, size_t count)
{
	struct labvf *v = to_vf(dev);
	int ret;
	u32 id;

	if (kstrtou32(buf, 10, &id))
		return -EINVAL;
	lab_slow();
	mutex_lock(&v->gpu->lock);
	ret = set_type(v, id);
	mutex_unlock(&v->gpu->lock);
	return ret ? ret : count;
}
static DEVICE_ATTR_RW(current_vgpu_type);

static ssize_t vgpu_params_show(struct device *dev, struct device_attribute *a,
				char *buf)
{
	struct labvf *v = to_vf(dev);
	int len;

	mutex_lock(&v->gpu->lock);
	len = sysfs_emit(buf, "%s\n", v->params);
	mutex_unlock(&v->gpu->lock);
	return len;
}

static ssize_t vgpu_params_store(struct device *dev, struct device_attribute *a,
				 const char *buf, size_t count)
{
	struct labvf *v = to_vf(dev);
	int ret = 0;

	if (count >= sizeof(v->params))
		return -EINVAL;
	mutex_lock(&v->gpu->lock);
	if (!v->type || v->open)
		ret = -EPERM;
	else
		strscpy(v->params, buf, strcspn(buf, "\n") + 1);
	mutex_unlock(&v->gpu->lock);
	return ret ? ret : count;
}
static DEVICE_ATTR_RW(vgpu_params);

/* Of a card without MIG, and of vGPUs that no placement was asked for. */
static ssize_t gpu_instance_id_show(struct device *dev,
				    struct device_attribute *a, char *buf)
{
	return READ_ONCE(to_vf(dev)->type) ? sysfs_emit(buf, "%u\n", U32_MAX) : -ENXIO;
}
static DEVICE_ATTR_RO(gpu_instance_id);

static ssize_t placement_id_show(struct device *dev, struct device_attribute *a,
				 char *buf)
{
	return READ_ONCE(to_vf(dev)->type) ? sysfs_emit(buf, "%u\n", U16_MAX) : -ENXIO;
}
static DEVICE_ATTR_RO(placement_id);

static ssize_t warm_update_show(struct device *dev, struct device_attribute *a,
				char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(warm_update);

/* --- the nvidia/ directory of a PF: what nvidia-smi vgpu -shm does -------- */

static ssize_t heterogeneous_mode_show(struct device *dev,
				       struct device_attribute *a, char *buf)
{
	struct labgpu *g = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", READ_ONCE(g->mixed));
}

static ssize_t heterogeneous_mode_store(struct device *dev,
					struct device_attribute *a,
					const char *buf, size_t count)
{
	struct labgpu *g = dev_get_drvdata(dev);
	ssize_t ret = count;
	bool on;

	if (kstrtobool(buf, &on))
		return -EINVAL;
	lab_slow();
	mutex_lock(&g->lock);
	if (g->count)
		ret = -EBUSY;
	else
		g->mixed = on;
	mutex_unlock(&g->lock);
	return ret;
}
static DEVICE_ATTR_RW(heterogeneous_mode);

static struct attribute *nvidia_attrs[] = {
	&dev_attr_creatable_vgpu_types.attr,
	&dev_attr_current_vgpu_type.attr,
	&dev_attr_vgpu_params.attr,
	&dev_attr_gpu_instance_id.attr,
	&dev_attr_placement_id.attr,
	&dev_attr_warm_update.attr,
	&dev_attr_heterogeneous_mode.attr,
	NULL,
};

static umode_t nvidia_visible(struct kobject *k, struct attribute *a, int n)
{
	bool of_pf = a == &dev_attr_heterogeneous_mode.attr;

	if (!to_pci_dev(kobj_to_dev(k))->is_virtfn)
		return of_pf ? a->mode : 0;
	return !of_pf && lab_is_style("vfio") ? a->mode : 0;
}

static const struct attribute_group nvidia_group = {
	.name = "nvidia",
	.attrs = nvidia_attrs,
	.is_visible = nvidia_visible,
};

const struct attribute_group *lab_nvidia_groups[] = { &nvidia_group, NULL };

/* --- VFIO ------------------------------------------------------------------ */

static struct labvf *core_to_vf(struct vfio_device *vd)
{
	struct vfio_pci_core_device *core =
		container_of(vd, struct vfio_pci_core_device, vdev);

	return container_of(core, struct labvf, core);
}

static void vf_leave(struct labvf *v)
{
	mutex_lock(&v->gpu->lock);
	v->open = false;
	lab_vm_leaves(v->gpu);
	mutex_unlock(&v->gpu->lock);
}

static int vf_open(struct vfio_device *vd)
{
	struct labvf *v = core_to_vf(vd);
	int ret;

	mutex_lock(&v->gpu->lock);
	ret = v->type ? lab_vm_enters(v->gpu) : -ENODEV;
	if (!ret)
		v->open = true;
	mutex_unlock(&v->gpu->lock);
	if (ret)
		return ret;
	ret = vfio_pci_core_enable(&v->core);
	if (ret) {
		vf_leave(v);
		return ret;
	}
	vfio_pci_core_finish_enable(&v->core);
	return 0;
}

static void vf_close(struct vfio_device *vd)
{
	vfio_pci_core_close_device(vd);
	vf_leave(core_to_vf(vd));
}

static const struct vfio_device_ops vf_ops = {
	.name = "nvidia-vgpu-vfio-pci",
	.init = vfio_pci_core_init_dev,
	.release = vfio_pci_core_release_dev,
	.open_device = vf_open,
	.close_device = vf_close,
	.ioctl = vfio_pci_core_ioctl,
	.read = vfio_pci_core_read,
	.write = vfio_pci_core_write,
	.mmap = vfio_pci_core_mmap,
	.request = vfio_pci_core_request,
	.match = vfio_pci_core_match,
};

int lab_vf_add(struct pci_dev *pdev, struct labgpu *g)
{
	struct labvf *v;
	int ret;

	v = vfio_alloc_device(labvf, core.vdev, &pdev->dev, &vf_ops);
	if (IS_ERR(v))
		return PTR_ERR(v);
	v->gpu = g;
	dev_set_drvdata(&pdev->dev, v);
	if (lab_is_style("mdev")) {
		v->mp = lab_mp_add(&pdev->dev, g, 1);
		ret = PTR_ERR_OR_ZERO(v->mp);
	} else {
		ret = vfio_pci_core_register_device(&v->core);
	}
	if (ret)
		vfio_put_device(&v->core.vdev);
	return ret;
}

void lab_vf_del(struct pci_dev *pdev)
{
	struct labvf *v = pci_get_drvdata(pdev);

	if (v->mp)
		lab_mp_del(v->mp);
	else
		vfio_pci_core_unregister_device(&v->core);
	mutex_lock(&v->gpu->lock);
	clear_type(v);
	mutex_unlock(&v->gpu->lock);
	vfio_put_device(&v->core.vdev);
}
