/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include "cmd.h"
#include "export_step.h"
#include "manifest.h"
#include "npuprof/text.h"

/* Rank 0 gets the records of all. */
static struct np_record *gather_records(struct np_job *job)
{
	size_t world = (size_t)job->world;
	struct np_buf *said = calloc(world, sizeof(*said));
	struct np_record *records = calloc(world, sizeof(*records));
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; said && i < world; i++)
		said[i] = NP_BUF_INIT;
	if (np_coord_gather(job->coord, &job->record, sizeof(job->record), said, &err) < 0)
		np_job_warn("%s", err.text);
	for (size_t i = 0; said && records && i < world; i++) {
		np_record_init(&records[i], (int32_t)i, job->chosen[i]);
		if (said[i].length == sizeof(records[i]))
			memcpy(&records[i], said[i].text, sizeof(records[i]));
		np_buf_release(&said[i]);
	}
	free(said);
	return records;
}

/* A rank that failed at the very end may not have been heard while the job ran. */
static int application_status(const struct np_job *job, const struct np_record *records,
			      const struct np_session_result *result)
{
	if (result->status != 0)
		return result->status;
	for (int rank = 0; rank < job->world; rank++) {
		if (records[rank].exit != 0 && records[rank].exit != NP_UNKNOWN) {
			np_job_warn("the application of rank %d ended with status %d", rank,
				    (int)records[rank].exit);
			return (int)records[rank].exit;
		}
	}
	return 0;
}

static int say_profiles(const struct np_job *job, const struct np_record *records)
{
	NP_CLEANUP(np_buf_release) struct np_buf size = NP_BUF_INIT;
	int64_t bytes = 0;
	int good = 0;
	int bad = 0;

	for (int rank = 0; rank < job->world; rank++) {
		const struct np_record *record = &records[rank];

		if (!record->selected)
			continue;
		good += record->opened ? 1 : 0;
		bytes = record->opened ? np_plus(bytes, record->bytes) : bytes;
		if (!record->failure[0])
			continue;
		bad++;
		np_job_warn("rank %d: %s", rank, record->failure);
	}
	np_text_bytes(&size, bytes);
	np_job_say(job, "profiles of %d of %d ranks (%s raw) in '%s'", good, np_job_chosen(job),
		   size.text, job->root);
	return bad;
}

static void write_manifest(const struct np_job *job, const struct np_record *records,
			   const bool *exported, bool *failed)
{
	struct np_err err = NP_ERR_INIT;

	if (np_manifest_write(job, records, exported, &err) == NP_OK)
		return;
	np_job_warn("%s", err.text);
	*failed = true;
}

/*
 * npuprof export marks what it did in the manifest beside it. Hosts that have
 * their own files have no manifest: rank 0 asks them and writes it anew.
 */
static bool export_profiles(struct np_job *job)
{
	bool done = np_export_step(job);
	bool scattered = np_coord_max(job->coord, !job->shared) != 0;
	bool *exported = calloc((size_t)job->world, sizeof(*exported));
	struct np_record *records;
	bool failed = false;

	if (scattered) {
		job->record.closed = job->record.opened && np_export_done(job->record.dir);
		records = gather_records(job);
		for (int i = 0; exported && records && i < job->world; i++)
			exported[i] = records[i].opened && records[i].closed;
		if (job->rank == 0 && records)
			write_manifest(job, records, exported, &failed);
		free(records);
	}
	free(exported);
	return done && !failed;
}

int np_finish(struct np_job *job, const struct np_session_result *result)
{
	struct np_record *records = gather_records(job);
	bool failed = false;
	int status = 0;

	if (job->rank == 0 && records) {
		status = application_status(job, records, result);
		failed = say_profiles(job, records) > 0;
		write_manifest(job, records, NULL, &failed);
	}
	free(records);
	if (job->plan.export == NP_EXPORT_AFTER && result->signal == 0)
		failed |= !export_profiles(job);
	failed = np_coord_max(job->coord, failed) != 0;
	status = (int)np_coord_max(job->coord, status);
	return status == 0 && failed ? NP_EXIT_PARTIAL : status;
}

void np_finish_foresee(const struct np_job *job)
{
	struct np_record *records = calloc((size_t)job->world, sizeof(*records));
	bool failed = false;

	for (int rank = 0; records && rank < job->world; rank++)
		np_record_init(&records[rank], rank, job->chosen[rank]);
	if (records)
		write_manifest(job, records, NULL, &failed);
	free(records);
}
