// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that lie in a directory of a device's directory: those of mig/. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/ctl/lines.h"
#include "fs/request.h"
#include "baretree.h"
#include "pcidevfs/err.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "test.h"

#define CARD "0000:41:00.0"
/* As pcidevfs-nvml answers `mig` and `instances`. */
#define LINES                                                                                      \
	"mode 1 1\n"                                                                               \
	"profile 19 7 1 9984 1 0,1,2,3,4,5,6:1 1g.10gb\n"                                          \
	"profile 9 2 -1 40448 3 0,4:4 3g.40gb\n"                                                   \
	"instance 1 9 0 4\ncompute 1 0 0 1 1c.3g.40gb\ncompute 1 1 1 1 1c.3g.40gb\n"               \
	"instance 2 9 4 4\ncompute 2 0 0 3 3g.40gb\n"                                              \
	"instance 7 19 6 1\nprocess 812 7 0\n"

static struct tree *tree;

/* A card in a tree as the daemon makes it, but for FUSE. */
static void start(uint32_t caps)
{
	static struct tree_conf conf = { .boot_id = "boot" };
	struct device *d;
	struct key key;

	tree = bare_tree(&conf);
	CHECK(key_make(BUS_PCI, CARD, &key));
	model_lock(conf.model);
	d = model_edit(conf.model, &key, true);
	d->facts = facts_none;
	d->facts.caps = caps;
	mig_keep(conf.model, d, LINES);
	model_publish(conf.model);
	model_unlock(conf.model);
	CHECK(model_sync(conf.model, model_generation(conf.model), 10000));
}

static void edit(uint32_t caps, const char *lines, const char *lack)
{
	struct model *m = tree->conf.model;
	struct device *d;
	struct key key;

	CHECK(key_make(BUS_PCI, CARD, &key));
	model_lock(m);
	d = model_edit(m, &key, false);
	d->facts.caps = caps;
	mig_keep(m, d, lines);
	STR_COPY(d->facts.mig_lack, lack);
	model_publish(m);
	model_unlock(m);
	CHECK(model_sync(m, model_generation(m), 10000));
}

static uint32_t slot(void)
{
	return objects_find(tree->objects, OBJ_DEVICE, 0, CARD);
}

static struct node node_of(const char *file)
{
	const struct attr *row = file ? attr_by_name(OBJ_DEVICE, file) : NULL;
	struct node n;

	CHECK_EQ(node_get(tree, objects_ino(tree->objects, slot(), row ? row->id : ROW_SELF), &n),
		 0);
	return n;
}

static nlink_t links_of(const char *file)
{
	const struct node n = node_of(file);
	struct stat st;

	node_stat(tree, &n, n.row, &st);
	CHECK_EQ(st.st_mode, S_IFDIR | 0755);
	return st.st_nlink;
}

DEFINE_TEST(a_row_lies_in_its_directory)
{
	const struct attr *dir = attr_by_name(OBJ_DEVICE, "mig");
	const struct attr *row = attr_by_name(OBJ_DEVICE, "mig/profiles");
	char path[NODE_PATH];
	struct node card, mig;

	start(CAP_MIG);
	card = node_of(NULL);
	mig = node_of("mig");
	CHECK(row_is_in(dir, NULL) && !row_is_in(dir, dir) && !row_dir(OBJ_DEVICE, dir));
	CHECK(row_is_in(row, dir) && !row_is_in(row, NULL) && row_dir(OBJ_DEVICE, row) == dir);
	CHECK_STR(row_leaf(row), "profiles");
	CHECK(attr_by_name(OBJ_DEVICE, node_path(&mig, "profiles", path)) == row);
	CHECK(!attr_by_name(OBJ_DEVICE, node_path(&mig, "claim", path)));
	CHECK_STR(attr_by_name(OBJ_DEVICE, node_path(&card, "profiles", path))->name, "profiles");
	CHECK_EQ(node_dir(&mig, mig.row), card.ino);
	CHECK_EQ(node_dir(&card, row), mig.ino);
	CHECK(node_is_dir(&mig) && !node_entries(&mig));
	CHECK_EQ(links_of(NULL), 3);
	CHECK_EQ(links_of("mig"), 2);
	tree_stop(tree);
}

DEFINE_TEST(each_slash_names_a_directory)
{
	const struct attr *row;

	for (size_t i = 0; (row = row_at(OBJ_DEVICE, i)); i++) {
		const struct attr *dir = row_dir(OBJ_DEVICE, row);

		CHECK(!strchr(row->name, '/') == !dir);
		CHECK(!strchr(row_leaf(row), '/'));
		CHECK(!dir || (S_ISDIR(dir->mode) && !dir->entries && row_fits(dir, row->caps)));
	}
}

static bool is_noted(const struct forgets *notes, uint64_t ino, const char *name)
{
	for (size_t i = 0; i < notes->n; i++)
		if (notes->v[i].what == FORGET_ENTRY && notes->v[i].ino == ino &&
		    !strcmp(notes->v[i].name, name))
			return true;
	return false;
}

