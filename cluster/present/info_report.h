/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INFO_REPORT_H
#define NP_INFO_REPORT_H

/* Presenting what is in a directory. */

#include "cluster_report.h"

#include "npuprof/rank.h"
#include "npuprof/readiness.h"
#include "npuprof/relation.h"
#include "npuprof/run.h"

struct info {
	const struct np_run *run;
	const struct np_cluster *cluster;
	const struct np_readiness *analyses; /* NP_ANALYSIS_COUNT of them */
	const char *input;
	const struct cluster_report *report; /* what was read, for lines to paste */
	size_t width;
	bool color;
	bool verbose; /* tell what only few ask for */
};

/* The screen, or the same as Markdown. */
int info_page(const struct info *info, bool markdown, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int info_json(const struct info *info, FILE *stream, struct np_err *err) NP_MUST_USE;

/* What JSON lists, as tables of a struct info. */
enum info_table {
	INFO_RANKS,
	INFO_GROUPS,
	INFO_ANALYSES,
	INFO_TABLES,
};
extern const struct np_relation info_tables[INFO_TABLES];

#endif /* NP_INFO_REPORT_H */
