/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all rules on a run: ranks in parallel, then the cluster. */
#include "advise.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/engine/eval/program.h"
#include "advisor/engine/sql/sql.h"

#include "npuprof/details.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* What is known of the ranks, for rules over the cluster. */
struct about {
	struct adv_rows device;
	struct adv_rows env;
	struct adv_rows run;
};

/* The work on all ranks; each writes by its index only. */
struct advise_work {
	const struct np_analysis *analysis;
	const struct adv_advise_options *options;
	struct adv_advice *advice;
	unsigned sections;
	struct about *about;     /* by rank */
	struct np_notes *notes;  /* by rank */
	struct np_err *failures; /* by rank: it could not be looked at */
	atomic_bool *stopped;    /* by rule: it met a limit, and would on every rank */
	struct adv_program_pool *program_pool;
};

static bool wants(const struct adv_advise_options *options, const struct adv_rule *rule)
{
	return options->wants ? options->wants(options->context, rule) : rule->enabled;
}

/* Results lie by rule, then rank; the cluster comes after the last rank. */
static struct adv_result *result_at(struct adv_advice *advice, size_t rule, size_t rank)
{
	return &advice->results[rule * (advice->rank_count + 1) + rank];
}

static int add_graphs(const struct adv_advise_options *options, struct adv_view_set *views,
		      struct np_err *err)
{
	int rc = NP_OK;

	if (options->graph_nodes)
		rc = adv_view_set_add_rows(views, adv_view_graph_node.name, options->graph_nodes,
					   err);
	if (rc == NP_OK && options->graph_edges)
		rc = adv_view_set_add_rows(views, adv_view_graph_edge.name, options->graph_edges,
					   err);
	return rc;
}

/* A rule that takes too long is not tried a thousand times. */
static void stop(struct adv_result *result)
{
	*result = (struct adv_result){ .status = STATUS_ERROR, .inside = SIZE_MAX };
	(void)np_fail(&result->reason, NP_E_RANGE, "stopped: it met a limit on another rank");
}

static void run_rule(struct advise_work *work, struct adv_pooled *pooled, size_t index,
		     int32_t rank, struct adv_result *result)
{
	struct adv_evaluation evaluation = { .language = work->options->language, .rank = rank };
	struct np_err err = NP_ERR_INIT;

	if (atomic_load(&work->stopped[index])) {
		stop(result);
		return;
	}
	if (adv_pooled_program(pooled, index, &evaluation.program, &err) < 0) {
		*result = (struct adv_result){ .status = STATUS_ERROR, .reason = err };
		result->inside = SIZE_MAX;
		return;
	}
	adv_rule_evaluate(&evaluation, result);
	if (result->reason.code == NP_E_RANGE)
		atomic_store(&work->stopped[index], true);
}

static np_ns thread_time(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (np_ns)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Each rule has a limit of its own; many that keep to it may still take for ever. */
static void refuse(const struct advise_work *work, struct adv_result *result)
{
	*result = (struct adv_result){ .status = STATUS_ERROR, .inside = SIZE_MAX };
	(void)np_fail(&result->reason, NP_E_RANGE,
		      "not run: the rules before it took the %lld s that all may take together"
		      " (--rules-timeout)",
		      (long long)(work->options->time / 1000000000));
}

/* Run all rules of a scope on the views of a member of the pool. */
static void run_rules(struct advise_work *work, struct adv_pooled *pooled, size_t slot,
		      int32_t rank)
{
	const struct adv_rule_library *library = work->options->library;
	np_ns begun = thread_time();

	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *rule = library->rules.item[i];
		struct adv_result *result = result_at(work->advice, i, slot);

		if (rule->over_cluster != (rank == NP_NO_RANK) || !wants(work->options, rule))
			continue;
		if (work->options->time > 0 && thread_time() - begun > work->options->time)
			refuse(work, result);
		else
			run_rule(work, pooled, i, rank, result);
	}
}

