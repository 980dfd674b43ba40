// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "card.h"

/* ---- lines */

static void read_profile(struct nvml_device *c, const char *line)
{
	struct profile *p = &c->profiles[c->n_profiles];
	char starts[256] = "", *rest = starts, *word;

	if (c->n_profiles == ROWS ||
	    sscanf(line, "%u %u %u %u %u %255[0-9,]:%u %95[^\n]", &p->number, &p->id, &p->slices,
		   &p->instances, &p->mib, starts, &p->size, p->name) != 8)
		return;
	c->n_profiles++;
	while ((word = strsep(&rest, ",")))
		p->starts[p->n++] = (unsigned int)atoi(word);
}

static void read_type(struct nvml_device *c, const char *line)
{
	struct type *t = &c->types[c->n_types];

	if (c->n_types < ROWS && sscanf(line, "%u %d %u %u %u %u %u %63[^/]/%127[^/]/%63[^\n]",
					&t->id, &t->gi_profile, &t->max, &t->per_vm, &t->mib,
					&t->heads, &t->rate, t->class, t->license, t->name) == 10)
		c->n_types++;
}

/* What changes. */
static bool read_state(struct nvml_device *c, const char *line)
{
	struct nvml_gpu_instance gi = { .card = c, .there = true };
	struct nvml_compute_instance ci = { .card = c, .there = true };
	struct card_vgpu *v = &c->vgpu[c->n_vgpus];
	struct nvml_scheduler *s = &c->scheduler;

	if (sscanf(line, "instance %u %u %u %u", &gi.id, &gi.profile, &gi.start, &gi.size) == 4)
		return gi.id < GIS && (c->instances[gi.id] = gi, true);
	if (sscanf(line, "compute %u %u %u %u %u", &ci.gi, &ci.id, &ci.profile, &ci.start,
		   &ci.size) == 5)
		return ci.gi < GIS && ci.id < CIS && (c->computes[ci.gi][ci.id] = ci, true);
	if (c->n_vgpus < ROWS &&
	    sscanf(line, "vgpu %39s %u %d %d", v->owner, &v->type, &v->gi, &v->active) == 4)
		return ++c->n_vgpus;
	if (sscanf(line, "mig %d %d", &c->mig[0], &c->mig[1]) == 2)
		return c->can_mig = true;
	return sscanf(line, "mixed_sizes %d", &c->mixed_sizes) == 1 ||
	       sscanf(line, "vfs %u", &c->vfs) == 1 ||
	       sscanf(line, "scheduler %u %u %u %u", &s->policy, &s->arr, &s->params[0],
		      &s->params[1]) == 4;
}

static void read_line(struct nvml_device *c, const char *line)
{
	struct nvml_process *p = &c->processes[c->n_processes];
	unsigned int *r = c->remapped;
	size_t at = strlen(c->other);

	if (read_state(c, line))
		return;
	if (at + strlen(line) >= sizeof(c->other))
		abort();
	strcpy(c->other + at, line);
	if (!strncmp(line, "profile ", 8))
		read_profile(c, line + 8);
	else if (!strncmp(line, "type ", 5))
		read_type(c, line + 5);
	sscanf(line, "name %95[^\n]", c->name);
	sscanf(line, "driver %79s", c->driver);
	sscanf(line, "library %79s", c->library);
	sscanf(line, "recovery %d", &c->recovery);
	c->n_used += sscanf(line, "used %u", &c->used[c->n_used]) == 1;
	c->n_processes += sscanf(line, "process %u %u %u", &p->pid, &p->gi, &p->ci) == 3;
	c->has_remapped |= sscanf(line, "remapped %u %u %u %u", r, r + 1, r + 2, r + 3) == 4;
	c->keeps |= !strcmp(line, "keeps\n");
	c->busy |= !strcmp(line, "busy\n");
	c->vgpus |= !strcmp(line, "vgpus\n");
	c->n_faults += sscanf(line, "fault %63s %63s", c->faults[c->n_faults][0],
			      c->faults[c->n_faults][1]) == 2;
}

/* ---- the file */

int card_lock(const struct nvml_device *c)
{
	char path[520];
	int fd;

	snprintf(path, sizeof(path), "%.*s.lock", (int)(strrchr(c->file, '/') - c->file), c->file);
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
	return fd;
}

bool card_read(struct nvml_device *c)
{
	char file[sizeof(c->file)], line[512];
	FILE *f = fopen(c->file, "re");
	struct stat st;

	if (!f)
		return false;
	if (fstat(fileno(f), &st))
		abort();
	if (st.st_ino == c->ino && st.st_ctim.tv_sec == c->changed.tv_sec &&
	    st.st_ctim.tv_nsec == c->changed.tv_nsec) {
		fclose(f);
		return true;
	}
	strcpy(file, c->file);
	*c = (struct nvml_device){
		.ino = st.st_ino, .changed = st.st_ctim, .mixed_sizes = -1, .recovery = -1
	};
	strcpy(c->file, file);
	while (fgets(line, sizeof(line), f))
		read_line(c, line);
	fclose(f);
	return true;
}

