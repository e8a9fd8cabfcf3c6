/* SPDX-License-Identifier: Apache-2.0 */
/* Writes analysis.db of torch_npu, and communication_analyzer.db of others. */
#include "backend.h"

#include <inttypes.h>

#include "npuprof/db.h"
#include "sim/synth/account/account.h"
#include "sim/synth/account/matrix.h"

/*
 * analysis.db of torch_npu, by the rules of the vendor's tools: step times,
 * times of the master plane, and bandwidth per kind of link and package size.
 * Others have communication_analyzer.db, which knows no steps and shows every
 * operator in the matrix.
 */
enum analysis_db_table {
	T_STEP,
	T_TIME,
	T_BANDWIDTH,
	T_MATRIX,
	TABLES,
};

struct analysis_db_analysis {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	bool steps; /* torch_npu: with steps and what depends on them */
	struct np_db_writer *writer;
	struct np_db_insert *insert[TABLES];
	struct syn_account account;
	struct syn_op_analysis op; /* the present one */
	struct syn_matrix matrix;  /* of the present step */
};

/* What all rows of one operator share. */
struct analysis_db_labels {
	const char *name;
	char group[24];
	char step[32];
	const char *type;
};

static void label(const struct syn_comm_event *comm, struct analysis_db_labels *labels)
{
	labels->name = comm->name;
	(void)snprintf(labels->group, sizeof(labels->group), "%" PRIu64, comm->group->hash);
	syn_step_label(comm->step, labels->step, sizeof(labels->step));
	labels->type = syn_op_is_p2p(comm->op) ? "p2p" : "collective";
}

static struct np_cell milliseconds(np_ns time)
{
	return np_cell_real((double)time / 1e6);
}

static struct np_cell megabytes(int64_t bytes)
{
	return np_cell_real((double)bytes / 1e6);
}

static int put_time(struct analysis_db_analysis *analysis, const struct syn_comm_event *comm,
		    const struct analysis_db_labels *labels, struct np_err *err)
{
	const struct syn_op_times *times = &analysis->op.times;
	np_ns elapse = comm->end_ns - comm->start_ns;
	const struct np_cell cells[] = {
		np_cell_text(labels->name),
		np_cell_text(labels->group),
		np_cell_real((double)comm->start_ns / 1e3),
		milliseconds(elapse),
		milliseconds(times->transit_ns),
		milliseconds(times->wait_ns),
		milliseconds(times->sync_ns),
		milliseconds(elapse - times->transit_ns - times->wait_ns),
		np_cell_text(labels->step),
		np_cell_text(labels->type),
	};

	return np_db_insert_row(analysis->insert[T_TIME], cells, err);
}

static int put_package(struct analysis_db_analysis *analysis, const struct syn_bucket *bucket,
		       const char *transport, const struct syn_package *package,
		       const struct analysis_db_labels *labels, struct np_err *err)
{
	/* SDMA is the sum of everything that is not RDMA, without a distribution. */
	bool sum = package->count == 0;
	const struct np_cell cells[] = {
		np_cell_text(labels->name),
		np_cell_text(labels->group),
		np_cell_text(transport),
		megabytes(bucket->size),
		milliseconds(bucket->time_ns),
		np_cell_real(syn_rate(bucket->size, bucket->time_ns)),
		np_cell_real(sum ? 0.0 : bucket->large_ratio),
		megabytes(package->size),
		np_cell_integer(package->count),
		milliseconds(package->time_ns),
		np_cell_text(labels->step),
		np_cell_text(labels->type),
	};

	return np_db_insert_row(analysis->insert[T_BANDWIDTH], cells, err);
}

static int put_bucket(struct analysis_db_analysis *analysis, enum syn_bucket_kind kind,
		      const struct analysis_db_labels *labels, struct np_err *err)
{
	const struct syn_bucket *bucket = &analysis->op.buckets[kind];
	bool rdma = kind == SYN_BUCKET_RDMA;
	int rc = NP_OK;

	for (size_t i = 0; i < bucket->packages.count && rc == NP_OK; i++)
		rc = put_package(analysis, bucket, rdma ? "RDMA" : "HCCS",
				 &bucket->packages.item[i], labels, err);
	if (rc == NP_OK && !rdma && bucket->time_ns > 0)
		rc = put_package(analysis, bucket, "SDMA", &(struct syn_package){ 0 }, labels, err);
	return rc;
}

