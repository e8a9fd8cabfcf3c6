/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a merged database is fresh and whole. */
#include "merged.h"

#include <string.h>
#include <unistd.h>

#include "npuprof/text.h"

#include "advisor/engine/sql/sql.h"

/* The value of a key of np_run_info, or NULL. */
static const char *find_value(const struct adv_rows *rows, const char *key)
{
	for (size_t i = 0; i < adv_rows_count(rows); i++) {
		const struct np_cell *name = adv_rows_cell(rows, i, 0);
		const struct np_cell *value = adv_rows_cell(rows, i, 1);

		if (name->type == NP_CELL_TEXT && value->type == NP_CELL_TEXT &&
		    strcmp(name->text.bytes, key) == 0)
			return value->text.bytes;
	}
	return NULL;
}

/* The same, or "". */
static const char *value_of(const struct adv_rows *rows, const char *key)
{
	const char *value = find_value(rows, key);

	return value ? value : "";
}

static int read_info(const char *path, struct adv_rows *ret, struct np_err *err)
{
	static const char *const columns[] = { "key", "value" };
	int rc = adv_rows_init(ret, columns, NULL, NP_COUNT(columns), err);

	return rc == NP_OK ? adv_sql_read_table(path, "np_run_info", ret, err) : rc;
}

bool adv_merged_is_fresh(const char *path, const struct np_run *discovered, const char *version)
{
	struct adv_rows rows = { .arena = NULL };
	struct np_err err = NP_ERR_INIT;
	char fingerprint[17];
	char ranks[24];
	bool fresh = false;

	if (access(path, R_OK) < 0)
		return false;
	if (read_info(path, &rows, &err) == NP_OK) {
		np_run_fingerprint(discovered, fingerprint);
		(void)snprintf(ranks, sizeof(ranks), "%zu", discovered->sources.count);
		fresh = strcmp(value_of(&rows, "input_fingerprint"), fingerprint) == 0 &&
			strcmp(value_of(&rows, "npuprof_version"), version) == 0 &&
			strcmp(value_of(&rows, "ranks_used"), ranks) == 0 &&
			strcmp(value_of(&rows, "steps_chosen"), "0") == 0 &&
			strcmp(value_of(&rows, "operators_left_out"), "0") == 0 &&
			find_value(&rows, "verdict_kind");
	}
	adv_rows_release(&rows);
	return fresh;
}

static int copy_text(const struct adv_rows *rows, const char *key, char **ret, struct np_err *err)
{
	const char *value = find_value(rows, key);

	*ret = value ? strdup(value) : NULL;
	return value && !*ret ? np_fail_nomem(err, "the verdict") : NP_OK;
}

static np_ns time_of(const struct adv_rows *rows, const char *key)
{
	const char *value = value_of(rows, key);
	int64_t time;

	return np_text_to_int(value, strlen(value), &time) ? time : NP_UNKNOWN;
}

int adv_merged_verdict(const char *path, struct np_verdict *ret, struct np_err *err)
{
	struct adv_rows rows = { .arena = NULL };
	int rc = read_info(path, &rows, err);

	if (rc == NP_OK)
		rc = np_verdict_read(value_of(&rows, "verdict_kind"),
				     find_value(&rows, "verdict_what"),
				     find_value(&rows, "verdict_with"), ret, err);
	if (rc == NP_OK) {
		ret->recovered = time_of(&rows, "verdict_recovered_ns");
		ret->lost = time_of(&rows, "verdict_lost_ns");
		rc = copy_text(&rows, "verdict_reason", &ret->reason, err);
	}
	if (rc == NP_OK)
		rc = copy_text(&rows, "verdict_what", &ret->what, err);
	if (rc == NP_OK)
		rc = copy_text(&rows, "verdict_text", &ret->text, err);
	adv_rows_release(&rows);
	return rc;
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
