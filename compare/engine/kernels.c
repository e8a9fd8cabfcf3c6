/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_kernels.h"

#include "npuprof/details.h"

/* The kernels of each paired rank, reduced to sums by kind and cell. */

#define WANTS \
	(NP_DETAIL_KERNELS | NP_DETAIL_PMU | NP_DETAIL_FRAMEWORK | NP_DETAIL_LAUNCHES | \
	 NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE)

struct work {
	struct comparison *comparison;
	struct np_err *errs;    /* by job */
	struct np_notes *notes; /* likewise: on the table of kernels */
	struct cmp_merge *merges[CMP_SIDES];
};

/* Jobs are pairs of the base, then of the new side. */
static enum cmp_which side_of(const struct comparison *comparison, size_t job, size_t *ret_pair)
{
	enum cmp_which which = job < comparison->pairs.count ? CMP_BASE : CMP_NEW;

	*ret_pair = job - (which == CMP_NEW ? comparison->pairs.count : 0);
	return which;
}

/*
 * Of the first pair the order of kernels is wanted too, and so all of them; of the
 * others sums will do, where the loader made them of the tasks that gave the times.
 */
static bool has_sums(const struct np_rank *rank, size_t pair)
{
	return pair > 0 && rank->packed_sums && rank->step_source == NP_FROM_RANK_DB;
}

/*
 * The loader has told about files once, but where there is a trace it does not open
 * the table of kernels.
 */
static void keep_notes(const struct np_run *run, size_t index, const struct np_detail *detail,
		       struct np_notes *notes)
{
	const char *table = run->sources.item[index].file[NP_FILE_KERNELS];

	for (size_t i = 0; table && i < detail->notes.list.count; i++) {
		const struct np_note *note = &detail->notes.list.item[i];
		bool told = strcmp(note->path, table) != 0;

		for (size_t j = 0; j < run->notes.list.count && !told; j++)
			told = strcmp(run->notes.list.item[j].path, table) == 0;
		if (!told)
			np_note_add(notes, note->kind, note->rank, note->path, note->what, "%s",
				    note->reason);
	}
}

static int read_detail(struct cmp_grouper *grouper, size_t index, bool sequence,
		       struct np_notes *notes)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	int rc = np_detail_load(grouper->side->analysis->run, index, WANTS, &detail, grouper->err);

	if (rc < 0)
		return rc;
	keep_notes(grouper->side->analysis->run, index, detail, notes);
	grouper->strings = detail->strings;
	rc = cmp_grouper_begin(grouper);
	return rc < 0 ? rc : cmp_group_detail(grouper, detail, sequence);
}

static int read_sums(struct cmp_grouper *grouper)
{
	NP_CLEANUP(np_kernel_sums_freep) struct np_kernel_sums *sums = NULL;
	int rc = np_kernel_sums_unpack(grouper->rank->packed_sums, &sums, grouper->err);

	if (rc == NP_OK)
		rc = cmp_grouper_begin(grouper);
	return rc < 0 ? rc : cmp_group_sums(grouper, sums);
}

static void reduce_rank(void *context, size_t job)
{
	struct work *work = context;
	struct comparison *comparison = work->comparison;
	size_t pair;
	enum cmp_which which = side_of(comparison, job, &pair);
	size_t index = comparison->pairs.item[pair].rank[which];
	struct cmp_side *side = &comparison->sides[which];
	const struct np_rank *rank = side->analysis->run->ranks[index];
	struct cmp_grouper grouper = { .comparison = comparison,
				       .side = side,
				       .rank = rank,
				       .strings = side->analysis->run->strings,
				       .ret = &side->kernels[index],
				       .err = &work->errs[job] };

	grouper.ret->mhz = NP_UNKNOWN;
	if (!has_sums(rank, pair))
		(void)!read_detail(&grouper, index, pair == 0, &work->notes[job]);
	else
		(void)!read_sums(&grouper);
	if (grouper.err->code == NP_OK)
		(void)!cmp_merge_add(work->merges[which], pair, &grouper);
	cmp_grouper_end(&grouper);
}

