/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include "npuprof/text.h"

#include <math.h>

/*
 * How much of a step is communication of the communicators of one parallel
 * dimension, or of several together, and how much of it computing does not hide.
 */
#define MODE "computational_op_masking"

#define DEFAULT_TYPES "dp+edp,edp,dp,ep,pp,mp,tp"
#define TYPES_MOST    32

/* One set of dimensions: "dp+edp". */
struct type {
	const char *text;
	size_t length;
};

/* One step of a rank, for each type: all of its communication, and what nothing hides. */
struct step_masking {
	np_ns total[TYPES_MOST];
	np_ns exposed[TYPES_MOST];
	size_t ops[TYPES_MOST];
};

struct masking {
	struct step_masking *steps;
};

static void release(void *result)
{
	free(((struct masking *)result)->steps);
	free(result);
}

static size_t types_of(const struct np_modes *modes, struct type *types)
{
	const char *text =
		modes->options.parallel_types ? modes->options.parallel_types : DEFAULT_TYPES;
	size_t count = 0;

	while (*text && count < TYPES_MOST) {
		size_t length = strcspn(text, ",;");

		if (length > 0)
			types[count++] = (struct type){ text, length };
		text += length + (text[length] != '\0');
	}
	return count;
}

/* Is the dimension one of the set? */
static bool holds(struct type type, const char *name)
{
	size_t length = strlen(name);

	for (size_t at = 0; at < type.length;) {
		size_t part = strcspn(type.text + at, "+,;");

		if (at + part > type.length)
			part = type.length - at;
		if (part == length && memcmp(type.text + at, name, length) == 0)
			return true;
		at += part + 1;
	}
	return false;
}

static int measure(struct mode_rank *rank, uint32_t step, struct type type,
		   const struct np_spans *computing, struct step_masking *ret, size_t at)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();
	int rc = set ? NP_OK : np_fail_nomem(rank->err, MODE);

	for (size_t i = 0; i < rank->rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];
		const char *name =
			np_run_text(rank->run, rank->rank->groups.item[op->group].pg_name);

		if (op->step != step || !name || !holds(type, name))
			continue;
		ret->ops[at]++;
		rc = np_spans_add(set, op->start, op->end, rank->err);
	}
	if (rc == NP_OK && ret->ops[at] > 0) {
		ret->total[at] = np_spans_total(set);
		ret->exposed[at] = ret->total[at] - np_spans_overlap(set, computing);
	}
	return rc;
}

static int reduce_step(struct mode_rank *rank, uint32_t step, struct step_masking *ret)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = np_spans_new();
	struct type types[TYPES_MOST];
	size_t count = types_of(rank->modes, types);
	int rc = computing ? mode_busy(rank, step, false, computing)
			   : np_fail_nomem(rank->err, MODE);

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = measure(rank, step, types[i], computing, ret, i);
	return rc;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct masking *masking = calloc(1, sizeof(*masking));
	int rc = NP_OK;

	(void)prepared;
	if (!masking)
		return np_fail_nomem(rank->err, MODE);
	*ret = masking;
	masking->steps = calloc(rank->rank->steps.count + 1, sizeof(*masking->steps));
	if (!masking->steps)
		return np_fail_nomem(rank->err, MODE);
	for (uint32_t i = 0; i < rank->rank->steps.count && rc == NP_OK; i++)
		rc = reduce_step(rank, i, &masking->steps[i]);
	return rc;
}

/* --- table ----------------------------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },
	{ "stepId", NP_INTEGER },
	{ "parallelType", NP_TEXT },
	{ "stepStartTime", NP_INTEGER },
	{ "stepEndTime", NP_INTEGER },
	{ "totalCommunicationOperatorTime", NP_INTEGER },
	{ "timeRatioOfStepCommunicationOperator", NP_REAL },
	{ "totalTimeWithoutCommunicationBlackout", NP_INTEGER },
	{ "ratioOfUnmaskedCommunication", NP_REAL },
};

/* The host's step, or where no step was marked the extent of the only one. */
static bool extent_of(const struct np_rank *rank, uint32_t step, np_ns *begin, np_ns *end)
{
	const struct np_step *at = &rank->steps.item[step];

	if (at->host_begin != NP_UNKNOWN && at->host_end != NP_UNKNOWN) {
		*begin = at->host_begin;
		*end = at->host_end;
		return true;
	}
	for (size_t i = 0; i < rank->times.count; i++) {
		if (rank->times.item[i].step != step || rank->times.item[i].span == NP_UNKNOWN)
			continue;
		*begin = at->begin;
		*end = at->begin + rank->times.item[i].span;
		return at->begin != NP_UNKNOWN;
	}
	return false;
}

static int put(struct np_modes *modes, struct np_mode_table *table, size_t index, uint32_t step,
	       const struct step_masking *masking, struct np_err *err)
{
	const struct np_rank *rank = modes->run->ranks[index];
	struct type types[TYPES_MOST];
	size_t count = types_of(modes, types);
	np_ns begin = NP_UNKNOWN;
	np_ns end = NP_UNKNOWN;
	bool known = extent_of(rank, step, &begin, &end);
	double length = known && end > begin ? (double)(end - begin) : (double)NAN;
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (masking->ops[i] == 0)
			continue;
		rc = mode_row(
			modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(rank->id),
				mode_step_cell(modes, rank->steps.item[step].id),
				np_cell_bytes(types[i].text, types[i].length),
				np_cell_integer(begin),
				np_cell_integer(end),
				np_cell_integer(masking->total[i]),
				np_cell_real(np_round((double)masking->total[i] / length, 5)),
				np_cell_integer(masking->exposed[i]),
				np_cell_real(np_round((double)masking->exposed[i] / length, 5)),
			},
			err);
	}
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "ComputationalOperatorMaskingLinearity",
			   "communication by parallel dimension, hidden or not", columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct masking *masking = ranks[i];

		if (!masking)
			continue;
		for (uint32_t j = 0; j < modes->run->ranks[i]->steps.count && rc == NP_OK; j++)
			rc = put(modes, table, i, j, &masking->steps[j], err);
	}
	if (rc == NP_OK && table->rows == 0)
		np_note_add(&modes->run->notes, NP_NOTE_SKIPPED, NP_NO_RANK,
			    modes->run->roots.item[0], MODE,
			    "no operator belongs to a communicator of these parallel dimensions"
			    " (they are named in parallel_group_info of profiler_metadata.json)");
	return rc;
}

const struct mode mode_computational_op_masking = {
	.name = MODE,
	.summary = "communication by parallel dimension that computing does not hide",
	.wants = NP_DETAIL_KERNELS,
	.needs = NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
