// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* Makes room for one more element; vectors grow by doubling from 8. */
static void *grown(void *v, size_t n, size_t size)
{
	if (n && (n < 8 || (n & (n - 1))))
		return v;
	return reallocarray(v, n ? 2 * n : 8, size);
}

void verb_name(const struct verb *verb, char ret[static VERB_NAME])
{
	snprintf(ret, VERB_NAME, "%s%s%s", verb->of ? verb->of : "", verb->of ? "/" : "",
		 verb->name);
}

int plan_step(struct plan *p, const struct verb *verb, const struct key *dev, const char *value,
	      struct err *err)
{
	struct step *steps;
	struct step s = { .verb = verb, .dev = *dev, .line = p->line };

	if (p->n_steps >= PLAN_STEPS)
		return fail(err, E2BIG,
			    "this takes more than %d steps; split it into several transactions",
			    PLAN_STEPS);
	verb_name(verb, s.verb_name);
	if (!STR_COPY(s.value, value))
		return fail(err, EINVAL, "%s: \"%s\" is too long", verb->name, value);
	steps = grown(p->steps, p->n_steps, sizeof(*steps));
	if (!steps)
		return fail_nomem(err);
	p->steps = steps;
	p->steps[p->n_steps++] = s;
	return 0;
}

int plan_step_forced(struct plan *p, const struct verb *verb, const struct key *dev,
		     const char *value, bool force, struct err *err)
{
	int rc = plan_step(p, verb, dev, value, err);

	if (!rc)
		p->steps[p->n_steps - 1].force = force;
	return rc;
}

static bool is_among(const struct key *dev, const struct key *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (key_eq(dev, &v[i]))
			return true;
	return false;
}

int plan_touch(struct plan *p, const struct key *dev, struct err *err)
{
	struct key *devices;
	uint16_t *lines;

	if (is_among(dev, p->devices, p->n_devices))
		return 0;
	if (p->n_devices >= PLAN_DEVICES)
		return fail(
			err, E2BIG,
			"this concerns more than %d devices; split it into several transactions",
			PLAN_DEVICES);
	devices = grown(p->devices, p->n_devices, sizeof(*devices));
	if (!devices)
		return fail_nomem(err);
	p->devices = devices;
	lines = grown(p->lines, p->n_devices, sizeof(*lines));
	if (!lines)
		return fail_nomem(err);
	p->lines = lines;
	p->lines[p->n_devices] = p->line;
	p->devices[p->n_devices++] = *dev;
	return 0;
}

void plan_free(struct plan *p)
{
	free(p->steps);
	free(p->devices);
	free(p->lines);
	free(p->requests);
	*p = (struct plan){ 0 };
}

void plan_print(const struct plan *p, struct out *o)
{
	char id[KEY_NAME + 8];

	if (!p->n_steps)
		out_printf(o, "nothing to do\n");
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *s = &p->steps[i];

		out_printf(o, "%zu %s %s %s%s\n", i + 1, key_id(&s->dev, id), s->verb->name,
			   s->value[0] ? s->value : "none", s->expected ? " (expected)" : "");
	}
}

/* By device: requests for one device are adjacent, those for its children last. */
static int by_device(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	int c = x->dev.bus != y->dev.bus ? (x->dev.bus > y->dev.bus) - (x->dev.bus < y->dev.bus)
					 : strcmp(x->dev.name, y->dev.name);

	c = c ? c : x->child - y->child;
	return c ? c : strcmp(x->file, y->file);
}

static const struct request *find_request(const struct plan *p, const struct key *dev,
					  uint16_t child, const char *file)
{
	struct request wanted = { .dev = *dev, .child = child };

	STR_COPY(wanted.file, file);
	return p->n_requests ? bsearch(&wanted, p->requests, p->n_requests, sizeof(*p->requests),
				       by_device)
			     : NULL;
}

const struct request *plan_requested(const struct plan *p, const struct key *dev, const char *file)
{
	return find_request(p, dev, 0, file);
}

