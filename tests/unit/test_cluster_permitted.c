// SPDX-License-Identifier: GPL-2.0-or-later
/* KubeVirt's list of permitted devices: what is ours in it, and what a patch leaves of others. */
#include "cluster.h"

DEFINE_TEST(cluster_names_come_with_claims_and_go_with_the_last_one)
{
	begin();
	two_claims();
	stands("{'pciHostDevices':[" FOREIGN "," OWN "," OWN "]}", NULL);
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" FOREIGN "," OWN "," OWN "," A "," B "]");
	CHECK_STR(js_meta(cr, "annotations", LEDGER),
		  "{\"pciHostDevices\":[\"intel.com/A\",\"nvidia.com/B\"]}");
	device("n2-000005000", "8086:1533", "intel.com/A");
	claim("n2", "0000:05:00.0"); /* in place of n1's: tests have one of an address */
	CHECK(!settle());
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:05:00.0"));
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" FOREIGN "," OWN "," OWN "," B "]");
	CHECK(picks_drop(cluster.table[PICK_PCI_DEVICE], "n1-000006000"));
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" FOREIGN "," OWN "," OWN "]");
	CHECK_STR(js_meta(cr, "annotations", LEDGER), "{}");
	CHECK(!settle());
	end();
}

/* Another of us may have added it just now. */
DEFINE_TEST(cluster_a_name_that_is_not_offered_lingers)
{
	begin();
	two_claims();
	stands("{'pciHostDevices':[" A "," B "]}",
	       "{\"pciHostDevices\":[\"intel.com/A\",\"nvidia.com/B\"]}");
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:05:00.0"));
	decide(&dialect_kubevirt);
	CHECK(!decided.patch);
	CHECK_EQ(decided.again, now + LINGER_MS);
	now += LINGER_MS - 1;
	claim("n1", "0000:05:00.0");
	decide(&dialect_kubevirt);
	CHECK(!decided.patch);
	CHECK_EQ(decided.again, UINT64_MAX);
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:05:00.0"));
	decide(&dialect_kubevirt);
	now += LINGER_MS - 1;
	decide(&dialect_kubevirt);
	CHECK(!decided.patch);
	now++;
	decide(&dialect_kubevirt);
	CHECK_EQ(patch_apply(cr, decided.patch), 0);
	CHECK_STR(list("pciHostDevices"), "[" B "]");
	permitted_free(&decided);
	end();
}

#define OTHER_A ENTRY("8086:1534", "intel.com/A")

/* They have the form of ours. */
DEFINE_TEST(cluster_entries_of_others_stay)
{
	static const char *const orders[] = { "[" A "," OTHER_A "]", "[" OTHER_A "," A "]" };

	begin();
	two_claims();
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		char text[1024];

		claim("n1", "0000:05:00.0");
		snprintf(text, sizeof(text), "{'pciHostDevices':%s}", orders[i]);
		stands(text, "{\"pciHostDevices\":[\"intel.com/A\"]}");
		CHECK(settle());
		CHECK_EQ(js_length(js_get(
				 cr, "spec.configuration.permittedHostDevices.pciHostDevices")),
			 3);
	}
	stands("{'pciHostDevices':[" A "," B "," OTHER_A "]}",
	       "{\"pciHostDevices\":[\"intel.com/A\",\"nvidia.com/B\"]}");
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:05:00.0"));
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" B "," OTHER_A "]");
	/* Where the former controller does not write, one that is equal to ours is an admin's. */
	stands("{'pciHostDevices':[" B "]}", NULL);
	js_set_text(cr, "metadata.namespace", "kubevirt");
	claim("n1", "0000:05:00.0");
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" B "," A "]");
	CHECK_STR(js_meta(cr, "annotations", LEDGER), "{\"pciHostDevices\":[\"intel.com/A\"]}");
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:06:00.0"));
	CHECK(!settle());
	end();
}

/* One name after another becomes ours: that is nobody who undoes anything. */
DEFINE_TEST(cluster_adoptions_are_different_changes)
{
	uint64_t first;

	begin();
	two_claims();
	stands("{'pciHostDevices':[" A "," B "]}", "{}");
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:06:00.0"));
	decide(&dialect_kubevirt);
	first = decided.change;
	CHECK_EQ(patch_apply(cr, decided.patch), 0);
	permitted_free(&decided);
	claim("n1", "0000:06:00.0");
	decide(&dialect_kubevirt);
	CHECK(decided.patch && decided.change != first);
	permitted_free(&decided);
	end();
}

