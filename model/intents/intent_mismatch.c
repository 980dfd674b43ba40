// SPDX-License-Identifier: GPL-2.0-or-later
/* Another device in the place that a record knows: what is said of it. */
#include <stdio.h>
#include <string.h>

#include "intents.h"
#include "pcidevfs/model.h"

#define MODEL_TEXT 24

/* "8086:1521", and the board's ids where only those differ. */
static void model_name(const struct identity *id, const struct identity *other,
		       char ret[static MODEL_TEXT])
{
	unsigned int vendor = id->ids >> 48, device = id->ids >> 32 & 0xffff;
	unsigned int subvendor = id->ids >> 16 & 0xffff, subdevice = id->ids & 0xffff;

	if (id->ids >> 32 != other->ids >> 32)
		snprintf(ret, MODEL_TEXT, "%04x:%04x", vendor, device);
	else
		snprintf(ret, MODEL_TEXT, "%04x:%04x %04x:%04x", vendor, device, subvendor,
			 subdevice);
}

/* What differs: "usb/2-2 is 18d1:9302, not 1a6e:089a". */
static void tell_apart(const struct candidate *s, const struct identity *stored, char *ret,
		       size_t size)
{
	char name[KEY_NAME + 8], is[MODEL_TEXT], was[MODEL_TEXT];

	key_id(&s->key, name);
	model_name(&s->id, stored, is);
	model_name(stored, &s->id, was);
	if (s->id.ids != stored->ids)
		snprintf(ret, size, "%s is %s, not %s", name, is, was);
	else
		snprintf(ret, size, "%s, same model, %s serial number", name,
			 !s->id.serial	  ? "no"
			 : stored->serial ? "another"
					  : "with a");
}

/* The card has the ids of the record, and another serial number for the host's driver. */
static void say_other(const struct pass *p, const struct record *r, char *ret, size_t size)
{
	const struct device *dev = model_find(p->in->m, &r->dev);
	const char *is = dev && dev->facts.host_serial[0] ? dev->facts.host_serial : "unknown";
	char serial[FORMER_TEXT];

	record_host_serial(r, serial);
	if (r->elsewhere.bus)
		snprintf(
			ret, size,
			"another card is in this place (%s, same model, serial number %s); the claimed "
			"one, %s, is %s now: claim that and forget this intent, or accept %s in ctl",
			r->dev.name, is, serial, r->elsewhere.name, r->dev.name);
	else
		snprintf(
			ret, size,
			"another card is in this place (%s, same model, serial number %s, not %s); "
			"accept %s in ctl if it replaces that one",
			r->dev.name, is, serial, r->dev.name);
}

static bool is_one_claim(const struct record *a, const struct record *b)
{
	return a->intent.claim[0] && !strcmp(a->intent.claim, b->intent.claim);
}

static void say(const struct pass *p, struct record *r)
{
	size_t at = pass_candidate(p, &r->dev);
	const struct record *own = at == RECORD_NONE ? NULL : p->of[at];
	char name[KEY_NAME + 8], differs[160], text[ERR_TEXT];
	const char *claim = r->intent.claim;

	if (at == RECORD_NONE)
		return;
	key_id(&r->dev, name);
	tell_apart(&p->candidates[at], &r->id, differs, sizeof(differs));
	r->as_well = own && is_one_claim(own, r);
	if (r->as_well) {
		snprintf(text, sizeof(text), "%s; %.60s has claimed that as well", differs, claim);
		record_say(r, RECORD_WAITING, text);
		return;
	}
	if (r->other_serial)
		say_other(p, r, text, sizeof(text));
	else if (own)
		snprintf(text, sizeof(text),
			 "another device is in this place (%s) and has its own intents; forget the "
			 "former one in ctl if it does not come back",
			 differs);
	else if (claim[0] && p->candidates[at].id.ids != r->id.ids)
		snprintf(text, sizeof(text),
			 "another device is in this place (%s); accept %s in ctl if it replaces "
			 "that one, or claim it for %.24s too if that one changes its ids",
			 differs, name, claim);
	else
		snprintf(text, sizeof(text),
			 "another card is in this place (%s); accept %s in ctl if it replaces that "
			 "one",
			 differs, name);
	record_say(r, RECORD_MISMATCH, text);
}

void pass_say_mismatches(const struct pass *p)
{
	const struct records *rs = &p->in->rs;

	for (size_t i = 0; i < rs->n; i++)
		if (rs->v[i]->state == RECORD_MISMATCH)
			say(p, rs->v[i]);
}
