// SPDX-License-Identifier: GPL-2.0-or-later
/* What an API server answers to a request, of any bytes, in pieces of any size, with any HTTP
 * status: what is not a success has a sentence. */
#include <stdint.h>

#include "check.h"
#include "k8s-sync/api/intake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	struct intake r;
	size_t piece, n;
	long http, status;

	if (size < 2 || intake_open(&r, false))
		return 0;
	piece = data[0] + 1u;
	http = 200 + 2 * data[1];
	for (size_t at = 2; at < size; at += n) {
		n = size - at < piece ? size - at : piece;
		if (intake_feed(&r, (const char *)data + at, n))
			break;
	}
	if (intake_verdict(&r, http, &status, &err))
		check(err.code && err.text[0]);
	else
		check(r.one && status < 300 && !err.code);
	check(intake_retry_after(&r) < 3600);
	intake_close(&r);
	return 0;
}
