/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a result that an earlier analysis left, ours or msprof-analyze's. */
#include "discover_files.h"

#include "npuprof/csv.h"
#include "npuprof/notes.h"
#include "npuprof/order.h"
#include "npuprof/scan.h"
#include "npuprof/text.h"

/* Names of phases are as deep as the directories they come from. */
#define PHASE_DEPTH 4

/* The ranks that a column of a table names, once each. */
struct listing {
	struct np_db *db;
	NP_VEC(int32_t) ranks;
	struct np_err *err;
};

static int add_rank(struct listing *list, int64_t rank)
{
	int32_t *slot;

	if (rank < 0 || rank > INT32_MAX)
		return NP_OK;
	/* Rows of one rank follow each other. */
	if (list->ranks.count && list->ranks.item[list->ranks.count - 1] == (int32_t)rank)
		return NP_OK;
	slot = np_vec_add(&list->ranks, list->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = (int32_t)rank;
	return NP_OK;
}

static int list_table(struct listing *list, const char *table, const struct np_scan_column *columns,
		      size_t count)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err problem = NP_ERR_INIT;
	struct np_batch batch;
	int rc = np_scan_open(list->db, table, columns, count, &scan, &problem);

	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, &problem);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++) {
			const char *type = count > 1 ? batch.column[1].text[i].bytes : NULL;

			if (!type || strcmp(type, "rank") == 0)
				rc = add_rank(list, batch.column[0].integer[i]);
		}
	}
	/* A table that is missing or damaged has no ranks; its reader says so. */
	return rc == NP_E_NOMEM ? np_fail(list->err, NP_E_NOMEM, "%s", problem.text) : NP_OK;
}

static void sort_ranks(struct listing *list)
{
	size_t kept = 0;

	if (list->ranks.count > 1)
		qsort(list->ranks.item, list->ranks.count, sizeof(list->ranks.item[0]),
		      np_by_int32);
	for (size_t i = 0; i < list->ranks.count; i++) {
		if (kept == 0 || list->ranks.item[kept - 1] != list->ranks.item[i])
			list->ranks.item[kept++] = list->ranks.item[i];
	}
	list->ranks.count = kept;
}

static int add_sources(struct np_run *run, const struct listing *list, const char *path,
		       enum np_file file, struct np_err *err)
{
	int rc = NP_OK;

	if (list->ranks.count > 0)
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, path, np_file_name(file),
			    "the result of an earlier analysis: it has step times%s; kernels, calls"
			    " of the host and what overlapped are only in the profiles",
			    file == NP_FILE_CLUSTER_DB ? ", communication and links" : "");

	for (size_t i = 0; i < list->ranks.count && rc == NP_OK; i++) {
		struct np_source_files source = { .kind = NP_KIND_CLUSTER,
						  .rank = list->ranks.item[i],
						  .device = -1 };

		source.dir = strdup(path);
		source.file[file] = strdup(path);
		if (!source.dir || !source.file[file])
			rc = np_fail_nomem(err, path);
		if (rc == NP_OK)
			rc = discover_keep(run, &source, err);
		np_source_files_release(&source);
	}
	return rc;
}

int discover_take_cluster_db(struct np_run *run, const char *path, size_t *ret_without_data,
			     struct np_err *err)
{
	static const struct np_scan_column step_columns[] = {
		{ "index", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "type", NP_SCAN_TEXT, NP_OPTIONAL },
	};
	static const struct np_scan_column time_columns[] = {
		{ "rank_id", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct listing list = { .err = err };
	struct np_err problem = NP_ERR_INIT;
	int rc = np_db_open(path, &db, &problem);

	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc == NP_OK) {
		list.db = db;
		rc = list_table(&list, "ClusterStepTraceTime", step_columns, 2);
	}
	if (rc == NP_OK)
		rc = list_table(&list, "ClusterCommunicationTime", time_columns, 1);
	sort_ranks(&list);
	if (rc == NP_OK)
		rc = add_sources(run, &list, path, NP_FILE_CLUSTER_DB, err);
	if (rc != NP_E_NOMEM && list.ranks.count == 0) {
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "cluster_analysis.db",
			    "%s", problem.code ? problem.text : "it has step times of no rank");
		rc = NP_OK;
	}
	np_vec_release(&list.ranks);
	return rc;
}

