// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as kubelet's checkpoint: no pod that has no directory below pods/ is found, wherever
 * its name leads. And the bytes as what kubelet keeps (sixteen devices of four pods, by NUMA node
 * or not): that is found again, of the pods that are there, and nothing else.
 */
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "plugin/kubelet/checkpoint.h"
#include "place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PODS = 4 }; /* u0 to u3; the first two have a directory */

/* Below it: where pods/ is empty, and where two pods are. */
static char empty[64], with[64];

static void make_dir(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	check(!mkdir(path, 0700));
}

static void make_root(void)
{
	check(mkdtemp(root) != NULL);
	atexit(clean);
	snprintf(empty, sizeof(empty), "%s/dir", root);
	snprintf(with, sizeof(with), "%s/with", root);
	check(!mkdir(empty, 0700) && !mkdir(with, 0700));
	make_dir(empty, "pods");
	make_dir(empty, "out");
	make_dir(with, "pods");
	make_dir(with, "pods/u0");
	make_dir(with, "pods/u1");
}

static void any_bytes(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* not ended, as none is */
	struct checkpoint *c;

	memcpy(text, data, size);
	c = checkpoint_parse(text, size, empty);
	check(!c || (!checkpoint_holds(c, "a") && !checkpoint_holds(c, "")));
	checkpoint_free(c);
	free(text);
}

/* A device's letter. */
static const char *letter(unsigned int i, char buf[2])
{
	buf[0] = (char)('a' + i);
	buf[1] = '\0';
	return buf;
}

static void put_id(struct json_object *ids, bool by_node, const char *id, const char *node)
{
	struct json_object *list = by_node ? json_object_object_get(ids, node) : ids;

	if (!list) {
		list = json_object_new_array();
		json_object_object_add(ids, node, list);
	}
	json_object_array_add(list, json_object_new_string(id));
}

/* One entry for each byte: whose it is (2 bits), the form (1), the device (4). */
static void as_kept(const uint8_t *data, size_t size, unsigned int of[PODS])
{
	struct json_object *c = json_object_new_object(), *inner = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct checkpoint *read, *alone;
	const char *text;
	char id[2];

	for (size_t i = 0; i < size; i++) {
		struct json_object *entry = json_object_new_object();
		bool by_node = data[i] & 4;
		struct json_object *ids =
			by_node ? json_object_new_object() : json_object_new_array();
		char uid[] = { 'u', (char)('0' + data[i] % PODS), '\0' };

		put_id(ids, by_node, letter(data[i] >> 4, id), data[i] & 8 ? "-1" : "0");
		of[data[i] % PODS] |= 1u << (data[i] >> 4);
		json_object_object_add(entry, "PodUID", json_object_new_string(uid));
		json_object_object_add(entry, "DeviceIDs", ids);
		json_object_array_add(list, entry);
	}
	json_object_object_add(inner, "PodDeviceEntries", list);
	json_object_object_add(c, "Data", inner);
	text = json_object_to_json_string(c);
	read = checkpoint_parse(text, strlen(text), with);
	alone = checkpoint_parse(text, strlen(text), empty);
	check(read && alone);
	for (unsigned int i = 0; i < 16; i++) {
		bool there = (of[0] | of[1]) & 1u << i;

		check(checkpoint_holds(read, letter(i, id)) == there);
		check(!checkpoint_holds(alone, id));
	}
	checkpoint_free(read);
	checkpoint_free(alone);
	json_object_put(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int of[PODS] = { 0 };

	if (!empty[0])
		make_root();
	any_bytes(data, size);
	if (size <= 64)
		as_kept(data, size, of);
	return 0;
}
