// SPDX-License-Identifier: GPL-2.0-or-later
#include "lines.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "fs/rights.h"
#include "fs/request.h"

#define VIRTFN "virtfn"
#define VFS_MAX 65535

/* "virtfn3" as the kernel spells it; false when it is nothing of that sort. */
static bool parse_virtfn(const char *text, uint16_t *ret)
{
	uint64_t n;

	text += strlen(VIRTFN);
	if (parse_u64(text, VFS_MAX - 1, &n) || strspn(text, "0123456789") != strlen(text) ||
	    (text[0] == '0' && text[1]))
		return false;
	*ret = (uint16_t)(n + 1);
	return true;
}

int line_target(const struct lines_of *of, const char *text, struct request *ret, struct err *err)
{
	char id[KEY_NAME + 8] = { 0 }, hint[KEY_HINT];
	const char *slash = strrchr(text, '/');
	const char *last = slash ? slash + 1 : text;
	size_t n = strlen(text);

	*ret = (struct request){ 0 };
	if (!strncmp(last, VIRTFN, strlen(VIRTFN))) {
		if (!parse_virtfn(last, &ret->child))
			return fail(err, EINVAL, "%s: \"%.64s\" is not a VF; write for example %s3",
				    of->file, text, VIRTFN);
		n = slash ? (size_t)(slash - text) : 0;
	}
	if (of->home && !n) {
		ret->dev = *of->home;
		return 0;
	}
	if (n < sizeof(id))
		snprintf(id, sizeof(id), "%.*s", (int)n, text);
	if (of->home)
		return fail(err, EINVAL, "%s: \"%.64s\" is not a file of this device", of->file,
			    text);
	if (key_parse(id, &ret->dev))
		return 0;
	return fail(err, EINVAL, "%s: \"%.64s\" is not a device; %s", of->file, text,
		    key_hint(id, hint));
}

/* A copy of the device; of one that is not there (*ret_unborn) what it will be, and its parent in
 * at. */
static int find(const struct lines_of *of, struct request *at, struct device *ret,
		bool *ret_unborn, struct err *err)
{
	const struct engine_world *world = engine_world(of->tree->conf.engine);
	struct model *m = of->tree->conf.model;
	const struct device *dev = NULL;
	struct request found;
	int r = 0;

	model_lock(m);
	if (!request_resolve(m, at, &found))
		dev = model_find(m, &found.dev);
	*ret_unborn = !dev;
	if (dev)
		*ret = *dev;
	else
		r = request_foresee(m, world->methods, of->others, of->n_others, at, ret, err);
	model_unlock(m);
	return r ? fail_wrap(err, "%s", of->file) : 0;
}

static int find_row(const struct lines_of *of, const struct device *dev, const char *name,
		    const struct attr **ret, struct err *err)
{
	const struct attr *row = attr_by_name(kind_of_bus(dev->key.bus), name);

	if (!row || !row->store || row->flags & ATTR_ASIDE)
		return fail(err, EINVAL,
			    "%s: \"%.64s\" cannot be written %s; claim, for example, can", of->file,
			    name, of->home ? "here" : "in a device's directory");
	if (!row_fits(row, dev->caps)) {
		device_lacks(dev, row->name, err);
		return fail_wrap(err, "%s", of->file);
	}
	if (!row_takes(row, dev->caps)) {
		row_refuse_write(row, dev, err);
		return fail_wrap(err, "%s", of->file);
	}
	*ret = row;
	return 0;
}

static int judge(const struct lines_of *of, struct request *at, const char *file,
		 const char *value, struct request *ret, struct err *err)
{
	const struct attr *row = NULL;
	struct device dev = { 0 };
	bool unborn;
	const struct subject s = { .tree = of->tree, .dev = &dev };
	int r = find(of, at, &dev, &unborn, err);

	r = r ? r : find_row(of, &dev, file, &row, err);
	if (!r && of->who)
		r = unborn ? rights_check_unborn(of->tree, of->who, at, row, err)
			   : rights_check(of->tree, of->who, &dev, row, err);
	r = r ? r : request_parse(&s, row, value, ret, err);
	if (!r && of->who)
		r = rights_check_value(&s, of->who, row, ret, err);
	if (!ret->made_by[0]) {
		ret->dev = at->dev;
		ret->child = at->child;
		ret->parent = at->parent;
	}
	return r;
}

bool line_is_idle(const char *line)
{
	line += strspn(line, " \t");
	return !*line || *line == '#';
}

/* Is it the name, of n characters, of a directory of rows? All buses have the same. */
static bool is_dir(const char *name, size_t n)
{
	const struct attr *row;

	for (size_t i = 0; (row = row_at(kind_of_bus(BUS_PCI), i)); i++)
		if (S_ISDIR(row->mode) && !strncmp(row->name, name, n) && !row->name[n])
			return true;
	return false;
}

size_t line_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *dir = slash;

	if (!slash)
		return 0;
	while (dir > path && dir[-1] != '/')
		dir--;
	return (size_t)((is_dir(dir, (size_t)(slash - dir)) ? dir : slash + 1) - path);
}

int line_request(const struct lines_of *of, char *line, struct request *ret,
	      char label[static LINE_LABEL], struct err *err)
{
	char *value = line + strcspn(line, " "), *file;
	struct request at;
	int r;

	*ret = (struct request){ 0 };
	if (*value)
		*value++ = '\0';
	str_copy(label, LINE_LABEL, line);
	file = line + line_file(line);
	if (file == line && !of->home)
		return fail(
			err, EINVAL,
			"%s: \"%.64s\" does not name a file; a line is ADDRESS/FILE VALUE or a "
			"command",
			of->file, line);
	if (file > line)
		file[-1] = '\0';
	r = line_target(of, file > line ? line : "", &at, err);
	return r ? r : judge(of, &at, file, value, ret, err);
}

