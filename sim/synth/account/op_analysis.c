/* SPDX-License-Identifier: Apache-2.0 */
/* Sums what an operator moved by kind of link and packet size (op_analysis.h). */
#include "op_analysis.h"

#include <inttypes.h>

#include "npuprof/text.h"

double syn_rate(int64_t bytes, np_ns time)
{
	return time > 0 ? np_round((double)bytes / 1e6 / ((double)time / 1e6), 4) : 0.0;
}

void syn_step_label(int64_t step, char *text, size_t size)
{
	if (step == NP_UNKNOWN)
		(void)snprintf(text, size, "step");
	else
		(void)snprintf(text, size, "step%" PRId64, step);
}

static int by_plane(const void *a, const void *b)
{
	const struct syn_sub_task *x = a;
	const struct syn_sub_task *y = b;

	if (x->plane != y->plane)
		return x->plane > y->plane ? 1 : -1;
	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? 1 : -1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int sort_tasks(struct syn_op_analysis *analysis, const struct syn_comm_event *comm,
		      struct np_err *err)
{
	analysis->tasks.count = 0;
	for (size_t i = 0; i < comm->task_count; i++) {
		struct syn_sub_task *slot = np_vec_add(&analysis->tasks, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = comm->tasks[i];
	}
	if (analysis->tasks.count > 0)
		qsort(analysis->tasks.item, analysis->tasks.count, sizeof(struct syn_sub_task),
		      by_plane);
	return NP_OK;
}

/*
 * The RDMA write that begins with task `at`: `run` payload tasks and a fixed
 * number of tasks that close it. Gives how many tasks it takes, 0 if it is cut.
 */
static size_t rdma_group(const struct syn_op_analysis *analysis, const struct syn_comm_event *comm,
			 size_t at, struct syn_transfer *ret)
{
	const struct syn_sub_task *tasks = analysis->tasks.item;
	size_t fixed = syn_op_is_p2p(comm->op) ? 3 : 5;
	size_t run = 0;
	size_t closing;

	*ret = (struct syn_transfer){ .src = tasks[at].src, .dst = tasks[at].dst, .rdma = true };
	while (at + run < analysis->tasks.count && tasks[at + run].plane == tasks[at].plane &&
	       tasks[at + run].kind == SYN_RDMA_PAYLOAD)
		ret->size += tasks[at + run++].size;
	closing = at + run + fixed - 2;
	if (closing >= analysis->tasks.count || tasks[closing].plane != tasks[at].plane)
		return 0;
	ret->time_ns = tasks[closing].end_ns - tasks[at].start_ns;
	return run + fixed - 1;
}

static int add_transfer(struct syn_op_analysis *analysis, const struct syn_transfer *transfer,
			struct np_err *err)
{
	struct syn_transfer *slot = np_vec_add(&analysis->transfers.all, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = *transfer;
	return NP_OK;
}

static bool is_copy(const struct syn_sub_task *task)
{
	return task->kind == SYN_COPY || task->kind == SYN_REDUCE;
}

/* All transfers of the operator, and the times of one plane on the way. */
static int find_transfers(struct syn_op_analysis *analysis, const struct syn_comm_event *comm,
			  int master, struct np_err *err)
{
	bool moved = false;

	analysis->times = (struct syn_op_times){ 0 };
	analysis->transfers.all.count = 0;
	for (size_t i = 0; i < analysis->tasks.count;) {
		const struct syn_sub_task *task = &analysis->tasks.item[i];
		bool on_master = task->plane == master;
		np_ns time = task->end_ns - task->start_ns;
		struct syn_transfer transfer = { 0 };
		size_t taken = 1;
		bool counts = is_copy(task);

		if (counts)
			transfer =
				(struct syn_transfer){ .src = task->src,
						       .dst = task->dst < 0 ? task->src : task->dst,
						       .local = task->on_chip,
						       .size = task->size,
						       .time_ns = time };
		if (task->kind == SYN_RDMA_PAYLOAD) {
			taken = rdma_group(analysis, comm, i, &transfer);
			counts = taken > 0;
			taken += counts ? 0 : 1;
		}
		if (counts && add_transfer(analysis, &transfer, err) < 0)
			return NP_E_NOMEM;
		if (on_master && counts && !transfer.local) {
			analysis->times.transit_ns += transfer.time_ns;
			moved = true;
		}
		if (on_master && task->kind == SYN_NOTIFY_WAIT) {
			analysis->times.wait_ns += time;
			analysis->times.sync_ns += moved ? 0 : time;
		}
		i += taken;
	}
	return NP_OK;
}

/*
 * CANN with isMaster (1.2.0) takes plane 0, which holds local copies for most
 * operators. Before, it was plane 1 where there is one.
 */
static int master_plane(const struct syn_op_analysis *analysis, const struct syn_config *config)
{
	size_t count = analysis->tasks.count;

	return !config->schema && count > 0 && analysis->tasks.item[count - 1].plane > 0 ? 1 : 0;
}

static struct syn_package *package_of(struct syn_bucket *bucket, int64_t size, struct np_err *err)
{
	struct syn_package *package;

	for (size_t i = 0; i < bucket->packages.count; i++) {
		if (bucket->packages.item[i].size == size)
			return &bucket->packages.item[i];
	}
	package = np_vec_add(&bucket->packages, err);
	if (package)
		package->size = size;
	return package;
}

static int fill_bucket(struct syn_op_analysis *analysis, enum syn_bucket_kind kind,
		       struct np_err *err)
{
	struct syn_bucket *bucket = &analysis->buckets[kind];
	bool rdma = kind == SYN_BUCKET_RDMA;
	int64_t threshold = rdma ? 500000 : 32000000;
	int64_t count = 0;
	int64_t large = 0;

	bucket->size = 0;
	bucket->time_ns = 0;
	bucket->packages.count = 0;
	for (size_t i = 0; i < analysis->transfers.all.count; i++) {
		const struct syn_transfer *transfer = &analysis->transfers.all.item[i];
		struct syn_package *package;

		if (transfer->local || transfer->rdma != rdma)
			continue;
		package = package_of(bucket, transfer->size, err);
		if (!package)
			return NP_E_NOMEM;
		package->count++;
		package->time_ns += transfer->time_ns;
		bucket->size += transfer->size;
		bucket->time_ns += transfer->time_ns;
		large += transfer->size > threshold ? 1 : 0;
		count++;
	}
	bucket->large_ratio = count ? np_round((double)large / (double)count, 4) : 0.0;
	return NP_OK;
}

int syn_op_analyse(struct syn_op_analysis *analysis, const struct syn_config *config,
		   const struct syn_comm_event *comm, struct np_err *err)
{
	int rc = sort_tasks(analysis, comm, err);

	if (rc == NP_OK)
		rc = find_transfers(analysis, comm, master_plane(analysis, config), err);
	if (rc == NP_OK)
		rc = fill_bucket(analysis, SYN_BUCKET_RDMA, err);
	if (rc == NP_OK)
		rc = fill_bucket(analysis, SYN_BUCKET_HCCS, err);
	return rc;
}

void syn_op_analysis_release(struct syn_op_analysis *analysis)
{
	np_vec_release(&analysis->tasks);
	np_vec_release(&analysis->transfers.all);
	for (int i = 0; i < SYN_BUCKETS; i++)
		np_vec_release(&analysis->buckets[i].packages);
}
