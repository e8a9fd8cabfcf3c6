/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank that arrives last at a collective waits least: its operator is by
 * far the shortest. Every collective votes, by Dixon's test for one outlier or,
 * over 100 ranks, by three standard deviations.
 */
#include "registry.h"

#include "cluster/modes/common/members.h"
#include "cluster/modes/common/samples.h"

#include <math.h>

#define MODE "slow_rank"

/* 0.995 critical values of Dixon's test for 3 to 100 values. */
static const double critical[] = {
	0.994, 0.920, 0.823, 0.744, 0.680, 0.723, 0.676, 0.638, 0.707, 0.675, 0.649, 0.672, 0.649,
	0.629, 0.611, 0.595, 0.580, 0.568, 0.556, 0.545, 0.536, 0.526, 0.519, 0.510, 0.503, 0.496,
	0.489, 0.484, 0.478, 0.473, 0.468, 0.463, 0.458, 0.454, 0.450, 0.446, 0.442, 0.439, 0.435,
	0.432, 0.429, 0.425, 0.423, 0.420, 0.417, 0.414, 0.412, 0.409, 0.407, 0.405, 0.402, 0.400,
	0.398, 0.396, 0.394, 0.392, 0.391, 0.388, 0.387, 0.385, 0.383, 0.382, 0.380, 0.379, 0.377,
	0.376, 0.374, 0.372, 0.371, 0.370, 0.368, 0.368, 0.366, 0.365, 0.364, 0.363, 0.361, 0.360,
	0.359, 0.358, 0.356, 0.356, 0.355, 0.353, 0.352, 0.352, 0.351, 0.350, 0.349, 0.348, 0.347,
	0.346, 0.345, 0.344, 0.344, 0.343, 0.341, 0.341,
};

/* Of three values none is known to be out of line. */
#define RANKS_LEAST 4

#define DIXON_LEAST 3
#define DIXON_MOST  100

_Static_assert(NP_COUNT(critical) == DIXON_MOST - DIXON_LEAST + 1, "one value for each number");

/* Times ascending: is the first one out of line? */
static bool dixon(const int64_t *times, size_t count)
{
	size_t low = count <= 10 ? 1 : 2;
	size_t high = count <= 7 ? count - 1 : (count <= 13 ? count - 2 : count - 3);
	double range;

	range = (double)(times[high] - times[0]);
	return range > 0 && (double)(times[low] - times[0]) / range > critical[count - DIXON_LEAST];
}

static size_t distinct(const int64_t *times, size_t count)
{
	size_t values = count > 0;

	for (size_t i = 1; i < count; i++)
		values += times[i] != times[i - 1];
	return values;
}

/* Is an operator with this time slow? `times` ascending. */
struct vote_limit {
	int64_t at_most; /* NP_UNKNOWN for nobody */
};

static struct vote_limit find_limit(struct value_samples *times)
{
	struct summary summary = samples_describe(times);
	struct vote_limit nobody = { NP_UNKNOWN };
	double below;

	if (times->count < DIXON_LEAST)
		return nobody;
	if (times->count <= DIXON_MOST) {
		if (distinct(times->item, times->count) <= 3 || !dixon(times->item, times->count))
			return nobody;
		return (struct vote_limit){ times->item[0] };
	}
	below = summary.mean - 3 * summary.population_std;
	if ((double)summary.min < below)
		return (struct vote_limit){ (int64_t)ceil(below) - 1 };
	if ((double)summary.max > summary.mean + 3 * summary.population_std)
		return (struct vote_limit){ summary.min };
	return nobody;
}

/* --- votes ----------------------------------------------------------------------------------- */

struct slow_op {
	const struct np_instance *instance;
	struct vote_limit limit;
	np_ns time; /* start of the slow operator */
};

struct votes {
	struct np_modes *modes;
	NP_VEC(struct slow_op) ops;
	size_t *count;   /* by index of the rank */
	uint32_t widest; /* most ranks that a collective was compared over */
};

static int vote(struct votes *votes, const struct np_instance *instance, struct np_err *err)
{
	const struct np_member *members = mode_members(votes->modes, instance);
	struct value_samples times = { 0 };
	struct slow_op slow = { instance, { NP_UNKNOWN }, NP_UNKNOWN };
	struct slow_op *slot;
	int rc = NP_OK;

	for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++)
		rc = samples_add(&times, member_time(votes->modes, &members[i]), err);
	if (rc == NP_OK)
		slow.limit = find_limit(&times);
	samples_release(&times);
	if (rc < 0 || slow.limit.at_most == NP_UNKNOWN)
		return rc;
	for (uint32_t i = 0; i < instance->count; i++) {
		if (member_time(votes->modes, &members[i]) > slow.limit.at_most)
			continue;
		votes->count[members[i].rank]++;
		if (slow.time == NP_UNKNOWN)
			slow.time = member_op(votes->modes, &members[i])->start;
	}
	slot = np_vec_add(&votes->ops, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = slow;
	return NP_OK;
}

