/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/load.h"

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
			np_note_add(&run->notes, NP_NOTE_SKIPPED, source->rank, source->dir, "rank",
				    "%s", errors[i].text);
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
