// SPDX-License-Identifier: GPL-2.0-or-later
/* The subject of a request, under any of its names: an existing device, or one that another request
 * makes. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

const struct method *method_find(const struct method *const *methods, const struct request *request)
{
	for (; *methods; methods++)
		if ((!(*methods)->bus || (*methods)->bus == request->dev.bus) &&
		    !strcmp((*methods)->file, request->file))
			return *methods;
	return NULL;
}

bool method_can(const struct method *method, const struct device *dev)
{
	return (dev->caps & method->caps) == method->caps && (!method->can || method->can(dev));
}

const struct method *method_maker(const struct method *const *methods, const struct device *parent)
{
	for (; *methods; methods++)
		if ((*methods)->brings && (*methods)->foresee &&
		    (!(*methods)->bus || (*methods)->bus == parent->key.bus) &&
		    method_can(*methods, parent))
			return *methods;
	return NULL;
}

const struct key *request_parent(const struct request *request)
{
	if (request->child)
		return &request->dev;
	return request->parent.bus ? &request->parent : NULL;
}

int request_resolve(struct model *m, const struct request *request, struct request *ret)
{
	const struct device *dev;

	*ret = *request;
	if (!request_parent(request))
		return 0;
	dev = request->child ? model_child(m, &request->dev, request->child - 1)
			     : model_find(m, &request->dev);
	if (!dev)
		return -ENODEV;
	ret->dev = dev->key;
	ret->child = 0;
	ret->parent = (struct key){ 0 };
	ret->made_by[0] = '\0';
	return 0;
}

/* By name one of the others makes it, and tells the parent. */
static const struct method *maker_by_name(const struct method *const *methods,
					  const struct request *others, size_t n,
					  struct request *request)
{
	for (size_t i = 0; i < n; i++)
		if (others[i].made_by[0] && key_eq(&others[i].dev, &request->dev)) {
			request->parent = others[i].parent;
			return method_find(methods, &others[i]);
		}
	return NULL;
}

/* By index: the file of the parent that one of the others writes, else the one that it has. */
static const struct method *maker_by_index(const struct method *const *methods,
					   const struct request *others, size_t n,
					   const struct device *parent)
{
	const struct method *maker = method_maker(methods, parent);

	for (size_t i = 0; i < n; i++) {
		const struct method *asked = method_find(methods, &others[i]);

		if (asked && asked->brings && asked->foresee && !request_parent(&others[i]) &&
		    key_eq(&others[i].dev, &parent->key))
			maker = asked;
	}
	return maker;
}

int request_foresee(struct model *m, const struct method *const *methods,
		    const struct request *others, size_t n, struct request *request,
		    struct device *ret, struct err *err)
{
	const struct method *maker =
		request->child ? NULL : maker_by_name(methods, others, n, request);
	const struct key *key = request_parent(request);
	const struct device *parent = key ? model_find(m, key) : NULL;
	char id[KEY_NAME + 8];

	if (!parent)
		return fail(err, ENODEV, "there is no device %s", key_id(&request->dev, id));
	if (request->child)
		maker = maker_by_index(methods, others, n, parent);
	if (!maker || !maker->foresee)
		return fail(err, EOPNOTSUPP, "%s has no VFs", parent->key.name);
	*ret = (struct device){ .key = request->child ? parent->key : request->dev,
				.facts = facts_none };
	return maker->foresee(parent, request->child - 1, ret, err);
}

bool request_is_none(struct model *m, const struct request *request)
{
	return !request->value[0];
}

const char *request_written(const struct request *request)
{
	if (request->made_by[0])
		return request->made_by;
	return request->as[0] ? request->as : request->file;
}

void request_label(const struct request *request, char label[static LINE_LABEL])
{
	const char *file = request_written(request);
	char id[KEY_NAME + 8];

	if (request->made_by[0])
		snprintf(label, LINE_LABEL, "%s/%s", key_id(&request->parent, id), file);
	else if (request->child)
		snprintf(label, LINE_LABEL, "%s/virtfn%u/%s", key_id(&request->dev, id),
			 request->child - 1u, file);
	else
		snprintf(label, LINE_LABEL, "%s/%s", key_id(&request->dev, id), file);
}