/* The server takes so many operations at once. */
DEFINE_TEST(cluster_many_entries_go_bit_by_bit)
{
	json_object *entries = json_object_new_array();
	size_t patches = 0, left = 5 * ENTRIES_MAX / 2;

	begin();
	two_claims();
	stands("{}", "{\"pciHostDevices\":[\"intel.com/A\",\"samsung.com/C\"]}");
	for (size_t i = 0; i < left; i++)
		json_object_array_add(entries, json_tokener_parse(C));
	json_object_object_add(js_get(cr, "spec.configuration.permittedHostDevices"),
			       "pciHostDevices", entries);
	for (decide_later(&dialect_kubevirt); decided.patch; decide(&dialect_kubevirt)) {
		CHECK(js_length(decided.patch) <= 2 * ENTRIES_MAX + 3);
		CHECK_EQ(patch_apply(cr, decided.patch), 0);
		permitted_free(&decided);
		patches++;
	}
	CHECK_EQ(patches, 3);
	CHECK_EQ(js_length(js_get(cr, "spec.configuration.permittedHostDevices.pciHostDevices")),
		 2);
	CHECK_STR(list("pciHostDevices"), "[" A "," B "]");
	end();
}

DEFINE_TEST(cluster_lists_that_are_absent_or_empty_stay)
{
	begin();
	stands("{}", NULL);
	CHECK(!settle());
	two_claims();
	stands("", NULL); /* every name is permitted */
	CHECK(!settle());
	CHECK(!js_get(cr, "spec.configuration.permittedHostDevices"));
	stands("{}", NULL);
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" A "," B "]");
	CHECK(!js_get(cr, "spec.configuration.permittedHostDevices.usb"));
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:05:00.0"));
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:06:00.0"));
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[]");
	end();
}

/* What the loop of the former controller makes of [A, B] (spec/harvester.md 10, W1). */
DEFINE_TEST(cluster_lists_of_the_former_controller_are_healed)
{
	static const char *const corrupted[] = {
		"{'pciHostDevices':[" B "," B "]}",
		"{'pciHostDevices':[" A "," B "," B "," B "]}",
		"{'pciHostDevices':[" C "," B "," C "," A "," A "," C "]}",
	};

	begin();
	two_claims();
	for (size_t i = 0; i < ARRAY_SIZE(corrupted); i++) {
		json_object *found;

		stands(corrupted[i], NULL);
		CHECK(settle());
		found = js_get(cr, "spec.configuration.permittedHostDevices.pciHostDevices");
		CHECK_EQ(js_length(found), 2);
		CHECK(js_find(found, "resourceName", "intel.com/A"));
		CHECK(js_find(found, "resourceName", "nvidia.com/B"));
	}
	/* It goes on to write beside us, on other nodes. */
	stands("{'pciHostDevices':[" B "," B "," FOREIGN "," FOREIGN "]}",
	       "{\"pciHostDevices\":[\"intel.com/A\",\"nvidia.com/B\"]}");
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" B "," FOREIGN "," FOREIGN "," A "]");
	/* Elsewhere an entry of a device that nobody claims is an admin's. */
	stands("{'pciHostDevices':[" C "]}", NULL);
	js_set_text(cr, "metadata.namespace", "kubevirt");
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" C "," A "," B "]");
	end();
}

DEFINE_TEST(cluster_entries_of_others_that_permit_a_name_are_enough)
{
	begin();
	two_claims();
	stands("{'pciHostDevices':[" ENTRY("8086:1533", "nvidia.com/B") "," ENTRY(
		       "8086:FFFF", "intel.com/A") "]}",
	       NULL);
	CHECK(!settle());
	stands("{'pciHostDevices':[{'pciVendorSelector':'8086:1533','resourceName':'intel.com/A'}," B
	       "]}",
	       "{\"pciHostDevices\":[\"intel.com/A\",\"nvidia.com/B\"]}");
	decide(&dialect_kubevirt);
	CHECK_IN(decided.notes[NOTE_PLUGIN],
		 "intel.com/A stands in permittedHostDevices without externalResourceProvider");
	CHECK_EQ(patch_apply(cr, decided.patch), 0);
	CHECK_STR(js_meta(cr, "annotations", LEDGER), "{\"pciHostDevices\":[\"nvidia.com/B\"]}");
	permitted_free(&decided);
	end();
}

