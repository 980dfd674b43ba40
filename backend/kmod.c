// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod.h"

#include <dlfcn.h>
#include <errno.h>
#include <libkmod.h>
#include <stdbool.h>
#include <string.h>

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static int refuse_command(struct kmod_module *module, const char *command, void *data)
{
	return -EPERM;
}

/* Loaded at run time: it needs a cryptographic library and three decompressors, and the daemon must
 * start within a millisecond. Only the helper that loads a module pays for it. */
struct libkmod {
	void *lib;
	__typeof__(&kmod_new) new;
	__typeof__(&kmod_unref) unref;
	__typeof__(&kmod_module_new_from_name) module_new;
	__typeof__(&kmod_module_probe_insert_module) insert;
	__typeof__(&kmod_module_unref) module_unref;
};

static bool open_libkmod(struct libkmod *k)
{
	k->lib = dlopen("libkmod.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!k->lib)
		return false;
	k->new = dlsym(k->lib, "kmod_new");
	k->unref = dlsym(k->lib, "kmod_unref");
	k->module_new = dlsym(k->lib, "kmod_module_new_from_name");
	k->insert = dlsym(k->lib, "kmod_module_probe_insert_module");
	k->module_unref = dlsym(k->lib, "kmod_module_unref");
	return k->new && k->unref && k->module_new && k->insert && k->module_unref;
}

static int load(const struct libkmod *k, const char *name)
{
	struct kmod_ctx *ctx = k->new (NULL, NULL);
	struct kmod_module *module = NULL;
	int rc;

	if (!ctx)
		return -ENOMEM;
	rc = k->module_new(ctx, name, &module);
	if (!rc)
		rc = k->insert(module, 0, NULL, refuse_command, NULL, NULL);
	k->module_unref(module);
	k->unref(ctx);
	return rc > 0 ? -EPERM : rc; /* positive: a blacklist stopped it */
}

int module_load(const char *name)
{
	struct libkmod k = { 0 };
	int rc = -ELIBACC;

	if (!name[0] || name[strspn(name, NAME_CHARS)])
		return -EINVAL;
	if (open_libkmod(&k))
		rc = load(&k, name);
	if (k.lib)
		dlclose(k.lib);
	return rc;
}
