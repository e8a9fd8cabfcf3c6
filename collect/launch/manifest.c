/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"

#include <errno.h>
#include <unistd.h>

static void put_clock(struct np_jsonout *out, const struct np_timing_host *host, bool is_reference)
{
	double ppm;
	double error;

	np_jsonout_array(out, "clock");
	for (size_t i = 0; i < host->samples.count; i++) {
		const struct np_timing_sample *sample = &host->samples.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "at_ns", sample->at);
		np_jsonout_integer(out, "offset_ns", sample->offset);
		np_jsonout_integer(out, "uncertainty_ns", sample->uncertainty);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	if (np_timing_drift(host, &ppm, &error)) {
		np_jsonout_real(out, "drift_ppm", ppm);
		np_jsonout_real(out, "drift_error_ppm", error);
	} else if (is_reference) {
		np_jsonout_real(out, "drift_ppm", 0);
	} else {
		np_jsonout_null(out, "drift_ppm"); /* too small to be told from none */
	}
}

static void put_hosts(struct np_jsonout *out, const struct np_job *job)
{
	np_jsonout_array(out, "hosts");
	for (int i = 0; i < job->layout.host_count; i++) {
		np_jsonout_object(out, NULL);
		np_jsonout_text(out, "host", job->layout.hosts[i].name);
		np_jsonout_text(out, "uid", job->layout.hosts[i].uid);
		put_clock(out, &job->timing.hosts[i], i == 0);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* Relative to the manifest, so that a tree can be moved. */
static const char *relative_dir(const struct np_job *job, const struct np_record *record)
{
	size_t length = strlen(job->root);

	if (!record->dir[0])
		return NULL;
	if (strncmp(record->dir, job->root, length) == 0 && record->dir[length] == '/')
		return record->dir + length + 1;
	return record->dir;
}

static void put_codes(struct np_jsonout *out, const struct np_record *record)
{
	np_jsonout_object_line(out, "prof_codes");
	for (uint32_t i = 0; i < record->code_count; i++) {
		bool repeated = false;

		/* A call may fail twice; the first time is the cause. */
		for (uint32_t before = 0; before < i && !repeated; before++)
			repeated = strcmp(record->codes[before].call, record->codes[i].call) == 0;
		if (!repeated)
			np_jsonout_integer(out, record->codes[i].call, record->codes[i].code);
	}
	np_jsonout_end(out);
}

static void put_rank(struct np_jsonout *out, const struct np_job *job,
		     const struct np_record *record, bool exported)
{
	const struct np_layout_rank *place = &job->layout.ranks[record->rank];

	np_jsonout_object(out, NULL);
	np_jsonout_integer(out, "rank", record->rank);
	np_jsonout_text(out, "host", job->layout.hosts[place->host].name);
	np_jsonout_integer(out, "device", record->device);
	np_jsonout_text(out, "dir", relative_dir(job, record));
	np_jsonout_bool(out, "selected", record->selected);
	np_jsonout_text(out, "state", exported ? "exported" : np_record_state(record));
	np_jsonout_text(out, "reason", record->failure[0] ? record->failure : NULL);
	np_jsonout_integer(out, "exit", record->exit);
	np_jsonout_integer(out, "first_step", record->first_step);
	np_jsonout_integer(out, "last_step", record->last_step);
	np_jsonout_integer(out, "bytes", record->bytes);
	put_codes(out, record);
	np_jsonout_end(out);
}

static bool is_same_window(const struct np_record *a, const struct np_record *b)
{
	return a->opened && b->opened && a->first_step == b->first_step &&
	       a->last_step == b->last_step && a->source == b->source;
}

static void put_window(struct np_jsonout *out, const struct np_job *job,
		       const struct np_record *records, int first)
{
	int64_t source = records[first].source;

	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "first_step", records[first].first_step);
	np_jsonout_integer(out, "last_step", records[first].last_step);
	np_jsonout_text(out, "step_source",
			source >= 0 && source < NP_STEP_SOURCES
				? np_step_source_name((enum np_step_source)source)
				: NULL);
	np_jsonout_array_line(out, "ranks");
	for (int rank = first; rank < job->world; rank++) {
		if (is_same_window(&records[first], &records[rank]))
			np_jsonout_integer(out, NULL, rank);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* Normally one; ranks that were cut short have another. */
static void put_windows(struct np_jsonout *out, const struct np_job *job,
			const struct np_record *records)
{
	np_jsonout_array(out, "windows");
	for (int rank = 0; rank < job->world; rank++) {
		bool listed = !records[rank].opened;

		for (int before = 0; before < rank && !listed; before++)
			listed = is_same_window(&records[before], &records[rank]);
		if (!listed)
			put_window(out, job, records, rank);
	}
	np_jsonout_end(out);
}

void np_manifest_format(const struct np_job *job, const struct np_record *records,
			const bool *exported, struct np_jsonout *out)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", NP_MANIFEST_SCHEMA);
	np_jsonout_text(out, "job", job->plan.job);
	np_jsonout_integer(out, "world_size", job->world);
	np_jsonout_array_line(out, "app");
	for (char *const *word = job->app; *word; word++)
		np_jsonout_text(out, NULL, *word);
	np_jsonout_end(out);
	np_plan_write(&job->plan, out, "config");
	np_jsonout_bool(out, "simulated", job->simulated);
	put_hosts(out, job);
	np_jsonout_array(out, "ranks");
	for (int rank = 0; rank < job->world; rank++)
		put_rank(out, job, &records[rank], exported && exported[rank]);
	np_jsonout_end(out);
	put_windows(out, job, records);
	np_jsonout_end(out);
}

static int write_text(const char *path, const char *text, size_t length, struct np_err *err)
{
	FILE *file = fopen(path, "we");
	bool written;

	if (!file)
		return np_fail(err, NP_E_IO, "cannot write '%.380s': %s", path,
			       strerrordesc_np(errno));
	written = fwrite(text, 1, length, file) == length && fflush(file) == 0 &&
		  fsync(fileno(file)) == 0;
	if (fclose(file) != 0 || !written) {
		(void)unlink(path);
		return np_fail(err, NP_E_IO, "cannot write '%.380s': %s", path,
			       strerrordesc_np(errno));
	}
	return NP_OK;
}

int np_manifest_write(const struct np_job *job, const struct np_record *records,
		      const bool *exported, struct np_err *err)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf temporary = NP_BUF_INIT;
	int rc;

	np_jsonout_init(&out, NULL);
	np_buf_printf(&path, "%s/" NP_MANIFEST_NAME, job->root);
	np_buf_printf(&temporary, "%s/." NP_MANIFEST_NAME ".tmp", job->root);
	np_manifest_format(job, records, exported, &out);
	rc = np_jsonout_finish(&out, err);
	if (rc == NP_OK)
		rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = np_buf_check(&temporary, err);
	if (rc == NP_OK)
		rc = write_text(temporary.text, out.buf.text, out.buf.length, err);
	if (rc == NP_OK && rename(temporary.text, path.text) < 0)
		rc = np_fail(err, NP_E_IO, "cannot write '%.380s': %s", path.text,
			     strerrordesc_np(errno));
	return rc;
}
