/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "npuprof/temporary.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_csv(const struct np_relation *relation, const struct report *report, FILE *stream,
		     struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;
	int rc;

	np_csv_sink_init(&sink, &buf, stream);
	rc = np_relation_write(relation, report, &sink.base, err);
	np_buf_release(&buf);
	return rc;
}

int compare_csv(const struct report *report, const char *table, FILE *stream, struct np_err *err)
{
	const struct np_relation *relation;
	int rc = compare_find_relation(table, &relation, err);

	return rc < 0 ? rc : write_csv(relation, report, stream, err);
}

static int write_file(const struct np_relation *relation, const struct report *report,
		      const char *directory, struct np_err *err)
{
	char *path = NULL;
	char *temporary = NULL;
	FILE *stream = NULL;
	int rc = NP_OK;

	if (asprintf(&path, "%s/%s.csv", directory, relation->name) < 0)
		return np_fail_nomem(err, directory);
	temporary = np_temporary_new(path);
	if (!temporary) {
		free(path);
		return np_fail_nomem(err, directory);
	}
	stream = fopen(temporary, "we");
	if (!stream)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", temporary, strerror(errno));
	else
		rc = write_csv(relation, report, stream, err);
	if (stream && fclose(stream) != 0 && rc == NP_OK)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s': %s", temporary, strerror(errno));
	if (rc < 0)
		(void)unlink(temporary);
	free(path);
	np_temporary_free(temporary);
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
