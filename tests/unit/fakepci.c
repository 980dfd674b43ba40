// SPDX-License-Identifier: GPL-2.0-or-later
#include "facts.h"
#include "fakepci.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/device.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define DEVICE "sys/bus/pci/devices/"

static void link_to(const char *target, const char *address, const char *name)
{
	char path[512];

	CHECK(!chdir(test_dir()));
	snprintf(path, sizeof(path), DEVICE "%s/%s", address, name);
	if (symlink(target, path))
		FAIL("%s: %m", path);
}

void fake_machine(void)
{
	test_file("sys/bus/pci/drivers/vfio-pci/bind", "");
	test_file("sys/bus/pci/drivers_probe", "");
	test_file("sys/kernel/iommu_groups/0/type", "DMA\n");
	test_file("sys/bus/pci/devices/.keep", "");
	test_file("dev/vfio/vfio", "");
	test_file("proc/1/mounts", "");
}

void fake_attr(const char *address, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), DEVICE "%s/%s", address, name);
	test_file(path, text);
}

void fake_add(const struct fake *f)
{
	char target[64];

	fake_attr(f->address, "enable", "0\n");
	if (f->vendor)
		fake_attr(f->address, "vendor", f->vendor);
	if (f->device)
		fake_attr(f->address, "device", f->device);
	if (f->class)
		fake_attr(f->address, "class", f->class);
	if (f->driver) {
		snprintf(target, sizeof(target), "../../drivers/%s", f->driver);
		link_to(target, f->address, "driver");
	}
	if (f->group >= 0) {
		snprintf(target, sizeof(target), "../../../../kernel/iommu_groups/%d", f->group);
		link_to(target, f->address, "iommu_group");
	}
}

void fake_remove(const char *address)
{
	char from[256], to[256];

	CHECK(!chdir(test_dir()));
	snprintf(from, sizeof(from), DEVICE "%s", address);
	snprintf(to, sizeof(to), "gone-%s", address);
	CHECK(!rename(from, to));
}

void fake_virtfn(const char *pf, int index, const char *vf)
{
	char target[64], name[32];

	snprintf(target, sizeof(target), "../%s", vf);
	snprintf(name, sizeof(name), "virtfn%d", index);
	link_to(target, pf, name);
	snprintf(target, sizeof(target), "../%s", pf);
	link_to(target, vf, "physfn");
}

struct roots fake_roots(void)
{
	static char paths[3][512];

	snprintf(paths[0], sizeof(paths[0]), "%s/sys", test_dir());
	snprintf(paths[1], sizeof(paths[1]), "%s/dev", test_dir());
	snprintf(paths[2], sizeof(paths[2]), "%s/proc", test_dir());
	return (struct roots){ paths[0], paths[1], paths[2] };
}

struct world_fake fake_open_by(int spawner)
{
	struct roots roots = fake_roots();
	struct err err = { 0 };
	struct world_fake w = { 0 };
	bool found;

	roots.spawner = spawner;
	w.arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(w.arena != MAP_FAILED);
	if (model_new(w.arena, model_arena_size(), &w.model, &found, &err) ||
	    backend_open(&roots, &w.backend, &err))
		FAIL("%s", err.text);
	backend_use(w.backend, w.model);
	if (backend_scan(w.backend, &err))
		FAIL("%s", err.text);
	return w;
}

struct world_fake fake_open(void)
{
	struct roots roots = fake_roots();
	struct world_fake w;
	int spawner;

	CHECK_EQ(backend_open_spawner(&roots, &spawner, NULL), 0);
	w = fake_open_by(spawner);
	w.spawner = spawner;
	return w;
}

struct world_fake fake_vgpu_card(const char *types)
{
	static const char *const vfs[] = { FAKE_VF0, FAKE_VF1 };

	fake_machine();
	fake_add(&(struct fake){ FAKE_GPU, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
	fake_attr(FAKE_GPU, "sriov_totalvfs", "16\n");
	fake_attr(FAKE_GPU, "sriov_vf_device", "25b6\n");
	for (int i = 0; i < 2; i++) {
		fake_add(&(struct fake){ vfs[i], "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia",
					 50 + i });
		fake_virtfn(FAKE_GPU, i, vfs[i]);
		fake_attr(vfs[i], "nvidia/current_vgpu_type", "0\n");
		fake_attr(vfs[i], "nvidia/creatable_vgpu_types", types);
		fake_attr(vfs[i], "nvidia/vgpu_params", "\n");
	}
	return fake_open();
}

void fake_close(struct world_fake *w)
{
	backend_free(w->backend);
	if (w->spawner > 0)
		close(w->spawner);
	model_free(w->model);
	munmap(w->arena, model_arena_size());
}

struct key fake_key(const char *address)
{
	struct key key;

	CHECK(key_make(BUS_PCI, address, &key));
	return key;
}

struct request fake_request(const char *address, unsigned int virtfn, const char *file,
			    const char *value)
{
	struct request w = { .dev = fake_key(address), .child = (uint16_t)virtfn };

	CHECK(STR_COPY(w.file, file));
	CHECK(STR_COPY(w.value, value));
	return w;
}

const char *fake_plan(struct world_fake *w, const struct request *requests, size_t n, bool predict)
{
	static char text[4096];
	struct plan plan = { 0 };
	struct out o = { 0 };
	struct err err = { 0 };
	int rc;

	model_lock(w->model);
	rc = plan_make(w->model, backend_methods(w->backend), requests, n, predict, &plan, &err);
	model_unlock(w->model);
	CHECK_EQ(rc, -err.code);
	plan_print(&plan, &o);
	if (rc)
		snprintf(text, sizeof(text), "%s: %s", err_name(err.code), err.text);
	else
		snprintf(text, sizeof(text), "%s%s", out_text(&o), plan.more ? "more\n" : "");
	out_free(&o);
	plan_free(&plan);
	return text;
}

void fake_edit(struct world_fake *w, const char *address, void (*change)(struct device *dev))
{
	struct key key = fake_key(address);

	model_lock(w->model);
	change(model_edit(w->model, &key, false));
	model_publish(w->model);
	model_unlock(w->model);
}

void fake_by_alice(struct device *dev)
{
	STR_COPY(dev->intent.claim, "alice");
}

void fake_by_qemu(struct device *dev)
{
	STR_COPY(dev->facts.holder, "pid=812 comm=\"qemu kvm\"");
}

void fake_to_none(struct device *dev)
{
	set_driver(&dev->facts, "");
}

void fake_split(struct device *dev)
{
	dev->facts.mdevs = 1;
	STR_COPY(dev->facts.mdev, FAKE_UUID);
}

void fake_whole(struct device *dev)
{
	dev->facts.mdevs = 0;
	STR_COPY(dev->facts.mdev, "");
}

const char *fake_plan_of(struct world_fake *w, const char *address, const char *file,
			 const char *value)
{
	struct request request = fake_request(address, 0, file, value);

	return fake_plan(w, &request, 1, false);
}

void fake_told(struct world_fake *w, const char *address, uint32_t caps, const char *lines)
{
	struct key key = fake_key(address);
	struct device *dev;

	model_lock(w->model);
	dev = model_edit(w->model, &key, false);
	dev->facts.caps |= caps;
	mig_keep(w->model, dev, lines);
	model_publish(w->model);
	model_unlock(w->model);
}
