/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "npuprof/db.h"
#include "npuprof/text.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int report_make_directory(const char *path, struct np_err *err)
{
	char *copy = strdup(path);
	int failed = 0;

	if (!copy)
		return np_fail_nomem(err, path);
	for (char *slash = strchr(copy + 1, '/'); slash && !failed;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		failed = mkdir(copy, 0777) < 0 && errno != EEXIST ? errno : 0;
		*slash = '/';
	}
	if (!failed)
		failed = mkdir(copy, 0777) < 0 && errno != EEXIST ? errno : 0;
	free(copy);
	if (failed)
		return np_fail(err, NP_E_IO,
			       "cannot make the directory '%s': %s; give another with -o", path,
			       strerror(failed));
	return NP_OK;
}

int report_write_file(const char *path, report_writer write, const void *context,
		      struct np_err *err)
{
	char *temporary;
	FILE *stream;
	int rc;

	if (asprintf(&temporary, "%s.tmp%d", path, (int)getpid()) < 0)
		return np_fail_nomem(err, path);
	stream = fopen(temporary, "we");
	if (!stream) {
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", temporary, strerror(errno));
		free(temporary);
		return rc;
	}
	rc = write(context, stream, err);
	if (fclose(stream) != 0 && rc == NP_OK)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerror(errno));
	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s': %s", temporary, strerror(errno));
	if (rc < 0)
		(void)unlink(temporary);
	free(temporary);
	return rc;
}

int report_remove_file(const char *path, struct np_err *err)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return np_fail(err, NP_E_IO, "cannot remove '%s', which is of an earlier run: %s",
			       path, strerror(errno));
	return NP_OK;
}

int report_database(const struct np_cluster_tables *tables, const char *directory, char **ret_path,
		    struct np_err *err)
{
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = NULL;
	char *path;
	int rc = report_make_directory(directory, err);

	if (rc < 0)
		return rc;
	if (asprintf(&path, "%s/cluster_analysis.db", directory) < 0)
		return np_fail_nomem(err, directory);
	rc = np_db_writer_open(path, &writer, err);
	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		if (np_cluster_relation_applies(np_cluster_relations[i], tables))
			rc = np_relation_write(np_cluster_relations[i], tables,
					       np_db_writer_sink(writer), err);
	}
	if (rc == NP_OK)
		rc = np_db_writer_commit(NP_STEAL(writer), err);
	if (rc < 0) {
		free(path);
		return rc;
	}
	*ret_path = path;
	return NP_OK;
}

/* --- CSV ------------------------------------------------------------------------------------- */

static int unknown_table(const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	const char *names[32];
	const char *meant;

	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		names[i] = np_cluster_relations[i]->name;
		np_buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	meant = np_text_closest(name, names, np_cluster_relation_count);
	if (meant)
		return np_fail(err, NP_E_USAGE, "no table '%s'; did you mean '%s'?", name, meant);
	return np_fail(err, NP_E_USAGE, "no table '%s'; there are %s", name, list.text);
}

static const struct np_relation *find_table(const char *name)
{
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		if (!name || strcmp(np_cluster_relations[i]->name, name) == 0)
			return np_cluster_relations[i];
	}
	return NULL;
}

int report_csv(const struct np_cluster_tables *tables, const char *table, FILE *stream,
	       struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	const struct np_relation *relation = find_table(table);
	struct np_text_sink sink;

	if (!relation)
		return unknown_table(table, err);
	np_csv_sink_init(&sink, &buf, stream);
	return np_relation_write(relation, tables, &sink.base, err);
}

struct csv_file {
	const struct np_cluster_tables *tables;
	const char *table;
};

static int write_csv(const void *context, FILE *stream, struct np_err *err)
{
	const struct csv_file *file = context;

	return report_csv(file->tables, file->table, stream, err);
}

int report_csv_files(const struct np_cluster_tables *tables, const char *directory,
		     struct np_err *err)
{
	int rc = report_make_directory(directory, err);

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		const struct csv_file file = { tables, np_cluster_relations[i]->name };
		char *path;

		if (!np_cluster_relation_applies(np_cluster_relations[i], tables))
			continue;
		if (asprintf(&path, "%s/%s.csv", directory, file.table) < 0)
			return np_fail_nomem(err, directory);
		rc = report_write_file(path, write_csv, &file, err);
		free(path);
	}
	return rc;
}
