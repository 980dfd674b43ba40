// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

/* A row without arg is a flag; one without help is only for our own processes. */
struct daemon_option {
	const char *name;
	const char *arg;
	size_t offset;
	const char *help;
	const char *fallback;
};

#define FIELD(f) offsetof(struct daemon_options, f)

#define KUBEVIRT_USER "107:107"

/* Rows with a value come first. --replace passes them on. */
#define OPTION_VALUES 7
static const struct daemon_option rows[] = {
	{ "--sysfs", "DIR", FIELD(roots.sysfs), "the machine's sysfs", SYSFS_ROOT },
	{ "--dev", "DIR", FIELD(roots.dev), "its device nodes", DEV_ROOT },
	{ "--proc", "DIR", FIELD(roots.proc), "its proc", PROC_ROOT },
	{ "--state", "DIR", FIELD(roots.state), "what is kept over a reboot", "/var/lib/pcidevfs" },
	{ "--driver-root", "DIR", FIELD(roots.driver),
	  "the root directory of a vendor's driver (where it is found: /,\n"
	  "                       /run/nvidia/driver, or that of nvidia-vgpud)",
	  NULL },
	{ "--deadline", "FACTOR", FIELD(deadline), "scales every deadline of an operation", NULL },
	{ "--usb-owner", "UID:GID", FIELD(usb_owner),
	  "who gets the node of a USB device while a pod has it: the user\n"
	  "                       of KubeVirt's VMs", KUBEVIRT_USER },
	{ "--replace", NULL, FIELD(replace),
	  "the daemon that serves MOUNTPOINT goes on as this program, with\n"
	  "                       the options it had and those given now",
	  NULL },
	{ "--early", "ADDRESS", FIELD(early),
	  "for udev: sets driver_override of a function that is claimed by\n"
	  "                       what is stored, before a host driver meets it; then ends",
	  NULL },
	{ "--release-all", NULL, FIELD(release_all),
	  "release every claim, through the tree where it is mounted, and end", NULL },
	{ "--print-files", NULL, FIELD(print_files), "print docs/FILES.md and end", NULL },
	{ "--journal", NULL, FIELD(journal),
	  "log to stderr what the journal gets under systemd: operations,\n"
	  "                       refusals, lost devices, each with its level (\"<5>\")",
	  NULL },
	{ "--help", NULL, FIELD(help), "print this and end", NULL },
	{ "--version", NULL, FIELD(version), "print the version and end", NULL },
	{ "--serve", "FD", FIELD(serve), NULL, NULL },
	{ "--adopt", "FDS", FIELD(adopt), NULL, NULL },
	{ "--can-adopt", "WHAT", FIELD(can_adopt), NULL, NULL },
};

static const char **text_field(struct daemon_options *o, const struct daemon_option *row)
{
	return (const char **)((char *)o + row->offset);
}

void options_help(FILE *to)
{
	fprintf(to,
		"usage: pcidevfsd [OPTION]... MOUNTPOINT\n"
		"Shows the machine's devices at MOUNTPOINT (made if its parent is there) and hands\n"
		"them to guests. Stays in the foreground; SIGTERM ends it and unmounts.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct daemon_option *row = &rows[i];
		char left[40];

		if (!row->help)
			continue;
		snprintf(left, sizeof(left), "%s%s%s%s", strcmp(row->name, "--help") ? "" : "-h, ",
			 row->name, row->arg ? " " : "",
			 row->arg ? row->arg : "");
		fprintf(to, "  %-20s %s", left, row->help);
		fprintf(to, row->fallback ? " (%s)\n" : "\n", row->fallback);
	}
	fprintf(to, "\nExit status: 0 ended as asked, 1 could not serve, 2 wrong use.\n");
}

const char *options_given(const struct daemon_options *o, size_t i)
{
	const char *value = *text_field((struct daemon_options *)o, &rows[i]);

	return value == rows[i].fallback ? NULL : value;
}

int options_offer(const struct daemon_options *o, char *text, size_t size, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < OPTION_VALUES; i++) {
		const char *given = options_given(o, i);
		_free_ char *path = NULL;

		if (!given)
			continue;
		if (!strcmp(rows[i].arg, "DIR") && *given != '/') {
			path = realpath(given, NULL);
			if (!path)
				return fail(err, errno, "%s: %s", given, strerror(errno));
			given = path;
		}
		if (strchr(given, '\n'))
			return fail(err, EINVAL, "%s: a path with a newline cannot be handed over",
				    given);
		n += (size_t)snprintf(text + n, size - n, "%s %s\n", rows[i].name, given);
		if (n >= size)
			return fail(err, ENAMETOOLONG, "%s is too long to be handed over", given);
	}
	return 0;
}

