// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables that --help, the man page, completion and main() are made of. */
#include <string.h>

#include "cli.h"

#define BIT(opt) (1u << (opt))
#define ALL_VERBS (BIT(OPT_TREE) | BIT(OPT_TIMEOUT) | BIT(OPT_HELP) | BIT(OPT_VERSION))
#define JSON BIT(OPT_JSON)
#define DRY BIT(OPT_DRY_RUN)
#define FORCE BIT(OPT_FORCE)
#define CHOICE (BIT(OPT_FREE) | BIT(OPT_CLAIMED) | BIT(OPT_KIND))
#define STEPS "{changed, dry_run, steps: [text]}"

/* clang-format off: a row as it is read */
const struct option_text options[OPT_COUNT] = {
	[OPT_TREE] = { "tree", "DIR", "where the tree is mounted (/run/pcidevfs)" },
	[OPT_JSON] = { "json", NULL, "print JSON" },
	[OPT_TIMEOUT] = { "timeout", "SECONDS",
			  "how long the tree may take to answer (10 to read, 900 to write), and a "
			  "pipe to go on (60)" },
	[OPT_DRY_RUN] = { "dry-run", NULL, "print the steps, and do nothing" },
	[OPT_FORCE] = { "force", NULL,
			"also what the host needs; only root may, see force in docs/CTL.md" },
	[OPT_FREE] = { "free", NULL, "only what can be claimed now" },
	[OPT_CLAIMED] = { "claimed", NULL, "only what is claimed" },
	[OPT_KIND] = { "kind", "KIND", "only this kind: pci, vf, vgpu, usb, ..." },
	[OPT_TOP] = { "top", NULL, "a table that is drawn again at each change; ctrl-C ends it" },
	[OPT_ANONYMOUS] = { "anonymous", NULL,
			    "without the names of users, claimants, pods and this host" },
	[OPT_OUTPUT] = { "output", "FILE", "write there, - for stdout" },
	[OPT_FORM] = { "form", "FORM", "layouts (ours), vgpu-configs or mig-configs (NVIDIA's)" },
	[OPT_HELP] = { "help", NULL, "the help, of the verb if there is one" },
	[OPT_VERSION] = { "version", NULL, "the version" },
};

