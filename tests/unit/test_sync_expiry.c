// SPDX-License-Identifier: GPL-2.0-or-later
/* When certificates end, whatever stands in them. */
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/api/access.h"
#include "pcidevfs/util.h"
#include "test.h"

#define PEM(text) "-----BEGIN CERTIFICATE-----\n" text "-----END CERTIFICATE-----\n"

/* Until 2028-02-03 06:09:55, and until 2056-11-20 06:09:54, which is written in another way. */
static const char utc[] = PEM(
	"MIIBbTCCAROgAwIBAgIUQhSNikf5lwrc+PfnOHLI46K0baMwCgYIKoZIzj0EAwIw\n"
	"DDEKMAgGA1UEAwwBYTAeFw0yNjExMjgwNjA5NTVaFw0yODAyMDMwNjA5NTVaMAwx\n"
	"CjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATQtLpjmLN7NVpL\n"
	"y7fKMq17EnbBkB6G9ra2G0U3iQOttTpuZgPdWsnXten6MI7ItmjkpLSXklhw2d2N\n"
	"RX+9BLFFo1MwUTAdBgNVHQ4EFgQUhxyMlFouGLb+Mi5S4S+t/F/dECIwHwYDVR0j\n"
	"BBgwFoAUhxyMlFouGLb+Mi5S4S+t/F/dECIwDwYDVR0TAQH/BAUwAwEB/zAKBggq\n"
	"hkjOPQQDAgNIADBFAiEAu2DQgvhYCzaAO9jaZeqSNJaNJyZSnm/K8NMn/IUyLBYC\n"
	"IHbzmQVNq1yMZ4i+LL0kb6oRYaZmpzcvus3iChuMh+5Q\n");
static const char generalized[] = PEM(
	"MIIBcDCCARWgAwIBAgIULUAtdSsWNvDujrKZz4UIMdexRaEwCgYIKoZIzj0EAwIw\n"
	"DDEKMAgGA1UEAwwBYTAgFw0yNjExMjgwNjA5NTRaGA8yMDU2MTEyMDA2MDk1NFow\n"
	"DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNC0umOYs3s1\n"
	"WkvLt8oyrXsSdsGQHob2trYbRTeJA621Om5mA91ayde16fowjsi2aOSktJeSWHDZ\n"
	"3Y1Ff70EsUWjUzBRMB0GA1UdDgQWBBSHHIyUWi4Ytv4yLlLhL638X90QIjAfBgNV\n"
	"HSMEGDAWgBSHHIyUWi4Ytv4yLlLhL638X90QIjAPBgNVHRMBAf8EBTADAQH/MAoG\n"
	"CCqGSM49BAMCA0kAMEYCIQDRebnxLs0kjWMQnIT15c4+oFSUgRXl+bOUrD+dVcT4\n"
	"HQIhAOQKlUQzVvDMCZa5H/htX1jYTY9kkKnQ9ETqhsD58Pgy\n");

DEFINE_TEST(sync_a_certificate_tells_its_end)
{
	char *both = NULL;

	CHECK_EQ(expiry_of(utc), 1833170995);
	CHECK_EQ(expiry_of(generalized), 2741926194);
	/* The key may stand before it. */
	CHECK(asprintf(&both, "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n%s",
		       utc) > 0);
	CHECK_EQ(expiry_of(both), 1833170995);
	free(both);
	CHECK_EQ(expiry_of(NULL), 0);
	CHECK_EQ(expiry_of(""), 0);
	CHECK_EQ(expiry_of("-----BEGIN CERTIFICATE-----\nMHcC"), 0);
	CHECK_EQ(expiry_of(PEM("?")), 0);
}

/* Each character is another one, and the text is cut everywhere: it tells some time or none. */
DEFINE_TEST(sync_a_certificate_may_be_anything)
{
	static const char *const from[] = { utc, generalized };

	for (size_t f = 0; f < ARRAY_SIZE(from); f++)
		for (size_t i = 28; i < strlen(from[f]) - 60; i++) {
			char *text = strdup(from[f]);

			for (const char *c = "A/+z"; *c; c++) {
				text[i] = *c;
				expiry_of(text);
			}
			strcpy(text + i, "-----END CERTIFICATE-----");
			CHECK_EQ(expiry_of(text), 0);
			free(text);
		}
}