static int put_link(struct analysis_db_analysis *analysis, const char *name,
		    const struct syn_link *link, const char *step, struct np_err *err)
{
	char src[16];
	char dst[16];

	(void)snprintf(src, sizeof(src), "%d", link->src);
	(void)snprintf(dst, sizeof(dst), "%d", link->dst);
	const struct np_cell cells[] = {
		np_cell_text(name),
		np_cell_text(link->group),
		np_cell_text(src),
		np_cell_text(dst),
		np_cell_text(link->transport),
		megabytes(link->size),
		milliseconds(link->time_ns),
		np_cell_real(syn_rate(link->size, link->time_ns)),
		np_cell_text(step),
		np_cell_text(link->p2p ? "p2p" : "collective"),
		np_cell_text(link->op_name),
	};

	return np_db_insert_row(analysis->insert[T_MATRIX], cells, err);
}

/* Every operator as it is. */
static int put_links(struct analysis_db_analysis *analysis, struct np_err *err)
{
	const struct syn_matrix *matrix = &analysis->matrix;
	int rc = NP_OK;

	for (size_t i = 0; i < matrix->links.count && rc == NP_OK; i++)
		rc = put_link(analysis, matrix->links.item[i].op_name, &matrix->links.item[i], NULL,
			      err);
	analysis->matrix.links.count = 0;
	return rc;
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct analysis_db_analysis *analysis = (struct analysis_db_analysis *)sink;
	struct analysis_db_labels labels;
	int rc = analysis->steps ? syn_account_comm(&analysis->account, comm, err) : NP_OK;

	if (rc < 0 || analysis->config->level == 0)
		return rc;
	label(comm, &labels);
	rc = syn_op_analyse(&analysis->op, analysis->config, comm, err);
	if (rc == NP_OK)
		rc = put_time(analysis, comm, &labels, err);
	for (int kind = 0; kind < SYN_BUCKETS && rc == NP_OK; kind++)
		rc = put_bucket(analysis, (enum syn_bucket_kind)kind, &labels, err);
	if (rc == NP_OK)
		rc = syn_matrix_note(&analysis->matrix, comm, &analysis->op.transfers, err);
	if (rc == NP_OK && !analysis->steps)
		rc = put_links(analysis, err);
	return rc;
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct analysis_db_analysis *analysis = (struct analysis_db_analysis *)sink;

	return analysis->steps ? syn_account_task(&analysis->account, task, err) : NP_OK;
}

static struct np_cell microseconds(np_ns time)
{
	return np_cell_real((double)time / 1e3);
}

