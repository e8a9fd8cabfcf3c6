/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEW_ORDER_H
#define NP_ADVISOR_VIEW_ORDER_H

#include "view.h"

/*
 * The rows of a view in the order of a column
 * ===========================================
 *
 * SQLite makes no indexes for virtual tables and sorts by texts. So each column
 * that is compared or sorted by numbers its values once: equal values have one
 * number, the code, and codes are in the order of SQL (nothing, numbers, texts
 * by bytes). A condition is then looked at once for each value, and sorting is
 * counting. An order lives as long as its view is open, for all rules.
 */
enum adv_view_values {
	VIEW_NUMBERS, /* and nothing else but NULL */
	VIEW_TEXTS,
	VIEW_MIXED,
};

struct adv_view_order {
	uint32_t *row;   /* rows in the order of the column, equal ones in their own */
	uint32_t *code;  /* by row */
	uint32_t *first; /* by code: its first place in `row`; one more for the end */
	uint32_t codes;
	enum adv_view_values values;
};

/* The order of a column of an open view, made when it is first asked for. */
int adv_view_order(struct adv_view *view, size_t column, const struct adv_view_order **ret,
		   struct np_err *err) NP_MUST_USE;

/* The order if there is one already, else NULL. */
const struct adv_view_order *adv_view_order_there(const struct adv_view *view, size_t column);

/* The value that a code stands for. */
struct np_cell adv_view_order_value(const struct adv_view *view, size_t column,
				    const struct adv_view_order *order, uint32_t code);

/* The first code whose value is not less than `value`, or with `after`, greater. */
uint32_t adv_view_order_search(const struct adv_view *view, size_t column,
			       const struct adv_view_order *order, const struct np_cell *value,
			       bool after);

/* Sort `count` rows by this order, keeping the order they have among equals. NP_E_NOMEM. */
int adv_view_order_sort(const struct adv_view_order *order, uint32_t *rows, size_t count,
			struct np_err *err) NP_MUST_USE;

void adv_view_orders_free(struct adv_view *view);

#endif /* NP_ADVISOR_VIEW_ORDER_H */
