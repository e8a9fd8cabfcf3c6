/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a rank are compared with each other: which of them hold less than they should? */
#include "coverage.h"

#include "npuprof/activity.h"
#include "npuprof/buf.h"
#include "npuprof/order.h"

#include <math.h>

enum quantity {
	COMPUTING,
	COMMUNICATION,
	QUANTITIES,
};

/* What rounding and the edges of windows explain, of each step. */
#define LEAST_NS 1000

/* What is said of a file that is certainly cut, where nothing that was measured is missing. */
#define BROKEN_COVERS 0.999

/* Of fewer calls nothing can be said. */
#define LEAST_LAUNCHES 20

/* Two sums that differ by no more say the same. */
#define SAME (1 / NP_COVERAGE_WHOLE - 1)

void load_coverage_release(struct load_coverage *coverage)
{
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		np_seen_free(coverage->seen[i]);
	*coverage = (struct load_coverage){ 0 };
}

static np_ns known(np_ns value)
{
	return value == NP_UNKNOWN ? 0 : value;
}

/* --- what files say --------------------------------------------------------------------------- */

/* Computing of a cell in the segments that begin before `until`. */
static np_ns computing_until(const struct np_activity *activity,
			     const struct np_activity_cell *cell, np_ns until)
{
	np_ns sum = 0;

	for (uint32_t i = cell->first_segment; i < cell->first_segment + cell->segments; i++) {
		const struct np_segment *segment = &activity->segments.item[i];

		if (segment->begin >= until)
			break;
		for (uint32_t j = segment->first; j < segment[1].first; j++) {
			if (np_leaf_kind(activity->shares.item[j].leaf) == NP_LEAF_COMPUTE)
				sum += activity->shares.item[j].ns;
		}
	}
	return sum;
}

/* Likewise, where a rank was read for its times alone. */
static np_ns computing_again(const struct np_rank *rank, size_t cell, np_ns until)
{
	if (cell < rank->activity.cells.count)
		return computing_until(&rank->activity, &rank->activity.cells.item[cell], until);
	return rank->times.item[cell].step < rank->copies.count
		       ? rank->copies.item[rank->times.item[cell].step].again
		       : 0;
}

/*
 * How far the window of a step reached into the next: streams overlap by less than a step. What
 * lies further away was moved there by damage.
 */
static np_ns past_of(const struct np_rank *rank, size_t step)
{
	const struct np_step *own = &rank->steps.item[step];

	if (own->host_begin != NP_UNKNOWN && own->host_end != NP_UNKNOWN &&
	    own->past / 2 > own->host_end - own->host_begin)
		return 0;
	return own->past;
}

/* Where the windows of steps reached into the next, begin (or end) of all of them, ascending. */
static size_t windows_of(const struct np_rank *rank, bool ends, np_ns *ret)
{
	size_t count = 0;

	for (size_t i = 0; i + 1 < rank->steps.count; i++) {
		if (past_of(rank, i) > 0)
			ret[count++] =
				rank->steps.item[i + 1].begin + (ends ? past_of(rank, i) : 0);
	}
	qsort(ret, count, sizeof(*ret), np_by_int64);
	return count;
}

/* So many of them are not after this time. */
static size_t reached(const np_ns *list, size_t count, np_ns time)
{
	return np_lower_bound(i, (size_t)0, count, list[i] > time);
}

/* What starts where the window of a step reached into the next is counted in both by databases. */
static int find_twice(struct load_coverage *coverage, const struct np_rank *rank,
		      struct np_err *err)
{
	np_ns *begins = malloc(2 * (rank->steps.count + 1) * sizeof(*begins));
	np_ns *ends = begins ? begins + rank->steps.count + 1 : NULL;
	size_t count;

	if (!begins)
		return np_fail_nomem(err, "steps");
	count = windows_of(rank, false, begins);
	(void)windows_of(rank, true, ends);
	size_t cells = rank->activity.cells.count > 0 || rank->device_count > 1
			       ? rank->activity.cells.count
			       : rank->times.count;
	for (size_t i = 0; i < cells && count > 0; i++) {
		uint32_t step = rank->times.item[i].step;
		np_ns past = step > 0 && step < rank->steps.count ? past_of(rank, step - 1) : 0;

		if (past > 0)
			coverage->twice[COMPUTING] +=
				computing_again(rank, i, rank->steps.item[step].begin + past);
	}
	for (size_t i = 0; i < rank->ops.count && count > 0; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		coverage->twice[COMMUNICATION] += (np_ns)(reached(begins, count, op->start) -
							  reached(ends, count, op->start)) *
						  (op->end - op->start);
	}
	free(begins);
	return NP_OK;
}

