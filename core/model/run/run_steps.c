/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves in a run the steps that were asked for, and drops all that belongs to others. */
#include "npuprof/run.h"

#include "npuprof/activity.h"
#include "npuprof/ranges.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

static bool step_number(const struct np_run *run, np_str id, int64_t *ret)
{
	return id != NP_STR_NONE && np_text_to_int(np_strtab_text(run->strings, id),
						   np_strtab_length(run->strings, id), ret);
}

static int by_number(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left;
	int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* The numbers of all steps of all ranks, ascending, each once. */
static int64_t *known_steps(const struct np_run *run, size_t *ret_count)
{
	NP_VEC(int64_t) numbers = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->steps.count; j++) {
			int64_t number;
			int64_t *slot;

			if (!step_number(run, rank->steps.item[j].id, &number))
				continue;
			slot = np_vec_add(&numbers, NULL);
			if (slot)
				*slot = number;
		}
	}
	if (numbers.count)
		qsort(numbers.item, numbers.count, sizeof(numbers.item[0]), by_number);
	for (size_t i = 0; i < numbers.count; i++) {
		if (i == 0 || numbers.item[i] != numbers.item[i - 1])
			numbers.item[kept++] = numbers.item[i];
	}
	*ret_count = kept;
	return numbers.item;
}

static int check_known(const struct np_run *run, const struct np_ranges *steps, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	size_t count;
	int64_t *known = known_steps(run, &count);
	int64_t unknown;
	bool bad = np_ranges_first_unknown(steps, known, count, &unknown);

	np_ranges_format(&list, known, count);
	free(known);
	if (!bad)
		return NP_OK;
	return np_fail(err, NP_E_USAGE, "no step %lld in this run; %s%s", (long long)unknown,
		       count ? "there are steps " : "it has no numbered steps", list.text);
}

/* Drop the entries of an array whose step is not kept, and renumber the others. */
#define KEEP(vec, place) \
	do { \
		size_t kept_ = 0; \
		for (size_t i_ = 0; i_ < (vec).count; i_++) { \
			uint32_t step_ = (vec).item[i_].step; \
			if (step_ == NP_NO_STEP || (place)[step_] == NP_NO_STEP) \
				continue; \
			(vec).item[kept_] = (vec).item[i_]; \
			(vec).item[kept_++].step = (place)[step_]; \
		} \
		(vec).count = kept_; \
	} while (0)

/* The vendor's times stand beside the operators. */
static void keep_vendor_times(struct np_rank *rank, const uint32_t *op_place)
{
	size_t kept = 0;

	for (size_t i = 0; i < rank->vendor_times.count; i++) {
		if (op_place[i] != NP_NO_STEP)
			rank->vendor_times.item[kept++] = rank->vendor_times.item[i];
	}
	rank->vendor_times.count = kept;
}

/* Bands point to operators, so they follow where those go. */
static void keep_bands(struct np_rank *rank, const uint32_t *op_place)
{
	size_t kept = 0;

	for (size_t i = 0; i < rank->bands.count; i++) {
		uint32_t op = op_place[rank->bands.item[i].op];

		if (op == NP_NO_STEP)
			continue;
		rank->bands.item[kept] = rank->bands.item[i];
		rank->bands.item[kept++].op = op;
	}
	rank->bands.count = kept;
}

/* Likewise what experts did; without an exchange before them the step tells. */
static void keep_experts(struct np_rank *rank, const uint32_t *op_place)
{
	for (size_t i = 0; i < rank->experts.count; i++) {
		struct np_expert_work *work = &rank->experts.item[i];

		if (work->op != NP_NO_OP)
			work->op = op_place[work->op];
	}
}

/* Cells stand beside the times, and they name operators. */
static int keep_activity(struct np_rank *rank, const uint32_t *place, const uint32_t *op_place,
			 struct np_err *err)
{
	uint32_t *cells;
	size_t kept = 0;
	int rc;

