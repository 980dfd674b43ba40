// SPDX-License-Identifier: GPL-2.0-or-later
/* The owner of a USB device's node: the user of VMs while a pod has the device, else the owner of
 * the claim file, else whoever had the node before. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"
#include "usb.h"

#define OWN_MS 10000
#define FORMER_OWNER "owner" /* in intent.former: "<uid>:<gid>" */

#define TO_POD "pod"
#define TO_CLAIM "claim"

/* Nodes get new numbers when a device is plugged in again: its pod cannot open those. */
const char *usb_node_goes_to(const struct intent *w, const char *nodes)
{
	if (w->allocated[0] && (!w->given[0] || !strcmp(w->given, nodes)))
		return TO_POD;
	return w->owned ? TO_CLAIM : USB_NODE_BACK;
}

bool usb_node_was_given(const struct intent *w)
{
	char owner[FORMER_TEXT];

	return w->owned || w->allocated[0] ||
	       former_get(w->former, FORMER_OWNER, owner, sizeof(owner));
}

#define DEV_DIR "/dev/"

/* Below the root of nodes. */
static const char *path_of(const struct device *known)
{
	return known->facts.nodes + strlen(DEV_DIR);
}

/* What the model knows. False: it has no node. */
static bool look_up(struct backend *b, const struct key *key, struct device *ret)
{
	return model_copy(b->model, key, ret) &&
	       !strncmp(ret->facts.nodes, DEV_DIR, strlen(DEV_DIR));
}

/* A file that is not the device's own, for example a link that somebody has put there, stays as it
 * is. */
static int check_node(struct backend *b, const struct key *dev, const char *path, int fd,
		      struct stat *st, struct err *err)
{
	char number[32], is[32];

	if (fstat(fd, st))
		return fail(err, errno, "/dev/%s cannot be looked at: %s", path, strerror(errno));
	if (sysfs_read(&b->sys, ROOT_SYS, number, sizeof(number), USB_DEVICES "/%s/dev",
		       dev->name) < 0)
		return fail(err, ENODEV, "%s is gone", dev->name);
	snprintf(is, sizeof(is), "%u:%u", major(st->st_rdev), minor(st->st_rdev));
	if (!S_ISCHR(st->st_mode) || strcmp(is, number))
		return fail(err, EIO,
			    "/dev/%s is not the node of %s, which has the number %s; remove it and "
			    "plug the device in again",
			    path, dev->name, number);
	return 0;
}

/* Returns a descriptor, which stays with this very file whatever comes to its place; or -errno;
 * -ENOENT (no sentence): there is none. */
static int open_node(struct backend *b, const struct key *dev, const char *path, struct stat *st,
		     struct err *err)
{
	_close_ int fd = openat(b->sys.fd[ROOT_DEV], path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return fail(err, errno, "/dev/%s cannot be opened: %s", path, strerror(errno));
	rc = check_node(b, dev, path, fd, st, err);
	return rc ? rc : steal_fd(&fd);
}

/* Root if the text makes no sense. */
static struct node_owner parse_owner(const char *text)
{
	struct node_owner owner = { 0 }, root = { 0 };

	return sscanf(text, "%u:%u", &owner.uid, &owner.gid) == 2 ? owner : root;
}

static struct node_owner owner_for(const struct backend *b, const char *to, const struct intent *w)
{
	char former[FORMER_TEXT];

	if (!strcmp(to, TO_POD))
		return b->roots.usb_owner;
	if (!strcmp(to, TO_CLAIM))
		return (struct node_owner){ w->uid, w->gid };
	if (strcmp(to, USB_NODE_BACK) != 0)
		return parse_owner(to); /* the undo of a step */
	former_get(w->former, FORMER_OWNER, former, sizeof(former));
	return parse_owner(former);
}

static bool is_owner(const struct stat *st, struct node_owner owner)
{
	return st->st_uid == owner.uid && st->st_gid == owner.gid;
}

/* Does it belong to a user that we give nodes to? */
static bool is_given(const struct backend *b, const struct device *known, const struct stat *st)
{
	return is_owner(st, b->roots.usb_owner) ||
	       (known->intent.owned && is_owner(st, owner_for(b, TO_CLAIM, &known->intent)));
}

/* step: records who had it; NULL: nobody asks. */
static int give(struct backend *b, const struct key *dev, const char *to, struct step *step,
		struct err *err)
{
	struct device known = { 0 };
	struct node_owner owner;
	struct stat st = { 0 };
	_close_ int fd = look_up(b, dev, &known) ? open_node(b, dev, path_of(&known), &st, err)
						 : -ENOENT;