/* Σ of kernels that ran on one kind of core. */
static np_ns sum_kernels(const struct np_rank *rank, const struct np_strtab *strings,
			 const char *core)
{
	np_ns sum = 0;

	for (size_t i = 0; i < rank->kernels.count; i++) {
		const struct np_statistic *each = &rank->kernels.item[i];
		const char *kind =
			each->kind == NP_STR_NONE ? "" : np_strtab_text(strings, each->kind);

		if (strcmp(kind, core) == 0)
			sum += each->total;
	}
	return sum;
}

static np_ns sum_ops(const struct np_rank *rank)
{
	np_ns sum = 0;

	for (size_t i = 0; i < rank->ops.count; i++)
		sum += rank->ops.item[i].end - rank->ops.item[i].start;
	return rank->ops.count ? sum : NP_UNKNOWN;
}

static int see_times(struct np_seen *seen, const struct np_rank *rank, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		rc = np_seen_add(seen, rank->steps.item[time->step].id, time->computing,
				 time->communication, err);
	}
	return rc;
}

/* Where the host ran ahead, windows of steps overlap. */
static void see_past(struct np_seen *seen, const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->steps.count; i++) {
		uint32_t place = np_numbers_get(&seen->places, rank->steps.item[i].id);

		if (place != NP_MAP_NONE)
			seen->steps.item[place].past = rank->steps.item[i].past;
	}
}

int load_coverage_see(struct load_coverage *coverage, enum np_file file, struct np_rank *fresh,
		      const struct np_strtab *strings, struct np_err *err)
{
	struct np_seen *seen = fresh->seen ? NP_STEAL(fresh->seen) : np_seen_new();
	int rc = NP_OK;

	if (!seen)
		return np_fail_nomem(err, "a rank");
	np_seen_free(coverage->seen[file]);
	coverage->seen[file] = seen;
	coverage->read |= 1U << file;
	if (seen->steps.count == 0)
		rc = see_times(seen, fresh, err);
	see_past(seen, fresh);
	/* A database that does not say which tasks are kernels has no times, and says so. */
	coverage->timeless[file] = fresh->times.count == 0;
	if (seen->ops == NP_UNKNOWN)
		seen->ops = sum_ops(fresh);
	if (file == NP_FILE_RANK_DB) {
		seen->may_be_kernels = sum_kernels(fresh, strings, "AI_CPU");
		if (rc == NP_OK)
			rc = find_twice(coverage, fresh, err);
	}
	if (fresh->table_seen && !coverage->seen[NP_FILE_KERNELS])
		coverage->seen[NP_FILE_KERNELS] = NP_STEAL(fresh->table_seen);
	return rc;
}

/* --- one file against another ----------------------------------------------------------------- */

/* What a file holds of the steps that another has, and what that says. */
struct file_comparison {
	np_ns held[QUANTITIES];  /* in steps of both */
	np_ns due[QUANTITIES];   /* of that, where the other file has it too */
	np_ns extra[QUANTITIES]; /* in steps that only the first has */
	np_ns said[QUANTITIES];
	size_t steps;
	bool whole; /* steps are not the same: the whole file was taken */
};

/*
 * What a step has above this share of what the other file says of it is no part of another
 * step: times that were moved are missing where they belong.
 */
#define STEP_SURPLUS 1.25

static np_ns of(const struct np_seen_step *step, enum quantity which)
{
	return which == COMPUTING ? step->computing : step->communication;
}

static np_ns least(np_ns own, np_ns theirs, np_ns owed)
{
	np_ns most = (np_ns)((double)theirs * STEP_SURPLUS) + LEAST_NS + owed;

	return theirs > 0 && own > most ? most : own;
}

/*
 * What the vendor counts in a step and this file in the next one: all that starts where their
 * windows overlap, and it may last longer than that. They overlap by less than the step; what lies
 * further away was moved there by damage.
 */
static np_ns passed_on(const struct np_seen_step *own, const struct np_seen_step *theirs,
		       np_ns owed)
{
	return own && own->past > 0 && own->past <= theirs->computing + theirs->communication &&
			       owed > 0
		       ? owed
		       : 0;
}

