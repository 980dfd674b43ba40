// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree's sentences for people without a shell on the node. */
#include <stdlib.h>

#include "k8s-sync/agree/words.h"
#include "pcidevfs/util.h"
#include "test.h"

DEFINE_TEST(words_name_fields_of_objects_and_no_files)
{
	static const char *const rows[][2] = {
		{ "the host needs 0000:09:00.0: x; it stays with the host unless ctl has a line \"force "
		  "0000:09:00.0\"",
		  "the host needs 0000:09:00.0: x; it stays with the host unless root on the node forces "
		  "it" },
		{ "x unless ctl has a line \"force ", "x unless root on the node forces it" },
		{ "accept 0000:09:00.0 in ctl if it replaces that one",
		  "accept 0000:09:00.0 on the node if it replaces that one" },
		{ "0000:05:00.0 is claimed by bob; write none to its claim first",
		  "0000:05:00.0 is claimed by bob; delete its claim first" },
		{ "0000:08:00.4/claim: 0000:08:00.4 is a vGPU, which is claimed as long as it is one; "
		  "write none to its profile",
		  "0000:08:00.4 is a vGPU, which is claimed as long as it is one; set spec.enabled of "
		  "its VGPUDevice to false" },
		{ "0000:02:00.0/sriov_numvfs: 8 asked, 0000:02:00.0 has at most 4",
		  "spec.numVFs: 8 asked, 0000:02:00.0 has at most 4" },
		{ "0000:08:00.0/enabled: x", "spec.enabled: x" },
		{ "0000:08:00.4/profile: x", "spec.vGPUTypeName: x" },
		{ "usb/1-2/resource_name: x",
		  "pcidevice.harvesterhci.io/override-resource-name: x" },
		{ "0000:02:00.0 has 4 VFs; write 0 to its sriov_numvfs first",
		  "0000:02:00.0 has 4 VFs; set its number of VFs to 0 (spec.numVFs, where it has an "
		  "SRIOVNetworkDevice; else root on the node) first" },
		{ "it has 2 VFs although 4 are stored; write sriov_numvfs again",
		  "it has 2 VFs although 4 are stored; set its number of VFs again (spec.numVFs, where it "
		  "has an SRIOVNetworkDevice; else root on the node)" },
		{ "0000:08:00.4 is not a vGPU yet: write a name from profiles to profile; that also claims it",
		  "0000:08:00.4 is not a vGPU yet: set spec.vGPUTypeName and spec.enabled of its "
		  "VGPUDevice; that also claims it" },
		{ "its VF is not there; write 1 to enabled of 0000:08:00.0",
		  "its VF is not there; set spec.enabled to true of the SRIOVGPUDevice of 0000:08:00.0" },
		{ "the VFs of 0000:08:00.0 are off; write 1 to enabled",
		  "the VFs of 0000:08:00.0 are off; set spec.enabled of its SRIOVGPUDevice to true" },
		{ "0000:05:00.0 is allocated to a/b/c; end that pod first, or write none to its "
		  "allocated_to if no pod has it",
		  "0000:05:00.0 is allocated to a/b/c; end that pod first, or let root on the node write "
		  "none to its allocated_to if no pod has it" },
		{ "0000:05:00.0 is held by qemu (pid 7); stop it and write again",
		  "0000:05:00.0 is held by a process, see holders on the node; stop it and ask again" },
		{ "0000:0c:00.0/mig/layout: MIG mode of 0000:0c:00.0 is off; write 1 to its mig/mode first",
		  "spec.profileSpec: MIG mode of 0000:0c:00.0 is off; set spec.enabled of its "
		  "SRIOVGPUDevice to false and then to true, without "
		  "harvesterhci.io/skip-mig-configuration, first" },
		{ "its MIG instances are none although 1g.10gb is stored; write its mig/layout again",
		  "its MIG instances are none although 1g.10gb is stored; set spec.enabled of its "
		  "MigConfiguration to false and then to true" },
		{ "it needs a MIG instance 1g.10gb, and the card has none; add one to mig/layout",
		  "it needs a MIG instance 1g.10gb, and the card has none; request one in the "
		  "MigConfiguration of its GPU" },
		{ "claimed by vm1", "claimed by vm1" },
		{ "/claim: ", "/claim: " },
		{ "x/claim:", "x/claim:" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = words_for_cluster(rows[i][0]);

		CHECK_STR(text, rows[i][1]);
		free(text);
	}
}