const struct request *plan_requested_child(const struct plan *p, const struct key *parent,
					   unsigned int n, const char *file)
{
	return find_request(p, parent, (uint16_t)(n + 1), file);
}

/* A request on its way into the plan. */
struct plan_item {
	size_t asked;	  /* position in the request */
	struct request request; /* its child looked up, unless absent */
	const struct method *method;
	bool absent; /* its device does not exist yet */
	bool ends;   /* method.end; its expand is another item */
	int place;   /* -rank if it takes something away, rank if it brings something */
};

static int by_place(const void *a, const void *b)
{
	const struct plan_item *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->asked < y->asked ? -1 : x->asked > y->asked;
}

/* What the transaction says of the child with index n: 1: it will exist, -1: it will not, 0:
 * nothing. */
static int foretold(const struct plan *p, const struct method *const *methods,
		    const struct key *parent, unsigned int n)
{
	for (const struct method *const *m = methods; *m; m++) {
		const struct request *request =
			(*m)->brings ? plan_requested(p, parent, (*m)->file) : NULL;

		if (request && method_find(methods, request) == *m)
			return (*m)->brings(request, n) ? 1 : -1;
	}
	return 0;
}

/* Likewise for a device with a name. */
static int foretold_name(const struct plan *p, const struct key *dev)
{
	for (size_t i = 0; i < p->n_requests; i++)
		if (p->requests[i].made_by[0] && key_eq(&p->requests[i].dev, dev))
			return p->requests[i].value[0] ? 1 : -1;
	return 0;
}

static int refuse_absent(struct model *m, const struct method *const *methods,
			 const struct request *request, int told, struct err *err)
{
	const struct device *parent = model_find(m, request_parent(request));
	const struct method *maker;
	const char *file;
	char id[KEY_NAME + 8];

	if (!parent)
		return fail(err, ENODEV, "%s is gone", request_parent(request)->name);
	if (!request->child)
		return fail(err, ENODEV,
			    "%s is not there, and no line of this transaction makes it",
			    key_id(&request->dev, id));
	if (told)
		return fail(err, ENODEV,
			    "%s has no virtfn%u, and will have none at the end of this transaction",
			    parent->key.name, request->child - 1u);
	maker = method_maker(methods, parent);
	file = parent->facts.own_vfs ? "enabled" : maker ? maker->file : "sriov_numvfs";
	return fail(err, ENODEV, "%s has no virtfn%u, it has %d VFs; write its %s first",
		    parent->key.name, request->child - 1u,
		    parent->facts.num_vfs > 0 ? parent->facts.num_vfs : 0, file);
}

static int check_item(struct model *m, const struct plan_item *it, struct err *err)
{
	const struct key *key = it->absent ? request_parent(&it->request) : &it->request.dev;
	const struct device *dev = model_find(m, key);

	if (!dev)
		return fail(err, ENODEV, "%s is gone", key->name);
	if (!it->method)
		return fail(err, EOPNOTSUPP, "%s has no %s that can be written", dev->key.name,
			    it->request.file);
	if (!method_can(it->method, dev))
		return device_lacks(dev, it->absent ? it->request.made_by : it->request.file, err);
	return 0;
}

/* Nothing can be requested of a device that the same transaction removes. */
static int refuse_doomed(struct model *m, const struct method *const *methods, const struct plan *p,
			 const struct request *request, struct err *err)
{
	const struct device *dev = model_find(m, &request->dev);
	const struct facts *f = &dev->facts;

	if (!f->parent.bus || f->index < 0 ||
	    foretold(p, methods, &f->parent, (unsigned int)f->index) >= 0)
		return 0;
	return fail(err, EINVAL,
		    "%s is virtfn%d of %s, which has fewer VFs at the end of this transaction",
		    dev->key.name, f->index, f->parent.name);
}