/* The same, with a member that is free and these views. */
static int run_on(struct advise_work *work, const struct adv_view_set *views, size_t slot,
		  int32_t rank, struct np_err *err)
{
	struct adv_pooled *pooled = NULL;
	int rc = adv_program_pool_take(work->program_pool, views, &pooled, err);

	if (rc < 0)
		return rc;
	run_rules(work, pooled, slot, rank);
	adv_program_pool_give_back(work->program_pool, pooled);
	return NP_OK;
}

/* Remember what rules over the cluster want to know of a rank. */
static int take_about(struct adv_view_set *views, struct about *about, struct np_err *err)
{
	int rc = adv_view_append(adv_view_set_find(views, adv_view_device.name), &about->device,
				 err);

	if (rc == NP_OK)
		rc = adv_view_append(adv_view_set_find(views, adv_view_env.name), &about->env, err);
	if (rc == NP_OK)
		rc = adv_view_append(adv_view_set_find(views, adv_view_run.name), &about->run, err);
	return rc;
}

/*
 * The same rank of the other run, by index there: SIZE_MAX if it has none. Of two runs of one
 * rank each, these are compared, whatever their numbers.
 */
static size_t find_base(const struct advise_work *work, int32_t id)
{
	const struct np_run *base = work->options->base ? work->options->base->run : NULL;
	size_t index = base ? np_run_index(base, id) : SIZE_MAX;

	if (base && index == SIZE_MAX && base->sources.count == 1 && work->advice->rank_count == 1)
		index = 0;
	return index != SIZE_MAX && base->ranks[index] ? index : SIZE_MAX;
}

static int load_base(const struct advise_work *work, int32_t id, struct np_detail **ret_detail,
		     struct adv_view_rank *source, struct np_err *err)
{
	const struct np_analysis *base = work->options->base;
	size_t index = find_base(work, id);
	int rc;

	if (index == SIZE_MAX)
		return NP_OK;
	rc = np_detail_load(base->run, index, work->sections, ret_detail, err);
	*source = (struct adv_view_rank){ .run = base->run,
					  .index = index,
					  .rank = base->run->ranks[index],
					  .detail = *ret_detail,
					  .cluster = base->cluster };
	return rc;
}

/* Rows of a file that is not whole would tell of a rank that did little. */
static int say_partial(struct adv_view_rank *source, struct np_buf *text, struct np_err *err)
{
	const struct np_file_coverage *coverage = np_rank_withheld(source->rank);

	if (!coverage)
		return NP_OK;
	np_file_coverage_put(text, source->run->strings, coverage);
	np_buf_add(text, "; " NP_FILE_COVERAGE_CURE);
	source->partial = text->text;
	return np_buf_check(text, err);
}

static int look_at_rank(struct advise_work *work, size_t index, struct np_err *err)
{
	const struct np_run *run = work->analysis->run;
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	NP_CLEANUP(np_detail_freep) struct np_detail *base_detail = NULL;
	struct adv_view_set views = { .list = { 0 } };
	struct adv_view_rank source = { .run = run,
					.index = index,
					.rank = run->ranks[index],
					.cluster = work->analysis->cluster };
	struct adv_view_rank base = { .run = NULL };
	NP_CLEANUP(np_buf_release) struct np_buf partial = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf base_partial = NP_BUF_INIT;
	int rc = np_detail_load(run, index, work->sections, &detail, err);

	source.detail = detail;
	if (rc == NP_OK && work->options->look)
		rc = work->options->look(work->options->look_context, index, detail, err);
	if (rc == NP_OK)
		rc = load_base(work, source.rank->id, &base_detail, &base, err);
	if (rc == NP_OK)
		rc = say_partial(&source, &partial, err);
	if (rc == NP_OK && base.detail)
		rc = say_partial(&base, &base_partial, err);
	if (rc == NP_OK)
		rc = adv_view_set_add_rank(&views, &source, false, err);
	if (rc == NP_OK && base.detail)
		rc = adv_view_set_add_rank(&views, &base, true, err);
	if (rc == NP_OK)
		rc = add_graphs(work->options, &views, err);
	if (rc == NP_OK)
		rc = adv_view_set_add_absent(&views, VIEW_RANK, err);
	if (rc == NP_OK)
		rc = run_on(work, &views, index, source.rank->id, err);
	if (rc == NP_OK)
		rc = take_about(&views, &work->about[index], err);
	if (detail)
		np_notes_move(&work->notes[index], &detail->notes);
	adv_view_set_release(&views);
	return rc;
}

