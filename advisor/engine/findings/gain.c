/* SPDX-License-Identifier: Apache-2.0 */
/* What repairs gain, from the analysis or from a merged database. */
#include "gain.h"

#include "npuprof/run.h"

#include "advisor/engine/sql/sql.h"

static int add_gain(struct adv_gains *gains, const char *fix, np_ns step, np_ns saved,
		    struct np_err *err)
{
	struct adv_gain *gain = np_vec_add(&gains->list, err);

	if (!gain)
		return NP_E_NOMEM;
	(void)snprintf(gain->fix, sizeof(gain->fix), "%s", fix);
	gain->saved = saved;
	gains->step = step + saved;
	if (strcmp(fix, np_fix_kind_name(NP_FIX_ALL)) == 0)
		gains->all = saved;
	return NP_OK;
}

static void set_upper(struct adv_gains *gains, np_ns waiting, np_ns charged)
{
	gains->unseen = waiting - charged;
	gains->upper = gains->unseen > waiting / 2;
}

static int from_analysis(const struct np_analysis *analysis, struct adv_gains *gains,
			 struct np_err *err)
{
	const struct np_whatif *whatif = &analysis->whatif;
	const struct np_charges *charges = &analysis->charges;
	np_ns charged = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < whatif->rows.count && rc == NP_OK; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&row->fix, fix);
		rc = add_gain(gains, fix, row->step, row->saved, err);
	}
	for (size_t i = 0; i < analysis->run->sources.count; i++)
		charged += charges->ranks[i].charge;
	set_upper(gains, charges->total, charged);
	return rc;
}

/* Σ of a column. A database of an older version may have no such table. */
static int sum_column(const char *path, const char *table, const char *column, np_ns *ret,
		      struct np_err *err)
{
	struct adv_rows rows = { .arena = NULL };
	int rc = adv_rows_init(&rows, &column, NULL, 1, err);

	*ret = 0;
	if (rc == NP_OK)
		rc = adv_sql_read_table(path, table, &rows, err);
	for (size_t i = 0; rc == NP_OK && i < adv_rows_count(&rows); i++) {
		const struct np_cell *cell = adv_rows_cell(&rows, i, 0);

		*ret += cell->type == NP_CELL_INTEGER ? cell->integer : 0;
	}
	adv_rows_release(&rows);
	return rc == NP_E_NOTFOUND ? NP_OK : rc;
}

static int read_gains(const char *path, struct adv_gains *gains, struct np_err *err)
{
	static const char *const columns[] = { "fix", "step_ns", "saved_ns" };
	struct adv_rows rows = { .arena = NULL };
	int rc = adv_rows_init(&rows, columns, NULL, NP_COUNT(columns), err);

	if (rc == NP_OK)
		rc = adv_sql_read_table(path, "np_whatif", &rows, err);
	for (size_t i = 0; rc == NP_OK && i < adv_rows_count(&rows); i++) {
		const struct np_cell *fix = adv_rows_cell(&rows, i, 0);
		const struct np_cell *step = adv_rows_cell(&rows, i, 1);
		const struct np_cell *saved = adv_rows_cell(&rows, i, 2);

		if (fix->type == NP_CELL_TEXT && step->type == NP_CELL_INTEGER &&
		    saved->type == NP_CELL_INTEGER)
			rc = add_gain(gains, fix->text.bytes, step->integer, saved->integer, err);
	}
	adv_rows_release(&rows);
	return rc == NP_E_NOTFOUND ? NP_OK : rc;
}

static int from_merged(const char *path, struct adv_gains *gains, struct np_err *err)
{
	np_ns waiting = 0;
	np_ns charged = 0;
	int rc = read_gains(path, gains, err);

	if (rc == NP_OK)
		rc = sum_column(path, "np_comm_step", "wait_ns", &waiting, err);
	if (rc == NP_OK)
		rc = sum_column(path, "np_blame", "cost_ns", &charged, err);
	set_upper(gains, waiting, charged);
	return rc;
}

int adv_gains_find(const struct np_analysis *analysis, const char *merged, struct adv_gains *ret,
		   struct np_err *err)
{
	*ret = (struct adv_gains){ .all = NP_UNKNOWN };
	return merged ? from_merged(merged, ret, err) : from_analysis(analysis, ret, err);
}

void adv_gains_release(struct adv_gains *gains)
{
	np_vec_release(&gains->list);
}

np_ns adv_gains_of(const struct adv_gains *gains, const char *repair)
{
	for (size_t i = 0; repair && i < gains->list.count; i++) {
		if (strcmp(gains->list.item[i].fix, repair) == 0)
			return gains->list.item[i].saved;
	}
	return NP_UNKNOWN;
}
