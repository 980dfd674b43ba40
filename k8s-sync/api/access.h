/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the API server is and who we are there: from a kubeconfig, or from inside a pod. */
#ifndef SYNC_ACCESS_H
#define SYNC_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct err;

enum secret { SECRET_CA, SECRET_CERT, SECRET_KEY, SECRET_TOKEN, SECRETS };

/* A file that is read again when it is another one, or was changed. */
struct secret_file {
	char *path; /* NULL: it does not come from a file */
	struct stat seen; /* as it was read last */
};

struct access {
	char *server;		/* "https://10.0.0.1:443", without a slash at its end */
	char *server_name;	/* in its certificate, if that is another one; NULL */
	char *secrets[SECRETS]; /* PEM, and a token; NULL: none */
	struct secret_file files[SECRETS];
	bool insecure;
};

/* Reads the text of a kubeconfig; names of files are relative to dir. Returns 0 or -errno. */
int access_parse(const char *text, size_t size, const char *dir, struct access *ret,
		 struct err *err);
/* file NULL: from inside a pod. *ret, zeroed before, is to be freed also on failure. */
int access_load(const char *file, struct access *ret, struct err *err);
/* Reads again what is another file than before. Returns true if a secret changed; one that cannot
 * be read stays. */
bool access_refresh(struct access *a);
void access_free(struct access *a);

/* Decodes base64; NULL: it is none, or no memory. */
char *base64_decode(const char *text, size_t *ret_size);

/* ---- expiry.c */
/* When the first certificate of a PEM text, which may be NULL, ends. Returns seconds since 1970; 0:
 * it is not known. Pure. */
uint64_t expiry_of(const char *pem);
/* What is to be said about it at this time, in seconds since 1970; "": nothing. */
void expiry_text(const char *pem, uint64_t now, char *ret, size_t size);

#endif
