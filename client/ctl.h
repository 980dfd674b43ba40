/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions through the tree's ctl (DESIGN.md 4), one after another. */
#ifndef CLIENT_CTL_H
#define CLIENT_CTL_H

struct err;

/* Stays open after a transaction that succeeded: an open takes a fifth of the time of one. */
struct open_ctl {
	const char *tree; /* the caller's */
	int fd;		  /* -1 at first and when closed */
};

/* Commits the lines ("0000:05:00.0/claim alice\n"...), all or none, in one write(2); once more if
 * the daemon was restarted before it began. Waits as long as the tree does. Returns 0 or -errno
 * with the tree's own sentence. -ENOTCONN: the tree is not there, or ended before it answered; the
 * lines may have been committed. */
int ctl_commit(struct open_ctl *c, const char *lines, struct err *err);
void ctl_close(struct open_ctl *c);

/* The sentence of the first refusal in answers of ctl, such as "error EBUSY 0000:05:00.0/claim:
 * SENTENCE", with r, or -EIO where that is 0; without one returns r, the -errno of the write or 0. */
int ctl_verdict(const char *answers, int r, struct err *err);

#endif
