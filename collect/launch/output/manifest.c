/* SPDX-License-Identifier: Apache-2.0 */
/* npuprof_manifest.json: the plan, the hosts and their clocks, and what became of every rank. */
#include "manifest.h"

#include "collect/place.h"

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
		np_jsonout_null(out, "drift_ppm"); /* too small to be distinguished from none */
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

static void put_memory(struct np_jsonout *out, const struct np_record_memory *memory)
{
	if (!memory->wanted)
		return;
	np_jsonout_object_line(out, "memory");
	np_jsonout_text(out, "file", memory->file[0] ? memory->file : NULL);
	np_jsonout_integer(out, "first_step", memory->first_step);
	np_jsonout_integer(out, "last_step", memory->last_step);
	np_jsonout_integer(out, "bytes", memory->bytes);
	np_jsonout_text(out, "reason", memory->reason[0] ? memory->reason : NULL);
	np_jsonout_end(out);
}

static void put_rank(struct np_jsonout *out, const struct np_job *job,
		     const struct np_record *record, bool exported)
{
	const struct np_job_layout_rank *position =
		record->launcher >= 0 ? &job->layout.ranks[record->launcher] : NULL;

	np_jsonout_object(out, NULL);
	np_jsonout_integer(out, "rank", record->rank);
	np_jsonout_text(out, "host", position ? job->layout.hosts[position->host].name : NULL);
	np_jsonout_integer(out, "device", record->device);
	np_jsonout_text(out, "dir", relative_dir(job, record));
	np_jsonout_bool(out, "selected", record->selected);
	np_jsonout_text(out, "state", exported ? "exported" : np_record_state(record));
	np_jsonout_text(out, "reason", record->failure[0] ? record->failure : NULL);
	np_jsonout_text(out, "export_reason", NULL);
	np_jsonout_integer(out, "exit", record->exit);
	np_jsonout_integer(out, "first_step", record->first_step);
	np_jsonout_integer(out, "last_step", record->last_step);
	np_jsonout_integer(out, "bytes", record->bytes);
	put_codes(out, record);
	put_memory(out, &record->memory);
	np_jsonout_end(out);
}

/* The window of a rank with this number, or NULL. */
static const struct np_record_window *window_of(const struct np_record *record, int32_t number)
{
	for (uint32_t i = 0; i < record->window_count; i++) {
		if (record->windows[i].number == number)
			return &record->windows[i];
	}
	return NULL;
}

static int32_t last_number(const struct np_job *job, const struct np_record *records)
{
	int32_t last = 0;

	for (int rank = 0; rank < job->ranks; rank++) {
		for (uint32_t i = 0; i < records[rank].window_count; i++) {
			if (records[rank].windows[i].number > last)
				last = records[rank].windows[i].number;
		}
	}
	return last;
}

static bool is_same_window(const struct np_record *a, const struct np_record_window *one,
			   const struct np_record *b, const struct np_record_window *other)
{
	return one->number == other->number && one->below == other->below &&
	       one->first_step == other->first_step && one->last_step == other->last_step &&
	       a->source == b->source;
}

/* Has this rank the same window as `record`? */
static bool shares(const struct np_record *record, const struct np_record_window *window,
		   const struct np_record *other)
{
	for (uint32_t i = 0; i < other->window_count; i++) {
		if (is_same_window(record, window, other, &other->windows[i]))
			return true;
	}
	return false;
}

static void put_window(struct np_jsonout *out, const struct np_job *job,
		       const struct np_record *records, int first,
		       const struct np_record_window *window)
{
	int64_t source = records[first].source;
	char dir[32];

	np_jsonout_object_line(out, NULL);
	if (window->below) {
		(void)snprintf(dir, sizeof(dir), "window-%d", (int)window->number);
		np_jsonout_text(out, "dir", dir);
	}
	np_jsonout_integer(out, "first_step", window->first_step);
	np_jsonout_integer(out, "last_step", window->last_step);
	np_jsonout_text(out, "step_source",
			source >= 0 && source < NP_STEP_SOURCES
				? np_step_source_name((enum np_step_source)source)
				: NULL);
	if (source == NP_STEP_HCCL || source == NP_STEP_SYNC)
		np_jsonout_text(out, "step_detail", records[first].source_detail);
	np_jsonout_array_line(out, "ranks");
	for (int rank = first; rank < job->ranks; rank++) {
		if (shares(&records[first], window, &records[rank]))
			np_jsonout_integer(out, NULL, records[rank].rank);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* In the order of their numbers. Ranks that were cut short have one of their own. */
static void put_windows(struct np_jsonout *out, const struct np_job *job,
			const struct np_record *records)
{
	int32_t last = last_number(job, records);

	np_jsonout_array(out, "windows");
	for (int32_t number = 1; number <= last; number++) {
		for (int rank = 0; rank < job->ranks; rank++) {
			const struct np_record_window *window = window_of(&records[rank], number);
			bool listed = !window;

			for (int before = 0; before < rank && !listed; before++)
				listed = shares(&records[rank], window, &records[before]);
			if (!listed)
				put_window(out, job, records, rank, window);
		}
	}
	np_jsonout_end(out);
}

void np_manifest_format(const struct np_job *job, const struct np_record *records,
			const bool *exported, struct np_jsonout *out)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", NP_MANIFEST_SCHEMA);
	np_jsonout_text(out, "job", job->plan.job);
	np_jsonout_integer(out, "world_size", job->ranks);
	np_jsonout_text(out, "coord", np_mode_name(job->mode));
	np_jsonout_array_line(out, "app");
	for (char *const *word = job->app; *word; word++)
		np_jsonout_text(out, NULL, *word);
	np_jsonout_end(out);
	np_plan_write(&job->plan, out, "config");
	np_jsonout_bool(out, "simulated", job->simulated);
	put_hosts(out, job);
	np_jsonout_array(out, "ranks");
	for (int rank = 0; rank < job->ranks; rank++)
		put_rank(out, job, &records[rank], exported && exported[rank]);
	np_jsonout_end(out);
	put_windows(out, job, records);
	np_jsonout_end(out);
}

int np_manifest_write(const struct np_job *job, const struct np_record *records,
		      const bool *exported, struct np_err *err)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	np_manifest_format(job, records, exported, &out);
	rc = np_jsonout_finish(&out, err);
	if (rc < 0)
		return rc;
	return np_place_write(job->root, NP_MANIFEST_NAME,
			      (struct np_place_bytes){ .bytes = out.buf.text,
						       .length = out.buf.length,
						       .durable = true },
			      NP_PLACE_OUTPUT, err);
}
