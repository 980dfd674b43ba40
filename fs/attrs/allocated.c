// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocated.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "fs/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

void allocated_to_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%s\n", s->dev->intent.allocated[0] ? s->dev->intent.allocated : "none");
}

void nodes_print(const char *nodes, struct out *o)
{
	if (!nodes[0])
		out_printf(o, "none");
	for (; *nodes; nodes++)
		out_put(o, *nodes == ' ' ? "\n" : nodes, 1);
	out_put(o, "\n", 1);
}

void allocated_nodes_show(const struct subject *s, struct out *o)
{
	nodes_print(s->dev->intent.given, o);
}

void allocated_as_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%s\n", s->dev->intent.given_as[0] ? s->dev->intent.given_as : "none");
}

/* Exactly so many names, with a slash between two. */
static bool is_path(const char *text, unsigned int names)
{
	while (names--) {
		size_t n = strspn(text, NAME_CHARS);

		text += n;
		if (!n || *text != (names ? '/' : '\0'))
			return false;
		text += names > 0;
	}
	return true;
}

static_assert(ALLOCATED_NAME <= REQUEST_VALUE, "a wish takes what the record does");

int allocated_to_store(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	bool known = !strcmp(text, "none") || !strcmp(text, "pending") || is_path(text, 3) ||
		     (!strncmp(text, "claim:", 6) && is_path(text + 6, 1));

	(void)s;
	if (!known)
		return fail(err, EINVAL,
			    "allocated_to: \"%.128s\" is not one of pending, "
			    "NAMESPACE/POD/CONTAINER, claim:UID and none",
			    text);
	if (strlen(text) >= ALLOCATED_NAME)
		return fail(err, EINVAL, "allocated_to: a name has at most %d characters",
			    ALLOCATED_NAME - 1);
	STR_COPY(ret->value, strcmp(text, "none") ? text : "");
	return 0;
}

/* An owner who clears it while the pod still has the device would let the next pod meet it there;
 * one who writes it would give the device to a pod in everybody's eyes. */
int allocated_to_reaches(const struct subject *s, const struct request *request, struct err *err)
{
	const char *has = s->dev->intent.allocated;

	if (!strcmp(request->value, has))
		return 0;
	return fail(err, EACCES,
		    "allocated_to: %s is allocated to %s; to change that needs the group pcidevfs or "
		    "CAP_DAC_OVERRIDE",
		    s->dev->key.name, has[0] ? has : "nobody");
}
