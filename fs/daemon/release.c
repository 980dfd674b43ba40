// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "release.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>

#include "fs/internal.h"
#include "mountpoint.h"
#include "options.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

/* claim: NULL for an interrupted operation. */
static void say_verdict(const char *address, const char *claim, const char *refusal)
{
	const char *from = claim ? claim : "an interrupted operation";

	if (refusal)
		fprintf(stderr, "%s: stays %s by %s: %s\n", address,
			claim ? "claimed" : "half done", from, refusal);
	else
		printf("%s: released from %s\n", address, from);
	fflush(stdout);
}

static void say_setting(const char *address, const char *file, const char *refusal)
{
	if (refusal)
		fprintf(stderr, "%s: its %s stays: %s\n", address, file, refusal);
	else
		printf("%s: its %s is what it was before\n", address, file);
	fflush(stdout);
}

/* ---- through the tree */

#define WHY (ERR_TEXT + 64)

/* The device's directory below the mount: in that of its bus. */
static int open_file(int dir, const struct key *dev, const char *file, int flags)
{
	char path[3 * KEY_NAME];

	snprintf(path, sizeof(path), "%s/%s/%s", bus_dir(dev->bus), dev->name, file);
	return openat(dir, path, flags | O_CLOEXEC);
}

/* Reads the first line of a file of the device; false if it cannot be read. */
static bool read_line(int dir, const struct key *dev, const char *file, char *ret, size_t size)
{
	_close_ int fd = open_file(dir, dev, file, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return n > 0;
}

/* A vGPU is claimed as long as it is one, but for one of mdevctl's, which goes on without us. No
 * event tells of a definition, so a plan, for which the device is looked at, says which it is. */
static bool is_ended_by_profile(int dir, const struct key *dev)
{
	static const char none[] = "claim none", refused[] = "error EINVAL ";
	_close_ int fd = open_file(dir, dev, "plan", O_WRONLY);
	char said[sizeof(refused)];

	return fd >= 0 && write(fd, none, sizeof(none) - 1) >= 0 &&
	       read_line(dir, dev, "plan", said, sizeof(said)) && !strcmp(said, refused);
}

/* The file that ends the claim, or the interrupted operation. */
static const char *file_of(int dir, const struct key *dev, bool claimed)
{
	_close_ int fd = open_file(dir, dev, "profile", O_WRONLY);

	return fd < 0 || (claimed && !is_ended_by_profile(dir, dev)) ? "claim" : "profile";
}

/* NULL: done; else why not. last_error is about this write only if there was a write. */
static const char *write_none(int dir, const struct key *dev, const char *file,
			      char why[static WHY])
{
	_close_ int fd = open_file(dir, dev, file, O_WRONLY);
	int r;

	if (fd >= 0 && write(fd, "none\n", 5) >= 0)
		return NULL;
	r = errno;
	if (fd < 0 || !read_line(dir, dev, "last_error", why, WHY) || !strcmp(why, "ok"))
		snprintf(why, WHY, "%s: %s", file, strerror(r));
	return why;
}

/* Gets the value of a key such as " claim=" from a line of intents. */
static bool value_of(const char *line, const char *key, char *ret, size_t size)
{
	const char *at = strstr(line, key);

	if (at)
		snprintf(ret, size, "%.*s", (int)strcspn(at + strlen(key), " "), at + strlen(key));
	return at;
}

/* False: the line of intents is damaged, or its device is not there. */
static bool device_of(const char *line, struct key *ret)
{
	char id[KEY_NAME + 8];

	return !strstr(line, " state=damaged ") && value_of(line, " device=", id, sizeof(id)) &&
	       key_parse(id, ret);
}

/* The claim that is stored for the device. */
static bool read_stored(int dir, const struct key *dev, char ret[static CLAIM_NAME + 1])
{
	_free_ char *text = file_text(dir, "intents");
	char *next = text, *line;
	struct key of;

	while ((line = strsep(&next, "\n")))
		if (device_of(line, &of) && key_eq(&of, dev) &&
		    value_of(line, " claim=", ret, CLAIM_NAME + 1))
			return true;
	return false;
}

/* The settings of a VF that its line of intents has: no claim has ended them. */
static int release_line(int dir, const char *line, const struct key *dev, bool *any)
{
	char key[16], id[KEY_NAME + 8], why[WHY];
	int status = 0;

	for (enum vfconf which = 0; which < VFCONF_COUNT; which++) {
		const char *file = vfconf_name(which), *refusal;

		snprintf(key, sizeof(key), " %s=", file);
		if (!strstr(line, key))
			continue;
		refusal = write_none(dir, dev, file, why);
		say_setting(key_id(dev, id), file, refusal);
		status |= refusal != NULL;
		*any = true;
	}
	return status;
}

/* Reads intents once: there may be thousands of VFs. */
static int release_settings(int dir, bool *any)
{
	_free_ char *text = file_text(dir, "intents");
	char *next = text, *line;
	struct key dev;
	int status = 0;

	while ((line = strsep(&next, "\n")))
		if (device_of(line, &dev))
			status |= release_line(dir, line, &dev, any);
	return status;
}

/* Is there a stored claim that its device does not have? If not, intents need not be searched. */
static bool any_missing(int dir)
{
	_free_ char *text = file_text(dir, "intents");
	char *next = text, *line;

	while ((line = strsep(&next, "\n")))
		if (strstr(line, " claim=") && !strstr(line, " state=held ") &&
		    !strstr(line, " state=damaged "))
			return true;
	return false;
}

/* The claim to release, or "none" for an interrupted operation. False: nothing to release. */
static bool read_claim(int dir, const struct key *dev, bool missing,
		       char ret[static CLAIM_NAME + 1])
{
	char state[16];

	/* A member of a group that was released with another one reads none by now. */
	if (!read_line(dir, dev, "claim", ret, CLAIM_NAME + 1))
		return false;
	if (strcmp(ret, "none"))
		return true;
	/* If a claim was not restored, --early may have taken its device from the driver. */
	if (missing && read_stored(dir, dev, ret))
		return true;
	return read_line(dir, dev, "state", state, sizeof(state)) && !strcmp(state, "stuck");
}

static int release_entry(int dir, const struct key *dev, bool missing, bool *any)
{
	char id[KEY_NAME + 8], claim[CLAIM_NAME + 1], why[WHY];
	const char *from = claim, *refusal;

	if (!read_claim(dir, dev, missing, claim))
		return 0;
	if (!strcmp(claim, "none"))
		from = NULL;
	refusal = write_none(dir, dev, file_of(dir, dev, from), why);
	say_verdict(key_id(dev, id), from, refusal);
	*any = true;
	return refusal != NULL;
}

/* The daemon does not know the content of a state file that was set aside either. */
static int tell_damaged(int dir)
{
	_free_ char *text = file_text(dir, "health");
	char *next = text, *line;
	int status = 0;

	while ((line = strsep(&next, "\n")))
		if (!strncmp(line, "intents=damaged", strlen("intents=damaged"))) {
			fprintf(stderr, "%s\n", line);
			status = 1;
		}
	return status;
}

/* Releases all devices of a bus. */
static int release_bus(int root, enum bus bus, bool missing, bool *any)
{
	int fd = bus_dir(bus) ? openat(root, bus_dir(bus), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1,
	    status = 0;
	_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct key key;

	while (dir && (e = readdir(dir)))
		if (key_make(bus, e->d_name, &key))
			status |= release_entry(root, &key, missing, any);
	return status;
}

bool release_in_tree(const struct daemon_options *o, int *ret_status)
{
	struct mount_entry mount;
	_free_ char *where = NULL;
	_close_ int root = -1;
	bool missing, any = false;

	if (mountpoint_resolve(o->mountpoint, &where, NULL) || mountpoint_find(where, &mount) ||
	    !mount.ours)
		return false;
	root = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	*ret_status = tell_damaged(root);
	missing = any_missing(root);
	for (enum bus bus = BUS_NONE + 1; bus < BUS_COUNT; bus++)
		*ret_status |= release_bus(root, bus, missing, &any);
	*ret_status |= release_settings(root, &any);
	if (!*ret_status && !any)
		puts("nothing was claimed");
	return true;
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

bool release_nothing(const struct daemon_options *o, int *ret_status)
{
	char mounted[4096];

	if (!is_empty(o->roots.state))
		return false;
	*ret_status = mountpoint_any(mounted, sizeof(mounted));
	if (*ret_status)
		say("%s is not a mount of pcidevfsd, and nothing is stored in %s; one is mounted "
		    "at %s",
		    o->mountpoint, o->roots.state, mounted);
	else
		printf("nothing was claimed: nothing is stored in %s\n", o->roots.state);
	return true;
}

/* ---- by the engine */

struct answer {
	sem_t come;
	struct err err;
};

static void on_verdict(void *ctx, const struct err *err)
{
	struct answer *a = ctx;

	a->err = *err;
	sem_post(&a->come);
}

/* Submits the request and waits for its verdict. */
static struct err verdict_of(struct engine *e, const struct request *request)
{
	const struct actor self = { .pid = getpid(), .comm = "pcidevfsd", .opener.reserve = true };
	struct answer a;

	sem_init(&a.come, 0, 0);
	txn_submit(e, request, 1, &self, on_verdict, &a);
	while (sem_wait(&a.come))
		;
	return a.err;
}

bool release_interrupted(struct model *m, struct engine *e)
{
	_free_ struct key *busy = calloc(model_count(m) + 1, sizeof(*busy));
	const struct device *dev;
	char id[KEY_NAME + 8];
	size_t pos = 0, n = 0;
	bool any = false;

	model_lock(m);
	while (busy && (dev = model_next(m, &pos)))
		if (dev->busy[0])
			busy[n++] = dev->key;
	model_unlock(m);
	while (!engine_idle(e))
		usleep(10000);
	model_lock(m);
	for (size_t i = 0; i < n; i++) {
		dev = model_find(m, &busy[i]);
		if (dev && !dev->stuck[0])
			say_verdict(key_id(&busy[i], id), NULL, NULL);
		any |= dev && !dev->stuck[0];
	}
	model_unlock(m);
	return any;
}

/* The next device with this setting, or (file NULL) with a claim, or stuck. */
static bool next_with(struct model *m, size_t *pos, const char *file, struct device *ret)
{
	const struct device *dev;

	model_lock(m);
	while ((dev = model_next(m, pos)) &&
	       !(file ? intent_has(&dev->intent, file) : dev->intent.claim[0] || dev->stuck[0]))
		;
	if (dev)
		*ret = *dev;
	model_unlock(m);
	return dev;
}

static int settings_by_engine(struct model *m, struct engine *e, bool *any)
{
	char id[KEY_NAME + 8];
	struct device dev;
	int status = 0;

	for (enum vfconf which = 0; which < VFCONF_COUNT; which++)
		for (size_t pos = 0; next_with(m, &pos, vfconf_name(which), &dev);) {
			struct request request = { .dev = dev.key };
			struct err err;

			STR_COPY(request.file, vfconf_name(which));
			err = verdict_of(e, &request);
			say_setting(key_id(&dev.key, id), request.file, err.code ? err.text : NULL);
			status |= err.code != 0;
			*any = true;
		}
	return status;
}

int release_by_engine(struct model *m, struct engine *e, bool any)
{
	char id[KEY_NAME + 8];
	struct device dev;
	int status = 0;

	for (size_t pos = 0; next_with(m, &pos, NULL, &dev);) {
		const char *claim = dev.intent.claim[0] ? dev.intent.claim : NULL;
		struct request request = { .dev = dev.key, .file = "claim" };
		struct err err = { .code = EIO };

		if (dev.caps & CAP_VGPU && !dev.facts.mdevctl[0])
			STR_COPY(request.file, "profile");
		/* A release finds nothing to do for VFs that could not be removed. */
		if (!claim && dev.facts.use == USE_HOST)
			STR_COPY(err.text, dev.stuck);
		else
			err = verdict_of(e, &request);
		say_verdict(key_id(&dev.key, id), claim, err.code ? err.text : NULL);
		status |= err.code != 0;
		any = true;
	}
	status |= settings_by_engine(m, e, &any);
	if (!any)
		puts("nothing was claimed");
	return status;
}
