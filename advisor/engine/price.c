/* SPDX-License-Identifier: Apache-2.0 */
#include "price.h"

#include "sql.h"

static int add_price(struct prices *prices, const char *fix, np_ns step, np_ns saved,
		     struct np_err *err)
{
	struct price *price = np_vec_add(&prices->list, err);

	if (!price)
		return NP_E_NOMEM;
	(void)snprintf(price->fix, sizeof(price->fix), "%s", fix);
	price->saved = saved;
	prices->step = step + saved;
	if (strcmp(fix, np_fix_kind_name(NP_FIX_ALL)) == 0)
		prices->all = saved;
	return NP_OK;
}

static int from_analysis(const struct np_whatif *whatif, struct prices *prices, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < whatif->rows.count && rc == NP_OK; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&row->fix, fix);
		rc = add_price(prices, fix, row->step, row->saved, err);
	}
	return rc;
}

static int from_merged(const char *path, struct prices *prices, struct np_err *err)
{
	static const char *const columns[] = { "fix", "step_ns", "saved_ns" };
	struct rows rows = { .arena = NULL };
	int rc = rows_init(&rows, columns, NULL, NP_COUNT(columns), err);

	if (rc == NP_OK)
		rc = sql_read_table(path, "np_whatif", &rows, err);
	for (size_t i = 0; rc == NP_OK && i < rows_count(&rows); i++) {
		const struct np_cell *fix = rows_cell(&rows, i, 0);
		const struct np_cell *step = rows_cell(&rows, i, 1);
		const struct np_cell *saved = rows_cell(&rows, i, 2);

		if (fix->type == NP_CELL_TEXT && step->type == NP_CELL_INTEGER &&
		    saved->type == NP_CELL_INTEGER)
			rc = add_price(prices, fix->text.bytes, step->integer, saved->integer, err);
	}
	rows_release(&rows);
	/* One of an older version has no such table. */
	return rc == NP_E_NOTFOUND ? NP_OK : rc;
}

int prices_find(const struct np_whatif *whatif, const char *merged, struct prices *ret,
		struct np_err *err)
{
	*ret = (struct prices){ .all = NP_UNKNOWN };
	return merged ? from_merged(merged, ret, err) : from_analysis(whatif, ret, err);
}

void prices_release(struct prices *prices)
{
	np_vec_release(&prices->list);
}

np_ns prices_of(const struct prices *prices, const char *repair)
{
	for (size_t i = 0; repair && i < prices->list.count; i++) {
		if (strcmp(prices->list.item[i].fix, repair) == 0)
			return prices->list.item[i].saved;
	}
	return NP_UNKNOWN;
}
