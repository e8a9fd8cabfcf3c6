/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which ranks are compared with which, and in which steps. */
#include "cmp_comparison.h"

#include "npuprof/buf.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* Which ranks are compared with which, and in which steps. */

/* A first step this many times as long as the median of the others still warms up. */
#define WARM_UP 1.5

static const struct np_run *run_of(const struct comparison *comparison, enum cmp_which which)
{
	return comparison->sides[which].analysis->run;
}

static bool usable(const struct np_rank *rank)
{
	for (size_t i = 0; rank && i < rank->times.count; i++) {
		if (rank->times.item[i].span != NP_UNKNOWN && rank->times.item[i].span > 0)
			return true;
	}
	return false;
}

static size_t index_of(const struct np_run *run, int64_t id)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (usable(run->ranks[i]) && run->ranks[i]->id == id)
			return i;
	}
	return SIZE_MAX;
}

static int add_pair(struct comparison *comparison, size_t base, size_t new_, struct np_err *err)
{
	struct cmp_pair *pair;

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		if (comparison->pairs.item[i].rank[CMP_BASE] == base ||
		    comparison->pairs.item[i].rank[CMP_NEW] == new_)
			return NP_OK;
	}
	pair = np_vec_add(&comparison->pairs, err);
	if (!pair)
		return NP_E_NOMEM;
	pair->rank[CMP_BASE] = base;
	pair->rank[CMP_NEW] = new_;
	return NP_OK;
}

/* --- by a list of the user ------------------------------------------------------------------- */

static int add_mapped(struct comparison *comparison, const char *text, size_t length,
		      struct np_err *err)
{
	const char *colon = memchr(text, ':', length);
	int64_t base;
	int64_t new_;
	size_t at[CMP_SIDES];

	if (!colon || !np_text_to_int(text, (size_t)(colon - text), &base) ||
	    !np_text_to_int(colon + 1, length - (size_t)(colon + 1 - text), &new_))
		return np_fail(err, NP_E_USAGE,
			       "--map-ranks takes BASE:NEW[,BASE:NEW...], not '%.*s'", (int)length,
			       text);
	at[CMP_BASE] = index_of(run_of(comparison, CMP_BASE), base);
	at[CMP_NEW] = index_of(run_of(comparison, CMP_NEW), new_);
	if (at[CMP_BASE] == SIZE_MAX || at[CMP_NEW] == SIZE_MAX)
		return np_fail(err, NP_E_USAGE,
			       "--map-ranks %.*s: the %s run has no usable rank %" PRId64,
			       (int)length, text, at[CMP_BASE] == SIZE_MAX ? "base" : "new",
			       at[CMP_BASE] == SIZE_MAX ? base : new_);
	return add_pair(comparison, at[CMP_BASE], at[CMP_NEW], err);
}

