/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

#include "npuprof/workers.h"

#define NO_COMMUNICATOR UINT32_MAX

/* --- the walk ----------------------------------------------------------------------------------
 */

/* One block is walked over while the next one is looked at. */
struct stride {
	struct tracer *tracer;
	const struct ahead_block *now;
	struct ahead_block *next;
	int rc; /* of the walk */
};

static void take_stride(void *context, size_t job)
{
	struct stride *stride = context;
	const struct seen *seen = stride->now->instances.item;
	size_t count = stride->now->instances.count;

	if (job > 0) {
		ahead_look(&stride->tracer->ahead, stride->next, job - 1);
		return;
	}
	for (size_t i = 0; i < count && stride->rc == NP_OK; i++) {
		if (i + 8 < count)
			__builtin_prefetch(seen[i + 8].instance);
		stride->rc = trace_instance(stride->tracer, &seen[i]);
	}
}

static int walk(struct tracer *tracer, size_t threads)
{
	struct ahead *ahead = &tracer->ahead;
	struct np_workers workers = { .threads = threads };
	struct stride stride = { .tracer = tracer,
				 .now = &ahead->blocks[0],
				 .next = &ahead->blocks[1] };
	int rc = NP_OK;

	while (rc == NP_OK) {
		rc = ahead_fill(ahead, stride.next, tracer->err);
		if (rc < 0 || stride.now->instances.count + stride.next->instances.count == 0)
			break;
		np_workers_run(&workers, 1 + ahead->buckets, take_stride, &stride);
		rc = stride.rc;
		if (rc == NP_OK)
			rc = ahead_check(ahead, tracer->err);
		stride.now = stride.next;
		stride.next = &ahead->blocks[stride.now == &ahead->blocks[0]];
	}
	return rc;
}

static void decide_rows(struct tracer *tracer)
{
	const struct np_align *align = tracer->align;

	for (size_t row = 0; row < tracer->charges->rows.count; row++) {
		const struct row_parts *parts = &tracer->row_parts[row];
		struct np_root_cause_row *decided = &tracer->causes->rows[row];
		int most = 0;

		for (int part = 1; part < ROW_PARTS; part++)
			most = parts->by[part] > parts->by[most] ? part : most;
		if (parts->by[most] <= 0)
			most = NP_CAUSE_UNKNOWN;
		decided->via = NO_COMMUNICATOR;
		decided->cause = most == ROW_PASSED ? NP_CAUSE_COMMUNICATION : (enum np_cause)most;
		if (most == ROW_PASSED)
			decided->via =
				np_align_instance(align, align->slots[parts->via_at])->communicator;
	}
}

static int trace(struct tracer *tracer, size_t threads)
{
	int rc = ahead_init(&tracer->ahead, &tracer->explainer, threads, tracer->err);

	if (rc == NP_OK)
		rc = progress_init(&tracer->progress, tracer->align, tracer->explainer.waits,
				   threads, tracer->err);
	if (rc == NP_OK)
		rc = common_init(&tracer->common, tracer->align, &tracer->progress, tracer->err);
	if (rc == NP_OK)
		rc = tracer_index_rows(tracer);
	if (rc == NP_OK)
		rc = walk(tracer, threads);
	if (rc == NP_OK) {
		trace_left_behind(tracer);
		steps_count_heavy(&tracer->steps, tracer->causes);
		decide_rows(tracer);
	}
	return rc;
}

static bool allocate(struct tracer *tracer)
{
	const struct np_align *align = tracer->align;
	struct np_root_causes *causes = tracer->causes;

	causes->ranks = calloc(causes->rank_count + 1, sizeof(*causes->ranks));
	causes->rows = calloc(tracer->charges->rows.count + 1, sizeof(*causes->rows));
	tracer->passed.page =
		calloc((size_t)align->op_count / AMOUNT_PAGE + 1, sizeof(*tracer->passed.page));
	tracer->edge_index = np_idmap_new();
	tracer->row_index = np_idmap_new();
	tracer->steps.index = np_idmap_new();
	tracer->row_places = calloc(align->coverage.count + 1, sizeof(*tracer->row_places));
	tracer->row_parts = calloc(tracer->charges->rows.count + 1, sizeof(*tracer->row_parts));
	tracer->explainer.found = common_found_new(align);
	return causes->ranks && causes->rows && tracer->passed.page && tracer->edge_index &&
	       tracer->row_index && tracer->steps.index && tracer->row_places &&
	       tracer->row_parts && tracer->explainer.found;
}

static void release_tracer(struct tracer *tracer)
{
	ahead_release(&tracer->ahead);
	common_release(&tracer->common);
	progress_release(&tracer->progress);
	free(tracer->passed.page);
	np_vec_release(&tracer->passed.pages);
	free(tracer->explainer.found);
	explainer_release(&tracer->explainer);
	np_vec_release(&tracer->received);
	np_vec_release(&tracer->weights);
	np_vec_release(&tracer->parts);
	np_vec_release(&tracer->waited);
	free(tracer->row_parts);
	free(tracer->row_places);
	np_idmap_free(tracer->edge_index);
	np_idmap_free(tracer->row_index);
	steps_release(&tracer->steps);
}

/* So few operators are done before a thread has started. */
#define FEW_OPS 20000

int np_root_cause_measure(const struct np_align *align, const struct np_clock *clock,
			  const struct np_waits *waits, const struct np_charges *charges,
			  size_t threads, struct np_root_causes *ret, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct np_root_causes causes = { .rank_count = charges->rank_count,
					 .unprofiled = charges->unprofiled };
	struct tracer tracer = {
		.align = align, .charges = charges, .causes = &causes, .err = err ? err : &own
	};
	int rc;

	tracer.explainer = (struct explainer){ .align = align,
					       .clock = clock,
					       .waits = waits,
					       .progress = &tracer.progress,
					       .common = &tracer.common,
					       .err = tracer.err };
	for (size_t i = 0; i < charges->rank_count; i++)
		causes.ranks_seen += charges->ranks[i].instances > 0;
	if (allocate(&tracer))
		rc = trace(&tracer, align->op_count < FEW_OPS ? 1 : threads);
	else
		rc = np_fail_nomem(err, "origins of waiting");
	release_tracer(&tracer);
	if (rc < 0) {
		np_root_cause_release(&causes);
		return rc;
	}
	*ret = causes;
	return NP_OK;
}
