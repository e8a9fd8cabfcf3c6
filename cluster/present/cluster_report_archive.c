/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the merged database and further files on a thread of its own. */
#include "cluster_report_archive.h"

#include "npuprof/scan.h"
#include "npuprof/timings.h"

#include <pthread.h>
#include <unistd.h>

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

/* A table of an earlier run makes place; names are constants of ours. */
static int drop_table(struct np_db_writer *writer, const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	int rc;

	np_buf_printf(&sql, "DROP TABLE IF EXISTS \"%s\"", name);
	rc = np_buf_check(&sql, err);
	return rc < 0 ? rc : np_db_writer_exec(writer, sql.text, err);
}

static int write_database(struct report_archive *archive, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; archive->options.add && i < archive->tables.list.count && rc == NP_OK;
	     i++)
		rc = drop_table(archive->writer, archive->tables.list.item[i].relation->name, err);

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

/* All that the database has, to which the tables of the modes are added. */
static int open_copy(struct report_archive *archive, struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *before = NULL;
	int rc = report_list_shown(&archive->report, &archive->tables, err);

	if (rc == NP_OK)
		rc = np_db_open(archive->path, &before, err);
	return rc < 0 ? rc : np_db_writer_open_copy(before, archive->path, &archive->writer, err);
}

static int open_database(struct report_archive *archive, struct np_err *err)
{
	int rc = report_make_directory(archive->options.directory, err);

	if (rc == NP_OK &&
	    asprintf(&archive->path, "%s/cluster_analysis.db", archive->options.directory) < 0) {
		archive->path = NULL;
		rc = np_fail_nomem(err, archive->options.directory);
	}
	if (rc == NP_OK && archive->options.add)
		return open_copy(archive, err);
	if (rc == NP_OK)
		rc = report_list_all(&archive->report, &archive->tables, err);
	return rc < 0 ? rc : np_db_writer_open(archive->path, &archive->writer, err);
}

/* --- what is there already ------------------------------------------------------------------- */

/* The rows of np_run_info that say what a database was made of, and what each has to be. */
struct info_key {
	const char *key;
	const char *value;
	bool met;
};

static int compare_info(struct np_scan *scan, struct info_key *keys, size_t count,
			struct np_err *err)
{
	struct np_batch batch;
	int rc = np_scan_next(scan, &batch, err);

	for (size_t i = 0; rc == NP_OK && i < batch.rows; i++) {
		for (size_t j = 0; j < count; j++) {
			const char *key = batch.column[0].text[i].bytes;
			const char *value = batch.column[1].text[i].bytes;

			if (key && value && strcmp(key, keys[j].key) == 0)
				keys[j].met = strcmp(value, keys[j].value) == 0;
		}
	}
	return rc;
}

bool report_is_fresh(const char *path, const struct np_run *discovered, const char *version)
{
	static const struct np_scan_column columns[] = {
		{ "key", NP_SCAN_TEXT, NP_REQUIRED },
		{ "value", NP_SCAN_TEXT, NP_REQUIRED },
	};
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	char fingerprint[17];
	char ranks[24];
	struct info_key keys[] = {
		{ .key = "input_fingerprint", .value = fingerprint },
		{ .key = "npuprof_version", .value = version },
		{ .key = "ranks_used", .value = ranks },
		{ .key = "steps_chosen", .value = "0" },
	};

	np_run_fingerprint(discovered, fingerprint);
	(void)snprintf(ranks, sizeof(ranks), "%zu", discovered->sources.count);
	if (access(path, R_OK) < 0 || np_db_open(path, &db, &err) < 0 ||
	    np_scan_open(db, "np_run_info", columns, NP_COUNT(columns), &scan, &err) < 0 ||
	    compare_info(scan, keys, NP_COUNT(keys), &err) < 0)
		return false;
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		if (!keys[i].met)
			return false;
	}
	return true;
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
