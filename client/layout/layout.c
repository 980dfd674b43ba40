// SPDX-License-Identifier: GPL-2.0-or-later
/* Forms of layouts, their entries and keys. */
#include "layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/yaml.h"
#include "pcidevfs/util.h"
#include "work.h"

typedef int entry_run(struct layout_work *w, json_object *entry);

/* ---- vgpu-configs */

static int each_vgpus(struct layout_work *w, const struct tree_device *d, json_object *entry,
		      bool broad)
{
	w->matched++;
	return layout_want_vgpus(w, d, json_object_object_get(entry, "vgpu-devices"));
}

static int run_vgpus(struct layout_work *w, json_object *entry)
{
	w->nvidia = true;
	return layout_match_nvidia(w, entry, each_vgpus);
}

/* ---- mig-configs */

static int mig_layout(struct layout_work *w, json_object *devices, struct out *ret)
{
	uint64_t n;

	if (!json_object_is_type(devices, json_type_object))
		return layout_fail(w, EINVAL, yml_line(devices),
				   "mig-devices must be a map of profiles and numbers");
	json_object_object_foreach(devices, name, count)
	{
		const char *text = layout_scalar(w, name, count);

		if (!text)
			return -EINVAL;
		if (parse_u64(text, 64, &n) || !n || !*name || strpbrk(name, " *"))
			return layout_fail(
				w, EINVAL, yml_line(count),
				"\"%.40s: %.20s\" is not a profile and a number of instances", name,
				text);
		out_printf(ret, "%s%s", ret->len ? " " : "", name);
		if (n > 1)
			out_printf(ret, "*%u", (unsigned int)n);
	}
	return ret->failed ? fail_nomem(w->err) : 0;
}

static int each_mig(struct layout_work *w, const struct tree_device *d, json_object *entry,
		    bool broad)
{
	json_object *enabled = json_object_object_get(entry, "mig-enabled");
	json_object *devices = json_object_object_get(entry, "mig-devices");
	const char *text = layout_scalar(w, "mig-enabled", enabled);
	_free_ char *mode = w->view->text(w->view->ctx, d->id, "mig/mode");
	struct out layout = { 0 };
	bool on = false;
	int r;

	w->matched++;
	if (!text)
		return -EINVAL;
	if (parse_bool(text, &on))
		return layout_fail(w, EINVAL, yml_line(enabled),
				   "mig-enabled must be true or false");
	if (!on && json_object_is_type(devices, json_type_object) &&
	    json_object_object_length(devices))
		return layout_fail(w, EINVAL, yml_line(devices),
				   "mig-devices asks for instances, and line %u says mig-enabled: "
				   "%s",
				   yml_line(enabled), text);
	if (!mode)
		return on ? layout_fail(w, EOPNOTSUPP, yml_line(enabled), "%s has no MIG", d->id)
			  : 0;
	if (on && !devices)
		return layout_fail(w, EINVAL, yml_line(entry),
				   "mig-enabled: true needs mig-devices");
	r = on ? mig_layout(w, devices, &layout) : 0;
	r = r ?: layout_want(w, d->id, "mig/mode", text, yml_line(enabled));
	r = r
		    ?: layout_want(w, d->id, "mig/layout", layout.len ? out_text(&layout) : "none",
				   yml_line(devices ?: enabled));
	out_free(&layout);
	return r;
}

static int run_mig(struct layout_work *w, json_object *entry)
{
	return layout_match_nvidia(w, entry, each_mig);
}

/* ---- our form */

static int want_files(struct layout_work *w, const char *id, json_object *files)
{
	if (!json_object_is_type(files, json_type_object))
		return layout_fail(w, EINVAL, yml_line(files),
				   "a VF needs a map of files, such as {claim: alice}");
	json_object_object_foreach(files, file, value)
	{
		const char *text = layout_scalar(w, file, value);
		int r = text ? 0 : -EINVAL;

		if (!r && !layout_file(file))
			r = layout_fail(w, EINVAL, yml_line(value),
					"\"%.64s\" is not a file that a layout may set", file);
		r = r ?: layout_want(w, id, file, text, yml_line(value));
		if (r)
			return r;
	}
	return 0;
}

/* {0: {...}, 1-3: {...}} */
static int want_vfs(struct layout_work *w, const struct tree_device *d, json_object *vfs)
{
	if (!json_object_is_type(vfs, json_type_object))
		return layout_fail(
			w, EINVAL, yml_line(vfs),
			"vfs must be a map such as {0: {claim: alice}, 1-3: {claim: bob}}");
	json_object_object_foreach(vfs, range, files)
	{
		unsigned int from, to;
		char id[96], more;
		int n = sscanf(range, "%5u-%5u%c", &from, &to, &more), r = 0;

		to = n == 2 ? to : from;
		if ((n != 1 && n != 2) || strspn(range, "0123456789-") != strlen(range) ||
		    from > to || (n == 1 && strchr(range, '-')) || to >= LAYOUT_LINES_MAX)
			return layout_fail(
				w, EINVAL, yml_line(files),
				"\"%.32s\" is not the number of a VF, nor a range such as 0-3",
				range);
		for (; from <= to && !r; from++) {
			snprintf(id, sizeof(id), "%.80s/virtfn%u", d->id, from);
			r = want_files(w, id, files);
		}
		if (r)
			return r;
	}
	return 0;
}

