/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the ranks of a run: those of this process on its threads, the others as they come. */
#include "npuprof/load_run.h"

#include "distributed.h"
#include "iterations.h"
#include "load_source.h"
#include "unlike.h"

#include "npuprof/period.h"
#include "npuprof/rank.h"

#include <inttypes.h>
#include <stdio.h>

struct job {
	struct np_run *run;
	const struct np_load_options *options;
	struct load_gate gate;
	const size_t *mine; /* indexes of the sources that this process loads */
	struct load_watch *watch;
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
	load_pack(job->options, &job->outcomes[at]);
	load_gate_leave(&job->gate, source);
	load_count_add(&job->watch->mine, source);
}

static void load_mine(struct np_run *run, const struct np_load_options *options, const size_t *mine,
		      size_t count, struct load_watch *watch, struct load_outcome *outcomes)
{
	struct job job = {
		.run = run, .options = options, .mine = mine, .watch = watch, .outcomes = outcomes
	};
	struct np_workers workers = options->workers;

	if (options->watch) {
		workers.tick = load_watch_tick;
		workers.tick_context = watch;
	}
	load_gate_init(&job.gate, options->max_memory);
	np_workers_run(&workers, count, load_one, &job);
	load_gate_release(&job.gate);
}

void load_watch_tick(void *context, size_t done, size_t total)
{
	struct load_watch *watch = context;
	struct np_procs_news sum = load_count_news(&watch->mine);
	struct np_load_progress progress = { .ranks = watch->run->sources.count };
	const struct np_procs *procs = watch->options->procs;
	struct np_procs_news news;
	int from;

	(void)done;
	(void)total;
	while (watch->others && procs->hear(procs, &from, &news))
		watch->others[from] = news;
	for (int i = 1; watch->others && i < procs->size; i++) {
		sum.ranks += watch->others[i].ranks;
		sum.bytes += watch->others[i].bytes;
	}
	progress.ranks_done = (size_t)sum.ranks;
	progress.bytes_done = sum.bytes;
	for (size_t i = 0; i < watch->run->sources.count; i++)
		progress.bytes += watch->run->sources.item[i].bytes;
	if (watch->options->watch)
		watch->options->watch(watch->options->watch_context, &progress);
}

/* Load the sources of this process, and take those of the others. */
static int load_all(struct np_run *run, const struct np_load_options *options,
		    struct load_outcome *outcomes, struct np_err *err)
{
	size_t room = run->sources.count + 1;
	uint32_t *owner = calloc(room, sizeof(*owner));
	size_t *mine = malloc(room * sizeof(*mine));
	bool distributed = options->procs->size > 1;
	struct load_watch watch = { .run = run, .options = options };
	size_t count = 0;
	int rc = owner && mine ? NP_OK : np_fail_nomem(err, "ranks");

	if (rc == NP_OK && distributed) {
		watch.others = calloc((size_t)options->procs->size, sizeof(*watch.others));
		rc = watch.others ? NP_OK : np_fail_nomem(err, "processes");
	}
	if (rc == NP_OK && distributed)
		rc = load_divide(run, (size_t)options->procs->size, owner, err);
	if (rc == NP_OK && distributed)
		rc = load_send_orders(run, options, owner, err);
	for (size_t i = 0; rc == NP_OK && i < run->sources.count; i++) {
		if (owner[i] == 0)
			mine[count++] = i;
	}
	if (rc == NP_OK)
		load_mine(run, options, mine, count, &watch, outcomes);
	if (rc == NP_OK && distributed)
		rc = load_gather(run, options, owner, &watch, outcomes, err);
	free(watch.others);
	free(mine);
	if (rc < 0 && distributed)
		orders_stop(options->procs);
	if (rc < 0 || !distributed) {
		free(owner);
		return rc;
	}
	return distributed_attach(run, options->procs, owner, err);
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

/* Why a rank without marks has no iterations. */
static void say_why(char *to, size_t size, const struct np_rank *rank)
{
	if (rank->device_count > 1)
		(void)snprintf(to, size, "they are not looked for where one rank has %zu devices",
			       rank->device_count);
	else if (rank->steps_confidence == 0)
		(void)snprintf(to, size, "its kernels and operators have no period");
	else
		(void)snprintf(to, size, "the confidence of its best period is %.2f, below %.1f",
			       rank->steps_confidence / 1000.0, NP_PERIOD_CONFIDENCE);
}

/* What one rank calls its third iteration must be that of all: else there is one step. */
static int load_without_period(struct np_run *run, const struct np_load_options *options,
			       struct load_outcome *outcomes, struct np_err *err)
{
	struct np_load_options again = *options;

