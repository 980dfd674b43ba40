// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs-nvml: asks NVIDIA's management library one thing, prints the answer in lines, ends. */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nvml.h"
#include "backend/gpu/nvml_ask.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

enum { ADDRESS_SPACE = 1 << 30 };

static const struct nvml_request {
	const char *name;
	const char *args; /* a word each */
	const char *help;
	enum nvml_rights rights;
	int (*run)(const struct card *c, char **argv, struct err *err);
} requests[] = {
#define REQUEST(...) { __VA_ARGS__ },
#include "backend/gpu/nvml_requests.def"
};

static const char about[] =
	"Usage: pcidevfs-nvml [--root DIR] REQUEST [ARGUMENT...]\n"
	"Asks NVIDIA's driver one thing, or sets it; answers in lines, the last one is \"end NUMBER\".\n"
	"\n"
	"  --root DIR  the driver's root directory (/)\n"
	"  --root-fd N  its descriptor; DIR only names it\n"
	"  --help, --version\n"
	"\n";

static int count_words(const char *text)
{
	int n = *text != '\0';

	for (; *text; text++)
		n += *text == ' ';
	return n;
}

static void help(void)
{
	fputs(about, stdout);
	for (const struct nvml_request *r = requests; r < requests + ARRAY_SIZE(requests); r++)
		printf("  %s %-*s %s\n", r->name, (int)(38 - strlen(r->name)), r->args, r->help);
}

/* Of a vendor's library, whatever it does: it makes threads, and nothing else that is new. */
static int give_up(enum nvml_rights rights, struct err *err)
{
	const struct rlimit space = { ADDRESS_SPACE, ADDRESS_SPACE }, core = { 0, 0 };
	unsigned int allowed = rights == ROOT ? DENY_MODULE : 0;
	uint64_t keep = rights == ROOT ? CAP(SYS_ADMIN) | CAP(MKNOD) | CAP(SYS_MODULE) : 0;
	int rc;

	setrlimit(RLIMIT_CORE, &core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_AS, &space);
#endif
	if (rights == NOBODY && !geteuid() &&
	    (setgroups(0, NULL) || setresgid(NOBODY_ID, NOBODY_ID, NOBODY_ID) ||
	     setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID)))
		return fail(err, errno, "the rights of root cannot be given up: %s",
			    strerror(errno));
	rc = confine_caps(keep, keep, err);
	rc = rc ? rc : confine_calls((DENY_ALL | DENY_NET) & ~allowed, err);
	return rc == -EOPNOTSUPP ? 0 : rc;
}

/* They reach who asked even if the card does not answer. */
static int tell_versions(const struct nvml *n, struct err *err)
{
	char text[NVML_VERSION] = "";
	int answer = NVML(n, nvml_version, text, sizeof(text));

	if (answer)
		return nvml_fail(n, answer, NULL, "the library's version cannot be read", err);
	nvml_clean(text, sizeof(text));
	printf("library %s\n", text);
	fflush(stdout);
	return 0;
}

/* One request after all rights that it does not need are gone. Returns an answer. */
static int ask(const char *root, int root_fd, const struct nvml_request *r, char **argv,
	       struct err *err)
{
	struct nvml n = { 0 };
	struct card c = { .n = &n, .address = argv[1] };
	int answer;

	if (give_up(r->rights, err))
		return NVML_NO_PERMISSION;
	answer = nvml_load(&n, root, root_fd, err);
	answer = answer ? answer : nvml_begin(&n, err);
	if (!answer && (r->run == ask_card || r->run == ask_card_instances))
		answer = tell_versions(&n, err);
	if (!answer) {
		answer = NVML(&n, by_address, c.address, &c.device);
		if (answer)
			nvml_fail(&n, answer, c.address, NULL, err);
	}
	answer = answer ? answer : r->run(&c, argv, err);
	nvml_end(&n);
	return answer;
}

static const struct nvml_request *find(int argc, char **argv)
{
	struct pci_addr addr;

	for (const struct nvml_request *r = requests; argc && r < requests + ARRAY_SIZE(requests);
	     r++)
		if (!strcmp(r->name, argv[0]))
			return argc - 1 == count_words(r->args) &&
					       pci_addr_parse(argv[1], &addr)
				       ? r
				       : NULL;
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "root", required_argument, NULL, 'r' },
						 { "root-fd", required_argument, NULL, 'f' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'v' },
						 { 0 } };
	const char *root = "/";
	const struct nvml_request *r;
	uint64_t root_fd = UINT64_MAX;
	struct err err = { 0 };
	int answer;

	/* It is executed by descriptor, whose number would be its name. */
	prctl(PR_SET_NAME, "pcidevfs-nvml");
	for (int o; (o = getopt_long(argc, argv, "+", options, NULL)) >= 0;)
		switch (o) {
		case 'r':
			root = optarg;
			break;
		case 'f':
			if (parse_u64(optarg, INT_MAX, &root_fd))
				return 2;
			break;
		case 'h':
			help();
			return 0;
		case 'v':
			puts("pcidevfs-nvml " VERSION);
			return 0;
		default:
			return 2;
		}
	r = find(argc - optind, argv + optind);
	if (!r) {
		fprintf(stderr, "pcidevfs-nvml: what is asked is no request; see --help\n");
		return 2;
	}
	answer = ask(root, (int)root_fd, r, argv + optind, &err);
	if (answer)
		fprintf(stderr, "%s\n", err.text);
	printf("end %d\n", answer);
	/* Destructors of a library that may have gone wrong are not run. */
	fflush(stdout);
	_exit(answer ? 1 : 0);
}