static int make_item(struct model *m, const struct method *const *methods, const struct plan *p,
		     struct plan_item *it, struct err *err)
{
	const struct request *request = &it->request;
	bool makes = request->made_by[0], down;
	int r = 1;

	it->method = method_find(methods, request);
	it->absent = request_parent(request);
	if (it->absent && !makes)
		r = request->child ? foretold(p, methods, &request->dev, request->child - 1u)
				: foretold_name(p, &request->dev);
	if (r <= 0)
		return refuse_absent(m, methods, request, r, err);
	r = it->absent && !makes ? 0 : check_item(m, it, err);
	if (r || !it->method)
		return r;
	down = it->method->down && !it->absent && it->method->down(m, request);
	it->place = down ? -it->method->rank : it->method->rank;
	return down || it->absent ? 0 : refuse_doomed(m, methods, p, request, err);
}

/* A device may be named by its address and as its PF's VF: each of its files gets one value. */
static int refuse_twice(const struct plan *p, struct err *err)
{
	for (size_t i = 1; i < p->n_requests; i++)
		if (!by_device(&p->requests[i - 1], &p->requests[i]))
			return err_blame(
				err,
				fail(err, EINVAL,
				     "%s is named in two ways, and its %s is written twice in one transaction",
				     p->requests[i].dev.name, p->requests[i].file),
				p->requests[i].line);
	return 0;
}

/* Fills in the plan's own copy of the requests, and the items in the order of writing. */
static int resolve(struct model *m, const struct request *requests, size_t n,
		   struct plan_item *items, struct plan *p, struct err *err)
{
	struct request *sorted = calloc(n ? n : 1, sizeof(*sorted));

	if (!sorted)
		return fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		request_resolve(m, &requests[i], &sorted[i]);
		items[i].request = sorted[i];
		items[i].asked = i;
	}
	qsort(sorted, n, sizeof(*sorted), by_device);
	p->requests = sorted;
	p->n_requests = n;
	return refuse_twice(p, err);
}

/* The steps for a device that an earlier request will make can only be predicted. */
static int foretell(struct model *m, const struct plan_item *it, struct plan *p, struct err *err)
{
	const struct device *parent = model_find(m, request_parent(&it->request));
	struct request w = it->request;
	char virtfn[16] = "";

	p->more = true;
	if (!p->predict || !it->method || !it->method->predict)
		return 0;
	if (w.child)
		snprintf(virtfn, sizeof(virtfn), "/virtfn%u", w.child - 1u);
	w.child = 0;
	snprintf(w.dev.name + strlen(w.dev.name), sizeof(w.dev.name) - strlen(w.dev.name), "%s",
		 virtfn);
	return it->method->predict(m, parent, &w, p, err);
}

/* In a prediction: an existing VF whose PF's earlier steps make it anew counts as one that will
 * come. */
static bool is_remade(struct model *m, const struct plan *p, const struct plan_item *it,
		      struct plan_item *ret_vf)
{
	const struct device *dev = it->absent ? NULL : model_find(m, &it->request.dev);

	if (!p->predict || !dev || dev->facts.index < 0)
		return false;
	for (size_t i = 0; i < p->n_steps; i++)
		if (step_remakes(&p->steps[i], &dev->facts.parent)) {
			*ret_vf = *it;
			ret_vf->request.dev = p->steps[i].dev;
			ret_vf->request.child = (uint16_t)(dev->facts.index + 1);
			ret_vf->absent = true;
			return true;
		}
	return false;
}

static int expand_item(struct model *m, const struct plan_item *it, struct plan *p, struct err *err)
{
	const struct device *dev = it->absent ? NULL : model_find(m, &it->request.dev);

	return (it->ends ? it->method->end : it->method->expand)(m, dev, &it->request, p, err);
}

/* Expands the items in order, up to the first barrier that has something to do. */
static int expand_items(struct model *m, const struct plan_item *items, size_t n, struct plan *p,
			struct err *err)
{
	bool behind = false; /* a barrier */