	again.steps.want = options->steps.want == NP_WANT_ANY ? NP_WANT_MARKS : NP_WANT_NONE;
	for (size_t i = 0; i < run->sources.count; i++) {
		np_rank_free(outcomes[i].rank);
		outcomes[i] = (struct load_outcome){ 0 };
		run->sources.item[i].steps = again.steps;
	}
	if (run->distributed)
		run->distributed_calls->free(NP_STEAL(run->distributed));
	run->distributed_calls = NULL;
	return load_all(run, &again, outcomes, err);
}

/* The first rank that has iterations that were found, and the first that has none. */
static void look_for_found(const struct np_run *run, const struct load_outcome *outcomes,
			   const struct np_rank **ret_found, const struct np_rank **ret_other)
{
	*ret_found = NULL;
	*ret_other = NULL;
	for (size_t i = run->sources.count; i-- > 0;) {
		const struct np_rank *rank = outcomes[i].rank;

		if (rank && rank->steps_from == NP_STEPS_PERIOD)
			*ret_found = rank;
		else if (rank && rank->steps.count > 0)
			*ret_other = rank;
	}
}

static void note_circles(struct np_run *run, const struct load_outcome *outcomes,
			 const struct agreement *agreement)
{
	size_t alone = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		alone += outcomes[i].rank && !agreement->known[i];
	/* With one circle the first of it is compared with nobody. */
	if (alone > 1)
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0],
			    "iterations",
			    "%zu groups of ranks share no collective: which iteration of one is"
			    " which of the other is not known, each is numbered for itself",
			    alone);
}

/* Iterations of several ranks must be the same, or none are used. */
static int settle_iterations(struct np_run *run, const struct np_load_options *options,
			     struct load_outcome *outcomes, struct np_err *err)
{
	const struct np_rank *found;
	const struct np_rank *other;
	struct agreement agreement = { 0 };
	char why[160];
	int rc;

	look_for_found(run, outcomes, &found, &other);
	if (!found)
		return NP_OK;
	if (other && other->steps_from == NP_STEPS_NONE)
		say_why(why, sizeof(why), other);
	else if (other)
		(void)snprintf(why, sizeof(why), "its steps are marked");
	rc = other ? NP_OK : agree_on_iterations(run, outcomes, &agreement, err);
	if (rc == NP_OK && !other && agreement.differ == SIZE_MAX) {
		rc = agree_renumber(run, outcomes, &agreement, err);
		note_circles(run, outcomes, &agreement);
		agreement_release(&agreement);
		return rc;
	}
	if (rc == NP_OK && !other) {
		other = outcomes[agreement.differ].rank;
		found = outcomes[agreement.with].rank;
		(void)snprintf(why, sizeof(why),
			       "the collectives in its iterations are not those of rank %" PRId32,
			       found->id);
	}
	agreement_release(&agreement);
	if (rc < 0)
		return rc;
	/* Where others are marked, what an unmarked rank did is in none of their steps. */
	np_note_add(&run->notes,
		    other->steps_from == NP_STEPS_MARKS ? NP_NOTE_SKIPPED : NP_NOTE_WARNING,
		    NP_NO_RANK, run->roots.item[0], "iterations",
		    "were found on rank %" PRId32 ", but not the same on rank %" PRId32
		    ": %s; no iterations are used%s",
		    found->id, other->id, why,
		    other->steps_from == NP_STEPS_MARKS ? ", unmarked ranks have one step"
							: ", all of it is one step");
	return load_without_period(run, options, outcomes, err);
}

/* Steps that were asked for, or looked for, and are not there: once for all ranks. */
static void note_steps(struct np_run *run, const struct np_load_options *options,
		       const struct load_outcome *outcomes)
{
	const struct np_rank *first = NULL;
	size_t without = 0;
	char why[96];

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = outcomes[i].rank;

		/* Where they were found and not used that is said. Files of the vendor have no
		 * sequence. */
		if (!rank || rank->steps_from != NP_STEPS_NONE ||
		    run->sources.item[i].steps.want != options->steps.want)
			continue;
		first = first ? first : rank;
		without++;
	}
	if (!first)
		return;
	if (options->steps.want == NP_WANT_RANGE) {
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0], "steps",
			    "%zu rank%s no range whose name matches '%s': all of it is one step",
			    without, without == 1 ? " has" : "s have", options->steps.pattern);
	} else if (np_steps_may_find(&options->steps)) {
		say_why(why, sizeof(why), first);
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0],
			    "iterations",
			    "no steps are marked, and none were found on %zu rank%s, the first is"
			    " rank %" PRId32 ": %s; all of it is one step",
			    without, without == 1 ? "" : "s", first->id, why);
	}
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
	for (size_t i = 0; i < run->sources.count; i++) {
		run->sources.item[i].kernel_framework_op = options->kernel_framework_op;
		run->sources.item[i].steps = options->steps;
		run->sources.item[i].part = options->part;
		run->sources.item[i].rows = options->rows;
	}
	if (options->cache)
		keep_run(run, options);
	rc = load_all(run, options, outcomes, err);
	if (rc == NP_OK)
		rc = settle_iterations(run, options, outcomes, err);
	if (rc == NP_OK && options->part != NP_LOAD_OPERATORS)
		note_steps(run, options, outcomes);
	for (size_t i = 0; i < run->sources.count; i++) {
		run->ranks[i] = outcomes[i].rank;
		run->cached += outcomes[i].cached;
	}
	if (rc == NP_OK && options->part != NP_LOAD_OPERATORS)
		unlike_note(run);
	collect_notes(run, outcomes);
	note_cache(run, options, outcomes);
	if (rc == NP_OK && np_run_used(run) == 0)
		rc = np_fail(err, NP_E_FORMAT, "none of the %zu ranks could be read; the first: %s",
			     run->sources.count, outcomes[0].err.text);
	free(outcomes);
	return rc;
}
