/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/load.h"

#include "load_source.h"

struct job {
	struct np_run *run;
	const struct np_load_options *options;
	struct load_gate gate;
	const size_t *mine; /* indexes of the sources that this process loads */
	struct load_outcome *outcomes;
};

static void load_one(void *context, size_t index)
{
	struct job *job = context;
	size_t at = job->mine[index];
	const struct np_source_files *source = &job->run->sources.item[at];

	/* A failure stays with the rank: outcomes are read when all are done. */
	load_gate_enter(&job->gate, source);
	load_source(job->options, source, job->run->strings, &job->outcomes[at]);
	load_gate_leave(&job->gate, source);
}

static void load_mine(struct np_run *run, const struct np_load_options *options, const size_t *mine,
		      size_t count, struct load_outcome *outcomes)
{
	struct job job = { .run = run, .options = options, .mine = mine, .outcomes = outcomes };

	load_gate_init(&job.gate, options->max_memory);
	np_workers_run(&options->workers, count, load_one, &job);
	load_gate_release(&job.gate);
}

/* Load the sources of this process, and take those of the others. */
static int load_all(struct np_run *run, const struct np_load_options *options,
		    struct load_outcome *outcomes, struct np_err *err)
{
	size_t room = run->sources.count + 1;
	uint32_t *owner = calloc(room, sizeof(*owner));
	size_t *mine = malloc(room * sizeof(*mine));
	bool shared = options->comm->size > 1;
	size_t count = 0;
	int rc = owner && mine ? NP_OK : np_fail_nomem(err, "ranks");

	if (rc == NP_OK && shared)
		rc = load_divide(run, (size_t)options->comm->size, owner, err);
	if (rc == NP_OK && shared)
		rc = load_send_orders(run, options, owner, err);
	for (size_t i = 0; rc == NP_OK && i < run->sources.count; i++) {
		if (owner[i] == 0)
			mine[count++] = i;
	}
	if (rc == NP_OK)
		load_mine(run, options, mine, count, outcomes);
	if (rc == NP_OK && shared)
		rc = load_gather(run, options, owner, outcomes, err);
	free(owner);
	free(mine);
	return rc;
}

static void collect_notes(struct np_run *run, const struct load_outcome *outcomes)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *source = &run->sources.item[i];

		if (run->ranks[i])
			np_notes_move(&run->notes, &run->ranks[i]->notes);
		else if (outcomes[i].err.code != NP_OK)
			np_note_add(&run->notes, NP_NOTE_SKIPPED, source->rank, source->dir, "rank",
				    "%s", outcomes[i].err.text);
	}
}

/* What hinders one summary mostly hinders all: the first is told. */
static void note_cache(struct np_run *run, const struct np_load_options *options,
		       const struct load_outcome *outcomes)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (outcomes[i].cache.code == NP_OK)
			continue;
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, options->cache, "summaries",
			    "%s", outcomes[i].cache.text);
		return;
	}
}

static void keep_run(struct np_run *run, const struct np_load_options *options)
{
	struct np_err problem = NP_ERR_INIT;

	for (size_t i = 0; i < run->sources.count; i++)
		run->sources.item[i].fingerprint =
			np_source_fingerprint(run, &run->sources.item[i]);
	if (np_summary_keep_run(run, options->cache, &problem) < 0)
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, options->cache, "summaries",
			    "%s", problem.text);
}

int np_load_run(struct np_run *run, const struct np_load_options *options, struct np_err *err)
{
	struct load_outcome *outcomes = calloc(run->sources.count + 1, sizeof(*outcomes));
	int rc;

	run->ranks = calloc(run->sources.count + 1, sizeof(struct np_rank *));
	if (!run->ranks || !outcomes) {
		free(outcomes);
		return np_fail_nomem(err, "ranks");
	}
	for (size_t i = 0; i < run->sources.count; i++)
		run->sources.item[i].kernel_origin = options->kernel_origin;
	if (options->cache)
		keep_run(run, options);
	rc = load_all(run, options, outcomes, err);
	for (size_t i = 0; i < run->sources.count; i++)
		run->ranks[i] = outcomes[i].rank;
	collect_notes(run, outcomes);
	note_cache(run, options, outcomes);
	if (rc == NP_OK && np_run_used(run) == 0)
		rc = np_fail(err, NP_E_FORMAT, "none of the %zu ranks could be read; the first: %s",
			     run->sources.count, outcomes[0].err.text);
	free(outcomes);
	return rc;
}

int np_load(struct np_run *run, const struct np_comm *comm, const struct np_workers *workers,
	    struct np_err *err)
{
	const struct np_load_options options = { .comm = comm, .workers = *workers };

	return np_load_run(run, &options, err);
}
