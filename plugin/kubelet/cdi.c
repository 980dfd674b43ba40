// SPDX-License-Identifier: GPL-2.0-or-later
#include "cdi.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"


struct cdi {
	char *dir, *path, *fresh; /* written to fresh, then renamed to path */
	const char *dev_root;
	struct out text; /* valid while `noted` */
	bool noted, written;
	uint64_t shape; /* of the table when the text was made */
	int told;	/* errno that was logged last */
};

static void lines_of(const char *text, const char *dev_root,
		     void (*take)(const char *node, const char *host, void *ctx), void *ctx)
{
	/* It is a value of inventory, with blanks instead of the file's newlines. */
	while (*text) {
		size_t n = strcspn(text, " ");
		char node[64], host[512];

		if (n < sizeof(node) && !strncmp(text, "/dev/", 5)) {
			snprintf(node, sizeof(node), "%.*s", (int)n, text);
			snprintf(host, sizeof(host), "%s/%s", dev_root, node + 5);
			if (!strstr(node, "..")) /* no path may lead out of /dev */
				take(node, host, ctx);
		}
		text += n + strspn(text + n, " ");
	}
}

void dev_nodes(const struct devices *t, const struct dev *d, const char *dev_root,
	       void (*take)(const char *node, const char *host, void *ctx), void *ctx)
{
	size_t n;
	struct dev *const *group = devices_group(t, d, &n);

	lines_of(d->nodes, dev_root, take, ctx);
	for (size_t i = 0; i < n; i++)
		if (group[i] != d)
			lines_of(group[i]->nodes, dev_root, take, ctx);
}

static void put(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, json_object_new_string(value));
}

static void add_node(const char *node, const char *host, void *ctx)
{
	struct json_object *list = ctx, *o;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		o = json_object_object_get(json_object_array_get_idx(list, i), "path");
		if (!strcmp(json_object_get_string(o), node))
			return;
	}
	o = json_object_new_object();
	put(o, "path", node);
	put(o, "hostPath", host);
	put(o, "permissions", "rwm");
	json_object_array_add(list, o);
}

static struct json_object *device_of(const struct devices *t, const struct dev *d,
				     const char *dev_root)
{
	struct json_object *o = json_object_new_object(), *edits = json_object_new_object();
	struct json_object *list = json_object_new_array();

	dev_nodes(t, d, dev_root, add_node, list);
	put(o, "name", dev_kubelet_id(d));
	json_object_object_add(edits, "deviceNodes", list);
	json_object_object_add(o, "containerEdits", edits);
	return o;
}

/* One device after another: all as objects would take ten times the memory of the text. */
void cdi_text(const struct devices *t, const char *dev_root, struct out *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct json_object *o;

		if (!dev_offered(t->v[i]) || !t->v[i]->nodes[0])
			continue;
		o = device_of(t, t->v[i], dev_root);
		/* 0.5.0 is the first with hostPath, and with names that begin with a digit. */
		out_printf(ret, n++ ? ",\n"
				    : "{\"cdiVersion\":\"0.5.0\",\"kind\":\"" CDI_KIND
				      "\",\"devices\":[\n");
		out_printf(ret, "%s",
			   json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(o);
	}
	if (n)
		out_printf(ret, "\n]}\n");
}

/* The directory may be missing: nobody in particular makes it. */
static int open_fresh(const struct cdi *c)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
	int fd = open(c->fresh, flags, 0644);

	if (fd >= 0 || errno != ENOENT || (mkdir(c->dir, 0755) && errno != EEXIST))
		return fd;
	return open(c->fresh, flags, 0644);
}

static int replace_file(const struct cdi *c, const struct out *text)
{
	_close_ int fd = -1;

	if (!text->len)
		return unlink(c->path) && errno != ENOENT
			       ? -errno
			       : 0; /* a spec without devices is invalid */
	fd = open_fresh(c);
	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, text->data, text->len) != (ssize_t)text->len || rename(c->fresh, c->path)) {
		int code = errno;

		unlink(c->fresh);
		return -code;
	}
	return 0;
}

void cdi_check(struct cdi *c)
{
	if (c)
		c->written &= !access(c->path, F_OK);
}

void cdi_note(struct cdi *c, const struct devices *t)
{
	if (!c || (c->written && c->shape == t->shape))
		return;
	out_free(&c->text);
	cdi_text(t, c->dev_root, &c->text);
	c->shape = t->shape;
	c->noted = true;
}

bool cdi_write(struct cdi *c)
{
	int r;

	if (!c || !c->noted)
		return c && c->written;
	r = c->text.failed ? -ENOMEM : replace_file(c, &c->text);
	out_free(&c->text);
	if (r && c->told != -r)
		say("%s: %s; containers get their devices without it", c->path, strerror(-r));
	c->told = -r;
	c->noted = false;
	c->written = !r;
	return c->written;
}

int cdi_new(const char *dev_root, const char *dir, struct cdi **ret, struct err *err)
{
	struct cdi *c;

	if (!strcmp(dir, "none"))
		return 0;
	c = calloc(1, sizeof(*c));
	/* With this suffix no runtime reads the unfinished file as a spec. */
	if (!c || !(c->dir = strdup(dir)) || asprintf(&c->path, "%s/pcidevfs.json", dir) < 0 ||
	    asprintf(&c->fresh, "%s/.pcidevfs.new", dir) < 0) {
		cdi_free(c);
		return fail_nomem(err);
	}
	c->dev_root = dev_root;
	*ret = c;
	return 0;
}

void cdi_free(struct cdi *c)
{
	if (!c)
		return;
	free(c->dir);
	free(c->path);
	free(c->fresh);
	out_free(&c->text);
	free(c);
}
