/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <errno.h>
#include <sys/stat.h>

int compare_csv(const struct report *report, const char *table, FILE *stream, struct np_err *err)
{
	const struct np_relation *relation;
	int rc = compare_find_relation(table, &relation, err);

	return rc < 0 ? rc : np_csv_write(relation, report, stream, err);
}

static int write_file(const struct np_relation *relation, const struct report *report,
		      const char *directory, struct np_err *err)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s.csv", directory, relation->name) < 0)
		return np_fail_nomem(err, directory);
	rc = np_csv_write_file(relation, report, path, err);
	free(path);
	return rc;
}

int compare_csv_files(const struct report *report, const char *directory, struct np_err *err)
{
	int rc = NP_OK;

	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return np_fail(err, NP_E_IO, "cannot make the directory '%s': %s", directory,
			       strerror(errno));
	for (size_t i = 0; compare_relations[i] && rc == NP_OK; i++) {
		if (compare_relation_applies(compare_relations[i], report))
			rc = write_file(compare_relations[i], report, directory, err);
	}
	return rc;
}
