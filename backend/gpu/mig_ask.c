// SPDX-License-Identifier: GPL-2.0-or-later
#include "mig_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "card_health.h"
#include "mig_seen.h"
#include "module_version.h"
#include "nvml_ask.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "settings.h"
#include "types.h"

#define LOGGED_MS 1000 /* a program can make its card log errors at any rate */
#define SICK_MS 60000  /* after which a sick card is asked again */

/* NVIDIA's MIG user guide, "Supported GPUs", and the ids that public pci.ids has of these. A chip of
 * a data centre has a block of its own; of the others only some cards can. */
bool mig_family(uint16_t device)
{
	static const struct {
		uint16_t first, last;
	} families[] = {
		{ 0x2080, 0x20ff }, /* GA100: A100, A30 */
		{ 0x2300, 0x237f }, /* GH100: H100, H200, H20, GH200 */
		{ 0x2900, 0x29ff }, /* GB100, GB102: B200, GB200 */
		{ 0x2bb0, 0x2bbf }, /* GB202: RTX PRO 5000 and 6000 Blackwell */
		{ 0x2c31, 0x2c31 }, /* GB203: RTX PRO 4500 Blackwell, and its server edition */
		{ 0x2c3a, 0x2c3a }, { 0x3180, 0x31ff }, /* GB110: B300, GB300 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (device >= families[i].first && device <= families[i].last)
			return true;
	return false;
}

/* ---- in a helper */

struct mig_call {
	const struct nvml_place *at;
	uint64_t until;
	struct out *ret;
};

static void tell_module(struct mig_call *c)
{
	char text[SYSFS_VALUE];
	const char *version;

	if (sysfs_read(c->at->s, ROOT_PROC, text, sizeof(text), "driver/nvidia/version") < 0)
		return;
	version = module_version(text);
	if (version)
		out_printf(c->ret, "- module %s\n", version);
}

/* Lines about the library, then those of the card. "13.580.159.04" begins with the number of the
 * interface. */
static void put_lines(struct mig_call *c, const char *id, const struct out *lines, bool all)
{
	char version[32];

	for (const char *line = out_text(lines); *line; line += strcspn(line, "\n") + 1)
		if (sscanf(line, "library %*[0-9].%31[0-9.]", version) == 1)
			out_printf(c->ret, "- library %s\n", version);
		else if (all || !strncmp(line, "health ", 7))
			out_printf(c->ret, "%s %.*s\n", id, (int)strcspn(line, "\n"), line);
}

static int call(struct mig_call *c, const char *request, const char *id, struct out *lines,
		char *root, struct err *err)
{
	uint64_t now = now_ms();
	char words[64];

	snprintf(words, sizeof(words), "%s %.40s", request, id);
	return nvml_run(c->at, words, now < c->until ? (unsigned int)(c->until - now) : 1, lines,
			root, err);
}

/* Does the kernel show instances? It need not. */
static bool shows_instances(const struct mig_call *c, const char *id)
{
	char seen[TELL_MAX] = "";
	struct key key;

	return key_make(BUS_PCI, id, &key) && !mig_seen_tell(c->at->s, &key, false, seen) &&
	       atoi(seen) > 0;
}

/* A library that told its version is there, whatever it tells of the card. A card without instances
 * is asked by nobody. */
static void tell_card(struct mig_call *c, const char *id)
{
	bool shows = shows_instances(c, id);
	char root[NVML_ROOT] = "";
	struct out lines = { 0 };
	struct err err = { 0 };
	int rc = call(c, shows ? "card-instances" : "card", id, &lines, root, &err);

	if (!rc && !shows && strstr(out_text(&lines), "\nmode 1")) {
		out_free(&lines);
		rc = call(c, "card-instances", id, &lines, NULL, &err);
	}
	tell_module(c);
	if (*root)
		out_printf(c->ret, "- root %s\n", root);
	if (rc && strncmp(out_text(&lines), "library ", 8))
		out_printf(c->ret, "- lack %s\n", err.text);
	if (rc)
		out_printf(c->ret, "%s lack %s\n", id, err.text);
	put_lines(c, id, &lines, !rc);
	if (rc == -ENXIO)
		out_printf(c->ret, "%s health lost\n", id);
	out_free(&lines);
}

static bool is_asleep(const struct nvml_place *at, const char *id)
{
	char status[16];

	return sysfs_read(at->s, ROOT_SYS, status, sizeof(status),
			  PCI_DEVICES "/%s/power/runtime_status", id) > 0 &&
	       !strncmp(status, "suspend", 7);
}

int mig_tell(const struct nvml_place *at, char *ids, unsigned int ms, struct out *ret)
{
	char *save = NULL;

	for (char *w = strtok_r(ids, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		struct mig_call c = { at, now_ms() + ms, ret };
		const char *id = w + (*w == '!');
		struct pci_addr addr;

		if (!pci_addr_parse(id, &addr))
			return -EINVAL;
		if (id == w && is_asleep(at, id))
			out_printf(ret, "%s asleep\n", id);
		else
			tell_card(&c, id);
	}
	return 0;
}

/* ---- in the daemon */

static void set_lack(struct backend *b, const struct device *dev, const char *lack)
{
	char text[VGPU_LACK], whole[ERR_TEXT];
	struct device *edit;

	STR_COPY(whole, lack);
	STR_FIT(text, whole);
	if (!strcmp(dev->facts.mig_lack, text) && (!*text || !dev->facts.mig.len))
		return;
	edit = model_edit(b->model, &dev->key, false);
	STR_COPY(edit->facts.mig_lack, text);
	if (*text)
		mig_keep(b->model, edit, "");
}

static bool is_passed_through(const struct device *dev)
{
	return dev->facts.use == USE_GUEST || dev->intent.claim[0];
}

/* Why it cannot be asked at all. "": it can. */
static const char *lack_of(const struct device *dev)
{
	const struct facts *f = &dev->facts;

	if (is_passed_through(dev))
		return "it is passed through as a whole; write none to its claim first";
	if (!f->driver[0])
		return "it has no driver; load NVIDIA's";
	if (strcmp(f->driver, "nvidia"))
		return "it is with another driver; NVIDIA's is needed";
	return "";
}

/* MIG, or settings of its vGPUs. */
static bool has_facts(const struct device *dev)
{
	return dev->caps & CAP_MIG || (dev->caps & CAP_SETTINGS) == CAP_SETTINGS;
}

/* Of a card, and of what is made of it. */
static void set_health(struct backend *b, const struct device *dev, const char *text)
{
	const struct key card = dev->key;
	size_t pos = 0;

	if (strcmp(dev->facts.card_health, text) != 0)
		STR_COPY(model_edit(b->model, &card, false)->facts.card_health, text);
	while ((dev = model_next(b->model, &pos)))
		if (key_eq(&dev->facts.parent, &card) && strcmp(dev->facts.card_health, text) != 0)
			STR_COPY(model_edit(b->model, &dev->key, false)->facts.card_health, text);
}

static void set_logged(struct backend *b, const struct device *dev, uint64_t when, bool fatal)
{
	struct facts *f;

	if (dev->facts.card_logged == when && dev->facts.card_fatal == fatal)
		return;
	f = &model_edit(b->model, &dev->key, false)->facts;
	f->card_logged = when;
	f->card_fatal = fatal;
}

/* A driver logs the first errors before it has the card. */
static bool may_log(const struct device *dev)
{
	return !is_passed_through(dev) &&
	       (!dev->facts.driver[0] || !strcmp(dev->facts.driver, "nvidia"));
}

void card_heard(struct backend *b, const struct key *card, unsigned int number, bool past)
{
	const struct device *dev;
	char text[CARD_HEALTH] = "";

	model_lock(b->model);
	dev = model_find(b->model, card);
	if (dev && may_log(dev)) {
		if (!past && !*lack_of(dev))
			card_error(card->name, number, text);
		set_logged(b, dev, dev->unbinds + 1, *text || dev->facts.card_fatal);
		if (*text)
			set_health(b, dev, text);
		model_publish(b->model);
		ask_soon(b, &ask_mig, card, LOGGED_MS);
	}
	model_unlock(b->model);
}

void cards_unheard(struct backend *b, unsigned int ms)
{
	const struct device *dev;
	size_t pos = 0;

	model_lock(b->model);
	while ((dev = model_next(b->model, &pos)))
		if (dev->caps & CAP_VGPU_HOST && !*lack_of(dev))
			set_logged(b, dev, dev->unbinds + 1, dev->facts.card_fatal);
	model_publish(b->model);
	model_unlock(b->model);
	ask_soon(b, &ask_mig, NULL, ms);
}

/* A driver that has left the card since has forgotten what was wrong with it, or finds it again. */
static void forget_health(struct backend *b, const struct device *dev, const char *lack)
{
	bool left = dev->facts.card_logged && dev->facts.card_logged != dev->unbinds + 1;

	if (!left && !*lack)
		return;
	if (left || !may_log(dev))
		set_logged(b, dev, 0, false);
	set_health(b, dev, "");
}

static enum ask_which which_mig(struct backend *b, const struct device *dev)
{
	const char *lack = lack_of(dev);

	if (has_facts(dev) || dev->facts.card_logged)
		forget_health(b, dev, lack);
	/* Other cards are asked only about what they have logged. */
	if (!has_facts(dev))
		return *lack || !dev->facts.card_logged ? ASK_NOT : ASK_IT;
	if (*lack)
		set_lack(b, dev, lack);
	return *lack ? ASK_NOT : dev->busy[0] ? ASK_WAKING : ASK_IT;
}

/* Of a card that sleeps the last facts hold: MIG does not change while nobody wakes it. */
static void apply_lines(struct backend *b, const struct device *dev, const struct out *lines)
{
	struct mig m = { 0 };
	struct device *edit;

	if (!strncmp(out_text(lines), "host_vgpu ", 10) && dev->caps & CAP_MIG) {
		set_lack(b, dev, "its driver does not offer MIG for it");
		return;
	}
	if (!lines->len || mig_read(out_text(lines), &m)) {
		set_lack(b, dev, "what its driver tells of MIG makes no sense");
		return;
	}
	set_lack(b, dev, "");
	if (room_is(&dev->facts.mig, lines->data, lines->len) &&
	    dev->facts.mig_unbinds == dev->unbinds)
		return;
	edit = model_edit(b->model, &dev->key, false);
	mig_keep(b->model, edit, out_text(lines));
	if (!edit->facts.mig.len)
		set_lack(b, edit, "its driver tells more of MIG than there is room for");
	types_tell(b->model, edit);
}

/* An old driver tells of no recovery, so a fatal error that it has logged holds until it leaves the
 * card. A sick card's driver says nothing when it is well again but in its log. */
static void apply_health(struct backend *b, const struct device *dev, const struct card_told *told)
{
	char text[CARD_HEALTH];

	card_sentence(dev->key.name, told, text);
	if (told->told && (*text || told->recovery >= 0 || !dev->facts.card_fatal)) {
		set_logged(b, dev, 0, false);
		set_health(b, dev, text);
	} else {
		STR_COPY(text, dev->facts.card_health);
	}
	if (*text)
		ask_soon(b, &ask_mig, &dev->key, SICK_MS);
}

static void apply_facts(struct backend *b, const struct device *dev, int rc, struct out *lines)
{
	char *text = lines->data ?: (char *)"";

	if (rc)
		set_lack(b, dev,
			 "its driver does not answer and waits in the kernel; dmesg may say why");
	else if (!strncmp(text, "lack ", 5))
		set_lack(b, dev, strsep(&text, "\n") + 5);
	else if (strcmp(text, "asleep\n"))
		apply_lines(b, dev, lines);
	else if (!dev->facts.mig.len)
		set_lack(b, dev, "it sleeps, and is asked once it is awake");
}

static int apply_mig(struct backend *b, const struct device *dev, const struct told *t)
{
	struct card_told health = CARD_TOLD_NOTHING;
	struct out lines = { 0 };

	for (size_t i = 0; i < t->lines; i++)
		if (!strncmp(t->line[i].text, "health ", 7))
			card_health_read(t->line[i].text + 7, &health);
		else
			out_printf(&lines, "%s\n", t->line[i].text);
	if (lines.failed)
		return -ENOMEM;
	if (has_facts(dev))
		apply_facts(b, dev, t->rc, &lines);
	apply_health(b, dev, &health);
	out_free(&lines);
	return 0;
}

static void heard_library(struct backend *b, bool all, const struct told *t)
{
	struct nvml_told n = { 0 };
	char lack[ERR_TEXT];

	STR_COPY(n.root, told_value(t, "root ") ?: "");
	STR_COPY(n.library, told_value(t, "library ") ?: "");
	STR_COPY(n.module, told_value(t, "module ") ?: "");
	STR_COPY(lack, told_value(t, "lack ") ?: "");
	STR_FIT(n.lack, lack);
	n.asked = n.root[0] || n.library[0] || n.module[0] || n.lack[0];
	if (!n.asked) /* the card sleeps */
		return;
	pthread_mutex_lock(&b->asker.lock);
	b->nvml = n;
	pthread_mutex_unlock(&b->asker.lock);
}

void mig_mounted(struct backend *b)
{
	bool lacks;

	pthread_mutex_lock(&b->asker.lock);
	lacks = b->nvml.lack[0];
	pthread_mutex_unlock(&b->asker.lock);
	if (lacks)
		ask_soon(b, &ask_mig, NULL, 0);
}

bool mig_is_told(struct backend *b, const struct device *dev, struct mig *ret)
{
	return dev->caps & CAP_MIG && !dev->busy[0] && !*lack_of(dev) &&
	       !mig_of(b->model, dev, ret);
}

void mig_health(struct backend *b, struct out *o)
{
	struct nvml_told n;

	pthread_mutex_lock(&b->asker.lock);
	n = b->nvml;
	pthread_mutex_unlock(&b->asker.lock);
	if (!n.asked)
		return;
	out_printf(o, "nvml=%s", n.lack[0] ? "none" : "ok");
	if (n.root[0])
		out_pair(o, "root", n.root);
	if (n.library[0])
		out_pair(o, "library", n.library);
	out_pair(o, "module", n.module[0] ? n.module : "none");
	if (n.lack[0])
		out_pair(o, "hint", n.lack);
	out_printf(o, "\n");
}

bool log_lacks(struct backend *b)
{
	const struct device *dev;
	bool cards = false;
	size_t pos = 0;

	if (!atomic_load(&b->log_error))
		return false;
	model_lock(b->model);
	while (!cards && (dev = model_next(b->model, &pos)))
		cards = dev->caps & CAP_VGPU_HOST;
	model_unlock(b->model);
	return cards;
}

void log_health(struct backend *b, struct out *o)
{
	if (log_lacks(b))
		out_printf(
			o,
			"kernel_log=none error=%s hint=\"errors that a GPU's driver logs are not "
			"heard, and its health is asked only after other events; give the daemon "
			"/dev/kmsg and CAP_SYSLOG\"\n",
			err_name(-atomic_load(&b->log_error)));
}

const struct ask_row ask_mig = { "mig",
				 "what the driver tells of MIG",
				 .deadline_ms = 5000,
				 .batch = 1,
				 .each_ms = 5000,
				 .thread = ASKER_LIBRARY,
				 .follows = true,
				 .calm = true,
				 .which = which_mig,
				 .apply = apply_mig,
				 .heard = heard_library };
