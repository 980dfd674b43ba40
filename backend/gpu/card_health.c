// SPDX-License-Identifier: GPL-2.0-or-later
#include "card_health.h"

#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"

/* ---- as the driver answers */

void card_health_read(const char *line, struct card_told *told)
{
	unsigned int pending, failed;
	int recovery;

	if (!strcmp(line, "lost"))
		told->told = told->lost = true;
	else if (sscanf(line, "recovery %9d", &recovery) == 1)
		told->told = true, told->recovery = recovery;
	else if (sscanf(line, "remapped %*9u %*9u %9u %9u", &pending, &failed) == 2)
		told->told = true, told->pending = pending, told->failed = failed;
}

/* Of field 230 (spec/nvml.md 4), by number. */
static const char *const recoveries[] = {
	[1] = "must be reset: end what uses it, then run nvidia-smi --gpu-reset for it, or reboot",
	[2] = "works again only after a reboot of the node",
	[3] = "must be drained: let nothing new use its peer-to-peer links until what runs has ended",
	[4] = "must be drained and reset: let what runs end, then run nvidia-smi --gpu-reset for it",
	[5] = "has no memory of other nodes (IMEX): check the service nvidia-imex on all of them",
	[6] = "needs a reset of its bus: write 1 to the reset of the port above it, or reboot",
	[7] = "works again only after a reboot of the whole system, all its nodes",
};

void card_sentence(const char *card, const struct card_told *t, char ret[static CARD_HEALTH])
{
	size_t n = t->recovery < 0 ? 0 : (size_t)t->recovery;

	*ret = '\0';
	if (t->lost)
		snprintf(
			ret, CARD_HEALTH,
			"%s has fallen off the bus, as its driver tells: reset it, reboot, or switch "
			"the host off and on",
			card);
	else if (n && n < ARRAY_SIZE(recoveries))
		snprintf(ret, CARD_HEALTH, "%s %s; its driver tells so", card, recoveries[n]);
	else if (n)
		snprintf(ret, CARD_HEALTH,
			 "%s needs recovery action %zu of its driver, which is not known here; "
			 "nvidia-smi -q names it",
			 card, n);
	else if (t->failed)
		snprintf(ret, CARD_HEALTH,
			 "%s has damaged memory that could not be replaced by spare rows; its "
			 "vendor must replace the card",
			 card);
	else if (t->pending)
		snprintf(ret, CARD_HEALTH,
			 "%s has damaged memory, which spare rows replace with the next reset: end "
			 "what uses it, then run nvidia-smi --gpu-reset for it, or reboot",
			 card);
}

/* ---- as the kernel logs them */

/* Those of NVIDIA's Xid catalog (docs.nvidia.com, "Analyzing Xid Errors with the Xid Catalog") whose
 * immediate action is RESET_GPU or RESTART_BM, and 48 and 74, of which it says that a reset or a reboot
 * is needed; but 155, which links that go to sleep log as well. */
#define RESET "end what uses it, then run nvidia-smi --gpu-reset for it, or reboot"
#define REBOOT "end what uses it, then reboot the host" /* nothing reaches it any more */
static const struct {
	unsigned int number;
	const char *what, *way;
} errors[] = {
	{ 46, "it has stopped processing", RESET },
	{ 48, "its memory has an error that cannot be corrected", RESET },
	{ 62, "its micro-controller has halted", RESET },
	{ 64, "damaged memory could not be replaced by spare rows", RESET },
	{ 74, "a link to another GPU has failed", RESET },
	{ 79, "it has fallen off the bus", REBOOT },
	{ 95, "its memory has an error that more than one program has met", RESET },
	{ 109, "it does not switch between programs", RESET },
	{ 110, "it has a security fault", RESET },
	{ 119, "its system processor does not answer", RESET },
	{ 120, "its system processor has failed", RESET },
	{ 136, "the training of a link has failed", RESET },
	{ 140, "its memory has an error from which it did not recover", RESET },
	{ 143, "it could not be initialized", RESET },
	{ 156, "a damaged part of it goes out of use with the next reset", RESET },
	{ 158, "it does not answer in time", RESET },
};

void card_error(const char *card, unsigned int number, char ret[static CARD_HEALTH])
{
	*ret = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].number == number)
			snprintf(ret, CARD_HEALTH,
				 "%s: its driver has logged XID %u, %s: %s; dmesg says more", card,
				 number, errors[i].what, errors[i].way);
}

/* "PRIORITY,SEQUENCE,TIME,FLAGS;TEXT" (Documentation/ABI/testing/dev-kmsg of Linux); the kernel
 * escapes a newline within the text, and what stands behind the first one is no text. */
bool kernel_line_read(const char *record, size_t len, struct kernel_line *ret)
{
	const char *nl = memchr(record, '\n', len);
	size_t end = nl ? (size_t)(nl - record) : len, at;
	const char *text = memchr(record, ';', end);
	unsigned long long sequence;
	unsigned int priority;
	char head[64], comma;

	if (!text || *record < '0' || *record > '9')
		return false;
	at = (size_t)(text - record);
	snprintf(head, sizeof(head), "%.*s", (int)(at < sizeof(head) ? at : sizeof(head) - 1),
		 record);
	if (sscanf(head, "%9u,%19llu%c", &priority, &sequence, &comma) != 3 || comma != ',')
		return false;
	/* The facility, which the kernel keeps 0 of for itself. */
	*ret = (struct kernel_line){ sequence, !(priority >> 3), text + 1, end - at - 1 };
	return true;
}

/* "NVRM: Xid (PCI:0000:0c:00): 79, pid=812, ..."; of what a MIG instance met " GPU-I:05 GPU-CI:00"
 * stands behind the address (krcReportXid_IMPL in NVIDIA's open-gpu-kernel-modules). */
bool card_logged(const struct kernel_line *line, struct key *ret_card, unsigned int *ret_number)
{
	static const char head[] = "NVRM: Xid (PCI:";
	char text[96], slot[16], name[24], number[8], comma;
	const char *at, *end;

	if (!line->kernels || line->len < sizeof(head) ||
	    memcmp(line->text, head, sizeof(head) - 1))
		return false;
	snprintf(text, sizeof(text), "%.*s",
		 (int)(line->len < sizeof(text) ? line->len : sizeof(text) - 1), line->text);
	at = text + sizeof(head) - 1;
	end = strchr(at, ')');
	if (!end || sscanf(at, "%15[0-9a-f:]", slot) != 1 ||
	    (at[strlen(slot)] != ')' && strncmp(at + strlen(slot), " GPU-I:", 7)) ||
	    sscanf(end, "): %7[0-9]%c", number, &comma) != 2 || comma != ',')
		return false;
	snprintf(name, sizeof(name), "%s.0", slot);
	return key_make(BUS_PCI, name, ret_card) && sscanf(number, "%7u", ret_number) == 1;
}