static struct file_comparison compare(const struct np_seen *file, const struct np_seen *other)
{
	struct file_comparison found = { .steps = other->steps.count, .whole = true };
	np_ns owed[QUANTITIES] = { 0 };

	for (size_t i = 0; i < other->steps.count; i++) {
		const struct np_seen_step *theirs = &other->steps.item[i];
		const struct np_seen_step *own = np_seen_find(file, theirs->id);

		found.whole = found.whole && !own;
		for (enum quantity q = 0; q < QUANTITIES; q++) {
			np_ns due = own ? least(of(own, q), of(theirs, q), owed[q]) : 0;

			found.said[q] += of(theirs, q);
			found.held[q] += own ? of(own, q) : 0;
			found.due[q] += due;
			owed[q] = passed_on(own, theirs, owed[q] + of(theirs, q) - due);
		}
	}
	for (size_t i = 0; i < file->steps.count; i++) {
		const struct np_seen_step *own = &file->steps.item[i];

		if (np_seen_find(other, own->id))
			continue;
		for (enum quantity q = 0; q < QUANTITIES; q++)
			found.extra[q] += of(own, q);
	}
	found.whole = found.whole || file->unplaced;
	if (found.whole) {
		found.held[COMPUTING] = known(file->kernels);
		found.held[COMMUNICATION] = known(file->ops);
		found.due[COMPUTING] = found.held[COMPUTING];
		found.due[COMMUNICATION] = found.held[COMMUNICATION];
		found.extra[COMPUTING] = 0;
		found.extra[COMMUNICATION] = 0;
	}
	return found;
}

/* How much of `said` is there; 1 where no more is missing than is explained. */
static double share_of(np_ns held, np_ns said, size_t steps)
{
	np_ns least = (np_ns)(steps + 1) * LEAST_NS;

	if (said <= 0 || held >= said || said - held <= least)
		return 1;
	return held <= 0 ? 0 : (double)held / (double)said;
}

/* The share of what the other says that the file holds. */
static double covers(const struct load_coverage *coverage, enum np_file file,
		     const struct file_comparison *found, enum quantity which)
{
	np_ns held = found->due[which];

	if (file == NP_FILE_RANK_DB)
		held += coverage->twice[which];
	if (which == COMPUTING && file == NP_FILE_TRACE)
		held += coverage->seen[file]->may_be_kernels;
	/* Step times of databases count them, those of text do not. */
	if (which == COMPUTING)
		held += coverage->seen[file]->serving;
	return share_of(held, found->said[which], found->steps);
}

/*
 * The share of what the file holds that the other says. Windows of traces are wider than
 * those of the vendor's text files: only whole steps are missing for certain.
 */
static double is_covered(const struct load_coverage *coverage, enum np_file file,
			 const struct file_comparison *found, enum quantity which)
{
	np_ns held = found->held[which] + found->extra[which];

	if (found->whole)
		return 1;
	if (file == NP_FILE_TRACE)
		held = found->said[which] + found->extra[which];
	if (which == COMPUTING)
		held -= coverage->seen[file]->may_be_kernels;
	return share_of(found->said[which], held, found->steps);
}

/* --- which of two is wrong -------------------------------------------------------------------- */

static bool same(np_ns a, np_ns b)
{
	return a != NP_UNKNOWN && b != NP_UNKNOWN && a > 0 && b > 0 &&
	       fabs((double)a / (double)b - 1) <= SAME;
}

static np_ns sum_of(const struct np_seen *seen, enum quantity which)
{
	np_ns sum = 0;

	for (size_t i = 0; i < seen->steps.count; i++)
		sum += of(&seen->steps.item[i], which);
	return sum;
}

/* Σ of the operators of the vendor's communication files; NP_UNKNOWN without. */
static np_ns listed_ops(const struct load_coverage *coverage)
{
	static const enum np_file files[] = { NP_FILE_COMM, NP_FILE_ANALYSIS_DB };

	for (size_t i = 0; i < NP_COUNT(files); i++) {
		const struct np_seen *seen = coverage->seen[files[i]];

		if (seen && seen->ops != NP_UNKNOWN && seen->ops > 0)
			return seen->ops;
	}
	return NP_UNKNOWN;
}

