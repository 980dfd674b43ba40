// SPDX-License-Identifier: GPL-2.0-or-later
/* What a wish is about, by whichever name: a device that is there, or one that another wish makes. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

const struct method *method_find(const struct method *const *methods, const struct wish *wish)
{
	for (; *methods; methods++)
		if ((!(*methods)->bus || (*methods)->bus == wish->dev.bus) &&
		    !strcmp((*methods)->file, wish->file))
			return *methods;
	return NULL;
}

const struct method *method_maker(const struct method *const *methods, const struct device *parent)
{
	for (; *methods; methods++)
		if ((*methods)->brings && (*methods)->foresee &&
		    (!(*methods)->bus || (*methods)->bus == parent->key.bus) &&
		    (!(*methods)->can || (*methods)->can(parent)))
			return *methods;
	return NULL;
}

const struct key *wish_parent(const struct wish *wish)
{
	if (wish->child)
		return &wish->dev;
	return wish->parent.bus ? &wish->parent : NULL;
}

int wish_resolve(struct model *m, const struct wish *wish, struct wish *ret)
{
	const struct device *dev;

	*ret = *wish;
	if (!wish_parent(wish))
		return 0;
	dev = wish->child ? model_child(m, &wish->dev, wish->child - 1) : model_find(m, &wish->dev);
	if (!dev)
		return -ENODEV;
	ret->dev = dev->key;
	ret->child = 0;
	ret->parent = (struct key){ 0 };
	ret->made_by[0] = '\0';
	return 0;
}

int wish_foresee(struct model *m, const struct method *const *methods, const struct wish *others, size_t n,
		 struct wish *wish, struct device *ret, struct err *err)
{
	const struct method *maker = NULL;
	const struct device *parent;
	char id[KEY_NAME + 8];

	for (size_t i = 0; i < n && !wish_parent(wish); i++)
		if (others[i].made_by[0] && key_eq(&others[i].dev, &wish->dev)) {
			wish->parent = others[i].parent;
			maker = method_find(methods, &others[i]);
		}
	parent = wish_parent(wish) ? model_find(m, wish_parent(wish)) : NULL;
	if (!parent)
		return fail(err, ENODEV, "there is no device %s", key_id(&wish->dev, id));
	if (wish->child)
		maker = method_maker(methods, parent);
	for (size_t i = 0; i < n && wish->child; i++) {
		const struct method *asked = method_find(methods, &others[i]);

		if (asked && asked->brings && asked->foresee && !wish_parent(&others[i]) &&
		    key_eq(&others[i].dev, &parent->key))
			maker = asked;
	}
	if (!maker || !maker->foresee)
		return fail(err, EOPNOTSUPP, "%s has no VFs", parent->key.name);
	*ret = (struct device){ .key = wish->child ? parent->key : wish->dev, .facts = facts_none };
	return maker->foresee(parent, wish->child - 1, ret, err);
}

void wish_label(const struct wish *wish, char label[static LINE_LABEL])
{
	char id[KEY_NAME + 8];

	if (wish->made_by[0])
		snprintf(label, LINE_LABEL, "%s/%s", key_id(&wish->parent, id), wish->made_by);
	else if (wish->child)
		snprintf(label, LINE_LABEL, "%s/virtfn%u/%s", key_id(&wish->dev, id),
			 wish->child - 1u, wish->file);
	else
		snprintf(label, LINE_LABEL, "%s/%s", key_id(&wish->dev, id), wish->file);
}