/* The text form, of which the step times are read. */
static int take_step_csv(struct np_run *run, const char *path, size_t *ret_without_data,
			 struct np_err *err)
{
	static const struct np_csv_column columns[] = { { "Type", NP_REQUIRED },
							{ "Index", NP_REQUIRED } };
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	struct listing list = { .err = err };
	struct np_err problem = NP_ERR_INIT;
	const struct np_csv_row *row = NULL;
	int rc = np_csv_open(path, columns, NP_COUNT(columns), &csv, &problem);

	while (rc == NP_OK) {
		int64_t rank;

		rc = np_csv_next(csv, &row, &problem);
		if (rc < 0 || !row)
			break;
		if (np_slice_is(row->cell[0], "rank") &&
		    np_text_to_int(row->cell[1].bytes, row->cell[1].length, &rank))
			rc = add_rank(&list, rank);
	}
	if (rc == NP_E_NOMEM) {
		np_vec_release(&list.ranks);
		return np_fail_nomem(err, path);
	}
	sort_ranks(&list);
	rc = add_sources(run, &list, path, NP_FILE_STEP_TRACE, err);
	if (list.ranks.count == 0) {
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path,
			    "cluster_step_trace_time.csv", "%s",
			    problem.code ? problem.text : "it has step times of no rank");
	}
	np_vec_release(&list.ranks);
	return rc;
}

static bool among(const struct np_names *names, const char *name)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (strcmp(names->list.item[i], name) == 0)
			return true;
	}
	return false;
}

/* What else the text form has is not read. */
static void note_text(struct np_run *run, const char *dir, const struct np_names *names)
{
	static const char *const others[] = { "cluster_communication.json",
					      "cluster_communication_matrix.json",
					      "communication_group.json" };

	for (size_t i = 0; i < NP_COUNT(others); i++) {
		if (among(names, others[i]))
			np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, dir, others[i],
				    "of the text form of a result only cluster_step_trace_time.csv"
				    " is read; cluster_analysis.db has all");
	}
}

static int take_at(struct np_run *run, const char *dir, int depth, size_t *ret_without_data,
		   struct np_err *err);

/* Results of the phases of a job stand below, by their names. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by PHASE_DEPTH */
static int take_phases(struct np_run *run, const char *dir, const struct np_names *names, int depth,
		       size_t *ret_without_data, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK && depth < PHASE_DEPTH; i++) {
		char *child = np_join_path(dir, names->list.item[i]);

		if (!child)
			return np_fail_nomem(err, dir);
		if (np_is_directory(child) && strcmp(names->list.item[i], "summaries") != 0)
			rc = take_at(run, child, depth + 1, ret_without_data, err);
		free(child);
	}
	return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by PHASE_DEPTH */
static int take_at(struct np_run *run, const char *dir, int depth, size_t *ret_without_data,
		   struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = discover_names(run, dir, &names, err);
	bool db = among(&names, "cluster_analysis.db");
	char *path = np_join_path(dir, db ? "cluster_analysis.db" : "cluster_step_trace_time.csv");

	if (!path)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK && db)
		rc = discover_take_cluster_db(run, path, ret_without_data, err);
	else if (rc == NP_OK && among(&names, "cluster_step_trace_time.csv"))
		rc = take_step_csv(run, path, ret_without_data, err);
	else if (rc == NP_OK)
		rc = take_phases(run, dir, &names, depth, ret_without_data, err);
	if (rc == NP_OK && !db)
		note_text(run, dir, &names);
	np_names_release(&names);
	free(path);
	return rc;
}

int discover_take_cluster(struct np_run *run, const char *dir, size_t *ret_without_data,
			  struct np_err *err)
{
	return take_at(run, dir, 0, ret_without_data, err);
}
