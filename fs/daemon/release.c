// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "release.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "mountpoint.h"
#include "options.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

/* claim: NULL for an interrupted operation. */
static void say_verdict(const char *address, const char *claim, const char *refusal)
{
	const char *from = claim ? claim : "an act that was cut short";

	if (refusal)
		fprintf(stderr, "%s: stays %s by %s: %s\n", address,
			claim ? "claimed" : "half done", from, refusal);
	else
		printf("%s: released from %s\n", address, from);
	fflush(stdout);
}

/* ---- through the tree */

/* Reads the first line of a file of the device; false if it cannot be read. */
static bool read_line(int dir, const char *address, const char *file, char *ret, size_t size)
{
	char path[512]; /* an entry of a directory and a name */
	_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", address, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return n > 0;
}

/* why: last_error is about this write only if there was a write. */
static int write_none(int dir, const char *address, char *why, size_t size)
{
	char path[512]; /* an entry of a directory and a name */
	_close_ int fd = -1;
	int r;

	snprintf(path, sizeof(path), "%s/claim", address);
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "none\n", 5) >= 0)
		return 0;
	r = -errno;
	if (fd < 0 || !read_line(dir, address, "last_error", why, size) || !strcmp(why, "ok"))
		snprintf(why, size, "claim: %s", strerror(-r));
	return r;
}

static FILE *open_intents(int dir)
{
	int fd = openat(dir, "../intents", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f)
		closep(&fd);
	return f;
}

/* Gets the value of a key such as " claim=" from the device's line of intents. */
static bool read_intent(int dir, const char *address, const char *key, char *ret, size_t size)
{
	FILE *f = open_intents(dir);
	_free_ char *line = NULL;
	char device[512]; /* an entry of a directory and a name */
	const char *value = NULL;
	size_t room = 0;

	snprintf(device, sizeof(device), " device=%s ", address);
	while (f && !value && getline(&line, &room, f) >= 0)
		value = strstr(line, device) && !strstr(line, " state=damaged ") ? strstr(line, key)
										  : NULL;
	if (f)
		fclose(f);
	if (value)
		snprintf(ret, size, "%.*s", (int)strcspn(value + strlen(key), " \n"),
			 value + strlen(key));
	return value;
}

/* Is there a stored claim that its device does not have? If not, intents need not be searched. */
static bool any_missing(int dir)
{
	FILE *f = open_intents(dir);
	_free_ char *line = NULL;
	bool found = false;
	size_t room = 0;

	while (f && !found && getline(&line, &room, f) >= 0)
		found = strstr(line, " claim=") && !strstr(line, " state=held ") &&
			!strstr(line, " state=damaged ");
	if (f)
		fclose(f);
	return found;
}

/* The claim to release, or "none" for an interrupted operation. False: nothing to release. */
static bool read_claim(int dir, const char *address, bool missing, char ret[static CLAIM_NAME + 1])
{
	char state[16];

	/* A member of a group that was released with another one reads none by now. */
	if (!read_line(dir, address, "claim", ret, CLAIM_NAME + 1))
		return false;
	if (strcmp(ret, "none"))
		return true;
	/* If a claim was not restored, --early may have taken its device from the driver. */
	if (missing && read_intent(dir, address, " claim=", ret, CLAIM_NAME + 1))
		return true;
	return read_line(dir, address, "state", state, sizeof(state)) && !strcmp(state, "stuck");
}

/* Is there an interrupted operation that a release does not end? */
static bool is_cut(int dir, const char *address)
{
	char boot[64];

	return read_intent(dir, address, " boot=", boot, sizeof(boot));
}

static int release_entry(int dir, const char *address, bool missing, bool *any)
{
	char claim[CLAIM_NAME + 1], why[ERR_TEXT + 64];
	const char *from = claim;
	int rc;

	if (!read_claim(dir, address, missing, claim))
		return 0;
	if (!strcmp(claim, "none"))
		from = NULL;
	read_line(dir, address, "reason", why, sizeof(why));
	rc = write_none(dir, address, why, sizeof(why));
	if (!rc && !from && is_cut(dir, address))
		rc = -EBUSY;
	say_verdict(address, from, rc ? why : NULL);
	*any = true;
	return rc != 0;
}