static int pair_by_map(struct comparison *comparison, struct np_err *err)
{
	const char *text = comparison->options.map_ranks;
	int rc = NP_OK;

	comparison->paired_by = "map";
	while (rc == NP_OK) {
		size_t length = strcspn(text, ",");

		rc = add_mapped(comparison, text, length, err);
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	return rc;
}

/* --- by what they are ------------------------------------------------------------------------ */

static bool same_place(const struct np_coordinates *a, const struct np_coordinates *b)
{
	return a->tp == b->tp && a->cp == b->cp && a->dp == b->dp && a->pp == b->pp &&
	       (a->dp >= 0 || a->tp >= 0 || a->pp >= 0);
}

static int pair_by_role(struct comparison *comparison, struct np_err *err)
{
	const struct np_analysis *base = comparison->sides[CMP_BASE].analysis;
	const struct np_analysis *new_ = comparison->sides[CMP_NEW].analysis;
	int rc = NP_OK;

	comparison->paired_by = "role";
	for (size_t i = 0; i < base->run->sources.count && rc == NP_OK; i++) {
		for (size_t j = 0; j < new_->run->sources.count && rc == NP_OK; j++) {
			if (usable(base->run->ranks[i]) && usable(new_->run->ranks[j]) &&
			    same_place(&base->cluster->coordinates[i],
				       &new_->cluster->coordinates[j])) {
				rc = add_pair(comparison, i, j, err);
				break;
			}
		}
	}
	return rc;
}

static int pair_by_id(struct comparison *comparison, struct np_err *err)
{
	const struct np_run *base = run_of(comparison, CMP_BASE);
	int rc = NP_OK;

	comparison->paired_by = "id";
	for (size_t i = 0; i < base->sources.count && rc == NP_OK; i++) {
		size_t other = usable(base->ranks[i])
				       ? index_of(run_of(comparison, CMP_NEW), base->ranks[i]->id)
				       : SIZE_MAX;

		if (other != SIZE_MAX)
			rc = add_pair(comparison, i, other, err);
	}
	return rc;
}

/* The ids have nothing in common: the first with the first, and so on. */
static int pair_by_order(struct comparison *comparison, struct np_err *err)
{
	const struct np_run *base = run_of(comparison, CMP_BASE);
	const struct np_run *new_ = run_of(comparison, CMP_NEW);
	size_t other = 0;
	int rc = NP_OK;

	comparison->paired_by = "order";
	for (size_t i = 0; i < base->sources.count && rc == NP_OK; i++) {
		if (!usable(base->ranks[i]))
			continue;
		while (other < new_->sources.count && !usable(new_->ranks[other]))
			other++;
		if (other < new_->sources.count)
			rc = add_pair(comparison, i, other++, err);
	}
	return rc;
}

/* Ranks that were read, but of which nothing can be compared. */
static void note_unusable(struct comparison *comparison, enum cmp_which which)
{
	struct np_run *run = comparison->sides[which].analysis->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (rank && !usable(rank))
			np_note_add(&run->notes, NP_NOTE_SKIPPED, rank->id, rank->path, "rank",
				    "it has no step times: not compared");
	}
}

static void note_unpaired(struct comparison *comparison, enum cmp_which which)
{
	const struct np_run *run = run_of(comparison, which);
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int64_t *ids = malloc((run->sources.count + 1) * sizeof(*ids));
	size_t count = 0;

	for (size_t i = 0; ids && i < run->sources.count; i++) {
		bool paired = !usable(run->ranks[i]);

		for (size_t j = 0; j < comparison->pairs.count && !paired; j++)
			paired = comparison->pairs.item[j].rank[which] == i;
		if (!paired)
			ids[count++] = run->ranks[i]->id;
	}
	if (count > 0) {
		np_ranges_format(&list, ids, count);
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK,
			    comparison->sides[which].path, "ranks",
			    "the other run has no usable counterpart of rank%s %s: not compared",
			    count == 1 ? "" : "s", list.text);
	}
	free(ids);
}

