/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the merged database and further files on a thread of its own. */
#include "cluster_report_archive.h"

#include "npuprof/db.h"
#include "npuprof/timings.h"

#include <pthread.h>

struct report_archive {
	struct cluster_report report;
	struct report_archive_options options;
	char *directory; /* that of the options */
	char *path;      /* of the database; NULL for none */
	struct np_db_writer *writer;
	struct report_list tables;
	struct report_paths paths;
	struct np_thread_time time;
	pthread_t thread;
	bool threaded; /* and not joined */
	bool waited;
	struct np_err err;
};

static int write_database(struct report_archive *archive, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < archive->tables.list.count && rc == NP_OK; i++) {
		const struct report_table *table = &archive->tables.list.item[i];
		const struct np_relation relation = report_written(table);

		rc = np_relation_write(&relation, table->model, np_db_writer_sink(archive->writer),
				       err);
	}
	return rc < 0 ? rc : np_db_writer_commit(NP_STEAL(archive->writer), err);
}

/* The first that fails is the last. */
static void *write_all(void *context)
{
	struct report_archive *archive = context;
	const struct report_archive_options *options = &archive->options;
	struct np_err *err = &archive->err;
	int rc = NP_OK;

	np_timings_begin_beside(&archive->time);
	if (archive->writer)
		rc = write_database(archive, err);
	if (rc == NP_OK && options->csv)
		rc = report_csv_files(&archive->report, options->directory, err);
	if (rc == NP_OK && options->text)
		rc = report_text_files(&archive->report, options->directory, err);
	if (rc == NP_OK && options->vendor)
		(void)!report_vendor_files(&archive->report, options->directory, &archive->paths,
					   err);
	np_timings_end_beside(&archive->time);
	return NULL;
}

static int open_database(struct report_archive *archive, struct np_err *err)
{
	int rc = report_make_directory(archive->options.directory, err);

	if (rc == NP_OK &&
	    asprintf(&archive->path, "%s/cluster_analysis.db", archive->options.directory) < 0) {
		archive->path = NULL;
		rc = np_fail_nomem(err, archive->options.directory);
	}
	if (rc == NP_OK)
		rc = report_list_all(&archive->report, &archive->tables, err);
	return rc < 0 ? rc : np_db_writer_open(archive->path, &archive->writer, err);
}

int report_archive_begin(const struct cluster_report *report,
			 const struct report_archive_options *options, struct report_archive **ret,
			 struct np_err *err)
{
	NP_CLEANUP(report_archive_freep)
	struct report_archive *archive = calloc(1, sizeof(*archive));
	char *directory = strdup(options->directory);
	int rc;

	if (!archive || !directory) {
		free(directory);
		return np_fail_nomem(err, "the files of the result");
	}
	archive->report = *report;
	archive->options = *options;
	archive->options.directory = archive->directory = directory;
	archive->waited = true;
	rc = options->database ? open_database(archive, err) : NP_OK;
	if (rc < 0)
		return rc;
	archive->waited = false;
	archive->threaded = pthread_create(&archive->thread, NULL, write_all, archive) == 0;
	/* Without a thread it takes longer until something is printed, and that is all. */
	if (!archive->threaded)
		(void)write_all(archive);
	*ret = NP_STEAL(archive);
	return NP_OK;
}

const char *report_archive_database(const struct report_archive *archive)
{
	return archive->path;
}

const struct report_paths *report_archive_paths(const struct report_archive *archive)
{
	return &archive->paths;
}

static void join(struct report_archive *archive)
{
	if (archive->threaded)
		(void)pthread_join(archive->thread, NULL);
	archive->threaded = false;
	archive->waited = true;
}

int report_archive_wait(struct report_archive *archive, struct np_timings *timings,
			struct np_err *err)
{
	join(archive);
	np_timings_add_beside(timings, NP_TIMED_WRITE, &archive->time);
	if (archive->err.code != NP_OK)
		*err = archive->err;
	return archive->err.code;
}

void report_archive_free(struct report_archive *archive)
{
	if (!archive)
		return;
	if (!archive->waited)
		join(archive);
	np_db_writer_abort(archive->writer);
	np_vec_release(&archive->tables.list);
	report_paths_release(&archive->paths);
	free(archive->directory);
	free(archive->path);
	free(archive);
}

void report_archive_freep(struct report_archive **archive)
{
	report_archive_free(*archive);
	*archive = NULL;
}
