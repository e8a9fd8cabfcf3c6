/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes views, and makes views of rows. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "view_order.h"

int view_open(struct view *view, struct np_err *err)
{
	int rc = NP_OK;

	if (view->opened)
		return NP_OK;
	if (view->open)
		rc = view->open(view, err);
	view->opened = rc == NP_OK;
	return rc;
}

void view_close(struct view *view)
{
	if (view->close)
		view->close(view);
	else
		free(view->state);
	view_orders_free(view);
	view->state = NULL;
	view->opened = false;
}

size_t view_column(const struct view *view, const char *name)
{
	for (size_t i = 0; i < view->column_count; i++) {
		if (strcmp(view->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

bool view_knows(struct view *view, size_t column)
{
	return view->present && (!view->known || view->known(view, column));
}

static int open_rows(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = rows_count(view->data);
	return NP_OK;
}

static struct np_cell cell_of_rows(const struct view *view, size_t row, size_t column)
{
	return *rows_cell(view->data, row, column);
}

static bool known_of_rows(const struct view *view, size_t column)
{
	const struct rows *rows = view->data;

	for (size_t i = 0; i < rows_count(rows); i++) {
		if (rows_cell(rows, i, column)->type != NP_CELL_NULL)
			return true;
	}
	return rows_count(rows) == 0;
}

void view_of_rows(struct view *view, const char *name, const struct rows *rows)
{
	*view = (struct view){ .name = name,
			       .columns = rows->columns,
			       .column_count = rows->column_count,
			       .present = true,
			       .data = rows,
			       .open = open_rows,
			       .cell = cell_of_rows,
			       .known = known_of_rows };
}
