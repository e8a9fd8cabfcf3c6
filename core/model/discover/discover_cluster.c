/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a result that an earlier analysis left, ours or msprof-analyze's. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/buf.h"
#include "npuprof/csv.h"
#include "npuprof/json.h"
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

static const char *const text_files[NP_FILE_COUNT] = {
	[NP_FILE_STEP_TRACE] = "cluster_step_trace_time.csv",
	[NP_FILE_COMM] = "cluster_communication.json",
	[NP_FILE_COMM_MATRIX] = "cluster_communication_matrix.json",
	[NP_FILE_METADATA] = "communication_group.json",
};

static void note_result(struct np_run *run, const char *path, bool steps, bool communication,
			bool links)
{
	np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, path, CLUSTER_NAME,
		    "the result of an earlier analysis: it has %s%s%s%s; kernels, calls of the host"
		    " and what overlapped are only in the profiles",
		    steps ? "step times" : "", steps && communication ? ", " : "",
		    communication ? "communication" : "", links ? " and links" : "");
}

/* Every rank that was listed has these files in common. */
static int add_sources(struct np_run *run, const struct listing *list, const char *path,
		       const char *const *files, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < list->ranks.count && rc == NP_OK; i++) {
		struct np_source_files source = { .kind = NP_KIND_CLUSTER,
						  .rank = list->ranks.item[i],
						  .device = -1,
						  .dir = strdup(path) };
		bool all = source.dir != NULL;

		for (size_t file = 0; file < NP_FILE_COUNT && all; file++) {
			source.file[file] = files[file] ? strdup(files[file]) : NULL;
			all = !files[file] || source.file[file];
		}
		rc = all ? discover_keep(run, &source, err) : np_fail_nomem(err, path);
		np_source_files_release(&source);
	}
	return rc;
}

/* The tables of a database, once each: their columns follow each other. */
static int name_table(void *context, const char *table, const char *column, struct np_err *err)
{
	struct np_buf *names = context;
	size_t length = strlen(table);

	(void)column;
	(void)err;
	if (names->length < length || strcmp(names->text + names->length - length, table) != 0)
		np_buf_printf(names, "%s%s", names->length > 0 ? ", " : "", table);
	return NP_OK;
}

/* Other modes of msprof-analyze leave their tables alone, and nothing of steps. */
static void note_no_rank(struct np_run *run, const char *path, struct np_db *db,
			 const struct np_err *problem)
{
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;

	if (problem->code == 0 && np_db_columns(db, name_table, &names, NULL) == NP_OK &&
	    names.length > 0 && !names.failed)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "cluster_analysis.db",
			    "it has step times and operators of no rank, but results of other"
			    " modes, which nothing can be made of: %s",
			    names.text);
	else
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "cluster_analysis.db",
			    "%s", problem->code ? problem->text : "it has step times of no rank");
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
	if (rc == NP_OK && list.ranks.count > 0)
		note_result(run, path, np_db_has_rows(db, "ClusterStepTraceTime"),
			    np_db_has_rows(db, "ClusterCommunicationTime"),
			    np_db_has_rows(db, "ClusterCommunicationMatrix"));
	if (rc == NP_OK) {
		const char *const files[NP_FILE_COUNT] = { [NP_FILE_CLUSTER_DB] = path };

		rc = add_sources(run, &list, path, files, err);
	}
	if (rc != NP_E_NOMEM && list.ranks.count == 0) {
		*ret_without_data += 1;
		note_no_rank(run, path, db, &problem);
		rc = NP_OK;
	}
	np_vec_release(&list.ranks);
	return rc;
}

/* --- the text form --------------------------------------------------------------------------- */

static int list_steps(struct listing *list, const char *path, struct np_err *problem)
{
	static const struct np_csv_column columns[] = { { "Type", NP_REQUIRED },
							{ "Index", NP_REQUIRED } };
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row = NULL;
	int rc = np_csv_open(path, columns, NP_COUNT(columns), &csv, problem);

	while (rc == NP_OK) {
		int64_t rank;

		rc = np_csv_next(csv, &row, problem);
		if (rc < 0 || !row)
			break;
		if (np_slice_is(row->cell[0], "rank") &&
		    np_text_to_int(row->cell[1].bytes, row->cell[1].length, &rank))
			rc = add_rank(list, rank);
	}
	return rc;
}

