/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEWS_H
#define NP_ADVISOR_VIEWS_H

#include "npuprof/cluster.h"
#include "npuprof/cluster_tables.h"
#include "npuprof/detail.h"

#include "view.h"

/*
 * The views over a loaded run
 * ===========================
 *
 * A rank's views read its struct np_detail and its struct np_rank; the views of
 * the cluster read all ranks, and the tables of the merged result.
 */
struct adv_view_rank {
	const struct np_run *run;
	size_t index; /* of the rank in the run */
	const struct np_rank *rank;
	const struct np_detail *detail;
	const struct np_cluster *cluster; /* for stages and sizes; may be NULL */
	const char *partial;              /* why what ran must not be read; NULL: it may */
};

/* What each is; they are listed in views.c. */
extern const struct adv_view_description adv_view_kernel;
extern const struct adv_view_description adv_view_kernel_group;
extern const struct adv_view_description adv_view_kernel_type;
extern const struct adv_view_description adv_view_task;
extern const struct adv_view_description adv_view_comm_op;
extern const struct adv_view_description adv_view_comm_band;
extern const struct adv_view_description adv_view_comm_task;
extern const struct adv_view_description adv_view_host_api;
extern const struct adv_view_description adv_view_cann_api;
extern const struct adv_view_description adv_view_stack;
extern const struct adv_view_description adv_view_kernel_stack;
extern const struct adv_view_description adv_view_step;
extern const struct adv_view_description adv_view_free;
extern const struct adv_view_description adv_view_freq;
extern const struct adv_view_description adv_view_counter;
extern const struct adv_view_description adv_view_gc;
extern const struct adv_view_description adv_view_mem_op;
extern const struct adv_view_description adv_view_mem_curve;
extern const struct adv_view_description adv_view_mark;
extern const struct adv_view_description adv_view_env;
extern const struct adv_view_description adv_view_setting;
extern const struct adv_view_description adv_view_device;
extern const struct adv_view_description adv_view_run;
extern const struct adv_view_description adv_view_graph_node;
extern const struct adv_view_description adv_view_graph_edge;

/* The views of one rank, ready for a connection. */
struct adv_view_set {
	NP_VEC(struct adv_view) list; /* complete before the first is given to a connection */
	NP_VEC(char *) names;         /* of views with made-up names */
	NP_VEC(struct adv_rows *) kept;
};

void adv_view_set_release(struct adv_view_set *set);

/* Make a view of a rank. Its description must have `begin`. */
void adv_view_make(struct adv_view *view, const struct adv_view_description *what,
		   const struct adv_view_rank *source);

/* Add all views of a rank, their names beginning with v_base_ when it is of the second run. */
int adv_view_set_add_rank(struct adv_view_set *set, const struct adv_view_rank *source, bool base,
			  struct np_err *err) NP_MUST_USE;

/* Append all rows of a table of a database to `rows`; NP_E_NOTFOUND when there is none. */
typedef int view_table_reader(const char *path, const char *table, struct adv_rows *rows,
			      struct np_err *err);

/* Add the merged tables and the views of all ranks; `about` has v_run, v_device, v_env rows. */
struct adv_view_cluster {
	const struct np_analysis *analysis; /* only .cluster if there is `merged` */
	const char *merged; /* a database to take the tables from; NULL: they are produced */
	view_table_reader *read_merged;
	const struct adv_rows *device; /* of all ranks; NULL when there are none */
	const struct adv_rows *env;
	const struct adv_rows *run;
};
int adv_view_set_add_cluster(struct adv_view_set *set, const struct adv_view_cluster *source,
			     bool base, struct np_err *err) NP_MUST_USE;

/* Add a view, which is closed with the set. */
int adv_view_set_add(struct adv_view_set *set, struct adv_view view, bool base, struct np_err *err)
	NP_MUST_USE;

/* Add a view of rows that outlive the set. */
int adv_view_set_add_rows(struct adv_view_set *set, const char *name, const struct adv_rows *rows,
			  struct np_err *err) NP_MUST_USE;

/* Views that this set is missing, as empty ones that are not present, so that SQL can name them. */
int adv_view_set_add_absent(struct adv_view_set *set, unsigned scope, struct np_err *err)
	NP_MUST_USE;

struct adv_view *adv_view_set_find(const struct adv_view_set *set, const char *name);

/* Copy all rows of a view behind those of `rows`, which is begun when it has no columns. */
int adv_view_append(struct adv_view *view, struct adv_rows *rows, struct np_err *err) NP_MUST_USE;

/* Counters whose largest is v_kernel.busiest: how busy each unit of the two cores was. */
extern const char *const adv_view_unit_ratios[12];

/* The rows of v_kernel_type that follow from those of a v_kernel_group, which is opened. */
int adv_view_kernel_types(struct adv_view *groups, struct adv_rows *ret, struct np_err *err)
	NP_MUST_USE;

/* Keys of v_run: columns of `when`. */
extern const char *const adv_view_run_keys[];
extern const size_t adv_view_run_key_count;

#endif /* NP_ADVISOR_VIEWS_H */
