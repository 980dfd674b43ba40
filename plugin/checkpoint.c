// SPDX-License-Identifier: GPL-2.0-or-later
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <pcidevfs/util.h>

enum { FILE_MAX = 16 << 20 };

static bool is_list_of_ids(struct json_object *o)
{
	size_t n = json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;

	for (size_t i = 0; i < n; i++)
		if (!json_object_is_type(json_object_array_get_idx(o, i), json_type_string))
			return false;
	return json_object_is_type(o, json_type_array) || !o;
}

/* A list of ids, or one for each NUMA node by its number; null is an empty one. */
static bool is_ids(struct json_object *o)
{
	if (!json_object_is_type(o, json_type_object))
		return is_list_of_ids(o);
	json_object_object_foreach(o, node, list)
	{
		(void)node;
		if (!is_list_of_ids(list))
			return false;
	}
	return true;
}

/* One entry of a form that we do not know may be the one that has the device. */
static bool is_known(struct json_object *c)
{
	struct json_object *data = json_object_object_get(c, "Data"), *list;

	if (!json_object_object_get_ex(data, "PodDeviceEntries", &list))
		return false;
	if (list && !json_object_is_type(list, json_type_array))
		return false;
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i), *ids;

		if (!json_object_is_type(json_object_object_get(entry, "PodUID"),
					 json_type_string) ||
		    !json_object_object_get_ex(entry, "DeviceIDs", &ids) || !is_ids(ids))
			return false;
	}
	return true;
}

struct json_object *checkpoint_parse(const char *text, size_t len)
{
	struct json_tokener *tok = len > FILE_MAX ? NULL : json_tokener_new_ex(16);
	struct json_object *o = tok ? json_tokener_parse_ex(tok, text, (int)len) : NULL;

	if (tok)
		json_tokener_free(tok);
	if (is_known(o))
		return o;
	json_object_put(o);
	return NULL;
}

struct json_object *checkpoint_load(const char *dir, bool *ret_none)
{
	struct json_object *o = NULL;
	_free_ char *text = NULL;
	_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	*ret_none = false;
	if ((size_t)snprintf(path, sizeof(path), "%s/device-plugins/kubelet_internal_checkpoint",
			     dir) >= sizeof(path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	*ret_none = fd < 0 && errno == ENOENT;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (text && read(fd, text, (size_t)st.st_size) == st.st_size)
		o = checkpoint_parse(text, (size_t)st.st_size);
	return o;
}

void checkpoint_free(struct json_object *c)
{
	json_object_put(c);
}

/* Of a file in the form that we know. */
static bool ids_have(struct json_object *ids, const char *id)
{
	size_t n = json_object_is_type(ids, json_type_array) ? json_object_array_length(ids) : 0;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(ids, i)), id))
			return true;
	if (json_object_is_type(ids, json_type_object)) {
		json_object_object_foreach(ids, node, list)
		{
			(void)node;
			if (ids_have(list, id))
				return true;
		}
	}
	return false;
}

static bool pod_there(const char *dir, struct json_object *entry)
{
	const char *uid = json_object_get_string(json_object_object_get(entry, "PodUID"));
	char path[PATH_MAX];
	struct stat st;

	/* It becomes part of a path. */
	if (!uid[0] || strchr(uid, '/') || uid[0] == '.')
		return false;
	if ((size_t)snprintf(path, sizeof(path), "%s/pods/%s", dir, uid) >= sizeof(path))
		return false;
	/* What cannot be looked at now may be there. */
	return !stat(path, &st) || (errno != ENOENT && errno != ENAMETOOLONG);
}

bool checkpoint_holds(struct json_object *c, const char *dir, const char *device_id)
{
	struct json_object *data = json_object_object_get(c, "Data");
	struct json_object *list = json_object_object_get(data, "PodDeviceEntries");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (ids_have(json_object_object_get(entry, "DeviceIDs"), device_id) &&
		    pod_there(dir, entry))
			return true;
	}
	return false;
}