/* The kernel forgets each name where it has it, and the list of either directory. */
DEFINE_TEST(a_lost_directory_is_forgotten_with_its_rows)
{
	struct forgets notes = { 0 };
	struct node card, mig, n;
	struct device dev;

	start(CAP_MIG);
	card = node_of(NULL);
	mig = node_of("mig");
	edit(0, LINES, "");
	CHECK_EQ(node_get(tree, mig.ino, &n), -ESTALE);
	edit(CAP_MIG, LINES, "");
	CHECK_EQ(node_get(tree, mig.ino, &n), 0);
	dev = card.dev;
	dev.caps &= ~(uint32_t)CAP_MIG;
	pthread_mutex_lock(&tree->lock);
	views_place(tree, slot(), &dev, &notes);
	pthread_mutex_unlock(&tree->lock);
	CHECK(is_noted(&notes, card.ino, "mig"));
	CHECK(is_noted(&notes, mig.ino, "profiles"));
	CHECK(!is_noted(&notes, card.ino, "mig/profiles") &&
	      !is_noted(&notes, card.ino, "profiles"));
	free(notes.v);
	tree_stop(tree);
}

static void check_split(const char *path, const char *file)
{
	CHECK_STR(path + line_file(path), file);
}

DEFINE_TEST(a_line_names_a_file_in_a_directory)
{
	check_split("claim", "claim");
	check_split("mig/mode", "mig/mode");
	check_split("mig/", "mig/");
	check_split("/mig/mode", "mig/mode");
	check_split(CARD "/claim", "claim");
	check_split(CARD "/mig", "mig");
	check_split(CARD "/mig/mode", "mig/mode");
	check_split(CARD "/virtfn3/mig/mode", "mig/mode");
	check_split("usb/2-1/claim", "claim");
	check_split("usb/2-1/mig/mode", "mig/mode");
	check_split(CARD "/migs/mode", "mode");
	check_split(CARD "/mi/mode", "mode");
	check_split(CARD "/mig/mode/x", "x");
}

static void check_shows(const char *file, const char *text)
{
	struct node n = node_of(file);
	struct out o = { 0 };

	n.subject.dev = &n.dev; /* of the copy */
	row_show(n.row, &n.subject, &o);
	CHECK_STR(out_text(&o), text);
	out_free(&o);
}

DEFINE_TEST(files_of_mig_read_as_the_driver_tells)
{
	start(CAP_MIG);
	check_shows("mig/support", "yes\n");
	check_shows("mig/mode", "1\n");
	check_shows("mig/layout", "1c.3g.40gb*2 3g.40gb 1g.10gb\n");
	check_shows("mig/profiles",
		    "name=1g.10gb id=19 max=7 available=1 memory_mib=9984 slices=1 "
		    "placements=0,1,2,3,4,5,6:1\n"
		    "name=3g.40gb id=9 max=2 memory_mib=40448 slices=3 placements=0,4:4\n");
	check_shows("mig/instances",
		    "id=1 profile=3g.40gb placement=0:4 compute=1c.3g.40gb*2 used=0\n"
		    "id=2 profile=3g.40gb placement=4:4 compute=3g.40gb used=0\n"
		    "id=7 profile=1g.10gb placement=6:1 compute=none used=1\n");
	tree_stop(tree);
}

/* Nothing is known, for example because the card is passed through. */
DEFINE_TEST(files_of_mig_say_what_is_missing)
{
	static const char *const files[] = { "mig/mode", "mig/profiles", "mig/instances",
					     "mig/layout" };

	start(CAP_MIG);
	edit(CAP_MIG, "", "0000:41:00.0 is passed through");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		check_shows(files[i], "none\n");
	check_shows("mig/support", "0000:41:00.0 is passed through\n");
	tree_stop(tree);
}

static void check_store(const char *file, const char *text, int code, const char *value)
{
	const struct node n = node_of(file);
	struct request request = { 0 };
	struct err err = { 0 };

	CHECK_EQ(request_parse(&n.subject, n.row, text, &request, &err), -code);
	if (code)
		CHECK_IN(err.text, value);
	else
		CHECK_STR(request.value, value);
	CHECK(code || !strcmp(request.file, file));
}

DEFINE_TEST(what_is_written_to_files_of_mig)
{
	char longest[MIG_LAYOUT + 1];

	memset(longest, 'x', MIG_LAYOUT);
	longest[MIG_LAYOUT] = '\0';
	start(CAP_MIG);
	check_store("mig/mode", "on", 0, "1");
	check_store("mig/mode", "0", 0, "0");
	check_store("mig/mode", "2", EINVAL, "mig/mode: \"2\" is neither 1");
	check_store("mig/layout", "none", 0, "");
	check_store("mig/layout", "1g.10gb 3g.40gb  1g.10gb", 0, "3g.40gb 1g.10gb*2");
	check_store("mig/layout", "", EINVAL, "mig/layout: the value is empty");
	check_store("mig/layout", "  ", EINVAL, "mig/layout: the value is empty");
	check_store("mig/layout", "2g.20gb", EINVAL,
		    "mig/layout: \"2g.20gb\" is not a MIG profile of this card, which has 1g.10gb, "
		    "3g.40gb");
	check_store("mig/layout", "3g.40gb*3", ERANGE, "mig/layout: 3 of 3g.40gb are wanted");
	/* Of a card that nobody can ask now the planner judges the names. */
	edit(CAP_MIG, "", "");
	check_store("mig/layout", "2g.20gb*2", 0, "2g.20gb*2");
	check_store("mig/layout", longest, EINVAL, "a layout has at most 159 characters");
	tree_stop(tree);
}