bool layout_has_file(struct layout_work *w, const struct tree_device *d, const char *file)
{
	_free_ char *now = NULL;

	if (!strcmp(file, "vfs"))
		return device_get(d, "sriov_totalvfs") != NULL;
	if (!strcmp(file, "sriov_numvfs") && device_get(d, "enabled"))
		return false; /* its driver makes the VFs */
	if (!strcmp(file, "vgpus"))
		now = w->view->text(w->view->ctx, d->id, "vgpu_support");
	else
		now = layout_now(w->view, d, file);
	return now != NULL;
}

static int each_ours(struct layout_work *w, const struct tree_device *d, json_object *entry,
		     bool broad)
{
	w->matched++;
	json_object_object_foreach(entry, key, value)
	{
		const struct layout_file *f = layout_file(key);
		const char *text = f ? layout_scalar(w, key, value) : NULL;
		int r = 0;

		if (!strcmp(key, "match"))
			continue;
		if (f && !text)
			return -EINVAL;
		/* What all have that can. */
		if (broad && !layout_has_file(w, d, key))
			continue;
		if (f)
			r = layout_want(w, d->id, f->name, text, yml_line(value));
		else if (!strcmp(key, "vgpus"))
			r = layout_want_vgpus(w, d, value);
		else
			r = want_vfs(w, d, value);
		if (r)
			return r;
	}
	return 0;
}

static int run_ours(struct layout_work *w, json_object *entry)
{
	return layout_match(w, entry, each_ours);
}

/* ---- forms */

static const struct layout_form {
	const char *name;
	const char *keys[4]; /* of an entry; those of ours besides files */
	const char *needs[3];
	entry_run *run;
} forms[] = {
	{ "layouts", { "match", "vfs", "vgpus" }, { "match" }, run_ours },
	{ "vgpu-configs",
	  { "devices", "device-filter", "vgpu-devices" },
	  { "devices", "vgpu-devices" },
	  run_vgpus },
	{ "mig-configs",
	  { "devices", "device-filter", "mig-enabled", "mig-devices" },
	  { "devices", "mig-enabled" },
	  run_mig },
};

static const struct layout_form *form_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

static bool is_key(const struct layout_form *form, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(form->keys) && form->keys[i]; i++)
		if (!strcmp(form->keys[i], key))
			return true;
	return form == forms && layout_file(key);
}

