// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"
#include "tables.h"

const char *former_pod(const struct world *w)
{
	if (!w->objects[FORMER_POD])
		return "";
	json_object_object_foreach(w->objects[FORMER_POD], name, o)
	{
		const char *label = js_meta(o, "labels", FORMER_LABEL);
		const char *phase = js_text(o, "status.phase");

		if (label && !strcmp(label, FORMER_NAME) && strcmp(phase, "Succeeded") &&
		    strcmp(phase, "Failed"))
			return name;
	}
	return "";
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + n, word))
		if ((at == text || at[-1] == ' ') && !isalnum((unsigned char)at[n]) && at[n] != '-')
			return true;
	return false;
}

/* Harvester keeps its management network (spec/harvester.md 4.6). */
static bool is_management(const struct inv_dev *d)
{
	const char *why = dev_get(d, "host_critical");

	return has_word(why, "mgmt-br") || has_word(why, "mgmt-bo");
}

bool ours_vlan(const struct world *w, json_object *o)
{
	const char *nodes = js_meta(o, "annotations", "network.harvesterhci.io/matched-nodes");
	_json_ json_object *list = nodes ? json_tokener_parse(nodes) : NULL;

	return js_find(list, "", w->node);
}

bool ours_node(const struct world *w, json_object *o)
{
	return !strcmp(js_text(o, "metadata.name"), w->node);
}

/* The VlanConfig whose network uses this NIC; NULL. */
static json_object *uplink_of(const struct world *w, const struct inv_dev *d)
{
	const char *netdev = dev_get(d, "netdev");
	char first[64];

	if (!w->objects[VLAN_CONFIG])
		return NULL;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(netdev, " "), netdev);
	json_object_object_foreach(w->objects[VLAN_CONFIG], name, o)
	{
		(void)name;
		if (js_find(js_get(o, "spec.uplink.nics"), "", first))
			return o;
	}
	return NULL;
}

void unwanted_why(const struct world *w, const struct inv_dev *d, char ret[static ERR_TEXT])
{
	json_object *vlan = uplink_of(w, d);

	if (vlan)
		snprintf(ret, ERR_TEXT,
			 "%s (%s) is an uplink of the network %.100s; take it out of VlanConfig %.100s first",
			 d->id, dev_get(d, "netdev"), js_text(vlan, "spec.clusterNetwork"),
			 js_text(vlan, "metadata.name"));
	else
		str_copy(ret, ERR_TEXT, dev_get(d, "claimable"));
}

static bool is_pci(const struct inv_dev *d)
{
	struct pci_addr addr;

	return pci_addr_parse(d->id, &addr);
}

static bool is_kind(const struct inv_dev *d, const char *kind)
{
	return !strcmp(dev_get(d, "kind"), kind);
}

static bool nic_has_vfs(const struct inv_dev *d)
{
	const char *vfs = dev_get(d, "sriov_numvfs");

	return is_kind(d, "sriov-nic") && *vfs && strcmp(vfs, "0");
}

bool wanted_pci(const struct world *w, const struct inv_dev *d)
{
	return is_pci(d) && strncmp(dev_get(d, "class"), "0x0604", 6) && !is_management(d) &&
	       !nic_has_vfs(d) && !uplink_of(w, d);
}

bool wanted_net(const struct world *w, const struct inv_dev *d)
{
	return is_pci(d) && is_kind(d, "sriov-nic") && dev_has(d, "sriov_totalvfs") &&
	       !is_management(d) && !uplink_of(w, d);
}

static bool name_new_net(const struct world *w, const char *netdev, char ret[static OBJECT_NAME])
{
	snprintf(ret, OBJECT_NAME, "%s-%.*s", w->node, (int)strcspn(netdev, " "), netdev);
	for (char *c = ret; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return *netdev;
}

/* An interface may be renamed, or away while the NIC is with another driver: what is agreed about
 * the NIC stays where it is. */
static bool net_about(const struct world *w, json_object *o, const struct inv_dev *d)
{
	return !strcmp(js_text(o, "spec.address"), d->id) && values_keep(w, NET_DEVICE, o);
}

bool name_net(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME])
{
	json_object *has;

	if (!is_kind(d, "sriov-nic"))
		return false;
	has = object_about(w, NET_DEVICE, net_about, d);
	if (!has)
		return name_new_net(w, dev_get(d, "netdev"), ret);
	str_copy(ret, OBJECT_NAME, js_text(has, "metadata.name"));
	return true;
}

bool wanted_gpu(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && is_kind(d, "sriov-gpu") && dev_has(d, "enabled");
}

bool wanted_vgpu(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && is_kind(d, "vgpu") && dev_has(d, "profile");
}
