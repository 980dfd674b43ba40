// SPDX-License-Identifier: GPL-2.0-or-later
/* Why a device cannot go to a pod, and which pods rival for it. */
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "pcidevfs/util.h"

enum { UNTOLD_MS = 1000 };

/* A group must belong to one pod: functions in two pods could read each other's memory. */
static const struct dev *taken_peer(const struct devices *t, const struct dev *d)
{
	size_t n;
	struct dev *const *group = d->peer_taken ? devices_group(t, d, &n) : NULL;

	for (size_t i = 0; group && i < n; i++)
		if (group[i] != d && dev_keeps_group(group[i]))
			return group[i];
	return NULL;
}

/* The tree recorded that a pod has it, but the line that says so may still be under way. */
static bool just_given(const struct dev *d, uint64_t now)
{
	return d->given_at && now - d->given_at < UNTOLD_MS;
}

/* An unnamed peer is judged when its own container starts, against all named ones. */
bool dev_rivals(const struct dev *d, const struct dev *peer, uint64_t now)
{
	if (d == peer || !(dev_allocated(peer) || just_given(peer, now)))
		return false;
	return dev_named(d) ? dev_named(peer) && !same_pod(d->allocated, peer->allocated) : true;
}

/* The first sentence is the tree's own, for two named pods. */
const char *dev_rival_tell(const struct dev *d, const struct dev *rival, char *buf, size_t size)
{
	if (dev_named(d))
		snprintf(
			buf, size,
			"allocated to %s while %s in the same IOMMU group %d is allocated to %s; "
			"delete one of the pods",
			d->allocated, rival->id, d->group, rival->allocated);
	else
		snprintf(buf, size,
			 "kubelet has not reported its pod yet; %s of its IOMMU group %d is %s",
			 rival->id, d->group, dev_allocated(rival) ? rival->allocated : "pending");
	return buf;
}

static void mark_peers(struct devices *t)
{
	size_t n;

	for (size_t from = 0; from < t->n; from += n) {
		struct dev *const *group = devices_group(t, t->by_group[from], &n);
		size_t taken = 0;

		for (size_t i = 0; i < n; i++)
			taken += dev_keeps_group(group[i]);
		for (size_t i = 0; i < n; i++)
			group[i]->peer_taken = taken > dev_keeps_group(group[i]);
	}
}

/* Reasons that also count for a device whose pod is certain to kubelet. */
static const char *sick_allocated(const struct dev *d, char *buf, size_t size)
{
	if (!strncmp(d->allocated, "claim:", 6))
		return "it is allocated to a resource claim";
	if (d->given && strcmp(d->given, dev_resource(d))) {
		snprintf(buf, size, "it is allocated to %s under another name than %s: %s", d->allocated,
			 dev_resource(d), d->given);
		return buf;
	}
	/* A running operation does not change its health. */
	if (!strcmp(d->state, "allocated") ||
	    (!strcmp(d->state, "busy") && d->nodes[0] && d->good_at != UINT64_MAX))
		return NULL;
	return d->reason[0] ? d->reason : "the tree gives no reason";
}

static bool was_well(const struct dev *d)
{
	return d->announced && d->good_at != UINT64_MAX;
}

const char *dev_sick(const struct devices *t, const struct dev *d, uint64_t now, char *buf,
		     size_t size)
{
	const struct dev *peer;

	if (dev_allocated(d))
		return sick_allocated(d, buf, size);
	/* A running operation does not change its health. */
	if (strcmp(d->state, "claimed") && (strcmp(d->state, "busy") || !was_well(d)))
		return d->reason[0] ? d->reason : "the tree gives no reason";
	peer = taken_peer(t, d);
	if (peer && dev_named(peer)) {
		snprintf(buf, size, "its IOMMU group %d is allocated to %s", d->group, peer->allocated);
		return buf;
	}
	if (peer) {
		snprintf(
			buf, size,
			"in its IOMMU group %d %s is allocated, and kubelet has not reported the "
			"pod yet",
			d->group, peer->id);
		return buf;
	}
	return now >= d->good_at ? NULL : "it was not usable a moment ago";
}

uint64_t devices_judge(struct devices *t, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	char buf[512];

	mark_peers(t);
	for (size_t i = 0; i < t->n; i++) {
		struct dev *d = t->v[i];
		bool known = d->announced;

		if (strcmp(d->allocated, "pending"))
			d->pending_at = 0;
		else if (!d->pending_at)
			d->pending_at = now;
		/* kubelet knows a device that a pod has or that blocks another, maybe from a former
		 * us. */
		d->announced |= (dev_allocated(d) && !dev_comes(d)) || !strcmp(d->state, "held") ||
				!strcmp(d->state, "claimed");
		if (d->gone || dev_sick(t, d, UINT64_MAX, buf, sizeof(buf))) {
			d->good_at = known ? UINT64_MAX : 0;
			continue;
		}
		if (d->good_at == UINT64_MAX)
			d->good_at = dev_allocated(d) ? now : now + HEALTHY_AFTER_MS;
		d->announced |= d->good_at <= now;
		next = d->good_at > now && d->good_at < next ? d->good_at : next;
	}
	return next;
}