/* An operator that some rank lost says nothing; the others of its communicator still do. */
static int vote_all(struct votes *votes, struct np_err *err)
{
	const struct np_align *align = votes->modes->align;
	int rc = NP_OK;

	for (uint32_t i = 0; i < align->instances.count && rc == NP_OK; i++) {
		const struct np_instance *instance = &align->instances.item[i];

		if (mode_is_message(votes->modes, instance) ||
		    !mode_is_complete(votes->modes, instance))
			continue;
		if (instance->count > votes->widest)
			votes->widest = instance->count;
		rc = vote(votes, instance, err);
	}
	return rc;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column rank_columns[] = {
	{ "rankId", NP_INTEGER },
	{ "slowAffectCount", NP_INTEGER },
};

static const struct np_column op_columns[] = {
	{ "SlowRank", NP_TEXT },     { "OpName", NP_TEXT }, { "GroupName", NP_TEXT },
	{ "Timestamp", NP_INTEGER }, DESCRIBE_COLUMNS,
};

/* The rank with most votes first. */
static int put_votes(struct votes *votes, struct np_mode_table *table, struct np_err *err)
{
	size_t count = votes->modes->run->sources.count;
	int rc = NP_OK;

	for (;;) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < count; i++) {
			if (votes->count[i] > 0 &&
			    (best == SIZE_MAX || votes->count[i] > votes->count[best]))
				best = i;
		}
		if (best == SIZE_MAX || rc < 0)
			return rc;
		rc = mode_row(
			votes->modes, table,
			(const struct np_cell[]){ np_cell_integer(mode_rank_id(votes->modes, best)),
						  np_cell_integer((int64_t)votes->count[best]) },
			err);
		votes->count[best] = 0;
	}
}

static int by_time(const void *left, const void *right)
{
	const struct slow_op *a = left;
	const struct slow_op *b = right;

	if (a->time != b->time)
		return np_order(a->time, b->time);
	return a->instance < b->instance ? -1 : 1;
}

static int put_op(struct votes *votes, struct np_mode_table *table, const struct slow_op *op,
		  struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	const struct np_member *members = mode_members(votes->modes, op->instance);
	struct np_cell cells[NP_COUNT(op_columns)];
	struct value_samples times = { 0 };
	struct summary summary;
	char hash[24];
	int rc = NP_OK;

	for (uint32_t i = 0; i < op->instance->count && rc == NP_OK; i++) {
		np_ns time = member_time(votes->modes, &members[i]);

		rc = samples_add(&times, time, err);
		if (time <= op->limit.at_most)
			np_buf_printf(&ranks, "%s%d", ranks.length ? "," : "",
				      mode_rank_id(votes->modes, members[i].rank));
	}
	cells[0] = np_cell_text(ranks.text);
	cells[1] = mode_name_cell(votes->modes, member_op(votes->modes, members)->name);
	cells[2] = mode_group_cell(votes->modes, member_hash(votes->modes, members), hash,
				   sizeof(hash));
	cells[3] = np_cell_integer(op->time);
	summary = samples_describe(&times);
	describe_cells(&summary, &cells[4]);
	samples_release(&times);
	return rc < 0 ? rc : mode_row(votes->modes, table, cells, err);
}

static int put(struct votes *votes, struct np_err *err)
{
	struct np_mode_table *ranks =
		MODE_TABLE(votes->modes, MODE, "SlowRank",
			   "how often a rank was the last to arrive, by far", rank_columns, err);
	struct np_mode_table *ops = MODE_TABLE(
		votes->modes, MODE, "SlowOpStats",
		"the operators at which it was, and the durations of all ranks", op_columns, err);
	int rc = ranks && ops ? put_votes(votes, ranks, err) : NP_E_NOMEM;

	if (rc == NP_OK)
		ranks->empty = ops->empty =
			votes->widest < RANKS_LEAST
				? "the test needs collectives of 4 profiled ranks or more; -m all"
				  " finds late ranks by their waiting"
				: "no collective of 4 ranks or more waited for one rank far longer"
				  " than for the others; -m all finds late ranks by their waiting";
	if (votes->ops.count)
		qsort(votes->ops.item, votes->ops.count, sizeof(votes->ops.item[0]), by_time);
	for (size_t i = 0; i < votes->ops.count && rc == NP_OK; i++)
		rc = put_op(votes, ops, &votes->ops.item[i], err);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct votes votes = { .modes = modes };
	int rc;

	(void)prepared;
	(void)ranks;
	votes.count = calloc(modes->run->sources.count + 1, sizeof(*votes.count));
	rc = votes.count ? vote_all(&votes, err) : np_fail_nomem(err, MODE);
	if (rc == NP_OK)
		rc = put(&votes, err);
	if (rc == NP_OK)
		rc = mode_note_left_out(modes, MODE, err);
	np_vec_release(&votes.ops);
	free(votes.count);
	return rc;
}

const struct mode mode_slow_rank = {
	.name = MODE,
	.summary = "ranks that arrive last at collectives, by votes",
	.model = MODE_OF_OPERATORS,
	.needs = NP_DETAIL_OPS,
	.merge = merge,
};