/* The daemon does not know the content of a state file that was set aside either. */
static int tell_damaged(const char *where)
{
	char path[4096], line[1024];
	FILE *f = NULL;
	int status = 0;

	if (snprintf(path, sizeof(path), "%s/health", where) < (int)sizeof(path))
		f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "intents=damaged", strlen("intents=damaged"))) {
			fputs(line, stderr);
			status = 1;
		}
	if (f)
		fclose(f);
	return status;
}

bool release_in_tree(const struct options *o, int *ret_status)
{
	char path[4096];
	struct mount_entry mount;
	_free_ char *where = NULL;
	_closedir_ DIR *dir = NULL;
	const struct dirent *e;
	bool missing, any = false;

	if (mountpoint_resolve(o->mountpoint, &where, NULL) || mountpoint_find(where, &mount) ||
	    !mount.ours || snprintf(path, sizeof(path), "%s/devices", where) >= (int)sizeof(path))
		return false;
	dir = opendir(path);
	*ret_status = dir ? tell_damaged(where) : 0;
	missing = dir && any_missing(dirfd(dir));
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			*ret_status |= release_entry(dirfd(dir), e->d_name, missing, &any);
	if (dir && !*ret_status && !any)
		puts("nothing was claimed");
	return dir;
}

/* Neither stored intents nor a file of them that was set aside. */
static bool is_empty(const char *state)
{
	_closedir_ DIR *dir = opendir(state);
	const struct dirent *e = NULL;

	while (dir && (e = readdir(dir)) && strncmp(e->d_name, "intent", strlen("intent")))
		;
	return dir ? !e : errno == ENOENT;
}

bool release_nothing(const struct options *o, int *ret_status)
{
	char mounted[4096];

	if (!is_empty(o->state))
		return false;
	*ret_status = mountpoint_any(mounted, sizeof(mounted));
	if (*ret_status)
		say("%s is no mount of pcidevfsd, and nothing is stored in %s; one is mounted at %s",
		    o->mountpoint, o->state, mounted);
	else
		printf("nothing was claimed: nothing is stored in %s\n", o->state);
	return true;
}

/* ---- by the engine */

struct answer {
	pthread_mutex_t lock;
	pthread_cond_t come;
	bool is_there;
	struct err err;
};

static void on_verdict(void *ctx, const struct err *err)
{
	struct answer *a = ctx;

	pthread_mutex_lock(&a->lock);
	a->err = *err;
	a->is_there = true;
	pthread_cond_signal(&a->come);
	pthread_mutex_unlock(&a->lock);
}

static int release(struct engine *e, const struct wish *wish, const char *claim)
{
	const struct actor self = { .pid = getpid(), .comm = "pcidevfsd", .opener.reserve = true };
	struct answer a = { .lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER };

	txn_submit(e, wish, 1, &self, on_verdict, &a);
	pthread_mutex_lock(&a.lock);
	while (!a.is_there)
		pthread_cond_wait(&a.come, &a.lock);
	pthread_mutex_unlock(&a.lock);
	say_verdict(wish->dev.name, claim, a.err.code ? a.err.text : NULL);
	return a.err.code != 0;
}

/* Before claims, because an interrupted operation may be in their way. */
static int release_cut(struct intents *in, struct engine *e, bool *any)
{
	unsigned int refused = 0;
	struct wish wish;

	while (intents_cut(in, refused, &wish)) {
		refused += release(e, &wish, NULL);
		*any = true;
	}
	return refused != 0;
}

int release_by_engine(struct model *m, struct intents *in, struct engine *e)
{
	bool any = false;
	int status = release_cut(in, e, &any);
	const struct device *dev;
	size_t pos = 0;

	for (;;) {
		struct wish wish = { .file = "claim" };
		char claim[CLAIM_NAME];

		model_lock(m);
		while ((dev = model_next(m, &pos)) && !dev->want.claim[0])
			;
		if (dev) {
			wish.dev = dev->key;
			STR_COPY(claim, dev->want.claim);
		}
		model_unlock(m);
		if (!dev)
			break;
		any = true;
		status |= release(e, &wish, claim);
	}
	if (!any)
		puts("nothing was claimed");
	return status;
}
