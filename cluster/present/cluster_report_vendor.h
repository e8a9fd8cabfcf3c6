/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_REPORT_VENDOR_H
#define NP_CLUSTER_REPORT_VENDOR_H

#include "cluster_report.h"

/* Files that were written; each is owned. */
struct report_paths {
	char **item;
	size_t count;
	size_t capacity;
};

/*
 * The csv files that msprof-analyze writes with --export_type text: below `directory` a directory
 * for each recipe, with its names and titles. Tables that it has only in the database have their
 * own name. Adds what was written to `paths`.
 */
int report_vendor_files(const struct cluster_report *report, const char *directory,
			struct report_paths *paths, struct np_err *err) NP_MUST_USE;
void report_paths_release(struct report_paths *paths);

/* Fill the line of --agent, where one is asked for. */
int report_answer(const struct cluster_report *report, const struct report_paths *paths,
		  const char *phase, struct np_err *err) NP_MUST_USE;

#endif /* NP_CLUSTER_REPORT_VENDOR_H */
