/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a merged database is fresh and whole. */
#include "merged.h"

#include <string.h>
#include <unistd.h>

#include "advisor/engine/sql/sql.h"

/* The value of a key of np_run_info, or "". */
static const char *value_of(const struct adv_rows *rows, const char *key)
{
	for (size_t i = 0; i < adv_rows_count(rows); i++) {
		const struct np_cell *name = adv_rows_cell(rows, i, 0);
		const struct np_cell *value = adv_rows_cell(rows, i, 1);

		if (name->type == NP_CELL_TEXT && value->type == NP_CELL_TEXT &&
		    strcmp(name->text.bytes, key) == 0)
			return value->text.bytes;
	}
	return "";
}

bool adv_merged_is_fresh(const char *path, const struct np_run *discovered, const char *version)
{
	static const char *const columns[] = { "key", "value" };
	struct adv_rows rows = { .arena = NULL };
	struct np_err err = NP_ERR_INIT;
	char fingerprint[17];
	char ranks[24];
	bool fresh = false;

	if (access(path, R_OK) < 0 || adv_rows_init(&rows, columns, NULL, 2, &err) < 0)
		return false;
	if (adv_sql_read_table(path, "np_run_info", &rows, &err) == NP_OK) {
		np_run_fingerprint(discovered, fingerprint);
		(void)snprintf(ranks, sizeof(ranks), "%zu", discovered->sources.count);
		fresh = strcmp(value_of(&rows, "input_fingerprint"), fingerprint) == 0 &&
			strcmp(value_of(&rows, "npuprof_version"), version) == 0 &&
			strcmp(value_of(&rows, "ranks_used"), ranks) == 0;
	}
	adv_rows_release(&rows);
	return fresh;
}

static bool is_first(const struct adv_rows *rows, size_t row)
{
	for (size_t i = 0; i < row; i++) {
		if (adv_cell_compare(adv_rows_cell(rows, i, 0), adv_rows_cell(rows, row, 0)) == 0)
			return false;
	}
	return true;
}

/* Distinct values of a column, of which there are few; SIZE_MAX when it cannot be read. */
static size_t count_values(const char *path, const char *table, const char *column)
{
	struct adv_rows rows = { .arena = NULL };
	struct np_err err = NP_ERR_INIT;
	size_t count = 0;

	if (adv_rows_init(&rows, &column, NULL, 1, &err) < 0)
		return SIZE_MAX;
	if (adv_sql_read_table(path, table, &rows, &err) < 0)
		count = SIZE_MAX;
	/* Rows of a value adjoin, mostly. */
	for (size_t i = 0; count != SIZE_MAX && i < adv_rows_count(&rows); i++) {
		if (i > 0 && adv_cell_compare(adv_rows_cell(&rows, i - 1, 0),
					      adv_rows_cell(&rows, i, 0)) == 0)
			continue;
		count += is_first(&rows, i);
	}
	adv_rows_release(&rows);
	return count;
}

bool adv_merged_is_whole(const char *path, const struct np_cluster *cluster)
{
	bool communicates = cluster->communicators.count > 0;

	return count_values(path, "ClusterStepTraceTime", "step") == cluster->steps.count &&
	       (!communicates ||
		(count_values(path, "ClusterCommunicationTime", "group_name") > 0 &&
		 count_values(path, "ClusterCommunicationMatrix", "group_name") > 0));
}