int cmp_pair_ranks(struct comparison *comparison, struct np_err *err)
{
	const struct np_analysis *base = comparison->sides[CMP_BASE].analysis;
	const struct np_analysis *new_ = comparison->sides[CMP_NEW].analysis;
	int32_t worlds[] = { np_cluster_world(base->cluster), np_cluster_world(new_->cluster) };
	int rc = NP_OK;

	if (comparison->options.map_ranks)
		rc = pair_by_map(comparison, err);
	else if (worlds[0] > 0 && worlds[1] > 0 && worlds[0] != worlds[1])
		rc = pair_by_role(comparison, err);
	if (rc == NP_OK && comparison->pairs.count == 0)
		rc = pair_by_id(comparison, err);
	if (rc == NP_OK && comparison->pairs.count == 0)
		rc = pair_by_order(comparison, err);
	if (rc < 0)
		return rc;
	if (comparison->pairs.count == 0)
		return np_fail(err, NP_E_NOTFOUND,
			       "no rank of '%s' and '%s' has step times: nothing can be compared; "
			       "npuprof info says what is in a directory",
			       comparison->sides[CMP_BASE].path, comparison->sides[CMP_NEW].path);
	for (int i = 0; i < CMP_SIDES; i++) {
		note_unusable(comparison, (enum cmp_which)i);
		note_unpaired(comparison, (enum cmp_which)i);
	}
	return NP_OK;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* The place of a step among the chosen ones of a side, or SIZE_MAX. */
static size_t step_of(const struct cmp_side *side, np_str step)
{
	uint32_t place = step < side->place_count ? side->places[step] : 0;

	return place == 0 ? SIZE_MAX : place - 1;
}

size_t cmp_cell_of(const struct cmp_side *side, const struct np_rank *rank,
		   const struct np_step_time *time)
{
	return np_step_length(time, side->basis) == NP_UNKNOWN
		       ? SIZE_MAX
		       : step_of(side, rank->steps.item[time->step].id);
}

bool cmp_has_cell(const struct cmp_side *side, const struct np_rank *rank, uint32_t step)
{
	if (step == NP_NO_STEP)
		return false;
	/* Times of one device are one for each step, and by step where it has all of them. */
	if (rank->device_count <= 1 && step < rank->times.count &&
	    rank->times.item[step].step == step)
		return cmp_cell_of(side, rank, &rank->times.item[step]) != SIZE_MAX;
	for (size_t i = 0; i < rank->times.count; i++) {
		if (rank->times.item[i].step == step &&
		    cmp_cell_of(side, rank, &rank->times.item[i]) != SIZE_MAX)
			return true;
	}
	return false;
}

/* Where the chosen steps are, by id. */
static int index_steps(struct cmp_side *side, struct np_err *err)
{
	free(side->places);
	side->place_count = 0;
	for (size_t i = 0; i < side->steps.count; i++) {
		if (side->steps.item[i] >= side->place_count)
			side->place_count = (size_t)side->steps.item[i] + 1;
	}
	side->places = calloc(side->place_count + 1, sizeof(*side->places));
	if (!side->places)
		return np_fail_nomem(err, "steps");
	for (size_t i = 0; i < side->steps.count; i++)
		side->places[side->steps.item[i]] = (uint32_t)i + 1;
	return NP_OK;
}

/* The mean length of the step on the paired ranks in each step; 0 where none has it. */
static void mean_lengths(const struct comparison *comparison, enum cmp_which which, double *lengths,
			 double *counts)
{
	const struct cmp_side *side = &comparison->sides[which];

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct np_rank *rank =
			cmp_rank(comparison, &comparison->pairs.item[i], which);

		for (size_t j = 0; j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			size_t place = cmp_cell_of(side, rank, time);

			if (place == SIZE_MAX)
				continue;
			lengths[place] += (double)np_step_length(time, side->basis);
			counts[place]++;
		}
	}
	for (size_t i = 0; i < side->steps.count; i++)
		lengths[i] = counts[i] > 0 ? lengths[i] / counts[i] : 0;
}

/* Is the first step, of at least three, an outlier? */
static bool warms_up(const double *lengths, size_t count, double *room)
{
	if (count < 3)
		return false;
	memcpy(room, lengths + 1, (count - 1) * sizeof(*room));
	return lengths[0] > WARM_UP * np_median(room, count - 1);
}

static int add_steps(struct cmp_side *side, struct np_err *err)
{
	const struct np_cluster *cluster = side->analysis->cluster;

	for (size_t i = 0; i < cluster->steps.count; i++) {
		np_str *step = np_vec_add(&side->steps, err);

		if (!step)
			return NP_E_NOMEM;
		*step = cluster->steps.item[i];
	}
	return index_steps(side, err);
}

/* Steps that have a length on no paired rank go. */
static void keep_timed(struct cmp_side *side, double *lengths)
{
	size_t kept = 0;

	for (size_t i = 0; i < side->steps.count; i++) {
		if (lengths[i] <= 0)
			continue;
		lengths[kept] = lengths[i];
		side->steps.item[kept++] = side->steps.item[i];
	}
	side->steps.count = kept;
}

static void drop_first(struct comparison *comparison, enum cmp_which which)
{
	struct cmp_side *side = &comparison->sides[which];

	side->dropped = side->steps.item[0];
	side->steps.count--;
	memmove(side->steps.item, side->steps.item + 1,
		side->steps.count * sizeof(*side->steps.item));
	np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, side->path, "steps",
		    "step %s is left out: the first one, and more than %.1f times as long as the "
		    "middle of the others (--%s-steps chooses others)",
		    np_run_text(side->analysis->run, side->dropped), WARM_UP,
		    which == CMP_BASE ? "base" : "new");
}

