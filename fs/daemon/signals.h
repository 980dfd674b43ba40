/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals by which a person, a shell or a service manager ends the holder. */
#ifndef FS_SIGNALS_H
#define FS_SIGNALS_H

#include <stdbool.h>

/* Returns a descriptor that is readable when one came; -1 and errno. From now on these signals do
 * not end the process by themselves. Those ignored at its start stay ignored, as nohup expects. */
int signals_open(void);
bool signals_came(int fd);

#endif