	for (size_t i = 0; i < n; i++) {
		struct plan_item vf;
		bool remade = is_remade(m, p, &items[i], &vf);
		const struct plan_item *it = remade ? &vf : &items[i];
		size_t before = p->n_steps;
		bool past = behind && it->place != items[i - 1].place, later;
		int r;

		if (past && !p->predict) {
			p->more = true;
			return 0;
		}
		if (remade && it->ends)
			continue; /* it ends with its PF's VFs */
		p->line = it->request.line;
		later = it->absent && !it->request.made_by[0];
		r = later ? foretell(m, it, p, err) : expand_item(m, it, p, err);
		if (r)
			return err_blame(err, r, p->line);
		for (size_t s = before; s < p->n_steps; s++)
			p->steps[s].expected |= past || later;
		behind |= it->method && it->method->barrier && !it->ends && p->n_steps > before;
	}
	return 0;
}

static int refuse_busy(struct model *m, const struct device *dev, plan_is_ours *is_ours,
		       const void *ctx, struct err *err)
{
	const struct device *parent = model_parent(m, dev);

	if (is_ours && is_ours(ctx, dev))
		return 0;
	if (dev->busy[0] && dev->stuck[0])
		return fail(err, EBUSY, "%s is busy: %s has not ended yet: %s", dev->key.name,
			    dev->busy, dev->stuck);
	if (dev->busy[0])
		return fail(err, EBUSY, "%s is busy: %s is running; wait for it and write again",
			    dev->key.name, dev->busy);
	if (!parent || !parent->busy[0] || (is_ours && is_ours(ctx, parent)))
		return 0;
	return fail(err, EBUSY,
		    "%s is a %s of %s, which is busy: %s is running; wait for it and write again",
		    dev->key.name, device_is_vf(dev) ? "VF" : "child", parent->key.name,
		    parent->busy);
}

int plan_refuse_busy_device(struct model *m, const struct key *device, plan_is_ours *is_ours,
			    const void *ctx, struct err *err)
{
	const struct device *dev = model_find(m, device);
	int rc = dev ? refuse_busy(m, dev, is_ours, ctx, err) : 0;

	if (rc && err)
		err->passing = true;
	return rc;
}

int plan_refuse_busy(struct model *m, const struct plan *p, plan_is_ours *is_ours, const void *ctx,
		     struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < p->n_devices && !rc; i++)
		rc = err_blame(err, plan_refuse_busy_device(m, &p->devices[i], is_ours, ctx, err),
			       p->lines[i]);
	for (size_t i = 0; i < p->n_requests && !rc && !is_ours; i++)
		if (!request_parent(&p->requests[i]))
			rc = err_blame(
				err,
				plan_refuse_busy_device(m, &p->requests[i].dev, NULL, NULL, err),
				p->requests[i].line);
	return rc;
}

static bool replaces(const struct plan_item *it)
{
	return it->method && it->method->end && !it->absent && it->place > 0;
}

static struct plan_item ending_of(const struct plan_item *it)
{
	struct plan_item ending = *it;

	ending.ends = true;
	ending.place = -it->method->rank;
	return ending;
}

int plan_make(struct model *m, const struct method *const *methods, const struct request *requests,
	      size_t n, bool predict, struct plan *ret, struct err *err)
{
	_free_ struct plan_item *items = calloc(2 * n + 1, sizeof(*items));
	size_t n_items = n;
	int r;

	*ret = (struct plan){ .predict = predict };
	if (!items)
		return fail_nomem(err);
	r = resolve(m, requests, n, items, ret, err);
	for (size_t i = 0; i < n && !r; i++)
		r = err_blame(err, make_item(m, methods, ret, &items[i], err),
			      items[i].request.line);
	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (replaces(&items[i]))
			items[n_items++] = ending_of(&items[i]);
	qsort(items, n_items, sizeof(*items), by_place);
	return expand_items(m, items, n_items, ret, err);
}
