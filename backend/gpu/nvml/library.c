// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding, trusting and loading the driver's libnvidia-ml.so.1 (spec/nvml.md 6, 9). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvml.h"
#include "pcidevfs/err.h"
#include "pcidevfs/in_root.h"
#include "pcidevfs/util.h"

#define LIBRARY "libnvidia-ml.so.1"

/* Below the driver's root, in this order. */
static const char *const folders[] = {
	"usr/lib64",
#ifdef __aarch64__
	"usr/lib/aarch64-linux-gnu",
#else
	"usr/lib/x86_64-linux-gnu",
#endif
	"lib64",
#ifdef __aarch64__
	"lib/aarch64-linux-gnu",
#else
	"lib/x86_64-linux-gnu",
#endif
	"lib",
};

/* Could anybody but root have put it there? */
static int check_owner(int fd, mode_t type, const char *root, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(err, errno, "%s in %s: %s", path, root, strerror(errno));
	if ((st.st_mode & S_IFMT) != type)
		return fail(err, EPERM, "%s in %s is not a %s, so it is not loaded", path, root,
			    type == S_IFDIR ? "directory" : "regular file");
	if (!only_roots(fd))
		return fail(
			err, EPERM,
			"%s in %s must belong to root and be writable by root alone, else it is not loaded",
			path, root);
	return 0;
}

/* Leaves the library's descriptor in *ret, -1: there is none. */
static int find(struct nvml *n, const char *root, int root_fd, int *ret, struct err *err)
{
	_close_ int at = root_fd < 0 ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)
				     : fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	int rc = at < 0 ? fail(err, errno, "the driver's root %s cannot be opened: %s", root,
			       strerror(errno))
			: check_owner(at, S_IFDIR, root, ".", err);

	for (size_t i = 0; !rc && *ret < 0 && i < ARRAY_SIZE(folders); i++) {
		_close_ int folder = open_in_root(at, folders[i]);

		if (folder < 0)
			continue;
		snprintf(n->path, sizeof(n->path), "%s/" LIBRARY, folders[i]);
		*ret = open_in_root(at, n->path);
		rc = *ret < 0 ? 0 : check_owner(folder, S_IFDIR, root, folders[i], err);
	}
	return rc ? rc : *ret < 0 ? 0 : check_owner(*ret, S_IFREG, root, n->path, err);
}

static void *symbol(const struct nvml *n, const char *name, const char *older)
{
	void *f = dlsym(n->library, name);

	return f ? f : dlsym(n->library, older);
}

int nvml_load(struct nvml *n, const char *root, int root_fd, struct err *err)
{
	_close_ int fd = -1;
	char path[64];

	if (find(n, root, root_fd, &fd, err))
		return NVML_NO_PERMISSION;
	if (fd < 0) {
		fail(err, ENOENT,
		     "%s has no " LIBRARY
		     ": install the driver there, or name its root with --driver-root",
		     root);
		return NVML_NO_LIBRARY;
	}
	/* By the descriptor that was checked: its name may lead elsewhere by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		const char *why = dlerror();

		fail(err, EIO, "%s in %s cannot be loaded: %s%s", n->path, root, why,
		     strstr(why, "GLIBC_") ? "; run pcidevfsd from an image, or on a host, with a "
					     "newer libc"
					   : "");
		return NVML_LIBRARY_NOT_FOUND;
	}
#define FUNCTION(field, symbol_name, older, params)                                                \
	*(void **)&n->field = symbol(n, #symbol_name, #older);
#include "functions.def"
	return 0;
}

int nvml_begin(struct nvml *n, struct err *err)
{
	int answer = n->init_with_flags ? n->init_with_flags(0) : NVML(n, init);

	n->begun = !answer;
	return nvml_fail(n, answer, NULL, "the driver does not answer", err);
}

/* The library stays loaded: its threads may still run. */
void nvml_end(struct nvml *n)
{
	if (n->begun)
		NVML(n, shutdown);
	n->begun = false;
}
