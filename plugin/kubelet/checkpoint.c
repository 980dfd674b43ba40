// SPDX-License-Identifier: GPL-2.0-or-later
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* A file of 4096 devices, each in a pod with three others, has 4.4 MiB. */
enum { FILE_MAX_MIB = 16 };

struct checkpoint {
	char **ids; /* of devices whose pods have a directory; sorted, with duplicates */
	size_t n, cap;
};

/* Null is an empty list. Returns false if it is no list of ids, or there is no memory. */
static bool take_list(struct checkpoint *c, struct json_object *list)
{
	if (list && !json_object_is_type(list, json_type_array))
		return false;
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *id = json_object_array_get_idx(list, i);
		char **room = more_rows(c->ids, c->n, &c->cap, sizeof(*room));

		c->ids = room ? room : c->ids;
		if (!room || !json_object_is_type(id, json_type_string) ||
		    !(room[c->n] = strdup(json_object_get_string(id))))
			return false;
		c->n++;
	}
	return true;
}

/* A list of ids, or an object with a list for each NUMA node. */
static bool take_ids(struct checkpoint *c, struct json_object *ids)
{
	if (!json_object_is_type(ids, json_type_object))
		return take_list(c, ids);
	json_object_object_foreach(ids, node, list)
	{
		(void)node;
		if (!take_list(c, list))
			return false;
	}
	return true;
}

static bool pod_there(const char *dir, const char *uid)
{
	char path[PATH_MAX];
	struct stat st;

	/* The uid becomes part of a path. */
	if (!uid[0] || strchr(uid, '/') || uid[0] == '.')
		return false;
	if ((size_t)snprintf(path, sizeof(path), "%s/pods/%s", dir, uid) >= sizeof(path))
		return false;
	/* A directory that cannot be examined now may exist. */
	return !stat(path, &st) || (errno != ENOENT && errno != ENAMETOOLONG);
}

static bool take_entry(struct checkpoint *c, struct json_object *entry, const char *dir)
{
	struct json_object *uid = json_object_object_get(entry, "PodUID"), *ids;
	size_t before = c->n;

	if (!json_object_is_type(uid, json_type_string) ||
	    !json_object_object_get_ex(entry, "DeviceIDs", &ids) || !take_ids(c, ids))
		return false;
	if (!pod_there(dir, json_object_get_string(uid)))
		while (c->n > before)
			free(c->ids[--c->n]);
	return true;
}

/* Every entry must have a known form: an unknown one could be the one with the device. */
static bool take_entries(struct checkpoint *c, struct json_object *o, const char *dir)
{
	struct json_object *data = json_object_object_get(o, "Data"), *list;

	if (!json_object_object_get_ex(data, "PodDeviceEntries", &list) ||
	    (list && !json_object_is_type(list, json_type_array)))
		return false;
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		if (!take_entry(c, json_object_array_get_idx(list, i), dir))
			return false;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Frees the parsed file: it takes ten times the memory of the ids. */
static struct checkpoint *of_json(struct json_object *o, const char *dir)
{
	struct checkpoint *c = calloc(1, sizeof(*c));

	if (c && !take_entries(c, o, dir)) {
		checkpoint_free(c);
		c = NULL;
	}
	if (c && c->n)
		qsort(c->ids, c->n, sizeof(c->ids[0]), by_text);
	json_object_put(o);
	return c;
}

struct checkpoint *checkpoint_parse(const char *text, size_t len, const char *dir)
{
	struct json_tokener *tok = len > FILE_MAX_MIB << 20 ? NULL : json_tokener_new_ex(16);
	struct json_object *o = tok ? json_tokener_parse_ex(tok, text, (int)len) : NULL;

	if (tok)
		json_tokener_free(tok);
	return of_json(o, dir);
}

static int read_file(int fd, const char *dir, struct checkpoint **ret, struct err *err)
{
	_free_ char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return fail(err, errno, "kubelet's checkpoint: %s", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_MIB << 20)
		return fail(err, EFBIG, "kubelet's checkpoint is not a regular file of at most %d "
					"MiB",
			    FILE_MAX_MIB);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return fail(err, ENOMEM, "kubelet's checkpoint: no memory");
	n = read_all(fd, text, (size_t)st.st_size);
	if (n < 0)
		return fail(err, (int)-n, "kubelet's checkpoint: %s", strerror((int)-n));
	*ret = checkpoint_parse(text, (size_t)n, dir);
	return *ret ? 0 : fail(err, EBADMSG, "kubelet's checkpoint has an unknown format");
}

int checkpoint_load(const char *dir, struct checkpoint **ret, struct err *err)
{
	_close_ int fd = -1;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/device-plugins/kubelet_internal_checkpoint",
			     dir) >= sizeof(path))
		return fail(err, ENAMETOOLONG, "kubelet's checkpoint: the path is too long");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return fail(err, errno, "kubelet's checkpoint: %s", strerror(errno));
	return read_file(fd, dir, ret, err);
}

void checkpoint_free(struct checkpoint *c)
{
	for (size_t i = 0; c && i < c->n; i++)
		free(c->ids[i]);
	if (c)
		free(c->ids);
	free(c);
}

bool checkpoint_holds(const struct checkpoint *c, const char *device_id)
{
	return c->n && bsearch(&device_id, c->ids, c->n, sizeof(c->ids[0]), by_text);
}
