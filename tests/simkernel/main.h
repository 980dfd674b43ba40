/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SIM_MAIN_H
#define SIM_MAIN_H

/* The built-in machine. */
extern const char small_server[], small_server_end[];

#endif