static const enum np_file interval_files[] = { NP_FILE_RANK_DB, NP_FILE_TRACE, NP_FILE_KERNELS };

/* Does a file other than these two hold as much of a quantity as `sum`? */
static bool another_holds(const struct load_coverage *coverage, enum np_file file, np_ns sum,
			  enum quantity which)
{
	for (size_t i = 0; i < NP_COUNT(interval_files); i++) {
		const struct np_seen *seen = coverage->seen[interval_files[i]];

		if (interval_files[i] != file && seen && same(sum_of(seen, which), sum))
			return true;
	}
	return false;
}

/* Does all that the file says was launched show in it? */
static bool holds_together(const struct np_seen *seen)
{
	return seen->launches >= LEAST_LAUNCHES && seen->launched >= NP_COVERAGE_WHOLE &&
	       seen->linked >= NP_COVERAGE_WHOLE && !seen->broken;
}

/* Does a third source say what the file does? */
static bool is_supported(const struct load_coverage *coverage, enum np_file file,
			 enum quantity which)
{
	const struct np_seen *seen = coverage->seen[file];
	np_ns third = which == COMPUTING ? coverage->statistic : listed_ops(coverage);

	return same(which == COMPUTING ? seen->kernels : seen->ops, third) ||
	       holds_together(seen) || another_holds(coverage, file, sum_of(seen, which), which);
}

/* Does a third source say what the vendor's step times do? */
static bool are_steps_supported(const struct load_coverage *coverage, enum np_file file,
				enum np_file steps, enum quantity which)
{
	np_ns sum = sum_of(coverage->seen[steps], which);
	np_ns third = which == COMPUTING ? coverage->statistic : listed_ops(coverage);

	return same(sum, third) || another_holds(coverage, file, sum, which);
}

/* --- what is noted ---------------------------------------------------------------------------- */

struct judgement {
	const struct load_coverage *coverage;
	const struct np_source_files *source;
	struct np_strtab *strings;
	struct np_rank *rank;
	struct np_notes *notes;
	uint32_t drop; /* files whose intervals must not be used */
	uint32_t said; /* files that are listed */
};

static const char *name_of(const struct np_source_files *source, enum np_file file)
{
	const char *path = source->file[file];
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path)
		return np_file_name(file);
	return slash ? slash + 1 : path;
}

/* One file is not whole, by what another (or, where that is NULL, it itself) says. */
static int put(struct judgement *judgement, enum np_file file, const char *against, double share,
	       bool withholds, struct np_err *err)
{
	struct np_rank *rank = judgement->rank;
	const char *name = name_of(judgement->source, file);
	struct np_file_coverage *slot;
	NP_CLEANUP(np_buf_release) struct np_buf words = NP_BUF_INIT;
	int rc;

	/* Two files may say the same of it. */
	if (judgement->said & 1U << file)
		return NP_OK;
	judgement->said |= 1U << file;
	slot = np_vec_add(&rank->coverage, err);
	if (!slot)
		return NP_E_NOMEM;
	slot->share = share;
	slot->withholds = withholds;
	rc = np_strtab_add(judgement->strings, name, strlen(name), &slot->file, err);
	if (rc == NP_OK)
		rc = np_strtab_add(judgement->strings, against, strlen(against), &slot->against,
				   err);
	if (rc < 0)
		return rc;
	/* Why it cannot be read is noted already. */
	if (judgement->coverage->unreadable[file])
		return NP_OK;
	np_file_coverage_put_claim(&words, against, share);
	np_note_add(judgement->notes, NP_NOTE_SKIPPED, rank->id,
		    judgement->source->file[file] ? judgement->source->file[file] : rank->path,
		    np_file_name(file), "%s%s", words.text ? words.text : "",
		    withholds ? ": nothing is said against this rank; " NP_FILE_COVERAGE_CURE : "");
	return np_buf_check(&words, err);
}

/* --- the judgement ---------------------------------------------------------------------------- */

/* The vendor's step times that belong to a file; NP_FILE_COUNT for none. */
static enum np_file steps_beside(const struct load_coverage *coverage, enum np_file file)
{
	const enum np_file files[] = {
		file == NP_FILE_RANK_DB ? NP_FILE_ANALYSIS_DB : NP_FILE_STEP_TRACE,
		file == NP_FILE_RANK_DB ? NP_FILE_STEP_TRACE : NP_FILE_ANALYSIS_DB,
	};

