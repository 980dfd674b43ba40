// SPDX-License-Identifier: GPL-2.0-or-later
#include "fakeapi.h"

#include <stdlib.h>

#include "pcidevfs/util.h"
#include "test.h"

struct call *queued[QUEUED_MAX];
unsigned int n_queued;

struct call *call_new(const char *method, struct out *path, const char *type, char *body)
{
	struct call *c = calloc(1, sizeof(*c));

	*c = (struct call){ .method = method, .path = path->data, .type = type, .body = body };
	return c;
}

void call_free(struct call *c)
{
	free(c->path);
	free(c->body);
	free(c);
}

void api_send(struct api *a, struct call *c)
{
	CHECK(n_queued < ARRAY_SIZE(queued));
	queued[n_queued++] = c;
}

void fakeapi_leave(struct call *c)
{
	unsigned int i = 0;

	while (i < n_queued && queued[i] != c)
		i++;
	CHECK(i < n_queued);
	queued[i] = queued[--n_queued];
}

void api_cancel(struct api *a, struct call *c)
{
	fakeapi_leave(c);
	call_free(c);
}
