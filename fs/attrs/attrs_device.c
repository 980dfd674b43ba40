// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: questions about it, and operations on it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/ctl/lines.h"
#include "fs/internal.h"
#include "fs/inventory.h"
#include "fs/log/ring.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "rows.h"

/* ---- plan: what a write would do, without doing it */

static int parse_query(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	const struct lines_of of = { .tree = s->tree, .file = "plan", .home = &s->dev->key };
	char line[sizeof(s->dev->plan_query)], label[LINE_LABEL];

	if (!STR_COPY(line, text))
		return fail(err, E2BIG, "plan: at most %zu characters", sizeof(line) - 1);
	return line_request(&of, line, ret, label, err);
}

/* Does the requested file already read so? */
static bool reads_so(struct tree *t, const struct request *request)
{
	struct device dev = { 0 };
	const struct subject s = { .tree = t, .dev = &dev };
	const struct attr *row = attr_by_name(kind_of_bus(request->dev.bus), request->file);
	struct model *m = t->conf.model;
	const struct device *found;
	struct out text = { 0 };
	struct request at;
	bool same = false;

	model_lock(m);
	request_resolve(m, request, &at);
	found = model_find(m, &at.dev);
	if (found)
		dev = *found;
	model_unlock(m);
	if (found && row && row->show)
		same = !strcmp(row_value(row, &s, &text) ?: "",
			       request->value[0] ? request->value : "none");
	out_free(&text);
	return same;
}

static int print_steps(struct tree *t, const struct request *request, struct out *o,
		       struct err *err)
{
	struct out steps = { 0 };
	int r = txn_check(t->conf.engine, request, 1, &steps, err);
	bool none = !r && !isdigit((unsigned char)out_text(&steps)[0]);

	if (none && !reads_so(t, request))
		out_printf(o, "nothing to do in the kernel; the value is recorded\n");
	else
		out_printf(o, "%s", out_text(&steps));
	o->failed |= steps.failed;
	out_free(&steps);
	return r;
}

static void plan_show(const struct subject *s, struct out *o)
{
	struct request request = { 0 };
	struct err err = { 0 };
	int r;

	if (!s->dev->plan_query[0]) {
		out_line(o, "");
		return;
	}
	r = parse_query(s, s->dev->plan_query, &request, &err);
	r = r ? r : print_steps(s->tree, &request, o, &err);
	if (r) {
		out_printf(o, "error %s ", err_name(err.code));
		out_for_all(o, err.text);
		out_printf(o, "\n");
	}
}

/* A text that is refused is stored too, so that reading shows the refusal instead of old steps. */
static int plan_store(const struct subject *s, const char *text, struct request *ret,
		      struct err *err)
{
	struct model *m = s->tree->conf.model;
	bool clear = !text[0] || !strcmp(text, "none");
	struct request request = { 0 };
	int r = clear ? 0 : parse_query(s, text, &request, err);
	struct device *d;

	(void)ret; /* nothing is requested from the engine */
	model_lock(m);
	d = model_edit(m, &s->dev->key, false);
	if (d)
		STR_COPY(d->plan_query, clear || r == -E2BIG ? "" : text);
	else
		r = fail(err, ENODEV, "plan: %s is gone", s->dev->key.name);
	model_publish(m);
	model_unlock(m);
	if (!r)
		err->idle = true; /* a question: it changes neither last_error nor the journal */
	return r;
}

/* ---- how a VMM takes it */

/* A VMM can take only a claimed device whole, or a vGPU that its driver offers. */
static bool whole_address(const struct subject *s, struct pci_addr *ret)
{
	const struct device *dev = s->dev;

	return (dev->intent.claim[0] || device_is_coming(dev) || dev->facts.profile_id[0]) &&
	       !dev->facts.mdevs && pci_addr_parse(dev->key.name, ret);
}

/* Its UUID; NULL: it is no mediated device and does not have exactly one. */
static const char *mdev_of(const struct subject *s)
{
	if (s->dev->key.bus == BUS_MDEV)
		return s->dev->key.name;
	return s->dev->facts.mdevs == 1 ? s->dev->facts.mdev : NULL;
}

