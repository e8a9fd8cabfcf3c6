/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/load.h"

#include "load_private.h"

#include "npuprof/text.h"

/* A communicator of the metadata that the file with the operators does not name. */
static void adopt_group(struct np_group *group, const struct np_group *from)
{
	if (group->name == NP_STR_NONE)
		group->name = from->name;
	if (group->pg_name == NP_STR_NONE)
		group->pg_name = from->pg_name;
}

/* Read analysis.db beside a rank that has its own database, and compare. */
static int check_against_analysis(struct np_rank *rank, const char *path,
				  struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *file = np_rank_new(rank->id, rank->path);
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!file)
		return np_fail_nomem(err, path);
	rc = np_load_analysis_db(file, path, strings, &problem);
	if (rc == NP_OK)
		rc = np_load_sort_ops(file, strings, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0) {
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, path, "analysis.db",
			    "%s; its figures were derived from the rank database instead",
			    problem.text);
		return NP_OK;
	}
	np_load_check(rank, file, path, strings);
	for (size_t i = 0; i < file->groups.count; i++) {
		uint32_t index;

		rc = np_rank_group(rank, file->groups.item[i].hash, &index, err);
		if (rc < 0)
			return rc;
		adopt_group(&rank->groups.item[index], &file->groups.item[i]);
	}
	return NP_OK;
}

/* No rank database: what the exporter derived is all there is. */
static int load_analysis_alone(struct np_rank *rank, const char *path, struct np_strtab *strings,
			       struct np_err *err)
{
	uint32_t *order = NULL;
	int rc = np_load_analysis_db(rank, path, strings, err);

	if (rc == NP_OK && rank->times.count == 0 && rank->ops.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "'%s' holds neither step times nor operators",
			     path);
	if (rc == NP_OK)
		rc = np_load_sort_ops(rank, strings, err);
	if (rc == NP_OK)
		rc = np_load_comm_steps(rank, &order, err);
	free(order);
	if (rc == NP_OK)
		rank->device_count = rank->device >= 0;
	return rc;
}

/* The rank database first; where it cannot be used, what the exporter derived from it. */
static int load_databases(struct np_rank *rank, const struct np_source_files *source,
			  struct np_strtab *strings, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!source->file[NP_FILE_RANK_DB])
		return load_analysis_alone(rank, source->file[NP_FILE_ANALYSIS_DB], strings, err);
	rc = np_load_rank_db(rank, source->file[NP_FILE_RANK_DB], strings, &problem);
	if (rc == NP_OK && source->file[NP_FILE_ANALYSIS_DB])
		return check_against_analysis(rank, source->file[NP_FILE_ANALYSIS_DB], strings, err);
	if (rc == NP_OK)
		return NP_OK;
	return np_fail(err, problem.code, "%s", problem.text);
}

static int load_files(struct np_rank *rank, const struct np_source_files *source,
		      struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_metadata(rank, source, strings, err);

	return rc < 0 ? rc : load_databases(rank, source, strings, err);
}

int np_load_rank(const struct np_source_files *source, struct np_strtab *strings,
		 struct np_rank **ret, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(source->rank, source->dir);
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!rank)
		return np_fail_nomem(err, source->dir);
	rc = load_files(rank, source, strings, &problem);
	if (rc < 0 && rc != NP_E_NOMEM && source->file[NP_FILE_RANK_DB] && source->file[NP_FILE_ANALYSIS_DB]) {
		/* Start anew: the failed attempt has left a part of the rank behind. */
		np_rank_free(rank);
		rank = np_rank_new(source->rank, source->dir);
		if (!rank)
			return np_fail_nomem(err, source->dir);
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, source->rank, source->file[NP_FILE_RANK_DB],
			    "rank database", "%s; using analysis.db alone", problem.text);
		rc = np_load_metadata(rank, source, strings, &problem);
		if (rc == NP_OK)
			rc = load_analysis_alone(rank, source->file[NP_FILE_ANALYSIS_DB], strings, &problem);
	}
	if (rc < 0)
		return np_fail(err, problem.code, "%s", problem.text);
	*ret = NP_STEAL(rank);
	return NP_OK;
}

struct job {
	struct np_run *run;
	const struct np_comm *comm;
	struct np_err *errors;
};

static void load_one(void *context, size_t index)
{
	struct job *job = context;
	struct np_run *run = job->run;

	if (!job->comm->owns(job->comm, index, run->sources.count))
		return;
	/* The failure stays with the rank: errors[index] is read when all are done. */
	(void)!np_load_rank(&run->sources.item[index], run->strings, &run->ranks[index],
			    &job->errors[index]);
}

static void collect_notes(struct np_run *run, const struct np_err *errors)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *source = &run->sources.item[i];

		if (run->ranks[i])
			np_notes_move(&run->notes, &run->ranks[i]->notes);
		else if (errors[i].code != NP_OK)
			np_note_add(&run->notes, NP_NOTE_SKIPPED, source->rank, source->dir,
				    "rank", "%s", errors[i].text);
	}
}

int np_load(struct np_run *run, const struct np_comm *comm, const struct np_workers *workers,
	    struct np_err *err)
{
	struct job job = { .run = run, .comm = comm };
	int rc = NP_OK;

	run->ranks = calloc(run->sources.count + 1, sizeof(struct np_rank *));
	job.errors = calloc(run->sources.count + 1, sizeof(struct np_err));
	if (!run->ranks || !job.errors) {
		free(job.errors);
		return np_fail_nomem(err, "ranks");
	}
	np_workers_run(workers, run->sources.count, load_one, &job);
	collect_notes(run, job.errors);
	if (np_run_used(run) == 0)
		rc = np_fail(err, NP_E_FORMAT, "none of the %zu ranks could be read; the first: %s",
			     run->sources.count, job.errors[0].text);
	free(job.errors);
	return comm->agree(comm, rc, err);
}
