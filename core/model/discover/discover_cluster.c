/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a result that an earlier analysis left, ours or msprof-analyze's. */
#include "discover_files.h"

#include "npuprof/notes.h"
#include "npuprof/order.h"
#include "npuprof/scan.h"
#include "npuprof/text.h"

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

static int list_table(struct listing *list, const char *table, const struct np_scan_column *columns)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err problem = NP_ERR_INIT;
	struct np_batch batch;
	int rc = np_scan_open(list->db, table, columns, 2, &scan, &problem);

	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, &problem);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++) {
			const char *type = batch.column[1].text[i].bytes;

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
		       struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < list->ranks.count && rc == NP_OK; i++) {
		struct np_source_files source = { .kind = NP_KIND_CLUSTER,
						  .rank = list->ranks.item[i],
						  .device = -1 };

		source.dir = strdup(path);
		source.file[NP_FILE_CLUSTER_DB] = strdup(path);
		if (!source.dir || !source.file[NP_FILE_CLUSTER_DB])
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
		{ "", NP_SCAN_TEXT, NP_OPTIONAL },
	};
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct listing list = { .err = err };
	struct np_err problem = NP_ERR_INIT;
	int rc = np_db_open(path, &db, &problem);

	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc == NP_OK) {
		list.db = db;
		rc = list_table(&list, "ClusterStepTraceTime", step_columns);
	}
	if (rc == NP_OK)
		rc = list_table(&list, "ClusterCommunicationTime", time_columns);
	sort_ranks(&list);
	if (rc == NP_OK)
		rc = add_sources(run, &list, path, err);
	if (rc != NP_E_NOMEM && list.ranks.count == 0) {
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "cluster_analysis.db",
			    "%s", problem.code ? problem.text : "it has step times of no rank");
		rc = NP_OK;
	}
	np_vec_release(&list.ranks);
	return rc;
}

int discover_take_cluster(struct np_run *run, const char *dir, size_t *ret_without_data,
			  struct np_err *err)
{
	char *path = np_join_path(dir, "cluster_analysis.db");
	struct np_names names = { 0 };
	bool found = false;
	int rc = path ? discover_names(run, dir, &names, err) : np_fail_nomem(err, dir);

	for (size_t i = 0; i < names.list.count; i++)
		found = found || strcmp(names.list.item[i], "cluster_analysis.db") == 0;
	if (rc == NP_OK && found)
		rc = discover_take_cluster_db(run, path, ret_without_data, err);
	np_names_release(&names);
	free(path);
	return rc;
}
