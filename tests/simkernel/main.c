// SPDX-License-Identifier: GPL-2.0-or-later
#include "facts.h"
#include "func.h"
#include "load.h"
#include "serve.h"
#include "sim.h"
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "0.1.0"
#endif
#define MAX_FUNCTIONS 1000000

struct options {
	const char *machine;
	const char *gpu;
	unsigned int functions, log;
	bool control, dump, events, cdev, free_override;
};

static void usage(FILE *out)
{
	fputs("usage: pcidevfs-sim [OPTION]... DIR             simulate a machine in DIR/sys, dev, proc\n"
	      "       pcidevfs-sim --dump [OPTION]... DIR      write it there as plain files\n"
	      "       pcidevfs-sim --control DIR COMMAND...    tell a running simulation\n"
	      "\n"
	      "  --machine=FILE   a umockdev recording, also .gz; else a small server\n"
	      "  --functions=N    add N plain functions\n"
	      "  --gpu=OPTIONS    its NVIDIA GPUs have vGPUs: --gpu=vfio, --gpu='mdev fb=8'\n"
	      "  --cdev           the kernel has VFIO device nodes\n"
	      "  --free-override  its driver_override needs no device lock, as in newer kernels\n"
	      "  --log=N          dev/kmsg is the kernel's log, of up to N records\n"
	      "  --uevents        send uevents in the initial network namespace too\n"
	      "  -h, --help, --version\n",
	      out);
}

static int wrong_use(const char *what)
{
	fprintf(stderr, "pcidevfs-sim: %s; see --help\n", what);
	return 2;
}

static bool parse_number(const char *text, unsigned int *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > MAX_FUNCTIONS)
		return false;
	*ret = (unsigned int)n;
	return true;
}

/* Returns 0, or the exit status plus one. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{ "machine", required_argument, NULL, 'm' },
		{ "functions", required_argument, NULL, 'f' },
		{ "gpu", required_argument, NULL, 'g' },
		{ "log", required_argument, NULL, 'l' },
		{ "control", no_argument, NULL, 'c' },
		{ "dump", no_argument, NULL, 'd' },
		{ "uevents", no_argument, NULL, 'u' },
		{ "cdev", no_argument, NULL, 'n' },
		{ "free-override", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+h", known, NULL)) >= 0)
		switch (c) {
		case 'm':
			o->machine = optarg;
			break;
		case 'f':
			if (!parse_number(optarg, &o->functions))
				return wrong_use("--functions needs a number up to 1000000") + 1;
			break;
		case 'l':
			if (!parse_number(optarg, &o->log))
				return wrong_use("--log needs a number up to 1000000") + 1;
			break;
		case 'g':
			o->gpu = optarg;
			break;
		case 'c':
			o->control = true;
			break;
		case 'd':
			o->dump = true;
			break;
		case 'u':
			o->events = true;
			break;
		case 'n':
			o->cdev = true;
			break;
		case 'o':
			o->free_override = true;
			break;
		case 'h':
			usage(stdout);
			control_help();
			gpu_help();
			return 1;
		case 'v':
			puts("pcidevfs-sim " VERSION);
			return 1;
		default:
			fputs("see --help\n", stderr);
			return 3;
		}
	return 0;
}

/* The first network namespace, with real listeners, has settings that no other one has. */
static bool initial_netns(void)
{
	return !access("/proc/sys/net/core/netdev_max_backlog", F_OK);
}

static int start(const struct options *o, struct sim **ret)
{
	struct machine *m;
	struct sim *s;
	int r = load_machine(o->machine, &m);

	if (r)
		return r;
	s = sim_new(m);
	if (!s) {
		machine_free(m);
		return -ENOMEM;
	}
	s->cdev = o->cdev;
	s->log = o->log;
	s->free_override = o->free_override;
	r = o->gpu ? gpu_options(s, o->gpu) : 0;
	if (!r)
		r = sim_build(s);
	if (!r)
		r = plug_many(s, o->functions);
	if (r) {
		fprintf(stderr, "pcidevfs-sim: can not build the machine: %s\n", strerror(-r));
		sim_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static int dump(struct sim *s, const char *dir)
{
	int fd, r = 0;

	umask(0);
	if (mkdir(dir, 0755) && errno != EEXIST)
		r = -errno;
	s->base = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r && (s->base < 0 || mkdirat(s->base, "sys", 0755)))
		r = -errno;
	if (!r)
		r = facts_write(s);
	fd = openat(s->base, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r)
		r = fd < 0 ? -errno : dump_tree(s, s->tree->root, fd);
	if (fd >= 0)
		close(fd);
	if (r)
		fprintf(stderr, "pcidevfs-sim: can not write below %s: %s\n", dir, strerror(-r));
	return r ? 1 : 0;
}

static int simulate(struct sim *s, const char *dir, bool events)
{
	bool quiet = !events && initial_netns();
	int r;

	umask(0);
	s->base = mount_base(dir);
	if (s->base < 0)
		return 1;
	if (quiet)
		fprintf(stderr, "pcidevfs-sim: no uevents in the initial network namespace; "
				"start it with \"unshare -n\" or --uevents\n");
	r = facts_write(s);
	if (r)
		fprintf(stderr, "pcidevfs-sim: can not fill %s: %s\n", dir, strerror(-r));
	else
		r = serve(s, dir, !quiet);
	unmount_base(dir);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct sim *s;
	int r = parse_options(argc, argv, &o);

	if (r)
		return r - 1;
	argc -= optind;
	argv += optind;
	if (o.control)
		return argc < 2 ? wrong_use("--control needs DIR and a command")
				: control_send(argv[0], argc - 1, argv + 1);
	if (argc != 1)
		return wrong_use("one directory is needed");
	if (start(&o, &s))
		return 1;
	r = o.dump ? dump(s, argv[0]) : simulate(s, argv[0], o.events);
	/* Frees nothing and runs no exit() handlers: a thread may still use it. */
	fflush(NULL);
	_exit(r);
}
