/* SPDX-License-Identifier: Apache-2.0 */
/* The database of a rank, made of those that msprof wrote. */
#include "export.h"

#include "npuprof/jsonout.h"
#include "npuprof/scan.h"
#include "npuprof/text.h"

#define METADATA_NAME "profiler_metadata.json"
#define MAX_JSON      ((size_t)256 << 20)

/* How far the tasks of a database reach, and the device they ran on. */
struct extent {
	np_ns first;
	np_ns last;
	int64_t device;
};

static int scan_tasks(struct np_db *db, struct extent *ret, struct np_err *err)
{
	static const struct np_scan_column columns[] = {
		{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	};
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	size_t rows = 0;
	int rc = np_scan_open(db, "TASK", columns, NP_COUNT(columns), &scan, err);

	*ret = (struct extent){ .first = INT64_MAX, .last = INT64_MIN, .device = -1 };
	while (rc == NP_OK && (rc = np_scan_next(scan, &batch, err)) == NP_OK && batch.rows) {
		for (size_t i = 0; i < batch.rows; i++) {
			np_ns start = batch.column[0].integer[i];
			np_ns end = batch.column[1].integer[i];

			if (start != NP_UNKNOWN && start < ret->first)
				ret->first = start;
			if (end > ret->last)
				ret->last = end;
			if (ret->device < 0)
				ret->device = batch.column[2].integer[i];
		}
		rows += batch.rows;
	}
	if (rc == NP_E_NOTFOUND || (rc == NP_OK && rows == 0))
		return np_fail(err, NP_E_FORMAT,
			       "'%s' holds no tasks: nothing ran on the device"
			       " while it was profiled, or the raw data are incomplete",
			       np_db_path(db));
	return rc;
}

/* Of the recorded steps, those in which the device worked, from `first` to `last`. */
static bool step_captured(const struct np_export_step *step, np_ns first, np_ns last)
{
	np_ns begin = step->begin > first ? step->begin : first;
	np_ns end = step->end < last ? step->end : last;

	/* However little it is: a host that is short of processors launches late. */
	return end > begin;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const char tables[] = "CREATE TABLE IF NOT EXISTS RANK_DEVICE_MAP"
			     " (rankId INTEGER, deviceId INTEGER);"
			     "CREATE TABLE IF NOT EXISTS HOST_INFO (hostUid TEXT, hostName TEXT);"
			     "CREATE TABLE IF NOT EXISTS META_DATA (name TEXT, value TEXT);"
			     /* msprof knows the rank by RANK_ID alone: −1 if that was not set. */
			     "DELETE FROM RANK_DEVICE_MAP";

static int put_row(struct np_db_writer *writer, const char *table, const struct np_cell *cells,
		   size_t count, struct np_err *err)
{
	struct np_db_insert *insert;
	int rc = np_db_insert_begin(writer, table, count, &insert, err);

	return rc == NP_OK ? np_db_insert_row(insert, cells, err) : rc;
}

static int put_place(const struct np_export_rank *rank, struct np_db *source, int64_t device,
		     struct np_db_writer *writer, struct np_err *err)
{
	const struct np_cell map[] = { np_cell_integer(rank->rank), np_cell_integer(device) };
	const struct np_cell host[] = {
		np_cell_text(rank->host_uid ? rank->host_uid : rank->host),
		np_cell_text(rank->host),
	};
	int rc = put_row(writer, "RANK_DEVICE_MAP", map, NP_COUNT(map), err);

	if (rc == NP_OK && rank->host && !np_db_has_rows(source, "HOST_INFO"))
		rc = put_row(writer, "HOST_INFO", host, NP_COUNT(host), err);
	return rc;
}

static int put_steps(struct np_export_rank *rank, const struct extent *extent,
		     struct np_db_writer *writer, struct np_err *err)
{
	struct np_db_insert *insert;
	int rc;

	rank->step_count = 0;
	for (size_t i = 0; i < rank->steps.count; i++)
		rank->step_count +=
			step_captured(&rank->steps.item[i], extent->first, extent->last);
	if (rank->step_count == 0)
		return NP_OK;
	rc = np_db_writer_exec(
		writer,
		"DROP TABLE IF EXISTS STEP_TIME;"
		"CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER)",
		err);
	if (rc == NP_OK)
		rc = np_db_insert_begin(writer, "STEP_TIME", 3, &insert, err);
	for (size_t i = 0; i < rank->steps.count && rc == NP_OK; i++) {
		const struct np_export_step *step = &rank->steps.item[i];
		const struct np_cell cells[] = { np_cell_integer(step->step),
						 np_cell_integer(step->begin),
						 np_cell_integer(step->end) };

		if (step_captured(step, extent->first, extent->last))
			rc = np_db_insert_row(insert, cells, err);
	}
	return rc;
}

/* --- META_DATA ------------------------------------------------------------------------------- */

static int put_meta(struct np_db_writer *writer, const char *name, const struct np_json *value,
		    struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	np_export_copy_json(&out, NULL, value, true);
	rc = np_jsonout_finish(&out, err);
	if (rc == NP_OK) {
		/* Without the line end of the document. */
		const struct np_cell cells[] = {
			np_cell_text(name),
			np_cell_bytes(out.buf.text, out.buf.length - (out.buf.length > 0)),
		};

		rc = put_row(writer, "META_DATA", cells, NP_COUNT(cells), err);
	}
	np_jsonout_release(&out);
	return rc;
}

/* torch_npu repeats every member of profiler_metadata.json there. */
static int put_metadata(const struct np_export_rank *rank, struct np_db_writer *writer,
			struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	NP_CLEANUP(np_json_freep) struct np_json *metadata = NULL;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc;

	np_buf_printf(&path, "%s/" METADATA_NAME, rank->dir);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = np_json_read_file(path.text, MAX_JSON, &metadata, err);
	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	while (rc == NP_OK && np_json_next(metadata, &entry)) {
		if (!np_text_begins(entry.key, "SCHEMA_VERSION"))
			rc = put_meta(writer, entry.key, entry.value, err);
	}
	return rc;
}

/* What the collector measured of the clock of the rank's host. */
static int put_clock(const struct np_export_rank *rank, struct np_db_writer *writer,
		     struct np_err *err)
{
	const struct np_json *hosts =
		rank->job ? np_json_member(rank->job->manifest, "hosts") : NULL;

	for (size_t i = 0; i < np_json_count(hosts); i++) {
		const struct np_json *host = np_json_item(hosts, i);
		const char *name = np_json_text(np_json_member(host, "host"));

		if (name && rank->host && strcmp(name, rank->host) == 0)
			return put_meta(writer, "npuprof_clock", host, err);
	}
	return NP_OK;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int fill(struct np_export_rank *rank, struct np_db *source, struct np_db_writer *writer,
		struct np_err *err)
{
	struct extent extent;
	int rc = scan_tasks(source, &extent, err);

	if (rc == NP_OK)
		rc = np_db_writer_exec(writer, tables, err);
	if (rc == NP_OK)
		rc = put_place(rank, source, extent.device >= 0 ? extent.device : rank->device,
			       writer, err);
	if (rc == NP_OK)
		rc = put_steps(rank, &extent, writer, err);
	if (rc == NP_OK)
		rc = put_metadata(rank, writer, err);
	return rc == NP_OK ? put_clock(rank, writer, err) : rc;
}

static int verify_db(const char *path, struct np_err *err)
{
	static const char *const needed[] = { "TASK", "STRING_IDS", "RANK_DEVICE_MAP" };
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	int rc = np_db_open(path, &db, err);

	for (size_t i = 0; i < NP_COUNT(needed) && rc == NP_OK; i++) {
		if (!np_db_has_rows(db, needed[i]))
			rc = np_fail(err, NP_E_FORMAT, "'%s' has no rows in %s", path, needed[i]);
	}
	return rc == NP_OK ? np_db_check(db, err) : rc;
}

int np_export_rank_db(struct np_export_rank *rank, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *source = NULL;
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = NULL;
	char *source_path = np_export_msprof_db(rank->prof);
	int rc;

	if (!source_path)
		return np_fail(err, NP_E_NOTFOUND,
			       "msprof wrote no database into '%s'; it may be older than CANN 8.0,"
			       " which has no --type=db",
			       rank->prof);
	rc = np_db_open(source_path, &source, err);
	free(source_path);
	if (rc == NP_OK)
		rc = np_db_writer_open_copy(source, path, &writer, err);
	if (rc == NP_OK)
		rc = fill(rank, source, writer, err);
	if (rc == NP_OK)
		rc = np_db_writer_commit(NP_STEAL(writer), err);
	return rc == NP_OK ? verify_db(path, err) : rc;
}