	if (rank->activity.cells.count == 0)
		return NP_OK;
	cells = malloc((rank->times.count + 1) * sizeof(*cells));
	if (!cells)
		return np_fail_nomem(err, "steps");
	for (uint32_t i = 0; i < rank->times.count; i++) {
		if (place[rank->times.item[i].step] != NP_NO_STEP)
			cells[kept++] = i;
	}
	rc = np_activity_pick(&rank->activity, cells, kept, err);
	free(cells);
	np_activity_move_ops(&rank->activity, op_place);
	return rc;
}

static int keep_in_rank(struct np_rank *rank, const uint32_t *place, struct np_err *err)
{
	uint32_t *op_place = malloc((rank->ops.count + 1) * sizeof(*op_place));
	uint32_t kept = 0;
	int rc;

	if (!op_place)
		return np_fail_nomem(err, "steps");
	for (size_t i = 0; i < rank->ops.count; i++) {
		uint32_t step = rank->ops.item[i].step;

		op_place[i] = step == NP_NO_STEP || place[step] == NP_NO_STEP ? NP_NO_STEP : kept++;
	}
	keep_vendor_times(rank, op_place);
	keep_bands(rank, op_place);
	keep_experts(rank, op_place);
	rc = keep_activity(rank, place, op_place, err);
	free(op_place);
	if (rc < 0)
		return rc;
	KEEP(rank->times, place);
	KEEP(rank->ops, place);
	KEEP(rank->links, place);
	KEEP(rank->transfers, place);
	KEEP(rank->experts, place);
	KEEP(rank->comm_steps, place);
	return NP_OK;
}

/* Which steps stay: those of a set, or those from a number on. */
struct choice {
	const struct np_ranges *steps; /* NULL: all */
	int64_t from;
};

static bool stays(const struct choice *choice, int64_t number)
{
	return number >= choice->from && (!choice->steps || np_ranges_has(choice->steps, number));
}

static int keep_rank_steps(struct np_run *run, struct np_rank *rank, const struct choice *choice,
			   struct np_err *err)
{
	uint32_t *place = malloc((rank->steps.count + 1) * sizeof(*place));
	bool packed = rank->packed_rows != NULL;
	size_t kept = 0;
	int rc;

	if (!place)
		return np_fail_nomem(err, "steps");
	for (size_t i = 0; i < rank->steps.count; i++) {
		int64_t number;

		place[i] = NP_NO_STEP;
		if (!step_number(run, rank->steps.item[i].id, &number) || !stays(choice, number))
			continue;
		rank->steps.item[kept] = rank->steps.item[i];
		place[i] = (uint32_t)kept++;
	}
	rc = np_rank_unpack_rows(rank, err);
	if (rc == NP_OK)
		rc = keep_in_rank(rank, place, err);
	if (rc == NP_OK && packed)
		rc = np_rank_pack_rows(rank, err);
	run->steps_chosen = run->steps_chosen || kept < rank->steps.count;
	rank->steps.count = kept;
	if (kept == 0)
		np_note_add(&run->notes, NP_NOTE_WARNING, rank->id, rank->path, "steps",
			    "the rank has none of the steps that were asked for");
	free(place);
	return rc;
}

static int keep_run_steps(struct np_run *run, const struct choice *choice, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = keep_rank_steps(run, run->ranks[i], choice, err);
	}
	return rc;
}

int np_run_keep_steps(struct np_run *run, const struct np_ranges *steps, struct np_err *err)
{
	int rc = check_known(run, steps, err);

	return rc < 0 ? rc : keep_run_steps(run, &(struct choice){ steps, INT64_MIN }, err);
}

int np_run_skip_steps(struct np_run *run, size_t number, struct np_err *err)
{
	size_t count;
	int64_t *known = known_steps(run, &count);
	struct choice choice = { NULL, number < count ? known[number] : 0 };

	free(known);
	if (number < count)
		return number > 0 ? keep_run_steps(run, &choice, err) : NP_OK;
	if (count == 0)
		return np_fail(err, NP_E_USAGE, "no steps to skip: the run has no numbered ones");
	return np_fail(err, NP_E_USAGE, "no step is left without the first %zu: there are %zu",
		       number, count);
}