/* A claimed USB device that is there. */
static bool whole_usb(const struct subject *s)
{
	const struct device *dev = s->dev;

	return dev->caps & CAP_USB && (dev->intent.claim[0] || device_is_coming(dev)) &&
	       dev->facts.devnum;
}

static void usb_hostdev(const struct facts *f, struct out *o)
{
	out_printf(o,
		   "<hostdev mode='subsystem' type='usb' managed='no'>\n"
		   "  <source>\n"
		   "    <vendor id='0x%04x'/>\n"
		   "    <product id='0x%04x'/>\n"
		   "    <address bus='%u' device='%u'/>\n"
		   "  </source>\n"
		   "</hostdev>\n",
		   f->vendor, f->device, f->busnum, f->devnum);
}

/* By its port, "1.2" of 3-1.2, where QEMU takes it again after it was plugged in anew. */
static void usb_qemu(const struct device *dev, struct out *o)
{
	const char *dash = strchr(dev->key.name, '-');

	out_printf(o, "-device usb-host,hostbus=%u,hostport=%s\n", dev->facts.busnum,
		   dash ? dash + 1 : "");
}

/* managed='no': the claim has bound it already and stays after the VM. libvirt knows
 * domains of 32 bits, and hands them to QEMU's host=, which does not. */
static void hostdev_show(const struct subject *s, struct out *o)
{
	const char *mdev = mdev_of(s);
	struct pci_addr a;

	if (whole_usb(s))
		usb_hostdev(&s->dev->facts, o);
	else if (whole_address(s, &a) && a.domain <= 0xffff)
		out_printf(
			o,
			"<hostdev mode='subsystem' type='pci' managed='no'>\n"
			"  <driver name='vfio'/>\n"
			"  <source>\n"
			"    <address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'/>\n"
			"  </source>\n"
			"</hostdev>\n",
			a.domain, a.bus, a.dev, a.fn);
	else if (mdev)
		out_printf(o,
			   "<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>\n"
			   "  <source>\n"
			   "    <address uuid='%s'/>\n"
			   "  </source>\n"
			   "</hostdev>\n",
			   mdev);
	else
		out_line(o, "");
}

/* QEMU's host= takes domains of 16 bits; those behind Intel VMD are longer. Without a display, here
 * and above: only one vGPU of a VM can be its console, and which one nobody knows here. */
static void qemu_show(const struct subject *s, struct out *o)
{
	const char *mdev = mdev_of(s);
	struct pci_addr a;
	bool whole = whole_address(s, &a);

	if (whole_usb(s))
		usb_qemu(s->dev, o);
	else if (whole && a.domain <= 0xffff)
		out_printf(o, "-device vfio-pci,host=%s\n", s->dev->key.name);
	else if (whole)
		out_printf(o, "-device vfio-pci,sysfsdev=/sys/bus/pci/devices/%s\n",
			   s->dev->key.name);
	else if (mdev)
		out_printf(o, "-device vfio-pci,sysfsdev=/sys/bus/mdev/devices/%s\n", mdev);
	else
		out_line(o, "");
}

/* ---- the others */

static int reset_store(const struct subject *s, const char *text, struct request *ret,
		       struct err *err)
{
	bool yes = false, flag = !parse_bool(text, &yes);

	if (!text[0] || (flag && !yes))
		return fail(err, EINVAL, "reset: write 1, or the name of the claimant of %s",
			    s->dev->key.name);
	if (strlen(text) >= CLAIM_NAME)
		return fail(err, EINVAL, "reset: a name has at most %d characters", CLAIM_NAME - 1);
	STR_COPY(ret->value, flag ? "1" : text); /* none would be a name, too */
	return 0;
}

static void reset_show(const struct subject *s, struct out *o)
{
	const char *claim = s->dev->intent.claim;

	out_printf(o, "write %s to reset it\n", claim[0] ? claim : "1");
}

