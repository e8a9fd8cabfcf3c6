/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a detail get what follows from others: steps, devices, depths and waits. */
#include "detail_load.h"

#include "npuprof/rank.h"
#include "npuprof/steps.h"

/* --- steps ----------------------------------------------------------------------------------- */

/* The step that the host was in; the pseudo step holds everything. */
static uint32_t host_step(const struct np_rank *rank, np_ns time)
{
	for (uint32_t i = 0; i < rank->steps.count; i++) {
		const struct np_step *step = &rank->steps.item[i];

		if (step->id == NP_STR_NONE || (step->host_begin != NP_UNKNOWN &&
						time >= step->host_begin && time < step->host_end))
			return i;
	}
	return NP_NO_STEP;
}

/* Rows come mostly in the order of time: the step of the last one is looked at first. */
struct host_steps {
	const struct np_rank *rank;
	bool apart; /* one after the other, as steps of a host are, so that one fits at most */
	uint32_t last;
};

static struct host_steps host_steps_of(const struct np_rank *rank)
{
	struct host_steps steps = { .rank = rank, .apart = rank->steps.count > 0 };

	for (size_t i = 0; i < rank->steps.count && steps.apart; i++) {
		const struct np_step *step = &rank->steps.item[i];

		steps.apart = step->host_begin != NP_UNKNOWN &&
			      step->host_begin <= step->host_end &&
			      (i == 0 || step[-1].host_end <= step->host_begin);
	}
	return steps;
}

static uint32_t find_host_step(struct host_steps *steps, np_ns time)
{
	const struct np_step *list = steps->rank->steps.item;
	size_t count = steps->rank->steps.count;

	if (!steps->apart || list[0].id == NP_STR_NONE)
		return host_step(steps->rank, time);
	while (steps->last > 0 && time < list[steps->last].host_begin)
		steps->last--;
	while (steps->last + 1 < count && time >= list[steps->last + 1].host_begin)
		steps->last++;
	return time >= list[steps->last].host_begin && time < list[steps->last].host_end
		       ? steps->last
		       : NP_NO_STEP;
}

static void place_device_rows(struct np_detail *detail)
{
	const struct np_rank *rank = detail->rank;

	/* Without windows the table of kernels names the step, and nothing else does. */
	if (!np_steps_have_windows(rank->steps.item, rank->steps.count))
		return;
	for (size_t i = 0; i < detail->kernels.count; i++)
		detail->kernels.item[i].step = np_steps_find(rank->steps.item, rank->steps.count,
							     detail->kernels.item[i].start);
	for (size_t i = 0; i < detail->tasks.count; i++)
		detail->tasks.item[i].step = np_steps_find(rank->steps.item, rank->steps.count,
							   detail->tasks.item[i].start);
}

#define PLACE_HOST_ROWS(list, steps) \
	for (size_t i_ = 0; i_ < (list).count; i_++) \
	(list).item[i_].step = find_host_step(&(steps), (list).item[i_].start)

static void place_host_rows(struct np_detail *detail)
{
	struct host_steps steps = host_steps_of(detail->rank);

	PLACE_HOST_ROWS(detail->calls, steps);
	PLACE_HOST_ROWS(detail->framework, steps);
	PLACE_HOST_ROWS(detail->marks, steps);
}

/* Traces of one device do not say which it is, and older databases neither of some rows. */
#define FILL_DEVICE(list, number) \
	for (size_t i_ = 0; i_ < (list).count; i_++) { \
		if ((list).item[i_].device < 0) \
			(list).item[i_].device = (number); \
	}

static void place_on_device(struct np_detail *detail)
{
	int32_t device = detail->rank->device_count <= 1 ? detail->rank->device : -1;

	FILL_DEVICE(detail->kernels, device);
	FILL_DEVICE(detail->tasks, device);
	FILL_DEVICE(detail->ops, device);
	FILL_DEVICE(detail->frequency, device);
	FILL_DEVICE(detail->memory_ops, device);
	FILL_DEVICE(detail->memory_curve, device);
	FILL_DEVICE(detail->memory_events, device);
	FILL_DEVICE(detail->static_memory, device);
}

/* --- depth ----------------------------------------------------------------------------------- */

/* Operators that are running on a thread, outermost first. */
struct open_calls {
	int64_t tid;
	NP_VEC(uint32_t) stack;
};

struct call_threads {
	NP_VEC(struct open_calls) list;
	struct np_idmap *index;
};

static struct open_calls *thread_of(struct call_threads *threads, int64_t tid, struct np_err *err)
{
	uint32_t known = np_idmap_get(threads->index, tid);
	struct open_calls *open;

	if (known != NP_IDMAP_NONE)
		return &threads->list.item[known];
	open = np_vec_add(&threads->list, err);
	if (!open ||
	    np_idmap_set(threads->index, tid, (uint32_t)(threads->list.count - 1), err) < 0)
		return NULL;
	open->tid = tid;
	return open;
}

