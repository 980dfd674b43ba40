/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credentials by a program, as kubeconfig's users[].exec has them: what is run, and what it answers
 * (client.authentication.k8s.io/v1 and v1beta1). Pure. */
#ifndef SYNC_CREDENTIAL_H
#define SYNC_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

struct access;
struct err;
struct yaml;

/* Both vectors end with NULL. */
struct exec_plugin {
	char *version; /* of the ExecCredential, asked and answered */
	char **argv;
	char **env; /* NAME=VALUE, besides our own variables */
	char *hint; /* how to install it; NULL */
};

enum { CREDENTIAL_MAX = 256 * 1024 };

/* Reads users[].exec into a->exec, after the cluster, of which some programs want to know. A
 * program with a slash in its name is relative to dir. */
int exec_parse(const struct yaml *exec, const char *dir, struct access *a, struct err *err);
void exec_free(struct exec_plugin *e);

/* Reads the program's answer into the secrets of a. *ret_ends: seconds since 1970, 0: never. */
int credential_take(struct access *a, const char *text, size_t size, uint64_t *ret_ends,
		    struct err *err);

#endif
