/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By which signals a person, a shell or a service manager ends the holder. */
#ifndef FS_SIGNALS_H
#define FS_SIGNALS_H

#include <stdbool.h>

/* A descriptor, readable when one came; -1 and errno. From now on they end nobody by themselves.
 * Those that were ignored when the program began stay so, as nohup and shells ask for. */
int signals_open(void);
bool signals_came(int fd);

#endif
