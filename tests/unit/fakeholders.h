/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two functions of one group, and processes with open files, for test_holders*.c. */
#ifndef UNIT_FAKEHOLDERS_H
#define UNIT_FAKEHOLDERS_H

#include "fakehost.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"

#define A "0000:08:00.0"
#define B "0000:08:00.1"
#define A_DIR "devices/pci0000:00/0000:00:01.0/" A
#define B_DIR "devices/pci0000:00/0000:00:01.0/" B

void put_function(const char *address, const char *dir, const char *group);
void put_node(const char *dir, const char *sub, const char *where);
void put_open(const char *open, int pid, int fd);
void put_process(int pid, const char *comm, const char *open);
void put_machine(void);
int run(const char *address, struct out *o);
void expect_from(const char *address, const char *lines, const char *file, int line);
#define EXPECT(address, lines) expect_from(address, lines, __FILE__, __LINE__)

#endif
