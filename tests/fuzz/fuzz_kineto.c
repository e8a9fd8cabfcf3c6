/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of GPUs from arbitrary bytes, as a comparison reads them: loaded, listed and
 * compared with themselves. Whatever comes out is consistent: times run forwards,
 * rows find each other, leaves sum to the step, and nothing has changed.
 */
#include "compare/engine/cmp_comparison.h"

#include "core/model/vendor/kineto.h"
#include "npuprof/align.h"
#include "npuprof/load_run.h"

#include "fuzz_file.h"

/* A run of one rank, or NULL for what is no trace. */
static struct np_run *load(void)
{
	static const struct np_load_options how = { .procs = &np_procs_serial,
						    .workers = { .threads = 1 } };
	struct np_run *run = np_run_new();
	struct np_source_files *source = run ? np_vec_add(&run->sources, NULL) : NULL;
	char **root = run ? np_vec_add(&run->roots, NULL) : NULL;

	if (!source || !root)
		abort();
	*root = strdup(fuzz_path);
	source->rank = 0;
	source->device = -1;
	source->dir = strdup("rank0");
	source->file[NP_FILE_KINETO] = strdup(fuzz_path);
	if (np_load_run(run, &how, NULL) == NP_OK)
		return run;
	np_run_free(run);
	return NULL;
}

static void check_times(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		require(time->step < rank->steps.count);
		/* What a trace that was cut off has none of is unknown, and so is what is idle. */
		if (time->computing == NP_UNKNOWN || time->communication == NP_UNKNOWN) {
			require(time->free == NP_UNKNOWN);
			continue;
		}
		require(time->computing + time->communication_not_overlapped + time->free ==
			time->span);
	}
}

static void check_detail(const struct np_run *run)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;

	if (np_detail_load(run, 0, NP_DETAIL_ALL, &detail, NULL) < 0)
		return;
	for (size_t i = 0; i < detail->kernels.count; i++) {
		require(detail->kernels.item[i].start <= detail->kernels.item[i].end);
		require(i == 0 ||
			detail->kernels.item[i - 1].start <= detail->kernels.item[i].start);
	}
	for (size_t i = 0; i < detail->framework.count; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];

		require((size_t)call->first_link + call->link_count <= detail->links.count);
		require(call->start <= call->end);
	}
	for (size_t i = 0; i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		require(op->bytes >= 0 && (op->release == NP_UNKNOWN || op->release >= op->alloc));
	}
}

static void compare_with_itself(struct np_run *base, struct np_run *again)
{
	static const struct np_workers workers = { .threads = 1 };
	static const struct cmp_options options = { .min_ns = 5e4,
						    .min_share = 0.01,
						    .workers = &workers };
	NP_CLEANUP(comparison_freep) struct comparison *comparison = NULL;
	struct np_analysis *sides[CMP_SIDES] = { NULL, NULL };
	np_ns sum = 0;

	if (np_analysis_build(base, NULL, 1, &sides[0], NULL) < 0) {
		np_run_free(again);
		return;
	}
	if (np_analysis_build(again, NULL, 1, &sides[1], NULL) < 0) {
		np_analysis_free(sides[0]);
		return;
	}
	/* Traces without a step that has a length cannot be compared. */
	if (comparison_build(sides[0], sides[1], &options, &comparison, NULL) < 0)
		return;
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		require(comparison->leaves.item[i].change.delta == 0);
		sum += comparison->leaves.item[i].change.ns[CMP_BASE];
	}
	require(sum == comparison->step.ns[CMP_BASE] && comparison->step.delta == 0);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_run *run;
	bool gpu;

	if (!fuzz_write_file(data, size) || kineto_is(fuzz_path, &gpu, NULL) < 0)
		return 0;
	run = load();
	if (!run)
		return 0;
	check_times(run->ranks[0]);
	check_detail(run);
	compare_with_itself(run, load());
	return 0;
}
