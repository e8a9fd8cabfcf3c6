/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <inttypes.h>
#include <math.h>

#include "account.h"
#include "matrix.h"
#include "npuprof/db.h"
#include "npuprof/text.h"

/*
 * analysis.db, by the rules of the vendor's tools: step times, times of the
 * master plane, and bandwidth per kind of link and package size.
 */
enum table {
	T_STEP,
	T_TIME,
	T_BANDWIDTH,
	T_MATRIX,
	TABLES,
};

struct analysis {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	struct np_db_writer *writer;
	struct np_db_insert *insert[TABLES];
	struct syn_account account;
	NP_VEC(struct syn_small) tasks; /* of the present operator, by plane and time */
	struct syn_transfers transfers; /* of the present operator */
	struct syn_matrix matrix;       /* of the present step */
};

/* Times of the master plane. */
struct plane_times {
	np_ns transit_ns;
	np_ns wait_ns;
	np_ns sync_ns;
};

static int by_plane(const void *a, const void *b)
{
	const struct syn_small *x = a;
	const struct syn_small *y = b;

	if (x->plane != y->plane)
		return x->plane > y->plane ? 1 : -1;
	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? 1 : -1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int sort_tasks(struct analysis *analysis, const struct syn_comm_event *comm,
		      struct np_err *err)
{
	analysis->tasks.count = 0;
	for (size_t i = 0; i < comm->task_count; i++) {
		struct syn_small *slot = np_vec_add(&analysis->tasks, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = comm->tasks[i];
	}
	qsort(analysis->tasks.item, analysis->tasks.count, sizeof(struct syn_small), by_plane);
	return NP_OK;
}

/*
 * The RDMA write that begins with task `at`: `run` payload tasks and a fixed
 * number of tasks that close it. Gives how many tasks it takes, 0 if it is cut.
 */
static size_t rdma_group(const struct analysis *analysis, const struct syn_comm_event *comm,
			 size_t at, struct syn_transfer *ret)
{
	const struct syn_small *tasks = analysis->tasks.item;
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

static int add_transfer(struct analysis *analysis, const struct syn_transfer *transfer,
			struct np_err *err)
{
	struct syn_transfer *slot = np_vec_add(&analysis->transfers.all, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = *transfer;
	return NP_OK;
}

static bool is_copy(const struct syn_small *task)
{
	return task->kind == SYN_COPY || task->kind == SYN_REDUCE;
}

/* All transfers of the operator, and the times of one plane on the way. */
static int find_transfers(struct analysis *analysis, const struct syn_comm_event *comm, int master,
			  struct plane_times *times, struct np_err *err)
{
	bool moved = false;

	analysis->transfers.all.count = 0;
	for (size_t i = 0; i < analysis->tasks.count;) {
		const struct syn_small *task = &analysis->tasks.item[i];
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
			times->transit_ns += transfer.time_ns;
			moved = true;
		}
		if (on_master && task->kind == SYN_NOTIFY_WAIT) {
			times->wait_ns += time;
			times->sync_ns += moved ? 0 : time;
		}
		i += taken;
	}
	return NP_OK;
}

/*
 * CANN with isMaster (1.2.0) takes plane 0, which holds local copies for most
 * operators. Before, it was plane 1 where there is one.
 */
static int master_plane(const struct analysis *analysis)
{
	const struct syn_small *last = &analysis->tasks.item[analysis->tasks.count - 1];

	return !analysis->config->schema && last->plane > 0 ? 1 : 0;
}

struct labels {
	char group[24];
	char step[32];
	const char *type;
};

static void label(const struct syn_comm_event *comm, struct labels *labels)
{
	(void)snprintf(labels->group, sizeof(labels->group), "%" PRIu64, comm->group->hash);
	syn_step_label(comm->step, labels->step, sizeof(labels->step));
	labels->type = syn_op_is_p2p(comm->op) ? "p2p" : "collective";
}

static int put_time(struct analysis *analysis, const struct syn_comm_event *comm,
		    const struct plane_times *times, const struct labels *labels,
		    struct np_err *err)
{
	np_ns elapse = comm->end_ns - comm->start_ns;
	const struct np_cell cells[] = {
		np_cell_text(comm->name),
		np_cell_text(labels->group),
		np_cell_real((double)comm->start_ns / 1e3),
		syn_milliseconds(elapse),
		syn_milliseconds(times->transit_ns),
		syn_milliseconds(times->wait_ns),
		syn_milliseconds(times->sync_ns),
		syn_milliseconds(elapse - times->transit_ns - times->wait_ns),
		np_cell_text(labels->step),
		np_cell_text(labels->type),
	};

	return np_db_insert_row(analysis->insert[T_TIME], cells, err);
}

/* What all rows of one transport of one operator share. */
struct bucket {
	const char *transport;
	int64_t size;
	np_ns time_ns;
	double large_ratio;
};

static int put_bandwidth(struct analysis *analysis, const struct syn_comm_event *comm,
			 const struct bucket *bucket, int64_t package, int64_t count,
			 np_ns duration, const struct labels *labels, struct np_err *err)
{
	const struct np_cell cells[] = {
		np_cell_text(comm->name),
		np_cell_text(labels->group),
		np_cell_text(bucket->transport),
		syn_megabytes(bucket->size),
		syn_milliseconds(bucket->time_ns),
		np_cell_real(syn_rate(bucket->size, bucket->time_ns)),
		np_cell_real(bucket->large_ratio),
		syn_megabytes(package),
		np_cell_integer(count),
		syn_milliseconds(duration),
		np_cell_text(labels->step),
		np_cell_text(labels->type),
	};

	return np_db_insert_row(analysis->insert[T_BANDWIDTH], cells, err);
}

static bool in_bucket(const struct syn_transfer *transfer, bool rdma)
{
	return !transfer->local && transfer->rdma == rdma;
}

static struct bucket sum_bucket(const struct analysis *analysis, bool rdma)
{
	struct bucket bucket = { .transport = rdma ? "RDMA" : "HCCS" };
	int64_t threshold = rdma ? 500000 : 32000000;
	int64_t count = 0;
	int64_t large = 0;

	for (size_t i = 0; i < analysis->transfers.all.count; i++) {
		const struct syn_transfer *transfer = &analysis->transfers.all.item[i];

		if (!in_bucket(transfer, rdma))
			continue;
		bucket.size += transfer->size;
		bucket.time_ns += transfer->time_ns;
		large += transfer->size > threshold ? 1 : 0;
		count++;
	}
	bucket.large_ratio = count ? np_round((double)large / (double)count, 4) : 0.0;
	return bucket;
}

static bool seen_before(const struct analysis *analysis, size_t index, bool rdma)
{
	for (size_t i = 0; i < index; i++) {
		const struct syn_transfer *transfer = &analysis->transfers.all.item[i];

		if (in_bucket(transfer, rdma) &&
		    transfer->size == analysis->transfers.all.item[index].size)
			return true;
	}
	return false;
}

static int put_bucket(struct analysis *analysis, const struct syn_comm_event *comm, bool rdma,
		      const struct labels *labels, struct np_err *err)
{
	struct bucket bucket = sum_bucket(analysis, rdma);
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->transfers.all.count && rc == NP_OK; i++) {
		const struct syn_transfer *first = &analysis->transfers.all.item[i];
		int64_t count = 0;
		np_ns duration = 0;

		if (!in_bucket(first, rdma) || seen_before(analysis, i, rdma))
			continue;
		for (size_t k = i; k < analysis->transfers.all.count; k++) {
			const struct syn_transfer *other = &analysis->transfers.all.item[k];

			if (!in_bucket(other, rdma) || other->size != first->size)
				continue;
			count++;
			duration += other->time_ns;
		}
		rc = put_bandwidth(analysis, comm, &bucket, first->size, count, duration, labels,
				   err);
	}
	/* SDMA is the sum of everything that is not RDMA, without a distribution. */
	if (rc == NP_OK && !rdma && bucket.time_ns > 0) {
		bucket.transport = "SDMA";
		bucket.large_ratio = 0.0;
		rc = put_bandwidth(analysis, comm, &bucket, 0, 0, 0, labels, err);
	}
	return rc;
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct analysis *analysis = (struct analysis *)sink;
	struct plane_times times = { 0 };
	struct labels labels;
	int rc = syn_account_comm(&analysis->account, comm, err);

	if (rc < 0 || analysis->config->level == 0)
		return rc;
	label(comm, &labels);
	rc = sort_tasks(analysis, comm, err);
	if (rc == NP_OK)
		rc = find_transfers(analysis, comm, master_plane(analysis), &times, err);
	if (rc == NP_OK)
		rc = put_time(analysis, comm, &times, &labels, err);
	if (rc == NP_OK)
		rc = put_bucket(analysis, comm, true, &labels, err);
	if (rc == NP_OK)
		rc = put_bucket(analysis, comm, false, &labels, err);
	if (rc == NP_OK)
		rc = syn_matrix_note(&analysis->matrix, comm, &analysis->transfers, err);
	return rc;
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	return syn_account_task(&((struct analysis *)sink)->account, task, err);
}

static struct np_cell microseconds(np_ns time)
{
	return np_cell_real((double)time / 1e3);
}

static int put_step_trace(struct analysis *analysis, const struct syn_step_event *step,
			  struct np_err *err)
{
	struct syn_totals totals;
	char id[24];
	int rc = syn_account_close(&analysis->account, step->start_ns, &totals, err);
	np_ns rest = totals.exposed_ns - totals.bubble_ns;

	if (rc < 0)
		return rc;
	(void)snprintf(id, sizeof(id), "%" PRId64, step->id);
	const struct np_cell cells[] = {
		np_cell_integer(analysis->info->place.device),
		np_cell_text(step->id == NP_UNKNOWN ? NULL : id),
		microseconds(totals.computing_ns),
		microseconds(totals.exposed_ns),
		microseconds(totals.overlapped_ns),
		microseconds(totals.communication_ns),
		microseconds(totals.free_ns),
		microseconds(totals.stage_ns),
		microseconds(totals.bubble_ns),
		microseconds(rest > 0 ? rest : 0),
		microseconds(totals.preparing_ns),
	};

	/* The column deviceId came in 2025, as the first. */
	return np_db_insert_row(analysis->insert[T_STEP],
				analysis->config->schema ? cells : cells + 1, err);
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct analysis *analysis = (struct analysis *)sink;
	int rc = put_step_trace(analysis, step, err);

	if (rc == NP_OK && analysis->config->level > 0)
		rc = syn_matrix_write(&analysis->matrix, step, analysis->insert[T_MATRIX], err);
	return rc;
}

static void free_analysis(struct analysis *analysis)
{
	syn_account_release(&analysis->account);
	np_vec_release(&analysis->tasks);
	np_vec_release(&analysis->transfers.all);
	syn_matrix_release(&analysis->matrix);
	np_db_writer_abort(analysis->writer);
	free(analysis);
}

/* clang-format off */
#define STEP_COLUMNS \
	"step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC," \
	" free NUMERIC, stage NUMERIC, bubble NUMERIC, communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC)"

static const char *const comm_tables =
	"CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC,"
	" transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC,"
	" total_duration NUMERIC, step TEXT, type TEXT);"
	"CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT,"
	" transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT);"
	"CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC,"
	" transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT)";
/* clang-format on */

static int create_tables(struct analysis *analysis, struct np_err *err)
{
	bool modern = analysis->config->schema != 0;
	int rc = np_db_writer_exec(
		analysis->writer,
		modern ? "CREATE TABLE StepTraceTime (deviceId INTEGER, " STEP_COLUMNS
		       : "CREATE TABLE StepTraceTime (" STEP_COLUMNS,
		err);

	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "StepTraceTime", modern ? 11 : 10,
					&analysis->insert[T_STEP], err);
	if (rc < 0 || analysis->config->level == 0)
		return rc;
	rc = np_db_writer_exec(analysis->writer, comm_tables, err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "CommAnalyzerTime", 10,
					&analysis->insert[T_TIME], err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "CommAnalyzerBandwidth", 12,
					&analysis->insert[T_BANDWIDTH], err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "CommAnalyzerMatrix", 11,
					&analysis->insert[T_MATRIX], err);
	return rc;
}

static int open_analysis(const struct syn_rank_info *info, struct syn_sink **ret,
			 struct np_err *err)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	if (!analysis)
		return np_fail_nomem(err, "an analysis");
	analysis->base = (struct syn_sink){ .task = on_task, .comm = on_comm, .step = on_step };
	analysis->info = info;
	analysis->config = info->config;
	np_buf_printf(&path, "%s/ASCEND_PROFILER_OUTPUT/analysis.db", info->dir);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = np_db_writer_open(path.text, &analysis->writer, err);
	if (rc == NP_OK)
		rc = create_tables(analysis, err);
	if (rc < 0) {
		free_analysis(analysis);
		return rc;
	}
	*ret = &analysis->base;
	return NP_OK;
}

static int close_analysis(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct analysis *analysis = (struct analysis *)sink;

	if (rc == NP_OK)
		rc = np_db_writer_commit(NP_STEAL(analysis->writer), err);
	free_analysis(analysis);
	return rc;
}

static bool is_wanted(const struct syn_config *config)
{
	return !config->no_analysis;
}

const struct syn_backend syn_analysis_db = {
	.name = "analysis",
	.is_wanted = is_wanted,
	.open = open_analysis,
	.close = close_analysis,
};
