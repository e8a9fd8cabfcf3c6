/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEW_H
#define NP_ADVISOR_VIEW_H

#include "npuprof/contents.h"
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
struct adv_view_field;
struct adv_view_rank;

/* The structs that rows are, or to which they point. */
struct adv_view_items {
	const char *first;
	size_t size;
	size_t count;
	const uint32_t *pick; /* where the index for row 0 is; NULL: row i has item i */
	size_t pick_size;     /* from one index to the next */
};

struct adv_view {
	const char *name;
	const struct np_column *columns;
	size_t column_count;
	bool present;
	/* Why it is not, where that is not that it was not recorded; else NULL. As `data` lives. */
	const char *why;
	const void *data;
	size_t rows;
	int (*open)(struct adv_view *view, struct np_err *err);
	struct np_cell (*cell)(const struct adv_view *view, size_t row, size_t column);
	bool (*known)(const struct adv_view *view, size_t column);
	void (*close)(struct adv_view *view); /* NULL: `state` is freed */
	void *state;                          /* of `open` */
	const struct adv_view_field *fields;  /* by column: see view_fields.h */
	size_t field_count;                   /* of the first columns */
	struct adv_view_items items[2];
	/* A text column that has a table of its own: set by `open`. */
	struct {
		const uint32_t *of_row; /* ids; NULL: there is none */
		const struct np_strtab *strings;
		size_t column;
	} own_texts;
	bool opened;
	unsigned char *knowledge;       /* by column, what adv_view_knows() found: 1 no, 2 yes */
	struct adv_view_cover *cover;   /* see view_bulk.h */
	const struct adv_view_set *set; /* of which it is one; NULL: of none */
	struct adv_view_order **orders; /* by column; see view_order.h */
	unsigned char *searches;        /* by column: how often it was searched row by row */
	size_t *looked; /* likewise: rows that were looked at one by one where few were left */
};

/* Make `rows` a view; it must outlive the view. Columns without any value are not known. */
void adv_view_of_rows(struct adv_view *view, const char *name, const struct adv_rows *rows);

/* Call `open` once. */
int adv_view_open(struct adv_view *view, struct np_err *err) NP_MUST_USE;

/* Give up what `open` made. */
void adv_view_close(struct adv_view *view);

/* The index of a column, or SIZE_MAX. */
size_t adv_view_column(const struct adv_view *view, const char *name);

/* Is there a value in the column? Looked for once, while the view is open. */
bool adv_view_knows(struct adv_view *view, size_t column);

/*
 * Where a connection finds a view. The view changes from rank to rank, its columns
 * do not, so that statements stay prepared.
 */
struct adv_view_slot {
	const char *name;
	const struct np_column *columns;
	size_t column_count;
	size_t typical; /* rows, for plans of queries */
	struct adv_view *view;
};

struct adv_view_slot adv_view_slot_of(struct adv_view *view);

/*
 * The views there are, for lists, checks and fixtures: each with the switch of
 * the profiler that supplies it. Views of rules over ranks, of rules over the
 * cluster, or of both.
 */
enum adv_view_scope {
	VIEW_RANK = 1 << 0,
	VIEW_CLUSTER = 1 << 1,
};

struct adv_view_description {
	const char *name;
	const struct np_column *columns;
	size_t column_count;
	unsigned scope;
	size_t typical; /* number of rows, for plans of queries; 0: few */
	const char *what;
	const char *cure;  /* how to get it; NULL for what is always there, or what `data` says */
	enum np_data data; /* what must have been recorded for it; NP_DATA_ANY: `begin` says */
	bool kernels;      /* rows are what ran: none of a file that is not whole */
	/* Of the views of a rank: where cells come from, and what else is to be set in a view. */
	const struct adv_view_field *fields;
	size_t field_count; /* the first columns */
	void (*begin)(struct adv_view *view, const struct adv_view_rank *source);
};

size_t adv_view_catalog_count(void);
struct adv_view_description adv_view_catalog(size_t index);

/* The description of a view, or of the one that a v_base_ name stands for. */
bool adv_view_describe(const char *name, struct adv_view_description *ret);

/* What would supply a view, or a column of it (may be NULL). */
const char *adv_view_cure(const char *name, const char *column);

/* Views of the second run of a comparison have this before the rest of their name: v_base_step. */
#define VIEW_BASE_PREFIX "v_base_"

#endif /* NP_ADVISOR_VIEW_H */
