// SPDX-License-Identifier: GPL-2.0-or-later
/* A kubeconfig of any bytes: what is refused has a sentence; what is taken has an address that
 * begins like one and a token of one line. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "k8s-sync/api/access.h"
#include "client/yaml.h"
#include "pcidevfs/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	json_object *y = NULL;
	struct access a;

	if (yml_read((const char *)data, size, &y, &err))
		check(err.text[0] && !y);
	json_object_put(y);
	err = (struct err){ 0 };
	if (access_parse((const char *)data, size, "/nowhere", &a, &err)) {
		check(err.text[0] != 0);
		return 0;
	}
	check(!strncmp(a.server, "http", 4) && !strpbrk(a.server, " \r\n"));
	check(!a.secrets[SECRET_TOKEN] ||
	      (*a.secrets[SECRET_TOKEN] && !strpbrk(a.secrets[SECRET_TOKEN], "\r\n")));
	access_free(&a);
	return 0;
}
