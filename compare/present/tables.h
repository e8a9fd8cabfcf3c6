/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_TABLES_H
#define COMPARE_TABLES_H

/* What the sources of tables share. */

#include "compare_report.h"

extern const struct np_relation compare_overall;
extern const struct np_relation compare_communicators;
extern const struct np_relation compare_ranks;
extern const struct np_relation compare_peaks;
extern const struct np_relation compare_links;
extern const struct np_relation compare_view_relations[CMP_VIEWS];
extern const struct np_relation compare_operator_detail;
extern const struct np_relation compare_module_detail;

/* The operator name in the row of a module with everything in it. */
#define COMPARE_MODULE_TOTAL "[ TOTAL ]"

/* Kernels of a class on one kind of core: Σ over the cells. */
struct class_sum {
	np_ns total[CMP_SIDES];
	int64_t count[CMP_SIDES];
};

/* Of every class: those that do not use the cube unit, and those that do. */
void compare_sum_classes(const struct comparison *comparison, struct class_sum sums[][2]);

/* new / base; null where the base has nothing. */
struct np_cell compare_ratio(double base, double new_);

/* The text, or "N/A". */
struct np_cell compare_text_cell(const struct comparison *comparison, np_str text);

/* The last part of a path without the number of the instance; and the parts before it. */
struct np_cell compare_module_class(const char *path);
int64_t compare_module_level(const char *path);

#endif /* COMPARE_TABLES_H */
