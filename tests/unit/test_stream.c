// SPDX-License-Identifier: GPL-2.0-or-later
/* What readers of events_pipe get: each line once, also where a read is sent again because the
 * process that took it died before it had answered. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "fs/files.h"
#include "fs/journal.h"
#include "fs/log/ring.h"
#include "fs/log/stream.h"
#include "pcidevfs/err.h"
#include "pcidevfs/region.h"
#include "pcidevfs/util.h"
#include "test.h"

enum { BYTES = 4096 };

static unsigned char space[BYTES + 256] __attribute__((aligned(64)));
static const struct region_head layout = { "test", RING_ABI, BYTES };
static char got[512];
static int code;

/* In place of libfuse's. */
int fuse_reply_buf(fuse_req_t req, const char *buf, size_t size)
{
	CHECK(size < sizeof(got));
	memcpy(got, buf, size);
	got[size] = '\0';
	code = 0;
	return 0;
}

int fuse_reply_err(fuse_req_t req, int err)
{
	got[0] = '\0';
	code = err;
	return 0;
}

static const char *take(struct stream *s, struct open_file *file, uint64_t unique, size_t size)
{
	stream_read(s, NULL, file, unique, size, true);
	return got;
}

DEFINE_TEST(stream_gives_a_resent_read_what_was_lost)
{
	struct open_file file = { 0 };
	struct stream *s;
	struct ring *r;

	CHECK_EQ(ring_open(space, sizeof(space), &layout, &r, NULL), 0);
	CHECK_EQ(stream_new(r, &s, NULL), 0);
	file.at = stream_start(s, 7);
	ring_put(r, "action=one", 10);
	CHECK_STR(take(s, &file, 2, 20), "seq=0 generation=7 a");
	CHECK_STR(take(s, &file, 2 | UNIQUE_RESENT, 20), "seq=0 generation=7 a");
	CHECK_STR(take(s, &file, 2 | UNIQUE_RESENT, 20), "seq=0 generation=7 a");
	CHECK_STR(take(s, &file, 4, 100), "ction=hello\nseq=1 action=one\n");
	ring_put(r, "action=two", 10);
	CHECK_STR(take(s, &file, 4 | UNIQUE_RESENT, 100),
		  "ction=hello\nseq=1 action=one\nseq=2 action=two\n");
	/* The read that was lost was not taken by the former process. */
	ring_put(r, "action=three", 12);
	CHECK_STR(take(s, &file, 6 | UNIQUE_RESENT, 100), "seq=3 action=three\n");
	take(s, &file, 8, 100);
	CHECK_EQ(code, EAGAIN);
	stream_free(s);
	ring_close(r);
}