	for (size_t i = 0; i < NP_COUNT(files); i++) {
		const struct np_seen *seen = coverage->seen[files[i]];

		if (seen && seen->steps.count > 0)
			return files[i];
	}
	return NP_FILE_COUNT;
}

/* The quantity of which the least is there. */
struct worst {
	enum quantity which;
	double share;
	bool moved; /* it has as much, in other steps */
};

static int put_partial(struct judgement *judgement, enum np_file file, const char *against,
		       double share, struct np_err *err)
{
	judgement->drop |= 1U << file;
	return put(judgement, file, against, share, true, err);
}

static int judge_less(struct judgement *judgement, enum np_file file, enum np_file steps,
		      struct worst less, struct np_err *err)
{
	const struct load_coverage *coverage = judgement->coverage;
	const char *against = name_of(judgement->source, steps);

	/* The step times say too much: what is used agrees with a third. */
	if (!less.moved && is_supported(coverage, file, less.which) &&
	    !are_steps_supported(coverage, file, steps, less.which))
		return put(judgement, steps, name_of(judgement->source, file), 1 / less.share,
			   false, err);
	return put_partial(judgement, file, against, less.share, err);
}

static int judge_more(struct judgement *judgement, enum np_file file, enum np_file steps,
		      struct worst more, struct np_err *err)
{
	const struct load_coverage *coverage = judgement->coverage;
	bool file_is_right = is_supported(coverage, file, more.which);
	bool steps_are_right = are_steps_supported(coverage, file, steps, more.which);

	if (steps_are_right && !file_is_right && more.share > 0) {
		judgement->drop |= 1U << file;
		return put(judgement, file, name_of(judgement->source, steps), 1 / more.share, true,
			   err);
	}
	return put(judgement, steps, name_of(judgement->source, file), more.share, !file_is_right,
		   err);
}

/* Little may be missing by time, and yet be certain. */
static int judge_by_itself(struct judgement *judgement, enum np_file file, enum np_file steps,
			   struct np_err *err)
{
	const struct load_coverage *coverage = judgement->coverage;
	const struct np_seen *seen = coverage->seen[file];
	double counted = 1;

	/* Both count the same rows. */
	if (file == NP_FILE_KERNELS && coverage->statistic_count > 0)
		counted = (double)seen->kernel_count / (double)coverage->statistic_count;
	if (counted < NP_COVERAGE_WHOLE)
		return put_partial(judgement, file,
				   name_of(judgement->source, NP_FILE_OP_STATISTIC), counted, err);
	if (seen->linked < NP_COVERAGE_WHOLE)
		return put_partial(judgement, file, seen->linked_by, seen->linked, err);
	if (seen->broken)
		return put_partial(judgement, file,
				   steps < NP_FILE_COUNT ? name_of(judgement->source, steps)
							 : "itself",
				   steps < NP_FILE_COUNT ? BROKEN_COVERS : (double)NAN, err);
	return NP_OK;
}

static int judge_by_steps(struct judgement *judgement, enum np_file file, enum np_file steps,
			  struct np_err *err)
{
	const struct load_coverage *coverage = judgement->coverage;
	struct file_comparison found = compare(coverage->seen[file], coverage->seen[steps]);
	struct worst less = { COMPUTING, 1, false };
	struct worst more = { COMPUTING, 1, false };

	for (enum quantity q = 0; q < QUANTITIES; q++) {
		double held = covers(coverage, file, &found, q);
		double said = is_covered(coverage, file, &found, q);

		if (held < less.share)
			less = (struct worst){ q, held, found.due[q] < found.held[q] };
		if (said < more.share)
			more = (struct worst){ q, said, false };
	}
	if (less.share < NP_COVERAGE_WHOLE)
		return judge_less(judgement, file, steps, less, err);
	if (more.share < NP_COVERAGE_WHOLE)
		return judge_more(judgement, file, steps, more, err);
	return judge_by_itself(judgement, file, steps, err);
}