const struct cli_verb verbs[] = {
	{ "list", "", "a table of the devices",
	  "The table is fitted to the width of the terminal or to COLUMNS. Columns in which "
	  "nothing stands are left out; where it is narrow, so are the less important ones. This "
	  "is what pcidevfs does without a verb.",
	  "{generation, devices: [{id, ...}]}, one device a line. Each key of a device is a file "
	  "of its directory, the value its text. A claimed device that is not there has the keys "
	  "of intents.",
	  JSON | CHOICE, 0, 0, "", verb_list },
	{ "show", "DEV...", "all that the tree says of devices",
	  "Prints all files of the devices' directories, but for those that read none.",
	  "{devices: [{id, ...}]}, with all files. Lines of profiles, profiles_available and "
	  "holders are objects.",
	  JSON, 1, -1, "d", verb_showing, .show = show_files },
	{ "why", "[DEV...]", "why devices are as they are, and what can be done",
	  "Prints the state with its reason, whether the device can be claimed, the last refusal, "
	  "and the commands that are possible now. Without a device: whether this host has all that "
	  "is needed, what is missing, and what to do; status 1 while something is missing, 2 "
	  "if refused.",
	  "{devices: [{id, ..., last_error, holders, vgpu_support, possible: [command]}]}, with "
	  "the keys of list; or {ready, missing: [{missing, device, devices, needed, hint}]}.",
	  JSON, 0, -1, "d", verb_why, .show = show_why, .refused = 2 },
	{ "claim", "DEV... NAME", "give devices, with their IOMMU groups, to NAME",
	  "NAME is a label of your choice.", STEPS, JSON | DRY | FORCE, 2, -1, "dn", verb_setting,
	  "claim" },
	{ "release", "DEV...", "give devices back to the drivers they had",
	  "Their IOMMU groups go along. A vGPU is ended by profile DEV none.", STEPS,
	  JSON | DRY | FORCE, 1, -1, "d", verb_setting, "claim", "none" },
	{ "enable", "GPU...", "make the VFs of GPUs, or a vGPU what it was last",
	  "Writes 1 to enabled.", STEPS, JSON | DRY, 1, -1, "d", verb_setting, "enabled", "1" },
	{ "disable", "GPU...", "remove the VFs of GPUs with their vGPUs, or end a vGPU",
	  "Writes 0 to enabled.", STEPS, JSON | DRY, 1, -1, "d", verb_setting, "enabled", "0" },
	{ "profile", "DEV... TYPE", "make VFs of a GPU vGPUs of a type; none ends them",
	  "TYPE is a name in profiles of the VF.", STEPS, JSON | DRY, 2, -1, "dt", verb_setting,
	  "profile" },
	{ "vfs", "DEV... N", "have N VFs made; 0 removes them", "Writes N to sriov_numvfs.", STEPS,
	  JSON | DRY, 2, -1, "d", verb_setting, "sriov_numvfs" },
	{ "set", "DEV FILE VALUE...", "write a value to any file",
	  "Several DEV FILE VALUE are one transaction.", STEPS, JSON | DRY | FORCE, 3, -1, "dfv",
	  verb_set },
	{ "check", "FILE", "what the lines for ctl in a file would do; - is stdin",
	  "Prints the steps, and does nothing. The lines are those of ctl in the root of the tree.",
	  STEPS, JSON | DRY, 1, 1, "", verb_check },
	{ "apply", "FILE [NAME]", "make devices what a layout in a file says; - is stdin",
	  "FILE is in our form, or NVIDIA's vgpu-configs or mig-configs; NAME is a layout in it, "
	  "and may be left out if it has one. All is one transaction. What is as the layout says "
	  "is not touched; what must go for it is named before it goes.",
	  STEPS, JSON | DRY, 1, 2, "", verb_apply, .before = apply_tells },
	{ "diff", "FILE [NAME]", "what apply would change; status 1 if anything, 2 if refused",
	  "A line for each value: the file, what it reads, what the layout says.",
	  "{differs, changes: [{file, now, value, line}]}", JSON, 1, 2, "", verb_diff,
	  .refused = 2 },
	{ "export", "", "what is, as a layout that apply takes",
	  "Its name is now. What NVIDIA's forms cannot say stands there as comments.", NULL,
	  BIT(OPT_FORM), 0, 0, "", verb_export },
	{ "watch", "", "changes as they happen, a line each; --top: a live table",
	  "A line has the time in UTC, the device and its new values. watch goes on when the daemon "
	  "is restarted, and ends with ctrl-C.",
	  "{time, id, action: add, change or remove, changed: {...}}, a line each.",
	  JSON | CHOICE | BIT(OPT_TOP), 0, 0, "", verb_watch },
	{ "log", "[DEV...]", "the last writes, and their verdicts", "Of all devices, or of these.",
	  "{log: [{seq, time, id, file, value, pid, uid, comm, result, text, ...}]}", JSON, 0, -1,
	  "d", verb_log },
	{ "gpu", "[GPU...]", "a picture of each graphics card, its vGPUs and MIG instances",
	  "A letter in the bar of a card stands for each vGPU, as often as its share of the "
	  "framebuffer. The largest type is taken for the whole card. A second bar has the card's "
	  "memory slices, if it is divided by MIG.",
	  "{devices: [{id, ..., vgpu_support, total_mib, used_mib, vgpus: [{id, profile, claim, "
	  "allocated_to, framebuffer_mib}], possible: [type], mig_instances: [{id, profile, "
	  "placement, compute, used, vgpu}]}]}",
	  JSON, 0, -1, "d", verb_showing, .show = show_card },
	{ "bundle", "", "what a support case needs, in one tar",
	  "It has health, inventory, intents, log, events, metrics, versions, lines of the "
	  "kernel's log about our devices, and lspci. The tree holds no secrets. What you may not "
	  "read, or what is not there without a daemon, is named in the file missing. The tar is "
	  "for its owner alone, and replaces no file.",
	  NULL, BIT(OPT_ANONYMOUS) | BIT(OPT_OUTPUT), 0, 0, "", verb_bundle },
	{ 0 },
};
/* clang-format on */

const struct cli_verb *verb_by_name(const char *name)
{
	for (const struct cli_verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

bool verb_takes(const struct cli_verb *v, enum option_id opt)
{
	return ((v ? v->options : 0) | ALL_VERBS) & BIT(opt);
}
