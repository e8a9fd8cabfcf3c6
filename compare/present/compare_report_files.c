/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of a comparison as CSV files and prints one of them. */
#include "compare_report.h"

int compare_csv(const struct compare_report *report, const char *table, FILE *stream,
		struct np_err *err)
{
	const struct np_relation *relation;
	int rc = compare_find_relation(table, &relation, err);

	return rc < 0 ? rc : np_csv_write(relation, report, stream, err);
}

int compare_table(const struct compare_report *report, const char *table, struct np_buf *buf,
		  struct np_err *err)
{
	const struct np_relation *relation;
	int rc = compare_find_relation(table, &relation, err);

	return rc < 0 ? rc
		      : np_relation_screen(relation, report, buf, report->width, report->color,
					   err);
}

int compare_csv_files(const struct compare_report *report, const char *directory,
		      struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; compare_relations[i] && rc == NP_OK; i++) {
		if (compare_relation_applies(compare_relations[i], report))
			rc = np_csv_write_below(compare_relations[i], report, directory, err);
	}
	return rc;
}