static void rank_job(void *context, size_t index)
{
	struct advise_work *work = context;

	if (work->analysis->run->ranks[index])
		(void)look_at_rank(work, index, &work->failures[index]);
}

/* Put the rows of all ranks behind each other. */
static int join_rows(struct adv_rows *all, const struct adv_rows *one, struct np_err *err)
{
	struct adv_view view;

	if (!one->columns)
		return NP_OK;
	adv_view_of_rows(&view, "", one);
	return adv_view_append(&view, all, err);
}

static int join_about(const struct advise_work *work, struct about *all, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < work->advice->rank_count && rc == NP_OK; i++) {
		rc = join_rows(&all->device, &work->about[i].device, err);
		if (rc == NP_OK)
			rc = join_rows(&all->env, &work->about[i].env, err);
		if (rc == NP_OK)
			rc = join_rows(&all->run, &work->about[i].run, err);
	}
	return rc;
}

static void release_about(struct about *about)
{
	adv_rows_release(&about->device);
	adv_rows_release(&about->env);
	adv_rows_release(&about->run);
}

static int look_at_cluster(struct advise_work *work, struct np_err *err)
{
	struct adv_view_set views = { .list = { 0 } };
	struct about all = { .device = { .arena = NULL } };
	struct adv_view_cluster source = { .analysis = work->analysis,
					   .merged = work->options->merged,
					   .read_merged = adv_sql_read_table };
	int rc = join_about(work, &all, err);

	source.device = &all.device;
	source.env = &all.env;
	source.run = &all.run;
	if (rc == NP_OK)
		rc = adv_view_set_add_cluster(&views, &source, false, err);
	if (rc == NP_OK && work->options->base) {
		struct adv_view_cluster base = { .analysis = work->options->base };

		rc = adv_view_set_add_cluster(&views, &base, true, err);
	}
	if (rc == NP_OK)
		rc = add_graphs(work->options, &views, err);
	if (rc == NP_OK)
		rc = adv_view_set_add_absent(&views, VIEW_CLUSTER, err);
	if (rc == NP_OK)
		rc = run_on(work, &views, work->advice->rank_count, NP_NO_RANK, err);
	/* The programs know the columns of these views. */
	adv_program_pool_clear(work->program_pool);
	adv_view_set_release(&views);
	release_about(&all);
	return rc;
}

/* A rank whose details could not be read: its rules were not checked there, and say so. */
static void note_failures(struct advise_work *work)
{
	const struct np_run *run = work->analysis->run;
	const struct adv_rule_library *library = work->options->library;

	for (size_t i = 0; i < work->advice->rank_count; i++) {
		np_notes_move_untold(&work->advice->notes, &work->notes[i], &run->notes);
		if (work->failures[i].code == NP_OK)
			continue;
		np_note_add(&work->advice->notes, NP_NOTE_SKIPPED, run->ranks[i]->id,
			    run->ranks[i]->path, "details", "%s", work->failures[i].text);
		for (size_t r = 0; r < library->rules.count; r++) {
			struct adv_result *result = result_at(work->advice, r, i);

			if (result->status != STATUS_CLEAR || library->rules.item[r]->over_cluster)
				continue;
			result->status = STATUS_SKIPPED;
			result->reason = work->failures[i];
		}
	}
}

/* Details that the threads will ask for: of each rank, and of the same one of the other run. */
static int begin_details(const struct advise_work *work, struct np_details **ret,
			 struct np_err *err)
{
	const struct np_run *run = work->analysis->run;
	const struct np_run *base = work->options->base ? work->options->base->run : NULL;
	struct np_detail_want *list = malloc((2 * work->advice->rank_count + 1) * sizeof(*list));
	size_t count = 0;
	int rc;

