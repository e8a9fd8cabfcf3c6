/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes views, and makes views of rows. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "view_bulk.h"
#include "view_order.h"

int adv_view_open(struct adv_view *view, struct np_err *err)
{
	int rc = NP_OK;

	if (view->opened)
		return NP_OK;
	if (view->open)
		rc = view->open(view, err);
	view->opened = rc == NP_OK;
	return rc;
}

void adv_view_close(struct adv_view *view)
{
	if (view->close)
		view->close(view);
	else
		free(view->state);
	adv_view_orders_free(view);
	adv_view_cover_free(view);
	free(view->knowledge);
	view->knowledge = NULL;
	view->own_texts.of_row = NULL;
	view->state = NULL;
	view->opened = false;
}

size_t adv_view_column(const struct adv_view *view, const char *name)
{
	for (size_t i = 0; i < view->column_count; i++) {
		if (strcmp(view->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

enum {
	UNKNOWN = 1,
	KNOWN,
};

bool adv_view_knows(struct adv_view *view, size_t column)
{
	bool knows;

	if (!view->present || !view->known)
		return view->present;
	if (!view->knowledge && view->opened)
		view->knowledge = calloc(view->column_count + 1, 1);
	if (view->knowledge && view->knowledge[column])
		return view->knowledge[column] == KNOWN;
	knows = view->known(view, column);
	if (view->knowledge)
		view->knowledge[column] = knows ? KNOWN : UNKNOWN;
	return knows;
}

static int open_rows(struct adv_view *view, struct np_err *err)
{
	(void)err;
	view->rows = adv_rows_count(view->data);
	return NP_OK;
}

static struct np_cell cell_of_rows(const struct adv_view *view, size_t row, size_t column)
{
	return *adv_rows_cell(view->data, row, column);
}

static bool known_of_rows(const struct adv_view *view, size_t column)
{
	const struct adv_rows *rows = view->data;

	for (size_t i = 0; i < adv_rows_count(rows); i++) {
		if (adv_rows_cell(rows, i, column)->type != NP_CELL_NULL)
			return true;
	}
	return adv_rows_count(rows) == 0;
}

void adv_view_of_rows(struct adv_view *view, const char *name, const struct adv_rows *rows)
{
	*view = (struct adv_view){ .name = name,
				   .columns = rows->columns,
				   .column_count = rows->column_count,
				   .present = true,
				   .data = rows,
				   .open = open_rows,
				   .cell = cell_of_rows,
				   .known = known_of_rows };
}