/* Without step times: by the sums that other files have, or by what the file itself says. */
static int judge_by_sums(struct judgement *judgement, enum np_file file, struct np_err *err)
{
	const struct load_coverage *coverage = judgement->coverage;
	const struct np_seen *seen = coverage->seen[file];
	enum np_file comm = coverage->seen[NP_FILE_COMM] ? NP_FILE_COMM : NP_FILE_ANALYSIS_DB;
	double kernels = 1;
	double ops = 1;

	if (coverage->statistic != NP_UNKNOWN && seen->kernels != NP_UNKNOWN)
		kernels = share_of(seen->kernels + seen->serving +
					   (file == NP_FILE_TRACE ? seen->may_be_kernels : 0),
				   coverage->statistic, 1);
	if (listed_ops(coverage) != NP_UNKNOWN)
		ops = share_of(known(seen->ops), listed_ops(coverage), 1);
	if (kernels < NP_COVERAGE_WHOLE || ops < NP_COVERAGE_WHOLE)
		return put_partial(
			judgement, file,
			name_of(judgement->source, kernels < ops ? NP_FILE_OP_STATISTIC : comm),
			kernels < ops ? kernels : ops, err);
	/* Calls that launched nothing are weaker evidence: a version may have others. */
	if (seen->launches >= LEAST_LAUNCHES && seen->launched < NP_COVERAGE_WHOLE &&
	    seen->launched < seen->linked)
		return put_partial(judgement, file, "its CANN_API", seen->launched, err);
	return judge_by_itself(judgement, file, NP_FILE_COUNT, err);
}

/* Was another file read that holds all that the step times say, and who launched it? */
static bool is_replaced(const struct load_coverage *coverage, enum np_file file, enum np_file steps)
{
	for (size_t i = 0; i < NP_COUNT(interval_files); i++) {
		enum np_file other = interval_files[i];
		const struct np_seen *seen = coverage->seen[other];
		struct file_comparison found;
		bool whole = other != file && other != NP_FILE_KERNELS && seen &&
			     !coverage->timeless[other] && !seen->broken;

		if (!whole)
			continue;
		found = compare(seen, coverage->seen[steps]);
		for (enum quantity q = 0; q < QUANTITIES && whole; q++)
			whole = covers(coverage, other, &found, q) >= NP_COVERAGE_WHOLE;
		if (whole)
			return true;
	}
	return false;
}

/* A file that is there and cannot be read, while the step times say what it would hold. */
static int judge_unreadable(struct judgement *judgement, enum np_file file, struct np_err *err)
{
	enum np_file steps = steps_beside(judgement->coverage, file);

	if (steps == NP_FILE_COUNT)
		return NP_OK;
	return put(judgement, file, name_of(judgement->source, steps), 0,
		   !is_replaced(judgement->coverage, file, steps), err);
}

static bool is_worse(const struct np_file_coverage *a, const struct np_file_coverage *b)
{
	return a->withholds != b->withholds ? a->withholds : a->share < b->share;
}

/* The worst first; there are a few at most, and equal ones stay in the order of files. */
static void sort_coverage(struct np_rank *rank)
{
	struct np_file_coverage *list = rank->coverage.item;

	for (size_t i = 1; i < rank->coverage.count; i++) {
		for (size_t j = i; j > 0 && is_worse(&list[j], &list[j - 1]); j--) {
			struct np_file_coverage moved = list[j];

			list[j] = list[j - 1];
			list[j - 1] = moved;
		}
	}
}

int load_coverage_judge(const struct load_coverage *coverage, const struct np_source_files *source,
			struct np_strtab *strings, struct np_rank *rank, struct np_notes *notes,
			uint32_t *ret_drop, struct np_err *err)
{
	struct judgement judgement = { coverage, source, strings, rank, notes, 0, 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(interval_files) && rc == NP_OK; i++) {
		enum np_file file = interval_files[i];
		enum np_file steps = steps_beside(coverage, file);

		if (coverage->unreadable[file])
			rc = judge_unreadable(&judgement, file, err);
		else if (!coverage->seen[file] || coverage->timeless[file])
			continue;
		else if (steps != NP_FILE_COUNT)
			rc = judge_by_steps(&judgement, file, steps, err);
		else
			rc = judge_by_sums(&judgement, file, err);
	}
	/* Nothing else has the figures of such a trace: they stay, and are not held against it. */
	if (rc == NP_OK && coverage->seen[NP_FILE_KINETO] && coverage->seen[NP_FILE_KINETO]->broken)
		rc = put(&judgement, NP_FILE_KINETO, "itself", (double)NAN, true, err);
	sort_coverage(rank);
	*ret_drop = judgement.drop;
	return rc;
}
