// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/facts.h"

#include <string.h>

#include "pcidevfs/util.h"

const struct facts facts_none = {
#define FACT(type, name, none, bit) .name = (none),
#define FACT_TEXT(name, size, bit)
#define FACT_KEY(name, bit)
#define FACT_ROOM(name, bit)
#include "pcidevfs/facts.def"
};

void facts_keep(const struct facts *old, struct facts *f)
{
#define FACT(type, name, none, bit)
#define FACT_TEXT(name, size, bit)
#define FACT_KEY(name, bit)
#define FACT_ROOM(name, bit) f->name = old->name;
#define FACT_ASIDE(type, name, none, bit) f->name = old->name;
#define FACT_TEXT_ASIDE(name, size, bit) STR_COPY(f->name, old->name);
#include "pcidevfs/facts.def"
}
