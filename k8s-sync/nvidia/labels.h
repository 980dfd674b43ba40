/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVIDIA's labels of a core Node, by which it is told what its GPUs shall be (spec/peers.md 4.9). A
 * further label is a row. Pure: the Node and the tree come in, what is to be done goes out. */
#ifndef SYNC_NVIDIA_LABELS_H
#define SYNC_NVIDIA_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/layout/layout.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/agree/kinds.h"
#include "pcidevfs/err.h"

/* In the order in which they are carried out. */
enum label_id { WORKLOAD_LABEL, MIG_LABEL, VGPU_LABEL, NODE_LABELS };

enum { LABEL_NOTE = 1024 };

/* Who has what a workload's label has taken. */
#define LABEL_OWNER "nvidia.com"

/* A label as the Node has it; "" for what it has not. */
struct label_now {
	char value[LABEL_VALUE + 1], state[LABEL_VALUE + 1];
	/* What was agreed last: the value, and struct layout's hash or the GPUs that were left; or
	 * the value whose change has begun, which is what no plan agrees to. */
	char note[LABEL_NOTE];
};

/* What a value asks of the tree. */
struct label_plan {
	char value[LABEL_VALUE + 1];
	char note[LABEL_NOTE]; /* once it is carried out */
	char begun[LABEL_NOTE]; /* before its first transaction; "": what was agreed stays so */
	char ended[LABEL_NOTE]; /* where nobody knows how much of it is carried out */
	char **lines;		     /* transactions */
	size_t n;
	struct out told; /* what ends, or is left as it is; empty: nothing */
	struct layout layout;
	uint64_t world; /* as label_world() says of the tree that it was made of */
	struct err err; /* code not 0: nothing can be done */
};

/* What a value means. */
struct label_source {
	const char *path, *text; /* of the file with the layouts */
	const char *why;	 /* text is NULL: the sentence that says so, with the path */
	const char *note;	 /* what was agreed last */
	struct layout_view view;
	bool nvswitches; /* a workload takes them as well */
};

struct label_row {
	const char *label, *state; /* state NULL: NVIDIA has none */
	const char *note;	   /* an annotation */
	/* It counts only while the Node is of this workload, or of none. */
	const char *workload;
	/* Fills lines, told and layout, or err. */
	void (*make)(const struct label_source *source, struct label_plan *plan);
};

extern const struct label_row label_rows[NODE_LABELS];

/* Is it one of the values of the workload's label? */
bool label_is_workload(const char *value);

void labels_read(json_object *node, struct label_now ret[static NODE_LABELS]);
/* The value that counts; NULL: none does, and all stays as it is. fallback: of each label, what
 * counts where there is neither a label nor anything agreed; NULL: nothing does. */
const char *label_value(enum label_id id, const struct label_now now[static NODE_LABELS],
			const char *const fallback[static NODE_LABELS]);

/* Frees what the plan has first. */
void label_plan(enum label_id id, const char *value, const struct label_source *source,
		struct label_plan *ret);
void label_plan_free(struct label_plan *p);
/* A workload: its i-th transaction was refused, so that GPU is left, too. */
void label_plan_left(struct label_plan *p, size_t i);
/* May there be more GPUs for it, those that were left or new ones, whenever the tree changes? */
bool label_goes_on(const struct label_now *now);
/* Once this workload is carried out, what another label made does not count any more, so that it is
 * made again when it comes to count again. */
bool label_ends(const char *workload, enum label_id other);
/* Adds that to a merge patch of the Node, and makes one if *patch is NULL. */
void label_end(enum label_id id, const struct label_now *now, json_object **patch);
/* Has a change of a value begun, and not been told its end? Gets the value. */
bool label_begun(const struct label_now *now, char ret[static LABEL_VALUE + 1]);
/* Has it vGPUs? A workload leaves it then. */
bool label_has_vgpus(const struct tree_inventory *inv, const struct tree_device *gpu);
#define LABEL_VGPUS "it has vGPUs; end them first"

enum label_act {
	LABEL_REST,
	LABEL_READ, /* makes a plan */
	LABEL_RUN,  /* commits its transactions */
};

struct label_step {
	enum label_act act;
	/* That the Node shall have; NULL: as it is. note: often the plan's own. */
	const char *state, *note;
};

/* plan: of the value, as the file and the tree are; NULL: none is made yet. ran: its transactions
 * have ended, failed: with a refusal. repeated: it has failed before, and is tried again. settles:
 * another value counts by now, or none, so nothing more is run. before: the note of before it,
 * which comes back if nothing was changed; NULL: it is not known, or something may be. */
struct label_case {
	const struct label_now *now;
	const struct label_plan *plan;
	const char *before;
	bool ran, failed, repeated, settles;
};

struct label_step label_decide(const struct label_case *c);
/* The merge patch by which the Node gets them; NULL: it has them. The caller's. */
json_object *label_patch(enum label_id id, const struct label_now *now,
			 const struct label_step *step);

#endif
