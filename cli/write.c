// SPDX-License-Identifier: GPL-2.0-or-later
#include "write.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "cli.h"
#include "client/ctl.h"
#include "out.h"
#include "pcidevfs/err.h"

#define STEP "step "

/* ---- answers */

int print_steps(struct cli *cli, const char *answers, bool changed, struct err *err)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	struct out out = { 0 };

	for (size_t len, number; *answers; answers += *answers == '\n') {
		/* "step 1 TEXT" of ctl, "1 TEXT" of plan */
		answers += strncmp(answers, STEP, strlen(STEP)) ? 0 : strlen(STEP);
		len = strcspn(answers, "\n");
		number = strspn(answers, "0123456789");
		if (number && number < len) {
			out_printf(&out, "%.*s\n", (int)len, answers);
			json_object_array_add(list,
					      json_object_new_string_len(answers + number + 1,
									 (int)(len - number - 1)));
		}
		answers += len;
	}
	if (!out.len)
		out_printf(&out, "no steps\n");
	changed |= json_object_array_length(list) > 0;
	json_object_object_add(o, "changed", json_object_new_boolean(changed));
	json_object_object_add(o, "dry_run",
			       json_object_new_boolean(cli->opt[OPT_DRY_RUN] != NULL));
	json_object_object_add(o, "steps", list);
	return print_either(cli, 0, &out, o, err);
}

/* ---- the transaction */

int transaction_add(struct transaction *t, const struct target *target, const char *file,
		    const char *value, struct err *err)
{
	struct cli_line *more = more_rows(t->lines, t->n, &t->cap, sizeof(*more));

	if (!more)
		return fail_nomem(err);
	t->lines = more;
	if (strpbrk(file, "\n ") || !*file)
		return fail(err, EINVAL, "\"%.60s\" is not a file of a device", file);
	if (strchr(value, '\n'))
		return fail(err, EINVAL, "%s: the value has more than one line", file);
	more[t->n++] = (struct cli_line){ target, file, value };
	return 0;
}

static char *text_of(struct cli *cli, const struct cli_line *l, const char *file)
{
	return tree_text(cli, "%s/%s%s", l->target->dir, l->target->within, file);
}

/* Does a file read something else than before, or with --dry-run than its line asks for? */
static bool differs(struct cli *cli, const struct transaction *t)
{
	bool same = true;

	for (const struct cli_line *l = t->lines; l < t->lines + t->n && same; l++) {
		const char *other = cli->opt[OPT_DRY_RUN] ? l->value : l->was;
		_free_ char *now = text_of(cli, l, l->file);

		same = now && other && !strcmp(now, other);
	}
	return !same;
}

/* For whoever may write plan, or the file, but not the ctl beside it. */
static int without_ctl(struct cli *cli, const struct cli_line *l, bool dry, char **ret_answers,
		       struct err *err)
{
	_free_ char *text = NULL, *said = NULL;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%s%s", l->target->dir, l->target->within,
		 dry ? "plan" : l->file);
	if (asprintf(&text, "%s %s", l->file, l->value) < 0)
		return fail_nomem(err);
	if (dry) {
		r = tree_exchange(cli, path, text, ret_answers, err);
		return r ?: ctl_verdict(*ret_answers, 0, err);
	}
	r = tree_exchange(cli, path, l->value, NULL, err);
	if (r && r != -EACCES && (said = text_of(cli, l, "last_error")))
		fail(err, -r, "%s", said);
	return r;
}

/* One device's own ctl is for whoever owns the device; the root's takes several. */
static bool is_of_one(const struct cli *cli, const struct transaction *t)
{
	for (size_t i = 1; i < t->n; i++)
		if (strcmp(t->lines[i].target->dir, t->lines[0].target->dir) != 0)
			return false;
	return t->n && !cli->opt[OPT_FORCE];
}

/* Checks the transaction, or commits it. */
static int exchange(struct cli *cli, const struct transaction *t, bool dry, char **ret_answers,
		    struct err *err)
{
	bool one = is_of_one(cli, t);
	struct out text = { 0 };
	char path[128] = "ctl";
	int r;

	if (one)
		snprintf(path, sizeof(path), "%s/ctl", t->lines[0].target->dir);
	for (const struct cli_line *l = t->lines; l < t->lines + t->n; l++) {
		out_printf(&text, "%s%s%s %s\n", one ? l->target->within : l->target->id,
			   one ? "" : "/", l->file, l->value);
		if (cli->opt[OPT_FORCE])
			out_printf(&text, "force %s\n", l->target->id);
	}
	out_printf(&text, dry ? "check\n" : "commit\n");
	r = text.failed ? fail_nomem(err)
			: tree_exchange(cli, path, out_text(&text), ret_answers, err);
	if (r == -ECONNRESET) { /* the daemon was restarted in between, and says: begin again */
		free(*ret_answers);
		*ret_answers = NULL;
		r = tree_exchange(cli, path, out_text(&text), ret_answers, err);
	}
	out_free(&text);
	if (*ret_answers)
		return ctl_verdict(*ret_answers, r, err);
	if (r == -EACCES && one && t->n == 1)
		return without_ctl(cli, t->lines, dry, ret_answers, err);
	if (r == -EACCES && !one)
		return fail(
			err, EACCES,
			cli->verb->run == verb_apply
				? "%s/ctl, which a layout of several devices needs, is for root "
				  "and the group pcidevfs; become one of them, or apply a layout "
				  "for each device"
				: "%s/ctl, which --force and several devices together need, is "
				  "for root and the group pcidevfs; name one device at a time",
			cli->tree);
	return r;
}

int transaction_run(struct cli *cli, struct transaction *t, struct err *err)
{
	bool dry = cli->opt[OPT_DRY_RUN], json = cli->opt[OPT_JSON];
	_free_ char *steps = NULL, *answers = NULL;
	int r = 0;

	if (!t->n)
		return dry || json ? print_steps(cli, "", false, err) : 0;
	for (size_t i = 0; i < t->n && json; i++)
		t->lines[i].was = text_of(cli, &t->lines[i], t->lines[i].file);
	if (dry || json) /* which tells the steps */
		r = exchange(cli, t, true, &steps, err);
	if (!dry) /* what check refuses may be possible a moment later: this is the verdict */
		r = exchange(cli, t, false, &answers, err);
	if (!r && (dry || json))
		r = print_steps(cli, steps ?: "", t->changed || (json && differs(cli, t)), err);
	for (size_t i = 0; i < t->n; i++)
		free(t->lines[i].was);
	free(t->lines);
	return r;
}

int verb_setting(struct cli *cli, struct err *err)
{
	const char *value = cli->verb->value ?: cli->argv[cli->argc - 1];
	struct transaction t = { 0 };
	struct targets named = { 0 };
	struct err none = { 0 };
	int r = targets_read(cli, cli->argv, cli->argc - !cli->verb->value, err);

	/* NAME was forgotten, and the last device would be taken for it. */
	if (!r && strchr(cli->verb->words, 'n') && !target_find(&cli->inv, value, &named, &none))
		r = wrong_use(cli->verb, "\"%s\" is a device", value);
	targets_free(&named);
	for (size_t i = 0; i < cli->targets.n && !r; i++)
		r = transaction_add(&t, &cli->targets.v[i], cli->verb->file, value, err);
	return r ?: transaction_run(cli, &t, err);
}
