/* SPDX-License-Identifier: Apache-2.0 */
/* Relations written as files of CSV. */
#include "npuprof/lock.h"
#include "npuprof/relation.h"

#include "npuprof/temporary.h"

int np_csv_write(const struct np_relation *relation, const void *model, void *stream,
		 struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;

	np_csv_sink_init(&sink, &buf, stream);
	return np_relation_write(relation, model, &sink.base, err);
}

struct csv_source {
	const struct np_relation *relation;
	const void *model;
};

static int write_csv(const void *context, FILE *stream, struct np_err *err)
{
	const struct csv_source *source = context;

	return np_csv_write(source->relation, source->model, stream, err);
}

int np_csv_write_file(const struct np_relation *relation, const void *model, const char *path,
		      struct np_err *err)
{
	const struct csv_source source = { relation, model };
	int rc = np_write_file(path, write_csv, &source, err);

	if (rc == NP_E_IO && !strstr(err->text, path))
		return np_fail(err, rc, "%s: %s", path, err->text);
	return rc;
}

int np_csv_write_below(const struct np_relation *relation, const void *model, const char *directory,
		       struct np_err *err)
{
	int rc = np_make_output(directory, err);
	char *path;

	if (rc < 0)
		return rc;
	if (asprintf(&path, "%s/%s.csv", directory, relation->name) < 0)
		return np_fail_nomem(err, directory);
	rc = np_csv_write_file(relation, model, path, err);
	free(path);
	return rc;
}