static int choose(struct comparison *comparison, enum cmp_which which, struct np_err *err)
{
	struct cmp_side *side = &comparison->sides[which];
	size_t most = side->steps.count + 1;
	double *lengths = calloc(2 * most, sizeof(*lengths));
	int rc;

	if (!lengths)
		return np_fail_nomem(err, "steps");
	mean_lengths(comparison, which, lengths, lengths + most);
	keep_timed(side, lengths);
	if (!comparison->options.steps[which] &&
	    warms_up(lengths, side->steps.count, lengths + most))
		drop_first(comparison, which);
	rc = index_steps(side, err);
	free(lengths);
	if (rc == NP_OK && side->steps.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "'%s' has no step that a paired rank was timed in",
			     side->path);
	return rc;
}

/* A pair needs a cell on both sides. */
static bool has_cells(const struct comparison *comparison, const struct cmp_pair *pair,
		      enum cmp_which which)
{
	const struct np_rank *rank = cmp_rank(comparison, pair, which);

	for (size_t i = 0; i < rank->times.count; i++) {
		if (cmp_cell_of(&comparison->sides[which], rank, &rank->times.item[i]) != SIZE_MAX)
			return true;
	}
	return false;
}

static void set_basis(struct comparison *comparison, enum np_basis basis)
{
	comparison->basis = basis;
	comparison->sides[CMP_BASE].basis = basis;
	comparison->sides[CMP_NEW].basis = basis;
}

/* Both, where one side knows iterations and the other does not, are compared by the span. */
static void note_basis(struct comparison *comparison, const bool known[CMP_SIDES])
{
	enum cmp_which without = known[CMP_BASE] ? CMP_NEW : CMP_BASE;

	if (known[CMP_BASE] && known[CMP_NEW])
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", "step basis",
			    "no pair of ranks has iterations on both sides: both are compared by "
			    "the span of their steps, and the time between steps is in neither");
	else if (known[CMP_BASE] || known[CMP_NEW])
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK,
			    comparison->sides[without].path, "step basis",
			    "no chosen step is followed by a recorded one, so no iteration is "
			    "known: both runs are compared by the span of their steps, and the "
			    "time between steps is in neither");
}

/* The iteration, if some pair has one on both sides. */
static void choose_basis(struct comparison *comparison)
{
	bool known[CMP_SIDES] = { false, false };
	bool both = false;

	set_basis(comparison, NP_BASIS_ITERATION);
	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct cmp_pair *pair = &comparison->pairs.item[i];
		bool base = has_cells(comparison, pair, CMP_BASE);
		bool new_ = has_cells(comparison, pair, CMP_NEW);

		known[CMP_BASE] = known[CMP_BASE] || base;
		known[CMP_NEW] = known[CMP_NEW] || new_;
		both = both || (base && new_);
	}
	if (both)
		return;
	set_basis(comparison, NP_BASIS_SPAN);
	note_basis(comparison, known);
}

static void drop_empty_pairs(struct comparison *comparison)
{
	size_t kept = 0;

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		struct cmp_pair pair = comparison->pairs.item[i];

		if (has_cells(comparison, &pair, CMP_BASE) && has_cells(comparison, &pair, CMP_NEW))
			comparison->pairs.item[kept++] = pair;
		else
			np_note_add(&comparison->warnings, NP_NOTE_WARNING,
				    cmp_rank(comparison, &pair, CMP_BASE)->id,
				    cmp_rank(comparison, &pair, CMP_BASE)->path, "rank",
				    "it or its counterpart has none of the chosen steps%s: not "
				    "compared",
				    comparison->basis == NP_BASIS_ITERATION
					    ? " with a known iteration"
					    : "");
	}
	comparison->pairs.count = kept;
}

int cmp_choose_steps(struct comparison *comparison, struct np_err *err)
{
	int rc = add_steps(&comparison->sides[CMP_BASE], err);

	if (rc == NP_OK)
		rc = add_steps(&comparison->sides[CMP_NEW], err);
	if (rc == NP_OK) {
		choose_basis(comparison);
		rc = choose(comparison, CMP_BASE, err);
	}
	if (rc == NP_OK)
		rc = choose(comparison, CMP_NEW, err);
	if (rc < 0)
		return rc;
	drop_empty_pairs(comparison);
	if (comparison->pairs.count == 0)
		return np_fail(err, NP_E_NOTFOUND, "no pair of ranks has steps on both sides");
	return NP_OK;
}
