/* SPDX-License-Identifier: Apache-2.0 */
/* What was merged: communicators, parallel sizes, hosts, devices, sums, and what was skipped. */
#include "tables.h"

#include "npuprof/align.h"
#include "npuprof/op_times.h"

#include <inttypes.h>

/* --- CommunicationGroupMapping --------------------------------------------------------------- */

static const struct np_column group_columns[] = {
	{ "type", NP_TEXT },     { "rank_set", NP_TEXT }, { "group_name", NP_TEXT },
	{ "group_id", NP_TEXT }, { "pg_name", NP_TEXT },
};

static const char *text_or_empty(const struct np_run *run, np_str id)
{
	return id == NP_STR_NONE ? "" : np_run_text(run, id);
}

/* Insight wants a communicator once, whatever kinds of operators it has. */
static int produce_groups(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_cluster *cluster = ((const struct np_analysis *)model)->cluster;
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];
		char hash[24];

		np_group_label(each->hash, hash, sizeof(hash));
		np_buf_clear(&ranks);
		np_rank_set(&ranks, each->members ? each->members : each->observed,
			    each->members ? each->member_count : each->observed_count);
		rc = np_buf_check(&ranks, err);
		if (rc < 0)
			return rc;
		rc = np_sink_row(sink,
				 (struct np_cell[]){
					 np_cell_text(each->collective ? "collective" : "p2p"),
					 np_cell_text(ranks.text), np_cell_text(hash),
					 np_cell_text(text_or_empty(cluster->run, each->name)),
					 np_cell_text(text_or_empty(cluster->run, each->pg_name)) },
				 err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_group_mapping, "CommunicationGroupMapping",
		"communicators with their members and names", group_columns, produce_groups);

/* --- ClusterBaseInfo ------------------------------------------------------------------------- */

static const struct np_column base_columns[] = {
	{ "key", NP_TEXT },
	{ "value", NP_TEXT },
};

bool np_cluster_has_base_info(const struct np_cluster *cluster)
{
	const struct np_parallel *parallel = &cluster->parallel;

	return parallel->known && parallel->world > 0 && parallel->tp > 0 && parallel->pp > 0 &&
	       parallel->dp > 0 && parallel->cp > 0 && parallel->ep > 0;
}

static int produce_base(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_cluster *cluster = ((const struct np_analysis *)model)->cluster;
	const struct np_parallel *parallel = &cluster->parallel;
	NP_CLEANUP(np_buf_release) struct np_buf json = NP_BUF_INIT;
	int rc;

	if (!np_cluster_has_base_info(cluster))
		return NP_OK;
	np_buf_printf(&json,
		      "{\"tensor_model_parallel_size\": %" PRId32
		      ", \"pipeline_model_parallel_size\": %" PRId32
		      ", \"data_parallel_size\": %" PRId32 ", \"context_parallel_size\": %" PRId32
		      ", \"expert_model_parallel_size\": %" PRId32
		      ", \"sequence_parallel\": %s, \"world_size\": %" PRId32 "}",
		      parallel->tp, parallel->pp, parallel->dp, parallel->cp, parallel->ep,
		      parallel->sequence_parallel ? "true" : "false", parallel->world);
	rc = np_buf_check(&json, err);
	if (rc < 0)
		return rc;
	return np_sink_row(
		sink,
		(struct np_cell[]){ np_cell_text("distributed_args"), np_cell_text(json.text) },
		err);
}

NP_DEFINE_TABLE(np_table_base_info, "ClusterBaseInfo", "sizes of the parallel dimensions",
		base_columns, produce_base);

/* --- HostInfo, RankDeviceMap ----------------------------------------------------------------- */

static const struct np_column host_columns[] = {
	{ "hostUid", NP_TEXT },
	{ "hostName", NP_TEXT },
};

static bool host_seen_before(const struct np_run *run, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (run->ranks[i] && run->ranks[i]->host_uid == run->ranks[index]->host_uid)
			return true;
	}
	return false;
}