static void write_instances(const struct nvml_device *c, FILE *f)
{
	for (unsigned int g = 0; g < GIS; g++) {
		const struct nvml_gpu_instance *i = &c->instances[g];

		if (!i->there)
			continue;
		fprintf(f, "instance %u %u %u %u\n", i->id, i->profile, i->start, i->size);
		for (const struct nvml_compute_instance *k = c->computes[g];
		     k < c->computes[g] + CIS; k++)
			if (k->there)
				fprintf(f, "compute %u %u %u %u %u\n", k->gi, k->id, k->profile,
					k->start, k->size);
	}
}

/* ---- capabilities of instances, as the driver's module has them: capabilities/gpuMINOR/mig/giN/ciN/access */

static char proc[512];

void card_set_proc(const char *path)
{
	snprintf(proc, sizeof(proc), "%s", path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void show_capability(const char *path, bool there)
{
	char file[600];
	FILE *f;

	if (!there)
		nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (!there || mkdir(path, 0755))
		return;
	snprintf(file, sizeof(file), "%s/access", path);
	f = fopen(file, "we");
	if (!f)
		return;
	fputs("DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n", f);
	fclose(f);
}

void card_show_instances(const struct nvml_device *c)
{
	char path[576], line[64];
	unsigned int minor = GIS;
	FILE *f;

	snprintf(path, sizeof(path), "%s/driver/nvidia/gpus%s/information", proc,
		 strrchr(c->file, '/'));
	f = *proc ? fopen(path, "re") : NULL;
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Device Minor: %u", &minor);
	if (f)
		fclose(f);
	for (unsigned int g = 0; g < GIS && minor < GIS; g++)
		for (unsigned int k = 0; k <= CIS; k++) {
			int n = snprintf(path, sizeof(path),
					 "%s/driver/nvidia/capabilities/gpu%u/mig/gi%u", proc,
					 minor, g);

			if (k)
				snprintf(path + n, sizeof(path) - (size_t)n, "/ci%u", k - 1);
			show_capability(path, c->instances[g].there &&
						      (!k || c->computes[g][k - 1].there));
		}
}

void card_write(struct nvml_device *c)
{
	char path[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s.new", c->file);
	f = fopen(path, "we");
	if (!f)
		abort();
	fputs(c->other, f);
	if (c->can_mig)
		fprintf(f, "mig %d %d\n", c->mig[0], c->mig[1]);
	if (c->mixed_sizes >= 0)
		fprintf(f, "mixed_sizes %d\n", c->mixed_sizes);
	if (c->scheduler.policy)
		fprintf(f, "scheduler %u %u %u %u\n", c->scheduler.policy, c->scheduler.arr,
			c->scheduler.params[0], c->scheduler.params[1]);
	if (c->vfs)
		fprintf(f, "vfs %u\n", c->vfs);
	write_instances(c, f);
	for (const struct card_vgpu *v = c->vgpu; v < c->vgpu + c->n_vgpus; v++)
		fprintf(f, "vgpu %s %u %d %d\n", v->owner, v->type, v->gi, v->active);
	if (fclose(f) || rename(path, c->file))
		abort();
	card_show_instances(c);
}

/* ---- what follows from it */

const struct profile *card_profile(const struct nvml_device *c, unsigned int id)
{
	for (const struct profile *p = c->profiles; p < c->profiles + c->n_profiles; p++)
		if (p->id == id)
			return p;
	return NULL;
}

const struct type *card_type(const struct nvml_device *c, unsigned int id)
{
	for (const struct type *t = c->types; t < c->types + c->n_types; t++)
		if (t->id == id)
			return t;
	return NULL;
}

/* The largest type takes all of it. */
static unsigned int framebuffer(const struct nvml_device *c)
{
	unsigned int mib = 0;

	for (const struct type *t = c->types; t < c->types + c->n_types; t++)
		if (t->gi_profile < 0 && t->mib > mib)
			mib = t->mib;
	return mib;
}

static unsigned int room_of_card(const struct nvml_device *c, const struct type *t)
{
	unsigned int used = 0, all = framebuffer(c);

	for (const struct card_vgpu *v = c->vgpu; v < c->vgpu + c->n_vgpus; v++) {
		const struct type *other = card_type(c, v->type);

		if (other && other->mib != t->mib && c->mixed_sizes != 1)
			return 0;
		used += other ? other->mib : 0;
	}
	return used < all ? (all - used) / t->mib : 0;
}

static unsigned int vgpus_in(const struct nvml_device *c, unsigned int gi)
{
	unsigned int n = 0;

	for (const struct card_vgpu *v = c->vgpu; v < c->vgpu + c->n_vgpus; v++)
		n += v->gi == (int)gi;
	return n;
}

unsigned int card_vgpu_room(const struct nvml_device *c, const struct type *t, int *ret_gi)
{
	const struct profile *p = card_profile(c, (unsigned int)t->gi_profile);
	unsigned int in_one, room = 0;

	*ret_gi = -1;
	if (t->gi_profile < 0)
		return c->mig[0] ? 0 : room_of_card(c, t);
	if (!c->mig[0] || !p)
		return 0;
	in_one = t->max / p->instances;
	for (unsigned int g = GIS; g-- > 0;) {
		unsigned int n = vgpus_in(c, g);

		if (!c->instances[g].there || c->instances[g].profile != p->id || n >= in_one)
			continue;
		room += in_one - n;
		*ret_gi = (int)g;
	}
	return room;
}