static void claimable_show(const struct subject *s, struct out *o)
{
	out_line_for_all(o, s->dev->refused_code ? s->dev->refused : "yes");
}

/* Opening a device node makes no event, so holders are looked up when somebody reads. */
static void holders_refresh(const struct subject *s)
{
	const struct engine_world *w = engine_world(s->tree->conf.engine);

	if (w->observe_holders)
		w->observe_holders(w->backend, NULL, 0, now_us(), NULL);
}

static void log_show(const struct subject *s, struct out *o)
{
	char id[KEY_NAME + 8], where[KEY_NAME + 16];

	snprintf(where, sizeof(where), " id=%s ", key_id(&s->dev->key, id));
	ring_print(s->tree->log, where, o);
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ RW("plan", 20, plan_show, plan_store), .bits = CH_PLAN,
	  .flags = ATTR_SLOW | ATTR_SNAPSHOT | ATTR_ASIDE,
	  .help = "write what you would, such as: claim alice; read the steps, or the refusal; "
		  "none forgets it. Nothing is done. The write succeeds also if the plan is a "
		  "refusal: then it reads error ERRNO FILE: SENTENCE" },
	{ KEY_RO_OF("host_critical", 21, facts.critical), .bits = CH_CRITICAL,
	  .help = "why the host itself needs it, or none" },
	{ KEY_RO("claimable", 33, claimable_show), .bits = CH_CLAIMABLE,
	  .help = "yes, or the sentence with which a claim by somebody new would be refused "
		  "now: the host, its IOMMU group, who has it. Whether the claim could be stored on disk is in health" },
	{ ROW("holders", 22, 0440), OF(facts.holders), .bits = CH_HOLDERS,
	  .flags = ATTR_SLOW | ATTR_SNAPSHOT,
	  .refresh = holders_refresh,
	  .help = "processes that hold it open, for the directory's owner, root and the group pcidevfs; a line each: "
		  "pid= comm=; unsure stands before a process that may hold it, but whose open "
		  "files are unknown; or none" },
	{ ROW("log", 23, 0440), .show = log_show, .bits = CH_LOG, .flags = ATTR_WORK | ATTR_SNAPSHOT,
	  .help = "past writes into this directory, as in the root's log, for the directory's owner, root and the "
		  "group pcidevfs" },
	{ RO("hostdev.xml", 25, hostdev_show), .bits = CH_CLAIM | CH_MDEV | CH_IDS, .caps = CAP_CLAIM,
	  .help = "a libvirt hostdev element (managed='no') for the claimed function, for a "
		  "vGPU on its own driver, or for its mdev; else none. For the one mdev vGPU that is "
		  "the VM's console, add display='on' ramfb='on' to the element (docs/VGPU.md). A vGPU "
		  "type that is set outside the tree shows at the next look at the function" },
	{ RO("qemu", 26, qemu_show), .bits = CH_CLAIM | CH_MDEV | CH_IDS, .caps = CAP_CLAIM,
	  .help = "how QEMU takes it, likewise: its arguments, or none. The console is "
		  "-device vfio-pci-nohotplug with ,display=on,ramfb=on behind the rest" },
	{ RW("reset", 28, reset_show, reset_store), .bits = CH_CLAIM, .caps = CAP_CLAIM | CAP_RESET,
	  .help = "reading says what to write: 1, or the claimant's name if the function is "
		  "claimed; the kernel then resets it. Refused while the host needs it, it has "
		  "VFs or a process holds it. Cannot be undone" },
	{ ROW("ctl", 27, 0664), .flags = ATTR_CTL,
	  FIXED("write lines FILE VALUE, then commit, check or abort; answers are read from the same "
		"open file\n"),
	  .help = "as in the root, for this device alone: lines FILE VALUE, or virtfn<N>/FILE "
		  "VALUE" },
};
/* clang-format on */

const struct attr_table attrs_device = { rows, ARRAY_SIZE(rows) };
