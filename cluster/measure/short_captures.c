/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that end before their steps do, by what other ranks of the same communicators have. */
#include "short_captures.h"

#include "npuprof/buf.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

#define AGAINST "other ranks"

/*
 * One operator where steps meet may be of the one or of the other step: a single one counts
 * where the capture has few.
 */
#define FEW_COVERED 0.8

/* Without marks captures begin and end as they like: much must be missing. */
#define UNMARKED_COVERED 0.9

/* --- operators -------------------------------------------------------------------------------- */

static bool is_marked(const struct np_rank *rank)
{
	return rank->steps.count > 0 && rank->steps.item[0].id != NP_STR_NONE;
}

/* Has the rank a step of this id? All is one step where none is marked. */
static bool has_step(const struct np_rank *rank, np_str step)
{
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (rank->steps.item[i].id == step)
			return true;
	}
	return false;
}

static bool takes_part(const struct np_align *align, const struct np_instance *instance,
		       uint32_t rank)
{
	for (uint32_t i = 0; i < instance->count; i++) {
		if (align->members[instance->first + i].rank == rank)
			return true;
	}
	return false;
}

/* All members do these, whatever they compute. */
static bool is_common(const struct np_instance *instance)
{
	return instance->rule != NP_RULE_PAIR && instance->rule != NP_RULE_PAIRWISE;
}

/* Does the rank lack this operator of others, in a step that it has? */
static bool lacks(const struct np_rank *rank, const struct np_instance *instance)
{
	return is_common(instance) && !(instance->flags & NP_INSTANCE_NO_STEP) &&
	       has_step(rank, instance->step);
}

/* Operators that a rank has and nobody else: it did something, under another name. */
static size_t count_alone(const struct np_align *align, const struct np_align_communicator *each,
			  uint32_t index)
{
	const struct np_instance *instances = &align->instances.item[each->first];
	size_t count = 0;

	for (uint32_t i = 0; i < each->count; i++)
		count += instances[i].count == 1 && is_common(&instances[i]) &&
			 takes_part(align, &instances[i], index);
	return count;
}

/*
 * What others did before the first and behind the last operator of a rank, but for as many as
 * it has for itself: operators that do not match are no sign of a short capture.
 */
static size_t count_lacks(const struct np_align *align, const struct np_align_communicator *each,
			  uint32_t index)
{
	const struct np_rank *rank = align->run->ranks[index];
	const struct np_instance *instances = &align->instances.item[each->first];
	uint32_t first = 0;
	uint32_t last = each->count;
	size_t count = 0;
	size_t alone;

	for (; first < each->count && !takes_part(align, &instances[first], index); first++)
		count += lacks(rank, &instances[first]);
	for (; last > first && !takes_part(align, &instances[last - 1], index); last--)
		count += lacks(rank, &instances[last - 1]);
	alone = count ? count_alone(align, each, index) : 0;
	return count > alone ? count - alone : 0;
}

/* Ranks with operators of a communicator, and members that would have some. */
static void see_communicator(const struct np_align *align, const struct np_align_communicator *each,
			     size_t *lacked)
{
	for (uint32_t i = 0; i < each->observed; i++) {
		uint32_t rank = align->coverage.item[each->coverage + i].rank;

		lacked[rank] += count_lacks(align, each, rank);
	}
	for (size_t i = 0; each->members && i < each->member_count; i++) {
		size_t index = np_run_index(align->run, each->members[i]);
		bool seen = index == SIZE_MAX || !align->run->ranks[index] ||
			    align->run->ranks[index]->ops.count == 0;

		for (uint32_t j = 0; j < each->observed && !seen; j++)
			seen = align->coverage.item[each->coverage + j].rank == index;
		if (!seen)
			lacked[index] += count_lacks(align, each, (uint32_t)index);
	}
}

static size_t collectives_of(const struct np_rank *rank)
{
	size_t count = 0;

	for (size_t i = 0; i < rank->ops.count; i++)
		count += !rank->ops.item[i].p2p;
	return count;
}

/* Of what others did with it in its steps, how much does the rank have? */
static double covered_by_ops(const struct np_rank *rank, size_t lacked)
{
	double share;

	if (lacked == 0)
		return 1;
	share = (double)collectives_of(rank) / (double)(collectives_of(rank) + lacked);
	if (!is_marked(rank))
		return share < UNMARKED_COVERED ? share : 1;
	return (lacked > 1 && share < NP_COVERAGE_WHOLE) || share < FEW_COVERED ? share : 1;
}

/* --- steps ------------------------------------------------------------------------------------ */

typedef NP_VEC(int64_t) number_list;

static bool number_of(const struct np_run *run, np_str step, int64_t *ret)
{
	const char *text = step == NP_STR_NONE ? NULL : np_run_text(run, step);

	return text && np_text_to_int(text, strlen(text), ret);
}

/* The least and the greatest number of its steps; false where they have none. */
static bool window_of(const struct np_run *run, const struct np_rank *rank, int64_t window[2])
{
	window[0] = INT64_MAX;
	window[1] = INT64_MIN;
	for (size_t i = 0; i < rank->steps.count; i++) {
		int64_t number;

		if (!number_of(run, rank->steps.item[i].id, &number))
			return false;
		window[0] = number < window[0] ? number : window[0];
		window[1] = number > window[1] ? number : window[1];
	}
	return rank->steps.count > 0;
}

