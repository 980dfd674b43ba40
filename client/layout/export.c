// SPDX-License-Identifier: GPL-2.0-or-later
/* What is, as a layout: in our form all that a layout may set, in NVIDIA's what they can say. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "work.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-"

/* As it is, or in quotes where YAML could take it for something else. */
static void put_scalar(struct out *o, const char *text)
{
	if (*text && *text != '-' && *text != '.' && text[strspn(text, PLAIN)] == '\0') {
		out_printf(o, "%s", text);
		return;
	}
	out_printf(o, "\"");
	for (; *text; text++)
		out_printf(o, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	out_printf(o, "\"");
}

/* ---- what of a device is worth telling */

/* The text of a file that reads other than unset; NULL: nothing is to be told. */
static char *told(const struct layout_view *view, const struct tree_device *d,
		  const struct layout_file *f, const char *intents)
{
	bool vgpu = *device_says(d, "profile"), vf = layout_is_vf(d);
	char *now;

	/* GPUs whose driver makes the VFs have enabled for it; of a vGPU it is another profile. */
	if ((!strcmp(f->name, "sriov_numvfs") && device_get(d, "enabled")) ||
	    (!strcmp(f->name, "enabled") && (vf || vgpu)) || !layout_was_asked(intents, d->id, f))
		return NULL;
	/* A mediated device is made by its parent; what others have made is theirs. */
	if (!strcmp(f->name, "profile") && (!vf || !*device_says(d, "claim")))
		return NULL;
	if (f->is_of_vgpu && vgpu && !*device_says(d, "claim"))
		return NULL;
	/* Its parent's vgpus tell of it; on another machine nothing has its UUID. */
	if (!strcmp(f->name, "claim") && !vf && vgpu && !strcmp(device_says(d, "claim"), "admin"))
		return NULL;
	now = layout_now(view, d, f->name);
	if (now && (!*now || !strcmp(now, f->unset) || !strcmp(now, "none") || strchr(now, '\n'))) {
		free(now);
		now = NULL;
	}
	return now;
}

/* "key: value" of each, with what stands between two. Returns how many. */
static size_t put_files(const struct layout_view *view, const struct tree_device *d,
			const char *intents, const char *between, struct out *o)
{
	size_t n = 0;

	for (const struct layout_file *f = layout_files; f->name; f++) {
		char *now = told(view, d, f, intents);

		if (now) {
			out_printf(o, "%s%s: ", n++ ? between : "", f->name);
			put_scalar(o, now);
		}
		free(now);
	}
	return n;
}

/* ---- vGPUs by type */

/* "{A2-4Q: 2}" of the vGPUs of a card, by whole names or by their last words. */
static size_t put_counts(const struct layout_view *view, const struct tree_device *gpu, bool whole,
			 struct out *o)
{
	const struct tree_inventory *inv = view->inv;
	size_t types = 0;

	for (size_t i = 0; i < inv->n; i++) {
		const char *name = device_says(&inv->devices[i], "profile");
		unsigned int n = 0;
		size_t first = inv->n;

		if (!*name || !device_is_of(&inv->devices[i], gpu->id))
			continue;
		for (size_t j = 0; j < inv->n; j++) {
			const struct tree_device *d = &inv->devices[j];

			if (!device_is_of(d, gpu->id) || strcmp(device_says(d, "profile"), name))
				continue;
			first = first < j ? first : j;
			n++;
		}
		if (first != i)
			continue;
		out_printf(o, "%s", types++ ? ", " : "{");
		put_scalar(o, whole || !strrchr(name, ' ') ? name : strrchr(name, ' ') + 1);
		out_printf(o, ": %u", n);
	}
	out_printf(o, "%s", types ? "}" : "{}");
	return types;
}

/* ---- our form */

/* VFs that are vGPUs have lines of their own, and there are no others. Mediated devices are
 * counted, also those of others, which stay theirs. */
static void put_vgpus(const struct layout_view *view, const struct tree_device *gpu, struct out *o)
{
	bool vfs = !strcmp(device_says(gpu, "enabled"), "1"), ours = false, others = false;
	_free_ char *support = vfs ? view->text(view->ctx, gpu->id, "vgpu_support") : NULL;

	for (size_t i = 0; i < view->inv->n; i++) {
		const struct tree_device *d = &view->inv->devices[i];

		if (*device_says(d, "profile") && device_is_of(d, gpu->id))
			*(*device_says(d, "claim") ? &ours : &others) = true;
	}
	if (vfs ? others || !support || strcmp(support, "yes") : !ours)
		return;
	out_printf(o, "%svgpus: ", o->len ? "      " : "");
	if (vfs)
		out_printf(o, "{}");
	else
		put_counts(view, gpu, true, o);
	out_printf(o, "\n");
}

static void put_vfs(const struct layout_view *view, const struct tree_device *pf,
		    const char *intents, struct out *o)
{
	size_t n = 0, told_vfs = 0;

	/* Numbers follow addresses, as layout_vf() has it. */
	for (size_t i = 0; i < view->inv->n; i++) {
		const struct tree_device *vf = &view->inv->devices[i];
		struct out files = { 0 };

		if (strcmp(device_says(vf, "physfn"), pf->id) != 0)
			continue;
		if (put_files(view, vf, intents, ", ", &files))
			out_printf(o, "%s        %zu: {%s}\n", told_vfs++ ? "" : "      vfs:\n", n,
				   out_text(&files));
		n++;
		o->failed |= files.failed;
		out_free(&files);
	}
}

static void export_ours(const struct layout_view *view, struct out *o)
{
	_free_ char *intents = view->text(view->ctx, NULL, "intents");
	size_t entries = 0;

	out_printf(o, "version: v1\nlayouts:\n  now:");
	for (size_t i = 0; i < view->inv->n; i++) {
		const struct tree_device *d = &view->inv->devices[i];
		struct out text = { 0 };

		if (layout_is_vf(d))
			continue;
		if (put_files(view, d, intents, "\n      ", &text))
			out_printf(&text, "\n");
		put_vgpus(view, d, &text);
		if (text.len)
			out_printf(o, "%s    - match: {address: \"%s\"} # %s\n      %s",
				   entries++ ? "" : "\n", d->id, device_says(d, "description"),
				   out_text(&text));
		if (text.len)
			put_vfs(view, d, intents, o);
		o->failed |= text.failed;
		out_free(&text);
	}
	out_printf(o, "%s", entries ? "" : " []\n");
}

/* ---- NVIDIA's forms */

/* How many vGPUs of the card are in instances of this profile; NULL: of any, or in none too. */
static unsigned int count_vgpus(const struct layout_view *view, const struct tree_device *gpu,
				const char *instance, size_t len)
{
	unsigned int n = 0;
	char in[32];

	for (size_t i = 0; i < view->inv->n; i++) {
		const char *profile = device_says(&view->inv->devices[i], "profile");

		if (*profile && device_is_of(&view->inv->devices[i], gpu->id))
			n += !instance || (layout_mig_profile(profile, in) && strlen(in) == len &&
					   !memcmp(in, instance, len));
	}
	return n;
}

/* Has the card just the MIG instances that its vGPUs need? */
static bool is_needed(const struct layout_view *view, const struct tree_device *gpu,
		      const char *layout)
{
	for (const char *p = layout; *p;) {
		size_t word = strcspn(p, " "), bare = strcspn(p, " *");

		if (layout_instances(layout, p, bare) != count_vgpus(view, gpu, p, bare))
			return false;
		p += word + strspn(p + word, " ");
	}
	return true;
}

/* Does the form say it? vgpu-configs tell of a card with vGPUs that it has VFs, and of types in MIG
 * instances that it has these, and no others. */
static bool is_said(const struct layout_view *view, const struct tree_device *d, const char *file,
		    const char *now, bool mig)
{
	if (mig)
		return !strncmp(file, "mig/", 4);
	if (!strcmp(file, "enabled"))
		return count_vgpus(view, d, NULL, 0);
	if (!strcmp(file, "mig/layout"))
		return is_needed(view, d, now);
	if (strcmp(file, "mig/mode") != 0)
		return !strcmp(file, "profile");
	for (size_t i = 0; i < view->inv->n; i++)
		if (device_is_of(&view->inv->devices[i], d->id) &&
		    layout_mig_profile(device_says(&view->inv->devices[i], "profile"),
				       (char[32]){ 0 }))
			return true;
	return false;
}

/* What they cannot say: who has what, and what is not theirs. */
static void put_rest(const struct layout_view *view, bool mig, struct out *o)
{
	_free_ char *intents = view->text(view->ctx, NULL, "intents");

	for (size_t i = 0; i < view->inv->n; i++) {
		const struct tree_device *d = &view->inv->devices[i];
		bool vgpu = *device_says(d, "profile");

		for (const struct layout_file *f = layout_files; f->name; f++) {
			_free_ char *now = told(view, d, f, intents);

			if (!now || is_said(view, d, f->name, now, mig))
				continue;
			if (strcmp(f->name, "claim") != 0)
				out_printf(o, "# not said here: %s of %s is %s\n", f->name, d->id,
					   now);
			else if (!vgpu || strcmp(now, "admin") != 0)
				out_printf(o, "# not said here: %s is claimed by %s\n", d->id, now);
		}
	}
}

static void put_mig(const struct layout_view *view, const struct tree_device *gpu, struct out *o)
{
	_free_ char *mode = view->text(view->ctx, gpu->id, "mig/mode");
	_free_ char *layout = view->text(view->ctx, gpu->id, "mig/layout");
	bool on = mode && !strcmp(mode, "1");
	char *save, *star;
	size_t n = 0;

	out_printf(o, "      mig-enabled: %s\n      mig-devices: {", on ? "true" : "false");
	for (char *word = on && layout && strcmp(layout, "none") ? strtok_r(layout, " ", &save)
								 : NULL;
	     word; word = strtok_r(NULL, " ", &save)) {
		star = strchr(word, '*');
		out_printf(o, "%s", n++ ? ", " : "");
		if (star)
			*star = '\0';
		put_scalar(o, word);
		out_printf(o, ": %s", star ? star + 1 : "1");
	}
	out_printf(o, "}\n");
}

static int export_nvidia(const struct layout_view *view, const char *form, struct out *o,
			 struct err *err)
{
	bool mig = !strcmp(form, "mig-configs");
	const struct tree_device *gpu;
	size_t i = 0;

	put_rest(view, mig, o);
	out_printf(o, "version: v1\n%s:\n  now:\n", form);
	for (size_t at = 0; (gpu = layout_gpu(view->inv, &at)); at++) {
		out_printf(o, "    - devices: [%zu] # %s\n", i++, gpu->id);
		if (mig) {
			put_mig(view, gpu, o);
			continue;
		}
		out_printf(o, "      vgpu-devices: ");
		put_counts(view, gpu, false, o);
		out_printf(o, "\n");
	}
	return i ? 0 : fail(err, ENODEV, "%s: this machine has no GPU of NVIDIA", form);
}

int layout_export(const struct layout_view *view, const char *form, struct out *ret,
		  struct err *err)
{
	int r = 0;

	if (!strcmp(form, "layouts"))
		export_ours(view, ret);
	else if (!strcmp(form, "vgpu-configs") || !strcmp(form, "mig-configs"))
		r = export_nvidia(view, form, ret, err);
	else
		return fail(err, EINVAL,
			    "\"%.40s\" is not a form; write layouts, vgpu-configs or mig-configs",
			    form);
	return r ?: ret->failed ? fail_nomem(err) : 0;
}