int cmp_begin_details(const struct comparison *comparison, unsigned wants, bool where_no_sums,
		      struct np_details **ret, struct np_err *err)
{
	size_t jobs = comparison->pairs.count * CMP_SIDES;
	struct np_detail_want *list = malloc((jobs + 1) * sizeof(*list));
	int rc;

	if (!list)
		return np_fail_nomem(err, "kernels");
	for (size_t i = 0; i < jobs; i++) {
		size_t pair;
		enum cmp_which which = side_of(comparison, i, &pair);
		const struct np_run *run = comparison->sides[which].analysis->run;
		size_t index = comparison->pairs.item[pair].rank[which];

		list[i] = (struct np_detail_want){ run, index, wants };
		if (where_no_sums && has_sums(run->ranks[index], pair))
			list[i].wants = 0;
	}
	rc = np_details_begin(list, jobs, comparison->options.workers->threads, ret, err);
	free(list);
	return rc;
}

/* What the details lack makes leaves coarser: the run notes it. */
static int end_job(struct work *work, size_t job, struct np_err *err)
{
	struct comparison *comparison = work->comparison;
	size_t pair;
	enum cmp_which which = side_of(comparison, job, &pair);
	struct np_run *run = comparison->sides[which].analysis->run;
	const struct np_rank *rank = run->ranks[comparison->pairs.item[pair].rank[which]];

	np_notes_move(&run->notes, &work->notes[job]);
	if (work->errs[job].code == NP_E_NOMEM)
		return np_fail_nomem(err, "kernels");
	if (work->errs[job].code != NP_OK)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, rank->id, rank->path, "kernels", "%s",
			    work->errs[job].text);
	return NP_OK;
}

static int begin_side(struct work *work, enum cmp_which which, struct np_err *err)
{
	struct cmp_side *side = &work->comparison->sides[which];

	side->kernels = calloc(side->analysis->run->sources.count + 1, sizeof(*side->kernels));
	return side->kernels ? cmp_merge_new(side, &work->merges[which], err)
			     : np_fail_nomem(err, "kernels");
}

static int end_side(const struct work *work, enum cmp_which which, struct np_err *err)
{
	struct cmp_side *side = &work->comparison->sides[which];
	size_t first = work->comparison->pairs.item[0].rank[which];

	return cmp_merge_finish(work->merges[which], &side->kernels[first], err);
}

int cmp_reduce_kernels(struct comparison *comparison, struct np_err *err)
{
	size_t jobs = comparison->pairs.count * CMP_SIDES;
	struct work work = { .comparison = comparison,
			     .errs = calloc(jobs + 1, sizeof(*work.errs)),
			     .notes = calloc(jobs + 1, sizeof(*work.notes)) };
	NP_CLEANUP(np_details_endp) struct np_details *details = NULL;
	int rc = work.errs && work.notes ? NP_OK : np_fail_nomem(err, "kernels");

	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++)
		rc = begin_side(&work, (enum cmp_which)i, err);
	if (rc == NP_OK)
		rc = cmp_begin_details(comparison, WANTS, true, &details, err);
	if (rc == NP_OK)
		np_workers_run(comparison->options.workers, jobs, reduce_rank, &work);
	for (size_t i = 0; i < jobs && rc == NP_OK; i++)
		rc = end_job(&work, i, err);
	for (int i = 0; i < CMP_SIDES; i++) {
		if (rc == NP_OK)
			rc = end_side(&work, (enum cmp_which)i, err);
		cmp_merge_free(work.merges[i]);
	}
	for (size_t i = 0; i < jobs && work.notes; i++)
		np_notes_release(&work.notes[i]);
	free(work.errs);
	free(work.notes);
	return rc;
}