int options_take(struct daemon_options *o, char *text, struct err *err)
{
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ' ');
		size_t i = 0;

		if (value)
			*value++ = '\0';
		while (i < OPTION_VALUES && strcmp(rows[i].name, line) != 0)
			i++;
		if (!value || i == OPTION_VALUES)
			return fail(err, ENOENT,
				    "the pcidevfsd that runs (" VERSION
				    ") has no %.64s; end it and start this one",
				    line);
		*text_field(o, &rows[i]) = value;
	}
	return 0;
}

static int wrong_use(const char *what, const char *value)
{
	say("%s%s%s; see pcidevfsd --help", what, value ? " " : "", value ? value : "");
	return -EINVAL;
}

static int parse_deadline(struct daemon_options *o)
{
	o->deadline_factor = 1;
	if (o->deadline && parse_factor(o->deadline, &o->deadline_factor))
		return wrong_use("--deadline needs a number from 0.001 to 1000, not", o->deadline);
	return 0;
}

static int parse_usb_owner(struct daemon_options *o)
{
	const char *colon = strchr(o->usb_owner, ':');
	uint64_t uid, gid;
	char user[16];

	snprintf(user, sizeof(user), "%.*s", (int)strcspn(o->usb_owner, ":"), o->usb_owner);
	/* The largest number would leave the owner as it is. */
	if (!colon || parse_u64(user, UINT32_MAX - 1, &uid) ||
	    parse_u64(colon + 1, UINT32_MAX - 1, &gid))
		return wrong_use("--usb-owner needs UID:GID, two numbers, not", o->usb_owner);
	o->roots.usb_owner = (struct node_owner){ (uid_t)uid, (gid_t)gid };
	return 0;
}

static int check_use(struct daemon_options *o)
{
	if (o->early && o->mountpoint)
		return wrong_use("--early takes one ADDRESS and no more, not", o->mountpoint);
	if (o->help || o->version || o->print_files || o->early)
		return 0;
	if (o->release_all && !o->mountpoint)
		o->mountpoint = "/run/pcidevfs";
	if (!o->mountpoint)
		return wrong_use("MOUNTPOINT is missing", NULL);
	if (!*o->mountpoint)
		return wrong_use("MOUNTPOINT is empty", NULL);
	return parse_deadline(o) ?: parse_usb_owner(o);
}

int options_parse(int argc, char **argv, struct daemon_options *ret)
{
	struct option known[ARRAY_SIZE(rows) + 1] = { 0 };
	struct daemon_options o = { 0 };
	int at, c;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		known[i] =
			(struct option){ .name = rows[i].name + strlen("--"),
					 .has_arg = rows[i].arg ? required_argument : no_argument };
		if (rows[i].fallback)
			*text_field(&o, &rows[i]) = rows[i].fallback;
	}
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", known, &at)) != -1) {
		if (c == 'h') {
			o.help = true;
			continue;
		}
		if (c == ':')
			return wrong_use("an argument is missing after", argv[optind - 1]);
		if (c == '?')
			return wrong_use("unknown option", argv[optind - 1]);
		if (rows[at].arg)
			*text_field(&o, &rows[at]) = optarg;
		else
			*(bool *)((char *)&o + rows[at].offset) = true;
	}
	if (optind < argc)
		o.mountpoint = argv[optind++];
	if (optind < argc)
		return wrong_use("more than one MOUNTPOINT:", argv[optind]);
	c = check_use(&o);
	if (!c)
		*ret = o;
	return c;
}

void options_argv(const struct daemon_options *o, const char *role, const char *value,
		  const char *mountpoint, const char *ret[static OPTIONS_ARGV])
{
	size_t n = 0;

	ret[n++] = "pcidevfsd";
	ret[n++] = role;
	ret[n++] = value;
	for (size_t i = 0; i < OPTION_VALUES; i++) {
		const char *set = *text_field((struct daemon_options *)o, &rows[i]);

		/* a former release does not know the one with this default */
		if (!set || !strcmp(set, KUBEVIRT_USER))
			continue;
		ret[n++] = rows[i].name;
		ret[n++] = set;
	}
	ret[n++] = "--";
	ret[n++] = mountpoint;
	ret[n] = NULL;
}