static int produce_hosts(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (!rank || rank->host_uid == NP_STR_NONE || host_seen_before(run, i))
			continue;
		rc = np_sink_row(
			sink,
			(struct np_cell[]){ np_cell_text(np_run_text(run, rank->host_uid)),
					    np_cell_text(np_run_text(run, rank->host_name)) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_host_info, "HostInfo", "hosts of the ranks", host_columns, produce_hosts);

static const struct np_column device_columns[] = {
	{ "rankId", NP_INTEGER },
	{ "deviceId", NP_INTEGER },
	{ "hostUid", NP_TEXT },
	{ "profilePath", NP_TEXT },
};

static int produce_devices(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (!rank)
			continue;
		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_integer(rank->id),
				np_cell_integer(rank->device < 0 ? NP_UNKNOWN : rank->device),
				np_cell_text(np_run_text(run, rank->host_uid)),
				np_cell_text(rank->path) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_rank_device_map, "RankDeviceMap", "device, host and path of each rank",
		device_columns, produce_devices);

/* --- np_comm_step ---------------------------------------------------------------------------- */

/* clang-format off */
#define NP_COMM_SUM_COLUMNS \
	{ "ranks", NP_INTEGER }, \
	{ "ops", NP_INTEGER }, \
	{ "bytes", NP_INTEGER }, \
	{ "moved_bytes", NP_INTEGER }, \
	{ "gb_per_s", NP_REAL }, \
	{ "elapsed_ns", NP_INTEGER }, \
	{ "wait_ns", NP_INTEGER }, \
	{ "transit_ns", NP_INTEGER }, \
	{ "exposed_ns", NP_INTEGER }, \
	{ "overlapped_ns", NP_INTEGER }, \
	{ "computing_ns", NP_INTEGER }, \
	{ "comm_compute_ratio", NP_REAL }, \
	{ "estimator", NP_TEXT }

#define NP_COMM_SUM_CELLS(sum) \
	np_cell_integer((int64_t)(sum)->ranks), \
	np_cell_integer((int64_t)(sum)->ops), \
	np_cell_integer((sum)->bytes), \
	np_cell_integer((sum)->moved_bytes), \
	np_cell_real(np_gb_per_s((sum)->moved_bytes, (sum)->moved_time)), \
	np_cell_integer((sum)->elapsed), \
	np_cell_integer((sum)->wait), \
	np_cell_integer((sum)->transit), \
	np_cell_integer((sum)->exposed), \
	np_cell_integer((sum)->overlapped), \
	np_cell_integer((sum)->computing), \
	np_cell_real(np_comm_compute_ratio(sum)), \
	np_cell_text((sum)->estimator)
/* clang-format on */

static const struct np_column comm_columns[] = {
	{ "group_name", NP_TEXT },
	{ "pg_name", NP_TEXT },
	{ "step", NP_TEXT },
	NP_COMM_SUM_COLUMNS,
};

static const struct np_column role_columns[] = {
	{ "role", NP_TEXT },
	{ "step", NP_TEXT },
	NP_COMM_SUM_COLUMNS,
};

static int produce_comm_sum(const struct np_run *run, const struct np_comm_sum *sum,
			    struct np_sink *sink, struct np_err *err)
{
	char hash[24];

	np_group_label(sum->communicator->hash, hash, sizeof(hash));
	return np_sink_row(
		sink,
		(struct np_cell[]){ np_cell_text(hash),
				    np_cell_text(np_run_text(run, sum->communicator->pg_name)),
				    np_cell_text(np_run_text(run, sum->step)),
				    NP_COMM_SUM_CELLS(sum) },
		err);
}

/* A role has no group of its own. */
static int produce_role_sums(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->roles.list.count && rc == NP_OK; i++) {
		const struct np_comm_sum *sum = &analysis->roles.list.item[i];

		rc = np_sink_row(sink,
				 (struct np_cell[]){
					 np_cell_text(np_run_text(run, sum->communicator->pg_name)),
					 np_cell_text(np_run_text(run, sum->step)),
					 NP_COMM_SUM_CELLS(sum) },
				 err);
	}
	return rc;
}

static int produce_comm_sums(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->sums.list.count && rc == NP_OK; i++)
		rc = produce_comm_sum(analysis->run, &analysis->sums.list.item[i], sink, err);
	return rc;
}

