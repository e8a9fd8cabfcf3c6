/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_QUERY_H
#define NP_QUERY_H

#include "npuprof/analysis.h"
#include "npuprof/relation.h"

/*
 * One question in SQL over the merged tables of a run
 * ===================================================
 *
 * The tables are those of the merged database, with the same names and columns (cluster_tables.h),
 * and the views that rules over a cluster read (v_step, v_comm_op ...); none is made that the
 * question does not name. The text is trusted as little as that of a rule: it may read, call
 * functions and recurse, and nothing else, within limits of time, rows and memory. Nothing outside
 * the run can be reached. np_advice_set_up() has to be called first.
 */

struct np_query_limits {
	np_ns time;
	int64_t rows;
	int64_t bytes;
};

/*
 * Give the rows of one statement to `sink`, as a relation called "rows" with the columns of the
 * statement. NP_E_FORMAT for SQL that is wrong or does more than it may, NP_E_RANGE beyond limits.
 */
int np_query_run(const struct np_analysis *analysis, const char *sql,
		 const struct np_query_limits *limits, struct np_sink *sink, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_QUERY_H */
