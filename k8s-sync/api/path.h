/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes into the path and the query of a request. Pure. */
#ifndef SYNC_PATH_H
#define SYNC_PATH_H

#include <stdbool.h>

struct out;

/* Appends the text as one segment, or one value: whatever stands in it, it is not read as more. */
void path_put(struct out *path, const char *text);
/* Is that a resourceVersion, as all of our kinds have it? */
bool path_is_version(const char *text);

#endif
