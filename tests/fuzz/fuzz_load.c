/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The loaders on arbitrary bytes: the first byte says which file of a rank the
 * others are, and its two highest bits that it is of the result of an earlier analysis, or of
 * msMonitor. Whatever comes
 * out is consistent: parts sum to their total, indexes are in range, operators are in order.
 */
#include "npuprof/cluster.h"
#include "npuprof/comm_sums.h"
#include "npuprof/detail.h"
#include "npuprof/load.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include "fuzz_file.h"

/* A sound table of steps, for files that are no rank by themselves. */
static const char *sound_steps(void)
{
	static const char text[] = "Step,Computing,Communication(Not Overlapped),Free\n1,1,1,1\n";
	static char steps[] = "/tmp/npuprof-fuzz-steps-XXXXXX";
	static bool made;

	if (!made) {
		int steps_file = mkstemp(steps);

		made = steps_file >= 0 && write(steps_file, text, strlen(text)) > 0 &&
		       close(steps_file) == 0;
	}
	return steps;
}

/* What lies between steps makes an iteration of the span, unless work outlives it. */
static void check_iteration(const struct np_step_time *time)
{
	np_ns iteration = np_step_iteration(time);

	for (int i = 0; i < NP_BETWEEN_KINDS; i++)
		require(time->between[i] >= 0);
	if (iteration == NP_UNKNOWN)
		return;
	require(time->begin != NP_UNKNOWN && time->span > 0);
	require(np_step_between(time) == (iteration > time->span ? iteration - time->span : 0));
}

/* Only readers of tasks promise sums: the vendor's files say what they say. */
static void check_times(const struct np_rank *rank)
{
	bool derived = rank->step_source == NP_FROM_RANK_DB || rank->step_source == NP_FROM_TRACE ||
		       rank->step_source == NP_FROM_KERNELS;

	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		require(time->step < rank->steps.count);
		if (!derived)
			continue;
		require(time->computing + time->communication_not_overlapped + time->free ==
			time->span);
		require(time->stage + time->bubble == time->span);
		require(time->communication_not_overlapped + time->overlapped ==
			time->communication);
		require(time->trailing >= 0);
		check_iteration(time);
	}
}

static void check_ops(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		require(op->group < rank->groups.count);
		require(op->step == NP_NO_STEP || op->step < rank->steps.count);
		require(op->start <= op->end);
		require(i == 0 || rank->ops.item[i - 1].start <= op->start);
	}
	for (size_t i = 0; i < rank->bands.count; i++)
		require(rank->bands.item[i].op < rank->ops.count);
	for (size_t i = 0; i < rank->links.count; i++)
		require(rank->links.item[i].group < rank->groups.count);
	for (size_t i = 0; i < rank->comm_steps.count; i++)
		require(rank->comm_steps.item[i].step < rank->steps.count);
}

/* Rows are in order, and what refers to others finds them. */
static void check_detail(const struct np_run *run)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;

	if (np_detail_load(run, 0, NP_DETAIL_ALL, &detail, NULL) < 0)
		return;
	for (size_t i = 0; i < detail->kernels.count; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		require(kernel->start <= kernel->end);
		require(kernel->step == NP_NO_STEP || kernel->step < run->ranks[0]->steps.count);
		require(i == 0 || detail->kernels.item[i - 1].start <= kernel->start);
	}
	for (size_t i = 0; i < detail->framework.count; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];

		require((size_t)call->first_link + call->link_count <= detail->links.count);
		require(call->start <= call->end);
	}
	for (size_t i = 0; i < detail->sub_tasks.count; i++)
		require(detail->sub_tasks.item[i].op == NP_NO_ROW ||
			detail->sub_tasks.item[i].op < detail->ops.count);
	require(detail->ops.count == run->ranks[0]->ops.count);
}

static void measure(struct np_run *run)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	struct np_comm_sums sums = { 0 };

	if (np_cluster_build(run, &cluster, NULL) < 0)
		return;
	if (np_comm_sums_measure(cluster, &sums, NULL) == NP_OK)
		np_comm_sums_release(&sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_source_files *source;
	unsigned int file = size ? data[0] & 0x3fU : 0;

	if (size == 0 || file >= NP_FILE_COUNT || !fuzz_write_file(data + 1, size - 1))
		return 0;
	run = np_run_new();
	if (!run)
		return 0;
	source = np_vec_add(&run->sources, NULL);
	run->ranks = calloc(2, sizeof(struct np_rank *));
	if (!source || !run->ranks)
		return 0;
	source->rank = 0;
	source->device = -1;
	source->dir = strdup("rank0");
	if (data[0] & 0x80U)
		source->kind = NP_KIND_CLUSTER;
	else if (data[0] & 0x40U)
		source->kind = NP_KIND_MSMONITOR;
	source->file[file] = strdup(fuzz_path);
	/* Matrix, statistics and metadata alone are no rank. */
	if (file >= NP_FILE_COMM_MATRIX)
		source->file[NP_FILE_STEP_TRACE] = strdup(sound_steps());
	if (np_load_rank(source, run->strings, &run->ranks[0], NULL) < 0)
		return 0;
	check_times(run->ranks[0]);
	check_ops(run->ranks[0]);
	check_detail(run);
	measure(run);
	return 0;
}
