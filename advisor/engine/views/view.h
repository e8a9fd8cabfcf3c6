/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEW_H
#define NP_ADVISOR_VIEW_H

#include "npuprof/relation.h"

#include "advisor/engine/data/values.h"

/*
 * Views: what rules see of a run
 * ==============================
 *
 * A view is a table whose cells are computed from the model when SQL asks for
 * them: nothing is copied. `open` is called before the first row is read, so
 * that what no rule looks at costs nothing; it sets `rows`.
 *
 * A view that was not recorded is not `present`: rules that need it are skipped,
 * with the reason. `known` says the same of a column; NULL means all are.
 *
 * A view serves one connection at a time.
 */
struct view_field;
struct view_rank;

/* The structs that rows are, or to which they point. */
struct view_items {
	const char *first;
	size_t size;
	size_t count;
	const uint32_t *pick; /* where the index for row 0 is; NULL: row i has item i */
	size_t pick_size;     /* from one index to the next */
};

struct view {
	const char *name;
	const struct np_column *columns;
	size_t column_count;
	bool present;
	const void *data;
	size_t rows;
	int (*open)(struct view *view, struct np_err *err);
	struct np_cell (*cell)(const struct view *view, size_t row, size_t column);
	bool (*known)(const struct view *view, size_t column);
	void (*close)(struct view *view); /* NULL: `state` is freed */
	void *state;                      /* of `open` */
	const struct view_field *fields;  /* by column: see view_fields.h */
	struct view_items items[2];
	bool opened;
	struct view_order **orders; /* by column; see view_order.h */
	unsigned char *searches;    /* by column: how often it was searched row by row */
};

/* Make `rows` a view; it must outlive the view. Columns without any value are not known. */
void view_of_rows(struct view *view, const char *name, const struct rows *rows);

/* Call `open` once. */
int view_open(struct view *view, struct np_err *err) NP_MUST_USE;

/* Give up what `open` made. */
void view_close(struct view *view);

/* The index of a column, or SIZE_MAX. */
size_t view_column(const struct view *view, const char *name);
bool view_knows(struct view *view, size_t column);

/*
 * Where a connection finds a view. The view changes from rank to rank, its columns
 * do not, so that statements stay prepared.
 */
struct view_slot {
	const char *name;
	const struct np_column *columns;
	size_t column_count;
	size_t typical; /* rows, for plans of queries */
	struct view *view;
};

struct view_slot view_slot_of(struct view *view);

/*
 * The views there are, for lists, checks and fixtures: each with the switch of
 * the profiler that supplies it. Views of rules over ranks, of rules over the
 * cluster, or of both.
 */
enum view_scope {
	VIEW_RANK = 1 << 0,
	VIEW_CLUSTER = 1 << 1,
};

struct view_description {
	const char *name;
	const struct np_column *columns;
	size_t column_count;
	unsigned scope;
	size_t typical; /* number of rows, for plans of queries; 0: few */
	const char *what;
	const char *cure; /* how to get it; NULL for what is always there */
	/* Of the views of a rank: where cells come from, and what else is to be set in a view. */
	const struct view_field *fields;
	void (*begin)(struct view *view, const struct view_rank *source);
};

size_t view_catalog_count(void);
struct view_description view_catalog(size_t index);

/* The description of a view, or of the one that a v_base_ name stands for. */
bool view_describe(const char *name, struct view_description *ret);

/* What would supply a view, or a column of it (may be NULL). */
const char *view_cure(const char *name, const char *column);

/* Views of the second run of a comparison have this before the rest of their name: v_base_step. */
#define VIEW_BASE_PREFIX "v_base_"

#endif /* NP_ADVISOR_VIEW_H */