	if (step && fd >= 0)
		snprintf(step->former, sizeof(step->former), "%u:%u", st.st_uid, st.st_gid);
	if (step)
		step->recorded = true;
	/* A node that is gone, or is another's, has nothing of ours to be given back. */
	if ((fd == -ENOENT || fd == -ENODEV || fd == -EIO) && !strcmp(to, USB_NODE_BACK))
		return 0;
	if (fd == -ENOENT)
		return strcmp(to, TO_POD)
			       ? 0
			       : fail(err, ENODEV, "%s has no node in /dev", dev->name);
	if (fd < 0)
		return fd;
	owner = owner_for(b, to, &known.intent);
	return is_owner(&st, owner)
		       ? 0
		       : node_own(fd, "", AT_EMPTY_PATH, path_of(&known), owner, err);
}

/* One after the other, so that an older owner never overwrites a newer one. */
static int give_in_turn(struct backend *b, const struct key *dev, const char *to, struct step *step,
			struct err *err)
{
	int rc;

	pthread_mutex_lock(&b->owning);
	rc = give(b, dev, to, step, err);
	pthread_mutex_unlock(&b->owning);
	return rc;
}

/* Notes the node's owner before it is given away, if none is noted; is_back: anew, since the node
 * is back with its owner. The users to whom we give nodes are not noted: after a crash one of them
 * may still have it. Returns whether an owner was noted. */
static bool remember(struct backend *b, const struct key *key, const struct device *known,
		     bool is_back)
{
	_close_ int fd = -1;
	char text[FORMER_TEXT];
	struct device *dev;
	struct stat st;
	bool news;

	if (!is_back && former_get(known->intent.former, FORMER_OWNER, text, sizeof(text)))
		return false;
	fd = open_node(b, key, path_of(known), &st, NULL);
	if (fd < 0 || is_given(b, known, &st))
		return false;
	snprintf(text, sizeof(text), "%u:%u", st.st_uid, st.st_gid);
	model_lock(b->model);
	dev = model_edit(b->model, key, false);
	/* Without room for it the node goes to root. */
	news = dev && former_set(dev->intent.former, FORMER_OWNER, text);
	model_publish(b->model);
	model_unlock(b->model);
	return news;
}

/* A claim that could not be restored leaves the device to the host. A user that got the node from a
 * former process loses it; an owner that others have set since stays. */
static int take_back(struct backend *b, const struct key *dev, const struct device *known,
		     struct err *err)
{
	char text[FORMER_TEXT];
	_close_ int fd = -1;
	struct stat st;

	if (known->busy[0] || !former_get(known->intent.former, FORMER_OWNER, text, sizeof(text)))
		return 0;
	fd = open_node(b, dev, path_of(known), &st, NULL);
	return fd >= 0 && is_given(b, known, &st) ? give(b, dev, USB_NODE_BACK, NULL, err) : 0;
}

int usb_give_nodes(struct backend *b, const struct key *dev, struct err *err)
{
	struct device known;
	bool there;
	int rc = 0;

	pthread_mutex_lock(&b->owning);
	there = look_up(b, dev, &known);
	if (there && known.intent.claim[0]) {
		remember(b, dev, &known, false);
		rc = give(b, dev, usb_node_goes_to(&known.intent, known.facts.nodes), NULL, err);
	} else if (there) {
		rc = take_back(b, dev, &known, err);
	}
	pthread_mutex_unlock(&b->owning);
	return rc;
}

/* The steps of an operation know better. A claimant's node stays as others make it: libvirt gives
 * it to its QEMU. While restore cannot take the device for its pod, the host has it. */
void usb_keep_nodes(struct backend *b, const struct key *dev)
{
	struct device known;

	pthread_mutex_lock(&b->owning);
	if (look_up(b, dev, &known) && !known.busy[0] && known.intent.claim[0] &&
	    !strcmp(usb_node_goes_to(&known.intent, known.facts.nodes), TO_POD))
		give(b, dev, TO_POD, NULL, NULL);
	pthread_mutex_unlock(&b->owning);
}

static int own_learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	struct device known;
	bool is_back;

	if (!strcmp(step->value, USB_NODE_BACK) || !look_up(b, &step->dev, &known))
		return 0;
	is_back = known.intent.claim[0] &&
		  !strcmp(usb_node_goes_to(&known.intent, known.facts.nodes), USB_NODE_BACK);
	remember(b, &step->dev, &known, is_back);
	return 0;
}

static int own_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return give_in_turn(b, &step->dev, step->value, step, err);
}

static int own_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return step->former[0]
		       ? give_in_turn(b, &step->dev, step->former, NULL, err)
		       : 0;
}

const struct verb usb_own = { .of = "usb",
			      .name = "own_node",
			      .deadline_ms = OWN_MS,
			      .records = true,
			      .learn = own_learn,
			      .run = own_run,
			      .undo = own_undo };