/* Calls come by start, the outer first: those that ended by now are not around this one. */
static int measure_depth(struct detail_load *load, struct call_threads *threads)
{
	struct np_detail *detail = load->detail;

	for (uint32_t i = 0; i < detail->framework.count; i++) {
		struct np_framework_call *call = &detail->framework.item[i];
		struct open_calls *open;
		uint32_t *slot;

		if (call->kind != NP_FRAMEWORK_OP)
			continue;
		open = thread_of(threads, call->tid, load->err);
		if (!open)
			return NP_E_NOMEM;
		while (open->stack.count > 0 &&
		       detail->framework.item[open->stack.item[open->stack.count - 1]].end <
			       call->end)
			open->stack.count--;
		call->depth = (uint32_t)open->stack.count;
		call->top = open->stack.count == 0;
		slot = np_vec_add(&open->stack, load->err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = i;
	}
	return NP_OK;
}

static int find_depth(struct detail_load *load)
{
	struct call_threads threads = { .index = np_idmap_new() };
	int rc = threads.index ? measure_depth(load, &threads) : np_fail_nomem(load->err, "calls");

	for (size_t i = 0; i < threads.list.count; i++)
		np_vec_release(&threads.list.item[i].stack);
	np_vec_release(&threads.list);
	np_idmap_free(threads.index);
	return rc;
}

/* --- waits ----------------------------------------------------------------------------------- */

/*
 * The vendor's wait of a kernel: from the end of the row before it, kernel or
 * operator of the device in the order of their starts; the first has none.
 */
static void find_waits(struct np_detail *detail)
{
	np_ns before = NP_UNKNOWN;
	size_t op = 0;

	if (detail->rank->device_count > 1)
		return;
	for (size_t i = 0; i < detail->kernels.count; i++) {
		struct np_kernel *kernel = &detail->kernels.item[i];

		for (; op < detail->rank->ops.count &&
		       detail->rank->ops.item[op].start < kernel->start;
		     op++)
			before = i > 0 && detail->kernels.item[i - 1].start >
							 detail->rank->ops.item[op].start
					 ? before
					 : detail->rank->ops.item[op].end;
		kernel->wait =
			before == NP_UNKNOWN || before > kernel->start ? 0 : kernel->start - before;
		before = kernel->end;
	}
}

/* --- the framework in brief ------------------------------------------------------------------ */

/* Where calls of the framework were read in any case, dispatches are among their links. */
static int find_dispatches(struct detail_load *load)
{
	struct np_detail *detail = load->detail;

	np_vec_expect(&detail->dispatches, detail->links.count);
	for (size_t i = 0; i < detail->links.count; i++) {
		const struct np_framework_link *link = &detail->links.item[i];
		const struct np_framework_call *call = &detail->framework.item[link->call];
		struct np_dispatch *dispatch;

		if (link->kind != NP_LEADS_TO_TASK)
			continue;
		dispatch = np_vec_add(&detail->dispatches, load->err);
		if (!dispatch)
			return NP_E_NOMEM;
		*dispatch = (struct np_dispatch){ call->end, link->id };
	}
	return NP_OK;
}

/* Likewise operators are among them. */
static int find_operators(struct detail_load *load)
{
	struct np_detail *detail = load->detail;

	np_vec_expect(&detail->operators, detail->framework.count);
	for (size_t i = 0; i < detail->framework.count; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];
		struct np_operator *op;

		if (call->kind != NP_FRAMEWORK_OP)
			continue;
		op = np_vec_add(&detail->operators, load->err);
		if (!op)
			return NP_E_NOMEM;
		*op = (struct np_operator){ call->start, call->end, call->name };
	}
	return NP_OK;
}

/* --- everything ------------------------------------------------------------------------------ */

/* What was read only to be joined with. */
static void let_go(struct detail_load *load)
{
	struct np_detail *detail = load->detail;

	if (!(load->asked & NP_DETAIL_TASKS))
		np_vec_release(&detail->tasks);
	if (!(load->asked & NP_DETAIL_OPS))
		np_vec_release(&detail->ops);
	if (!(load->asked & NP_DETAIL_FRAMEWORK)) {
		np_vec_release(&detail->framework);
		np_vec_release(&detail->links);
	}
}

int detail_finish(struct detail_load *load)
{
	struct np_detail *detail = load->detail;
	int rc = load->asked & NP_DETAIL_DISPATCHES ? find_dispatches(load) : NP_OK;

	if (rc == NP_OK && load->asked & NP_DETAIL_OPERATORS)
		rc = find_operators(load);
	if (rc < 0)
		return rc;
	let_go(load);
	place_on_device(detail);
	place_device_rows(detail);
	place_host_rows(detail);
	rc = detail_sort(load);
	if (rc < 0)
		return rc;
	if (!load->waits_known)
		find_waits(detail);
	return load->asked & NP_DETAIL_DEPTH ? find_depth(load) : NP_OK;
}
