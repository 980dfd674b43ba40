/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in dev/ and proc/. */
#ifndef SIM_FACTS_H
#define SIM_FACTS_H

#include <stdbool.h>
#include <sys/types.h>

struct record;
struct sim;

int facts_write(struct sim *s);
void facts_drivers(struct sim *s);
int facts_file(struct sim *s, const char *path, const char *text);
/* Returns the length, or below 0. */
ssize_t facts_read(struct sim *s, const char *path, char *buf, size_t size);
int facts_dir(struct sim *s, const char *path);
int facts_node(struct sim *s, const char *path);
int facts_char(struct sim *s, const char *path, dev_t number, mode_t mode);
int facts_link(struct sim *s, const char *path, const char *target);
void facts_remove(struct sim *s, const char *path);
/* Makes or removes the nodes of a recorded device. */
void facts_dev(struct sim *s, const struct record *r, bool there);
/* proc.c */
void proc_derive(struct sim *s);

#endif
