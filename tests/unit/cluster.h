/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A KubeVirt CR, and objects of nodes that decide about its list. */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H

#include <stdio.h>
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "k8s-sync/cluster/permitted.h"
#include "pcidevfs/util.h"
#include "test.h"
#include "tests/lib/json_patch.h"

static struct picks cluster;
static json_object *cr;
static struct permitted decided;
static json_object *since;
static uint64_t now;

static inline void begin(void)
{
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		cluster.table[k] = picks_table();
}

static inline void end(void)
{
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		lh_table_free(cluster.table[k]);
	json_object_put(cr);
	json_object_put(since);
	cr = since = NULL;
}

static inline void put(enum pick_kind kind, const char *name, const char *rest)
{
	_free_ char *text = NULL;
	_json_ json_object *o = NULL;

	CHECK(asprintf(&text, "{\"metadata\":{\"name\":\"%s\"},%s}", name, rest) > 0);
	o = json_tokener_parse(text);
	CHECK(o);
	CHECK(picks_put(cluster.table[kind], kind, o) >= 0);
}

/* NODE-ADDRESS, the address without its dots and colons. */
static inline void device(const char *name, const char *ids, const char *resource)
{
	char rest[256];

	snprintf(rest, sizeof(rest),
		 "\"status\":{\"vendorId\":\"%.4s\",\"deviceId\":\"%s\",\"resourceName\":\"%s\"}",
		 ids, ids + 5, resource);
	put(PICK_PCI_DEVICE, name, rest);
}

static inline void claim(const char *node, const char *address)
{
	char rest[256];

	snprintf(rest, sizeof(rest), "\"spec\":{\"nodeName\":\"%s\",\"address\":\"%s\"}", node,
		 address);
	put(PICK_PCI_CLAIM, address, rest);
}

static inline void two_claims(void)
{
	device("n1-000005000", "8086:1533", "intel.com/A");
	device("n1-000006000", "10de:25b6", "nvidia.com/B");
	device("n1-000007000", "144d:a808", "samsung.com/C"); /* which nobody claims */
	claim("n1", "0000:05:00.0");
	claim("n1", "0000:06:00.0");
}

/* The CR with the lists, "" for none, and the ledger, NULL for none; apostrophes stand for quotes. */
static inline void stands(const char *lists, const char *ledger)
{
	_free_ char *text = NULL;

	json_object_put(cr);
	CHECK(asprintf(
		      &text,
		      "{'metadata':{'namespace':'harvester-system','name':'kubevirt'},'spec':{'configuration':{"
		      "'developerConfiguration':{'featureGates':['HostDevices']}%s%s}}}",
		      *lists ? ",'permittedHostDevices':" : "", lists) > 0);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	cr = json_tokener_parse(text);
	CHECK(cr);
	if (ledger)
		js_set_meta(cr, "annotations", LEDGER, ledger);
}

static inline void decide(const struct dialect *d)
{
	permitted_decide(d, cr, &cluster, &since, now, &decided);
}

/* When what is not offered has not been for long enough. */
static inline void decide_later(const struct dialect *d)
{
	decide(d);
	permitted_free(&decided);
	now += LINGER_MS;
	decide(d);
}

/* And has the server take it: after that nothing more is to be done. Returns whether it was
 * anything. */
static inline bool settle_as(const struct dialect *d)
{
	bool any;

	decide_later(d);
	any = decided.patch;
	CHECK_EQ(any ? patch_apply(cr, decided.patch) : 0, 0);
	permitted_free(&decided);
	decide(d);
	CHECK(!decided.patch);
	CHECK_EQ(decided.again, UINT64_MAX);
	permitted_free(&decided);
	return any;
}

static inline bool settle(void)
{
	return settle_as(&dialect_kubevirt);
}

static inline const char *list(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "spec.configuration.permittedHostDevices.%s", name);
	return js_line(js_get(cr, path));
}

#define ENTRY(selector, name)                                                                      \
	"{\"pciVendorSelector\":\"" selector "\",\"resourceName\":\"" name                         \
	"\",\"externalResourceProvider\":true}"
#define A ENTRY("8086:1533", "intel.com/A")
#define B ENTRY("10de:25b6", "nvidia.com/B")
#define C ENTRY("144d:a808", "samsung.com/C")
#define FOREIGN ENTRY("10DE:1EB8", "nvidia.com/T4")
#define OWN "{\"pciVendorSelector\":\"10DE:1EB8\",\"resourceName\":\"nvidia.com/T4\"}"

#endif
