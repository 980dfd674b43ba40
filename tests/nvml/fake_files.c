// SPDX-License-Identifier: GPL-2.0-or-later
/* The fake library's cards, its faults, and how it begins. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static char folder[360];
static struct nvml_device cards[16];
static int open_cards[16];
static unsigned int n_cards;

/* The path by which it was loaded may be a descriptor that is closed soon. */
static void __attribute__((constructor)) find_folder(void)
{
	char path[400];
	Dl_info info;

	if (!dladdr((void *)find_folder, &info) ||
	    readlink(info.dli_fname, folder, sizeof(folder) - 1) < 0)
		snprintf(folder, sizeof(folder), "%s", info.dli_fname);
	if (strchr(folder, '/'))
		*strrchr(folder, '/') = '\0';
	snprintf(path, sizeof(path), "%s/cards/hang", folder); /* while it is loaded */
	if (!access(path, F_OK))
		pause();
	snprintf(path, sizeof(path), "%s/../../proc", folder);
	card_set_proc(path);
}

static struct nvml_device *read_card(const char *address)
{
	struct nvml_device *c = cards;

	while (c < cards + n_cards && !strstr(c->file, address))
		c++;
	if (c == cards + 16)
		abort();
	snprintf(c->file, sizeof(c->file), "%s/cards/%s", folder, address);
	if (!card_read(c))
		return NULL;
	if (c == cards + n_cards)
		open_cards[n_cards++] = -1;
	return c;
}

int change(struct nvml_device *c)
{
	int fd = card_lock(c);

	card_read(c);
	return fd;
}

const struct nvml_device *card_of(unsigned int number)
{
	return number < n_cards ? &cards[number] : NULL;
}

unsigned int card_number(const struct nvml_device *c)
{
	return (unsigned int)(c - cards);
}

const struct type *type_of(uint32_t id)
{
	const struct type *t = NULL;

	for (unsigned int c = 0; c < n_cards && !t; c++)
		t = card_type(&cards[c], id);
	return t;
}

/* ---- the simulated kernel's side of a card */

static bool is_simulated(const char *address)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/../../sys/bus/pci/devices/%s", folder, address);
	return !access(path, F_OK);
}

/* The card stays open until this process shuts down, or ends. False: its driver does not have it. */
static bool open_card(const struct nvml_device *c, const char *address)
{
	int *fd = &open_cards[c - cards];
	char path[512];

	snprintf(path, sizeof(path), "%s/../../sys/bus/pci/devices/%s/nvidia/clients", folder,
		 address);
	if (*fd < 0)
		*fd = open(path, O_WRONLY | O_CLOEXEC);
	return *fd >= 0;
}

/* ---- faults */

/* The file "nth" has "N HOW" or "N from HOW": of the calls that change a card the N-th from now on fails,
 * or it and all that follow. It then has "0", and from and how. */
static int nth(const char *function, char how[static 16])
{
	char path[512], from[8] = "";
	int n, fd;
	FILE *f;

	if (!strstr(function, "Create") && !strstr(function, "Destroy") &&
	    !strstr(function, "DeviceSet"))
		return -1;
	snprintf(path, sizeof(path), "%s/cards/nth", folder);
	f = fopen(path, "r+e");
	if (!f)
		return -1;
	fd = fileno(f);
	if (fscanf(f, "%d from %15s", &n, how) == 2)
		strcpy(from, "from ");
	else if (rewind(f), fscanf(f, "%d %15s", &n, how) != 2)
		n = 0;
	if (n > 0 && !ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET))
		dprintf(fd, n == 1 && !*from ? "0\n" : "%d %s%s\n", n > 1 || !*from ? n - 1 : n,
			from, how);
	fclose(f);
	return n == 1 ? 0 : -1;
}

static int act(const char *how)
{
	if (!strcmp(how, "hang"))
		for (;;)
			pause();
	if (!strcmp(how, "crash"))
		abort();
	while (!strcmp(how, "flood"))
		puts("and so on");
	return atoi(how);
}

int fault(const char *function, void *where, size_t size)
{
	char changed[16];

	if (!nth(function, changed))
		return act(changed);
	for (const struct nvml_device *c = cards; c < cards + n_cards; c++)
		for (unsigned int i = 0; i < c->n_faults; i++) {
			const char *how = c->faults[i][1];

			if (strcmp(c->faults[i][0], function))
				continue;
			if (strcmp(how, "garbage"))
				return act(how);
			if (where)
				memset(where, 0xff, size);
		}
	return -1;
}

bool is_garbage(const char *function)
{
	for (const struct nvml_device *c = cards; c < cards + n_cards; c++)
		for (unsigned int i = 0; i < c->n_faults; i++)
			if (!strcmp(c->faults[i][0], function) &&
			    !strcmp(c->faults[i][1], "garbage"))
				return true;
	return false;
}

int put(char *to, size_t size, const char *text)
{
	if (strlen(text) >= size)
		return NVML_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return 0;
}

/* ---- its beginning */

/* Faults of the beginning, and the versions, are those of the file "all". */
static struct nvml_device *all(void)
{
	static struct nvml_device none = { .library = "13.580.0", .driver = "580.0" };
	struct nvml_device *c = read_card("all");

	return c ? c : &none;
}

int nvmlInitWithFlags(unsigned int flags)
{
	all();
	FAULT(NULL, 0);
	return 0;
}

int nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
	FAULT(NULL, 0);
	for (unsigned int i = 0; i < n_cards; i++) {
		if (open_cards[i] >= 0)
			close(open_cards[i]);
		open_cards[i] = -1;
	}
	return 0;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned int size)
{
	const char *library = all()->library;

	FAULT(text, size);
	return put(text, size, library);
}

int nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
	FAULT(text, size);
	return put(text, size, all()->driver);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, struct nvml_device **ret)
{
	unsigned int domain, bus, dev, fn = 0;
	char name[32];

	FAULT(NULL, 0);
	if (sscanf(address, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) < 3)
		return NVML_INVALID_ARGUMENT;
	snprintf(name, sizeof(name), "%04x:%02x:%02x.%x", domain, bus, dev, fn);
	*ret = read_card(name);
	if (!*ret || (is_simulated(name) && !open_card(*ret, name)))
		return NVML_NOT_FOUND;
	return 0;
}

int nvmlDeviceGetName(struct nvml_device *c, char *text, unsigned int size)
{
	FAULT(text, size);
	return put(text, size, c->name);
}
