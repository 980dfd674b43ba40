// SPDX-License-Identifier: GPL-2.0-or-later
/* Linked into a daemon that is built with -finstrument-functions: notes which functions were
 * called. The map is a file, named by COST_MAP, so that every process of the daemon notes into the
 * same one, also those that are confined: it is mapped before main() begins. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAP_SIZE ((size_t)32 << 20) /* more than the program has code */
#define UNTOLD __attribute__((no_instrument_function))

extern const char __executable_start[];
void __cyg_profile_func_enter(void *fn, void *site) UNTOLD;
void __cyg_profile_func_exit(void *fn, void *site) UNTOLD;

static unsigned char *map;

static void __attribute__((constructor)) UNTOLD open_map(void)
{
	const char *path = getenv("COST_MAP");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		map = at;
}

void __cyg_profile_func_enter(void *fn, void *site)
{
	uintptr_t at = (uintptr_t)fn - (uintptr_t)__executable_start;

	if (map && at < MAP_SIZE)
		map[at] = 1;
}

void __cyg_profile_func_exit(void *fn, void *site)
{
}
