/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What verbs print. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stddef.h>

struct cli;
struct tree_device;
struct err;
struct json_object;
struct out;

/* Prints it to stdout. Returns 0 or -errno with a sentence. Frees it. */
int print_out(struct out *out, struct err *err);
/* The object in one line; lives as long as that is not changed. */
const char *json_line(struct json_object *o);
/* With --json prints the object as one line, else the text; nothing if r, which it then returns.
 * Frees both. */
int print_either(struct cli *cli, int r, struct out *out, struct json_object *o, struct err *err);

/* All pairs of a device: "id", then the tree's texts as strings, none as null. */
struct json_object *device_json(const struct tree_device *d);
void json_text(struct json_object *o, const char *key, const char *value); /* none: null */
void json_number(struct json_object *o, const char *key, int n);

/* Lines of pairs, as of profiles and log, as an array of objects; a word without a key is "id". */
struct json_object *lines_json(const char *text);
/* "" where the object has no such text. */
const char *json_says(struct json_object *o, const char *key);

struct target;
/* The file of the device, clean, without the last newline; NULL: it has none, or not for us. */
char *device_file(struct cli *cli, const struct target *t, const char *name);
/* Its lines as of lines_json(). */
struct json_object *device_lines(struct cli *cli, const struct target *t, const char *name);

/* Reads inventory into cli->inv. */
int inventory_read(struct cli *cli, struct err *err);
/* Likewise, with what intents has of claimed devices that are not there. */
int inventory_read_all(struct cli *cli, struct err *err);
/* Likewise if that is not done, and finds the devices for cli->targets; a VF named by its PF is
 * that of its address if it is there. */
int targets_read(struct cli *cli, char **names, int n, struct err *err);

#endif
