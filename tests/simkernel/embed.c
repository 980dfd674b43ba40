// SPDX-License-Identifier: GPL-2.0-or-later
/* The small server, in the binary. The build runs in the repository's root. */
#include "main.h"

__asm__(".section .rodata\n"
	".global small_server\n"
	".global small_server_end\n"
	"small_server:\n"
	".incbin \"tests/machines/small-server.umockdev\"\n"
	"small_server_end:\n"
	".byte 0\n"
	".previous\n");
