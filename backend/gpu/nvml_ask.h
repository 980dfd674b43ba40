/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to NVIDIA's management library, by pcidevfs-nvml (gpu/nvml/), which a helper runs: one
 * request, one process, so that the library can crash or hang alone, and nothing stays open.
 */
#ifndef BACKEND_GPU_NVML_ASK_H
#define BACKEND_GPU_NVML_ASK_H

#include <stddef.h>

struct backend;
struct err;
struct out;
struct step;
struct sysfs;

/* More of an answer ends the program. */
#define NVML_ANSWER 65536

/* In the daemon: makes one request of pcidevfs-nvml, its words with blanks between ("create-instance
 * 0000:08:00.0 9 0 4"). It is killed after ms. Returns 0 and appends the lines of its answer, or
 * -errno with its sentence: -ETIMEDOUT only if it was late, and step->late (io.h) is NULL if it was
 * killed; -EOPNOTSUPP if there is no library. */
int nvml_ask(struct backend *b, struct step *step, unsigned int ms, const char *request,
	     struct out *answer, struct err *err);

/* What the library runs with, by request (nvml_requests.def). Each row has more rights than the one
 * before. */
enum nvml_rights { NOBODY, ROOTS_FILES, ROOT };

/* In a helper. */
struct nvml_place {
	const struct sysfs *s;
	const char *driver; /* root directory of the driver; "": it is looked for */
	int program;	    /* pcidevfs-nvml; < 0: none that could be trusted */
};
/* Makes a request likewise; of one that failed, the lines that came before that are appended.
 * ret_root (may be NULL): of the library that answered. */
#define NVML_ROOT 64
int nvml_run(const struct nvml_place *at, const char *request, unsigned int ms, struct out *answer,
	     char *ret_root, struct err *err);
/* Likewise; the sentence is the answer. */
int nvml_exec(const struct nvml_place *at, const char *request, unsigned int ms, struct out *said);

/* Opens the program of the daemon that runs, or returns -errno. It lies beside the daemon's own, or
 * where an installation has it, belongs to root or to the daemon's user, and nobody else can write
 * it. */
int nvml_open_program(void);

/* Checks the text that pcidevfs-nvml printed: clean lines, the last one "end NUMBER". Returns its
 * length without the last one and sets *ret_number, or -EBADMSG. */
int nvml_check(const char *text, size_t len, int *ret_number);

#endif