/* Do most ranks have it? What a few have more is their capture. */
static bool have_most(const struct np_run *run, np_str step)
{
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		count += run->ranks[i] && has_step(run->ranks[i], step);
	return 2 * count >= np_run_used(run);
}

/* Of the steps within its window, how many does the rank have? `ret` gets those outside. */
static int see_steps(const struct np_run *run, const struct np_cluster *cluster,
		     const struct np_rank *rank, number_list *ret, double *covered,
		     struct np_err *err)
{
	int64_t window[2];
	size_t within = 0;

	*covered = 1;
	if (rank->steps.count >= cluster->steps.count || !is_marked(rank) ||
	    !window_of(run, rank, window))
		return NP_OK;
	for (size_t i = 0; i < cluster->steps.count; i++) {
		np_str step = cluster->steps.item[i];
		int64_t number;
		int64_t *slot;

		if (has_step(rank, step) || !number_of(run, step, &number) || !have_most(run, step))
			continue;
		if (number > window[0] && number < window[1]) {
			within++;
			continue;
		}
		slot = np_vec_add(ret, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = number;
	}
	*covered = (double)rank->steps.count / (double)(rank->steps.count + within);
	return NP_OK;
}

/* --- what is said ----------------------------------------------------------------------------- */

static const char *file_of(const struct np_source_files *source, const struct np_rank *rank)
{
	const enum np_file file =
		rank->comm_source == NP_FROM_RANK_DB       ? NP_FILE_RANK_DB
		: rank->comm_source == NP_FROM_MARKS       ? NP_FILE_RANK_DB
		: rank->comm_source == NP_FROM_ANALYSIS_DB ? NP_FILE_ANALYSIS_DB
		: rank->comm_source == NP_FROM_TRACE && source->file[NP_FILE_KINETO]
			? NP_FILE_KINETO
		: rank->comm_source == NP_FROM_TRACE   ? NP_FILE_TRACE
		: rank->comm_source == NP_FROM_KERNELS ? NP_FILE_KERNELS
						       : NP_FILE_COMM;
	const char *path = source->file[file];
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path)
		return np_file_name(file);
	return slash ? slash + 1 : path;
}

bool short_captures_is_it(const struct np_run *run, const struct np_file_coverage *coverage)
{
	const char *against = np_run_text(run, coverage->against);

	return against && strcmp(against, AGAINST) == 0;
}

static int put_partial(struct np_run *run, size_t index, double share, struct np_err *err)
{
	struct np_rank *rank = run->ranks[index];
	const char *file = file_of(&run->sources.item[index], rank);
	NP_CLEANUP(np_buf_release) struct np_buf words = NP_BUF_INIT;
	struct np_file_coverage *slot = np_vec_add(&rank->coverage, err);
	int rc;

	if (!slot)
		return NP_E_NOMEM;
	slot->share = share;
	slot->withholds = true;
	rc = np_strtab_add(run->strings, file, strlen(file), &slot->file, err);
	if (rc == NP_OK)
		rc = np_strtab_add(run->strings, AGAINST, strlen(AGAINST), &slot->against, err);
	if (rc < 0)
		return rc;
	np_file_coverage_put_share(&words, share);
	np_note_add(&run->notes, NP_NOTE_SKIPPED, rank->id, rank->path, file,
		    "covers %s of what " AGAINST
		    " have of its steps: nothing is said against this rank; collect it whole",
		    words.text ? words.text : "");
	return np_buf_check(&words, err);
}

static int note_steps(struct np_run *run, const struct np_rank *rank, const number_list *steps,
		      struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;

	if (steps->count == 0)
		return NP_OK;
	np_ranges_format(&list, steps->item, steps->count);
	np_note_add(&run->notes, NP_NOTE_WARNING, rank->id, rank->path, "steps",
		    "has no step%s %s, which " AGAINST
		    " have: there it counts as one that was not profiled",
		    steps->count == 1 ? "" : "s", list.text ? list.text : "");
	return np_buf_check(&list, err);
}

static int judge(struct np_run *run, const struct np_cluster *cluster, size_t index, size_t lacked,
		 struct np_err *err)
{
	const struct np_rank *rank = run->ranks[index];
	double by_ops = covered_by_ops(rank, lacked);
	number_list outside = { 0 };
	double by_steps;
	double share;
	int rc = see_steps(run, cluster, rank, &outside, &by_steps, err);

	share = by_ops < by_steps ? by_ops : by_steps;
	/* Why there is less of it is said already where its files disagree. */
	if (rc == NP_OK && share < 1 && !np_rank_withheld(rank))
		rc = put_partial(run, index, share, err);
	if (rc == NP_OK)
		rc = note_steps(run, rank, &outside, err);
	np_vec_release(&outside);
	return rc;
}

int short_captures_find(struct np_run *run, const struct np_cluster *cluster,
			const struct np_align *align, struct np_err *err)
{
	size_t *lacked = calloc(run->sources.count + 1, sizeof(*lacked));
	int rc = lacked ? NP_OK : np_fail_nomem(err, "captures");

	for (size_t i = 0; i < align->communicators.count && rc == NP_OK; i++)
		see_communicator(align, &align->communicators.item[i], lacked);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = judge(run, cluster, i, lacked[i], err);
	}
	free(lacked);
	return rc;
}