static int put_step_trace(struct analysis_db_analysis *analysis, const struct syn_step_event *step,
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

/* The rows of the sorted operators [first, end) of one link. */
static int put_picks(struct analysis_db_analysis *analysis, size_t first, size_t end,
		     const char *step, struct np_err *err)
{
	int rc = NP_OK;

	for (int pick = 0; pick < SYN_PICKS && rc == NP_OK; pick++) {
		struct syn_link link;
		char name[48];

		if (!syn_matrix_pick(&analysis->matrix, first, end, (enum syn_pick)pick, &link))
			continue;
		(void)snprintf(name, sizeof(name), "%s-%s", link.op_class, syn_pick_names[pick]);
		rc = put_link(analysis, name, &link, step, err);
	}
	return rc;
}

static int put_matrix(struct analysis_db_analysis *analysis, const struct syn_step_event *step,
		      struct np_err *err)
{
	char label_text[32];
	int rc = NP_OK;

	syn_step_label(step->id, label_text, sizeof(label_text));
	syn_matrix_sort(&analysis->matrix);
	for (size_t i = 0; i < analysis->matrix.links.count && rc == NP_OK;) {
		size_t end = syn_matrix_link_end(&analysis->matrix, i);

		rc = put_picks(analysis, i, end, label_text, err);
		i = end;
	}
	analysis->matrix.links.count = 0;
	return rc;
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct analysis_db_analysis *analysis = (struct analysis_db_analysis *)sink;
	int rc;

	if (!analysis->steps)
		return NP_OK;
	rc = put_step_trace(analysis, step, err);
	if (rc == NP_OK && analysis->config->level > 0)
		rc = put_matrix(analysis, step, err);
	return rc;
}

static void free_analysis(struct analysis_db_analysis *analysis)
{
	syn_account_release(&analysis->account);
	syn_op_analysis_release(&analysis->op);
	syn_matrix_release(&analysis->matrix);
	np_db_writer_abort(analysis->writer);
	free(analysis);
}

/* clang-format off */
#define STEP_COLUMNS \
	"step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC," \
	" free NUMERIC, stage NUMERIC, bubble NUMERIC, communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC)"

#define BANDWIDTH_COLUMNS \
	"CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC," \
	" transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC," \
	" total_duration NUMERIC"
#define MATRIX_COLUMNS \
	"CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT," \
	" transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC"
#define TIME_COLUMNS \
	"CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC," \
	" transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC"

static const char *const tables_with_steps =
	BANDWIDTH_COLUMNS ", step TEXT, type TEXT);"
	MATRIX_COLUMNS ", step TEXT, type TEXT, op_name TEXT);"
	TIME_COLUMNS ", step TEXT, type TEXT)";
static const char *const tables_without_steps =
	BANDWIDTH_COLUMNS ");" MATRIX_COLUMNS ");" TIME_COLUMNS ")";
/* clang-format on */

static int create_step_table(struct analysis_db_analysis *analysis, struct np_err *err)
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
	return rc;
}

static int create_tables(struct analysis_db_analysis *analysis, struct np_err *err)
{
	bool steps = analysis->steps;
	int rc = steps ? create_step_table(analysis, err) : NP_OK;

	if (rc < 0 || analysis->config->level == 0)
		return rc;
	rc = np_db_writer_exec(analysis->writer, steps ? tables_with_steps : tables_without_steps,
			       err);
	/* The columns about steps are the last ones and are left off without them. */
	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "CommAnalyzerTime", steps ? 10 : 8,
					&analysis->insert[T_TIME], err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "CommAnalyzerBandwidth", steps ? 12 : 10,
					&analysis->insert[T_BANDWIDTH], err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(analysis->writer, "CommAnalyzerMatrix", steps ? 11 : 8,
					&analysis->insert[T_MATRIX], err);
	return rc;
}

static int open_analysis(const struct syn_rank_info *info, struct syn_sink **ret,
			 struct np_err *err)
{
	struct analysis_db_analysis *analysis = calloc(1, sizeof(*analysis));
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	if (!analysis)
		return np_fail_nomem(err, "an analysis");
	analysis->base = (struct syn_sink){ .task = on_task, .comm = on_comm, .step = on_step };
	analysis->info = info;
	analysis->config = info->config;
	analysis->steps = info->form->maker == SYN_TORCH;
	syn_analysis_path(info, analysis->steps ? "analysis.db" : "communication_analyzer.db",
			  &path);
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
	struct analysis_db_analysis *analysis = (struct analysis_db_analysis *)sink;

	if (rc == NP_OK)
		rc = np_db_writer_commit(NP_STEAL(analysis->writer), err);
	free_analysis(analysis);
	return rc;
}

/* Without steps there is nothing to say at level 0; msMonitor analyses nothing. */
static bool is_wanted(const struct syn_rank_info *info)
{
	if (!info->form->db || info->config->no_analysis || info->form->maker == SYN_MSMONITOR ||
	    syn_layout_of(info->config)->placing == SYN_PLACE_FLAT)
		return false;
	return info->form->maker == SYN_TORCH || info->config->level > 0;
}

const struct syn_backend syn_analysis_db = {
	.name = "analysis",
	.is_wanted = is_wanted,
	.open = open_analysis,
	.close = close_analysis,
};