static int check_entry(struct layout_work *w, const struct layout_form *form, json_object *entry)
{
	if (!json_object_is_type(entry, json_type_object))
		return layout_fail(w, EINVAL, yml_line(entry), "an entry must be a map of keys");
	json_object_object_foreach(entry, key, value)
	{
		if (!is_key(form, key))
			return layout_fail(w, EINVAL, yml_line(value),
					   "\"%.64s\" is not a key of %s%s", key, form->name,
					   form == forms ? ", nor a file that a layout may set"
							 : "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(form->needs) && form->needs[i]; i++)
		if (!json_object_object_get_ex(entry, form->needs[i], NULL))
			return layout_fail(w, EINVAL, yml_line(entry), "the entry lacks %s",
					   form->needs[i]);
	return 0;
}

#define MANIFEST "this is a manifest of Kubernetes; the layouts are in the data of its ConfigMap"

/* The one form that the file has. */
static int find_form(struct layout_work *w, json_object *root, const struct layout_form **ret,
		     json_object **ret_all)
{
	json_object *manifest = NULL;
	const char *version = NULL;

	*ret = NULL;
	if (!json_object_is_type(root, json_type_object))
		return layout_fail(w, EINVAL, 1, "a layout file is a map with version and layouts");
	if (json_object_object_get_ex(root, "apiVersion", &manifest))
		return layout_fail(w, EINVAL, yml_line(manifest), MANIFEST);
	json_object_object_foreach(root, key, value)
	{
		const struct layout_form *form = form_of(key);

		if (!strcmp(key, "version"))
			version = layout_scalar(w, key, value);
		else if (!form || *ret)
			return layout_fail(
				w, EINVAL, yml_line(value),
				form ? "%s: the file has %s already; write one file for each form"
				     : "\"%.64s\" is not one of version, layouts, vgpu-configs and "
				       "mig-configs",
				key, form ? (*ret)->name : "");
		if (form) {
			*ret = form;
			*ret_all = value;
		}
		if (!strcmp(key, "version") && !version)
			return -EINVAL;
		if (!strcmp(key, "version") && strcmp(version, "v1"))
			return layout_fail(w, EINVAL, yml_line(value),
					   "version \"%.32s\" is not known; this program reads v1",
					   version);
	}
	if (!version || !*ret)
		return layout_fail(w, EINVAL, 1,
				   version ? "the file has none of layouts, vgpu-configs and "
					     "mig-configs"
					   : "the file has no version; write version: v1");
	if (!json_object_is_type(*ret_all, json_type_object) ||
	    !json_object_object_length(*ret_all))
		return layout_fail(w, EINVAL, yml_line(*ret_all),
				   "%s must be a map of names and lists", (*ret)->name);
	return 0;
}

/* "there is no layout "x"; the file has a, b, c, ..." */
static int refuse_name(struct layout_work *w, json_object *all, const char *name)
{
	struct out names = { 0 };
	int n = 0;

	json_object_object_foreach(all, key, value)
	{
		if (n++ < 8 && value)
			out_printf(&names, "%s%.40s", n > 1 ? ", " : "", key);
	}
	if (name)
		layout_fail(w, ENOENT, yml_line(all), "there is no \"%.64s\"; the file has %s%s",
			    name, out_text(&names), n > 8 ? ", ..." : "");
	else
		layout_fail(w, EINVAL, yml_line(all),
			    "the file has %d layouts; name one of "
			    "them: %s%s",
			    n, out_text(&names), n > 8 ? ", ..." : "");
	out_free(&names);
	return -w->err->code;
}

static json_object *only_one(json_object *all)
{
	struct json_object_iterator first = json_object_iter_begin(all);

	return json_object_object_length(all) == 1 ? json_object_iter_peek_value(&first) : NULL;
}

static int run(struct layout_work *w, json_object *root, const char *name)
{
	const struct layout_form *form;
	json_object *all = NULL, *entries;
	const char *text;
	int r = layout_index_vfs(w) ?: find_form(w, root, &form, &all);

	if (r)
		return r;
	entries = name ? json_object_object_get(all, name) : only_one(all);
	if (!entries)
		return refuse_name(w, all, name);
	text = json_object_to_json_string_ext(entries, JSON_C_TO_STRING_PLAIN);
	w->out->hash = fnv1a(FNV1A, text, strlen(text));
	if (!json_object_is_type(entries, json_type_array))
		return layout_fail(w, EINVAL, yml_line(entries), "a layout is a list of entries");
	if (!json_object_array_length(entries) && form == forms)
		return 0; /* of a machine that has nothing to export */
	for (size_t i = 0; i < json_object_array_length(entries) && !r; i++)
		r = check_entry(w, form, json_object_array_get_idx(entries, i));
	for (size_t i = 0; i < json_object_array_length(entries) && !r; i++)
		r = form->run(w, json_object_array_get_idx(entries, i));
	if (!r && !w->matched)
		r = layout_fail(w, ENODEV, yml_line(entries),
				"the layout is about no device of this machine");
	return r ?: layout_index_lines(w) ?: layout_plan_vgpus(w) ?: layout_settle(w);
}

/* NVIDIA's examples have several documents in one file, which a layout has not. */
static int refuse_manifest(const char *path, const char *text, struct err *err)
{
	static const char key[] = "apiVersion:";
	unsigned int line = 1;

	for (const char *at = text, *nl; *at; at = nl + 1, line++) {
		if (!strncmp(at, key, strlen(key)))
			return fail(err, EINVAL, "%s:%u: " MANIFEST, path, line);
		nl = strchr(at, '\n');
		if (!nl)
			break;
	}
	return 0;
}

/* "line 3: sentence" of the YAML reader */
static int put_path(const char *path, struct err *err)
{
	unsigned int line;
	char why[ERR_TEXT];
	int n = 0;

	if (sscanf(err->text, "line %u: %n", &line, &n) != 1 || !n)
		return fail_wrap(err, "%s", path);
	STR_COPY(why, err->text + n);
	return fail(err, err->code, "%s:%u: %s", path, line, why);
}

int layout_read(const char *path, const char *text, size_t size, const char *name,
		const struct layout_view *view, struct layout *ret, struct err *err)
{
	struct layout_work w = { .out = ret, .view = view, .err = err };
	json_object *root = NULL;
	int r;

	*ret = (struct layout){ .path = strdup(path) };
	r = ret->path ? refuse_manifest(path, text, err) : fail_nomem(err);
	if (!r) {
		r = yml_read(text, size, &root, err);
		r = r ? put_path(path, err) : run(&w, root, name);
	}
	json_object_put(root);
	layout_index_free(&w.vfs);
	layout_index_free(&w.lines);
	free(w.cards);
	return r;
}
