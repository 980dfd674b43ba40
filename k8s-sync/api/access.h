/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the API server is and who we are there: from a kubeconfig, or from inside a pod. */
#ifndef SYNC_ACCESS_H
#define SYNC_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct err;

/* Which file was read: another one has another of these. */
struct file_seen {
	ino_t ino;
	struct timespec at;
};

struct access {
	char *server;	       /* "https://10.0.0.1:443", without a slash at its end */
	char *ca, *cert, *key; /* PEM; NULL: none */
	char *token;	       /* NULL: none */
	char *token_file;      /* read again when it changes; NULL */
	char *ca_file;	       /* likewise */
	bool insecure;
	struct file_seen token_seen, ca_seen;
};

/* Reads the text of a kubeconfig; names of files are relative to dir. Returns 0 or -errno. */
int access_parse(const char *text, size_t size, const char *dir, struct access *ret,
		 struct err *err);
/* file NULL: from inside a pod. */
int access_load(const char *file, struct access *ret, struct err *err);
/* Reads token and CA again if their files changed. Returns true if one did. */
bool access_refresh(struct access *a);
void access_free(struct access *a);

/* Decodes base64; NULL: it is none, or no memory. */
char *base64_decode(const char *text, size_t *ret_size);

#endif