/* Ranks are the innermost keys: {"(0, 1)": {"step5": {"operator@group": {"0": …}}}}. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by `depth` */
static int list_keys(struct listing *list, const struct np_json *object, int depth)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(object, &entry)) {
		int64_t rank;

		if (depth > 0)
			rc = list_keys(list, entry.value, depth - 1);
		else if (np_text_to_int(entry.key, strlen(entry.key), &rank))
			rc = add_rank(list, rank);
	}
	return rc;
}

/* Where there are no step times the operators say which ranks there were. */
static int list_operators(struct listing *list, const char *path, struct np_err *problem)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int rc = np_json_read_file(path, NP_DERIVED_MAX_BYTES, &doc, problem);

	return rc < 0 ? rc : list_keys(list, doc, 3);
}

static bool among(const struct np_names *names, const char *name)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (strcmp(names->list.item[i], name) == 0)
			return true;
	}
	return false;
}

bool discover_is_result(const char *name)
{
	return strcmp(name, "cluster_analysis.db") == 0 ||
	       strcmp(name, text_files[NP_FILE_STEP_TRACE]) == 0 ||
	       strcmp(name, text_files[NP_FILE_COMM]) == 0;
}

static int list_text(struct listing *list, const char *const *files, struct np_err *problem)
{
	int rc = NP_OK;

	if (files[NP_FILE_STEP_TRACE])
		rc = list_steps(list, files[NP_FILE_STEP_TRACE], problem);
	if (rc != NP_E_NOMEM && list->ranks.count == 0 && files[NP_FILE_COMM])
		rc = list_operators(list, files[NP_FILE_COMM], problem);
	sort_ranks(list);
	return rc;
}

static int take_text(struct np_run *run, const char *dir, const struct np_names *names,
		     size_t *ret_without_data, struct np_err *err)
{
	char *files[NP_FILE_COUNT] = { NULL };
	struct listing list = { .err = err };
	struct np_err problem = NP_ERR_INIT;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_FILE_COUNT && rc == NP_OK; i++) {
		if (!text_files[i] || !among(names, text_files[i]))
			continue;
		files[i] = np_join_path(dir, text_files[i]);
		rc = files[i] ? NP_OK : np_fail_nomem(err, dir);
	}
	if (rc == NP_OK && list_text(&list, (const char *const *)files, &problem) == NP_E_NOMEM)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK && list.ranks.count > 0)
		note_result(run, dir, files[NP_FILE_STEP_TRACE], files[NP_FILE_COMM],
			    files[NP_FILE_COMM_MATRIX]);
	if (rc == NP_OK)
		rc = add_sources(run, &list, dir, (const char *const *)files, err);
	if (rc == NP_OK && list.ranks.count == 0) {
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, dir, CLUSTER_NAME, "%s",
			    problem.code ? problem.text : "it has figures of no rank");
	}
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		free(files[i]);
	np_vec_release(&list.ranks);
	return rc;
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
	bool text = among(&names, text_files[NP_FILE_STEP_TRACE]) ||
		    among(&names, text_files[NP_FILE_COMM]);
	char *path = np_join_path(dir, "cluster_analysis.db");

	if (!path)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK && db)
		rc = discover_take_cluster_db(run, path, ret_without_data, err);
	else if (rc == NP_OK && text)
		rc = take_text(run, dir, &names, ret_without_data, err);
	else if (rc == NP_OK)
		rc = take_phases(run, dir, &names, depth, ret_without_data, err);
	np_names_release(&names);
	free(path);
	return rc;
}

int discover_take_cluster(struct np_run *run, const char *dir, size_t *ret_without_data,
			  struct np_err *err)
{
	return take_at(run, dir, 0, ret_without_data, err);
}