DEFINE_TEST(cluster_an_operators_object_takes_one_entry_of_a_selector)
{
	begin();
	two_claims();
	device("n1-000009000", "8086:1533", "intel.com/n1-000009000");
	claim("n1", "0000:09:00.0");
	cr = json_tokener_parse(
		"{\"metadata\":{},\"spec\":{\"permittedHostDevices\":{\"pciHostDevices\":["
		"{\"pciDeviceSelector\":\"10de:25b6\",\"resourceName\":\"nvidia.com/B\",\"externalResourceProvider\":true,\"disabled\":true}]}}}");
	decide(&dialect_hyperconverged);
	CHECK_IN(decided.notes[NOTE_KEY], "has no place in permittedHostDevices");
	CHECK(!*decided.notes[NOTE_GATE]);
	permitted_free(&decided);
	CHECK(settle_as(&dialect_hyperconverged));
	CHECK_IN(js_line(cr),
		 "{\"pciDeviceSelector\":\"8086:1533\",\"resourceName\":\"intel.com/A\","
		 "\"externalResourceProvider\":true}]");
	end();
}

DEFINE_TEST(cluster_what_makes_no_sense_is_left_alone)
{
	static const char *const lists[] = {
		"[]",
		"1",
		"{'pciHostDevices':{}}",
		"{'pciHostDevices':'x'}",
	};
	static const char *const entries[] = {
		"1",
		"'x'",
		"{}",
		"[]",
		"{'resourceName':1}",
		"{'resourceName':{}}",
		"{'resourceName':'intel.com/Z','externalResourceProvider':true}",
		"{'pciVendorSelector':{},'resourceName':'intel.com/Z','externalResourceProvider':true}",
		"{'pciVendorSelector':'8086:1533','resourceName':'intel.com/Z','externalResourceProvider':'true'}",
		"{'pciVendorSelector':'80861533','resourceName':'intel.com/Z','externalResourceProvider':true}",
		"{'pciVendorSelector':'8086:153A','resourceName':'intel.com/Z','externalResourceProvider':true}",
		"{'pciVendorSelector':'8086:1533','resourceName':'intel.com/Z','externalResourceProvider':true,'x':1}",
	};
	static const char *const ledgers[] = {
		"",
		"x",
		"[]",
		"{\"pciHostDevices\":{}}",
		"{\"pciHostDevices\":[1,null,{}]}",
		"{\"pciHostDevices\":[\"intel.com/Z\"]}",
		"{\"usb\":1}",
	};
	char text[512];

	begin();
	two_claims();
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		stands(lists[i], NULL);
		decide(&dialect_kubevirt);
		CHECK(!decided.patch);
		CHECK(*decided.notes[NOTE_FORM]);
		permitted_free(&decided);
	}
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		for (size_t l = 0; l < ARRAY_SIZE(ledgers); l++) {
			json_object *found;

			snprintf(text, sizeof(text), "{'pciHostDevices':[%s]}", entries[i]);
			stands(text, ledgers[l]);
			CHECK(settle());
			found = js_get(cr,
				       "spec.configuration.permittedHostDevices.pciHostDevices");
			CHECK_EQ(js_length(found), 3);
		}
	}
	end();
}

/* What goes over the wire shares nothing with what was seen. */
static json_object *sent(void)
{
	return json_tokener_parse(js_line(decided.patch));
}

/* Two of us, and somebody else, have seen the same; the first one writes. */
DEFINE_TEST(cluster_a_patch_of_what_has_changed_is_refused)
{
	_json_ json_object *second = NULL;

	begin();
	two_claims();
	stands("{'pciHostDevices':[" FOREIGN "]}", NULL);
	decide(&dialect_kubevirt);
	second = sent();
	permitted_free(&decided);
	CHECK(settle());
	CHECK_EQ(patch_apply(cr, second), -1);
	/* A further name: the ledger tells that it was added. */
	claim("n1", "0000:07:00.0");
	decide(&dialect_kubevirt);
	json_object_put(second);
	second = sent();
	permitted_free(&decided);
	CHECK(settle());
	CHECK_EQ(patch_apply(cr, second), -1);
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:07:00.0"));
	CHECK(settle());
	/* An entry was lost, the ledger stays as it is: again only one adds it. */
	json_object_array_del_idx(
		js_get(cr, "spec.configuration.permittedHostDevices.pciHostDevices"), 1, 1);
	decide(&dialect_kubevirt);
	json_object_put(second);
	second = sent();
	permitted_free(&decided);
	CHECK(settle());
	CHECK_EQ(patch_apply(cr, second), -1);
	/* An index that is another entry's by now. */
	CHECK(picks_drop(cluster.table[PICK_PCI_CLAIM], "0000:05:00.0"));
	decide_later(&dialect_kubevirt);
	json_object_put(second);
	second = sent();
	permitted_free(&decided);
	json_object_array_del_idx(
		js_get(cr, "spec.configuration.permittedHostDevices.pciHostDevices"), 0, 1);
	CHECK_EQ(patch_apply(cr, second), -1);
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" B "]");
	end();
}