	if (!list)
		return np_fail_nomem(err, "the advice");
	for (size_t i = 0; i < work->advice->rank_count; i++) {
		size_t other = find_base(work, run->sources.item[i].rank);

		list[count++] = (struct np_detail_want){ run, i, work->sections };
		if (run->ranks[i] && other != SIZE_MAX)
			list[count++] = (struct np_detail_want){ base, other, work->sections };
	}
	rc = np_details_begin(list, count, work->options->workers.threads, ret, err);
	free(list);
	return rc;
}

static int run_all(struct advise_work *work, struct np_err *err)
{
	struct np_details *details;
	int rc = begin_details(work, &details, err);

	if (rc < 0)
		return rc;
	np_workers_run(&work->options->workers, work->advice->rank_count, rank_job, work);
	np_details_end(details);
	/* Programs for ranks have other views than those for the cluster. */
	adv_program_pool_clear(work->program_pool);
	note_failures(work);
	return look_at_cluster(work, err);
}

static int set_up(struct advise_work *work, struct np_err *err)
{
	const struct adv_rule_library *library = work->options->library;
	size_t ranks = work->advice->rank_count;

	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *rule = library->rules.item[i];

		if (!rule->over_cluster && wants(work->options, rule))
			work->sections |= adv_rule_sections(rule);
	}
	work->sections |= NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT;
	if (work->options->look)
		work->sections |= work->options->look_sections;
	work->advice->result_count = library->rules.count * (ranks + 1);
	work->advice->results =
		calloc(work->advice->result_count + 1, sizeof(*work->advice->results));
	work->about = calloc(ranks + 1, sizeof(*work->about));
	work->notes = calloc(ranks + 1, sizeof(*work->notes));
	work->failures = calloc(ranks + 1, sizeof(*work->failures));
	work->stopped = calloc(library->rules.count + 1, sizeof(*work->stopped));
	work->program_pool = adv_program_pool_new(library);
	if (!work->advice->results)
		work->advice->result_count = 0;
	if (!work->advice->results || !work->about || !work->notes || !work->failures ||
	    !work->stopped || !work->program_pool)
		return np_fail_nomem(err, "the advice");
	return NP_OK;
}

static void tear_down(struct advise_work *work)
{
	for (size_t i = 0; work->about && i < work->advice->rank_count; i++)
		release_about(&work->about[i]);
	for (size_t i = 0; work->notes && i < work->advice->rank_count; i++)
		np_notes_release(&work->notes[i]);
	adv_program_pool_free(work->program_pool);
	free(work->about);
	free(work->notes);
	free(work->failures);
	free(work->stopped);
}

/* Only rules that were wanted have a report. */
static int begin_reports(struct advise_work *work, struct np_err *err)
{
	const struct adv_rule_library *library = work->options->library;

	for (size_t i = 0; i < library->rules.count; i++) {
		struct adv_rule_report *report;

		if (!wants(work->options, library->rules.item[i]))
			continue;
		report = np_vec_add(&work->advice->rules, err);
		if (!report)
			return NP_E_NOMEM;
		report->rule = library->rules.item[i];
	}
	return NP_OK;
}

int adv_advise(const struct np_analysis *analysis, const struct adv_advise_options *options,
	       struct adv_advice **ret, struct np_err *err)
{
	NP_CLEANUP(adv_advice_freep) struct adv_advice *advice = calloc(1, sizeof(*advice));
	struct advise_work work = { .analysis = analysis, .options = options, .advice = advice };
	int rc;

	if (!advice)
		return np_fail_nomem(err, "the advice");
	advice->analysis = analysis;
	advice->rank_count = analysis->run->sources.count;
	rc = set_up(&work, err);
	if (rc == NP_OK)
		rc = begin_reports(&work, err);
	if (rc == NP_OK)
		rc = run_all(&work, err);
	if (rc == NP_OK)
		rc = adv_gains_find(analysis, options->merged, &advice->gains, err);
	if (rc == NP_OK)
		rc = adv_advice_join(advice, options->library, err);
	tear_down(&work);
	if (rc == NP_OK)
		*ret = NP_STEAL(advice);
	return rc;
}
