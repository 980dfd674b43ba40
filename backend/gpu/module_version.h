/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the daemon and for pcidevfs-nvml, which share no file of code here. */
#ifndef BACKEND_GPU_MODULE_VERSION_H
#define BACKEND_GPU_MODULE_VERSION_H

#include <string.h>

/* The version in the text of /proc/driver/nvidia/version, which is overwritten: of "NVRM version:
 * NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..." the first word of digits
 * and dots. NULL: there is none. */
static inline const char *module_version(char *text)
{
	char *word;

	while ((word = strsep(&text, " \t\n")))
		if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.'))
			return word;
	return NULL;
}

#endif
