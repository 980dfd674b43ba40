// SPDX-License-Identifier: GPL-2.0-or-later
/* What a credential program answers, of any bytes: what is refused has a sentence; what is taken
 * has a token of one line, or a certificate and its key. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/credential.h"
#include "pcidevfs/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct access a = { .exec = calloc(1, sizeof(*a.exec)) };
	struct err err = { 0 };
	uint64_t ends;

	check(a.exec && (a.exec->version = strdup("client.authentication.k8s.io/v1")));
	if (size > CREDENTIAL_MAX)
		size = CREDENTIAL_MAX;
	if (credential_take(&a, (const char *)data, size, &ends, &err)) {
		check(err.text[0] != 0);
	} else {
		const char *token = a.secrets[SECRET_TOKEN];

		check(!token || (*token && !strpbrk(token, "\r\n")));
		check(!a.secrets[SECRET_CERT] == !a.secrets[SECRET_KEY]);
		check(token || a.secrets[SECRET_CERT]);
	}
	access_free(&a);
	return 0;
}