NP_DEFINE_TABLE(np_table_comm_step, "np_comm_step",
		"each communicator in each step over its profiled ranks, in ns and bytes",
		comm_columns, produce_comm_sums);

NP_DEFINE_TABLE(np_table_role_step, "np_role_step",
		"all communicators of each role in each step, in ns and bytes", role_columns,
		produce_role_sums);

/* --- np_skipped, np_run_info ----------------------------------------------------------------- */

static const struct np_column skipped_columns[] = {
	{ "path", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "what", NP_TEXT },
	{ "reason", NP_TEXT },
};

static int produce_skipped(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->notes.list.count && rc == NP_OK; i++) {
		const struct np_note *note = &run->notes.list.item[i];

		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_text(note->path),
				np_cell_integer(note->rank == NP_NO_RANK ? NP_UNKNOWN : note->rank),
				np_cell_text(note->what), np_cell_text(note->reason) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_skipped, "np_skipped", "what could not be used or is odd, and why",
		skipped_columns, produce_skipped);

static const struct np_column info_columns[] = {
	{ "key", NP_TEXT },
	{ "value", NP_TEXT },
};

/* The repairs that go with that of the verdict, one on a line; NULL for none. */
static const char *put_with(struct np_buf *buf, const struct np_verdict *verdict)
{
	for (size_t i = 0; i < verdict->with_count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&verdict->with[i], fix);
		np_buf_printf(buf, "%s%s", i > 0 ? "\n" : "", fix);
	}
	return verdict->with_count > 0 ? buf->text : NULL;
}

static int produce_info(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	const struct np_verdict *verdict = &analysis->verdict;
	NP_CLEANUP(np_buf_release) struct np_buf with = NP_BUF_INIT;
	char found[24];
	char used[24];
	char recovered[24];
	char lost[24];
	const struct {
		const char *key;
		const char *value;
	} facts[] = {
		{ "schema", "npuprof.cluster/1" },
		{ "npuprof_version", analysis->version },
		{ "input_fingerprint", analysis->fingerprint },
		{ "ranks_found", found },
		{ "ranks_used", used },
		{ "steps_chosen", run->steps_chosen ? "1" : "0" },
		{ "operators_left_out", analysis->operators_left_out ? "1" : "0" },
		{ "step_basis", np_basis_name(analysis->spreads.basis) },
		{ "verdict_kind", np_verdict_kind_name(verdict) },
		{ "verdict_reason", verdict->reason },
		{ "verdict_what", verdict->what },
		{ "verdict_recovered_ns", verdict->recovered == NP_UNKNOWN ? NULL : recovered },
		{ "verdict_lost_ns", verdict->lost == NP_UNKNOWN ? NULL : lost },
		{ "verdict_with", put_with(&with, verdict) },
		{ "verdict_text", verdict->text },
	};
	int rc = np_buf_check(&with, err);

	(void)snprintf(recovered, sizeof(recovered), "%" PRId64, verdict->recovered);
	(void)snprintf(lost, sizeof(lost), "%" PRId64, verdict->lost);
	(void)snprintf(found, sizeof(found), "%zu", run->sources.count);
	(void)snprintf(used, sizeof(used), "%zu", np_run_used(run));
	for (size_t i = 0; i < NP_COUNT(facts) && rc == NP_OK; i++)
		rc = np_sink_row(sink,
				 (struct np_cell[]){ np_cell_text(facts[i].key),
						     np_cell_text(facts[i].value) },
				 err);
	return rc;
}

NP_DEFINE_TABLE(np_table_run_info, "np_run_info", "what this database was made of", info_columns,
		produce_info);
