// SPDX-License-Identifier: GPL-2.0-or-later
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <pcidevfs/util.h>

enum { FILE_MAX = 16 << 20 };

static struct json_object *parse(const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(16);
	struct json_object *o = tok ? json_tokener_parse_ex(tok, text, (int)len) : NULL;

	if (tok)
		json_tokener_free(tok);
	return o;
}

struct json_object *checkpoint_load(const char *dir, bool *ret_none)
{
	struct json_object *o = NULL;
	_free_ char *text = NULL;
	_close_ int fd = -1;
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/device-plugins/kubelet_internal_checkpoint", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	*ret_none = fd < 0 && errno == ENOENT;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (text && read(fd, text, (size_t)st.st_size) == st.st_size)
		o = parse(text, (size_t)st.st_size);
	return o;
}

void checkpoint_free(struct json_object *c)
{
	json_object_put(c);
}

/* A list of ids, or one for each NUMA node by its number. */
static bool ids_have(struct json_object *ids, const char *id)
{
	if (json_object_is_type(ids, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(ids); i++) {
			struct json_object *o = json_object_array_get_idx(ids, i);

			if (json_object_is_type(o, json_type_string) &&
			    !strcmp(json_object_get_string(o), id))
				return true;
		}
	} else if (json_object_is_type(ids, json_type_object)) {
		json_object_object_foreach(ids, node, list)
		{
			(void)node;
			if (json_object_is_type(list, json_type_array) && ids_have(list, id))
				return true;
		}
	}
	return false;
}

static bool pod_there(const char *dir, struct json_object *entry)
{
	const char *uid = json_object_get_string(json_object_object_get(entry, "PodUID"));
	char path[512];
	struct stat st;

	/* It becomes part of a path. */
	if (!uid || !uid[0] || strchr(uid, '/') || uid[0] == '.')
		return false;
	return (size_t)snprintf(path, sizeof(path), "%s/pods/%s", dir, uid) < sizeof(path) &&
	       !stat(path, &st);
}

bool checkpoint_holds(struct json_object *c, const char *dir, const char *device_id)
{
	struct json_object *data = json_object_object_get(c, "Data");
	struct json_object *list = json_object_object_get(data, "PodDeviceEntries");

	if (!json_object_is_type(list, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (ids_have(json_object_object_get(entry, "DeviceIDs"), device_id) &&
		    pod_there(dir, entry))
			return true;
	}
	return false;
}
