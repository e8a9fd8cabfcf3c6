/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of a rank in one row: computing, communicating, copying, idle; and of
 * communication what was transfer and what was waiting, by the shortest operator
 * over the ranks.
 */
#include "registry.h"
#include "time_summary.h"

#include "cluster/modes/common/members.h"

#include "npuprof/arena.h"

#define MODE "cluster_time_summary"

struct summary_result {
	struct np_step_copies *steps; /* by step of the rank; NULL where tasks were not recorded */
};

unsigned time_summary_knows(const struct np_rank *rank)
{
	return rank->copies.count > 0 && rank->copies.count == rank->steps.count
		       ? TIME_SUMMARY_WANTS
		       : 0;
}

void time_summary_release(void *result)
{
	free(((struct summary_result *)result)->steps);
	free(result);
}

struct summary_pieces {
	NP_VEC(struct np_span) list;
};

static int add_piece(struct summary_pieces *pieces, np_ns begin, np_ns end, struct np_err *err)
{
	struct np_span *span;

	if (begin >= end)
		return NP_OK;
	span = np_vec_add(&pieces->list, err);
	if (!span)
		return NP_E_NOMEM;
	*span = (struct np_span){ begin, end };
	return NP_OK;
}

/* Copies before the first kernel of a step are in no window: they are the host's step's. */
static uint32_t step_of(const struct mode_rank *rank, const struct np_device_task *task)
{
	for (uint32_t i = 0; task->step == NP_NO_STEP && i < rank->rank->steps.count; i++) {
		const struct np_step *step = &rank->rank->steps.item[i];

		if (step->id == NP_STR_NONE ||
		    (step->host_begin != NP_UNKNOWN && task->start >= step->host_begin &&
		     task->start < step->host_end))
			return i;
	}
	return task->step;
}

/* The copies of all steps in one pass: `pieces` are by step. */
static int copy_pieces(struct mode_rank *rank, struct summary_pieces *pieces,
		       struct np_step_copies *steps)
{
	const struct np_detail *detail = rank->detail;
	size_t count = detail->tasks.count;
	int rc = NP_OK;

	for (size_t i = mode_next_copy(detail, 0); i < count && rc == NP_OK;
	     i = mode_next_copy(detail, i + 1)) {
		const struct np_device_task *task = &detail->tasks.item[i];
		uint32_t step = step_of(rank, task);

		if (step == NP_NO_STEP || !mode_on_device(rank->rank, task->device))
			continue;
		steps[step].time += task->end - task->start;
		rc = add_piece(&pieces[step], task->start, task->end, rank->err);
	}
	return rc;
}

/* Keep what lies within [begin, end). */
static void clip(struct summary_pieces *pieces, struct np_span within)
{
	size_t kept = 0;

	for (size_t i = 0; i < pieces->list.count; i++) {
		struct np_span span = pieces->list.item[i];

		span.begin = span.begin < within.begin ? within.begin : span.begin;
		span.end = span.end > within.end ? within.end : span.end;
		if (span.begin < span.end)
			pieces->list.item[kept++] = span;
	}
	pieces->list.count = kept;
}

/* What the pieces cover beyond the set. */
static int exposed(struct summary_pieces *pieces, const struct np_spans *busy, np_ns *ret,
		   struct np_err *err)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();
	int rc = set ? np_spans_add_all(set, pieces->list.item, pieces->list.count, err)
		     : np_fail_nomem(err, MODE);

	if (rc == NP_OK)
		*ret = np_spans_total(set) - np_spans_overlap(set, busy);
	return rc;
}

static int measure(const struct np_spans *busy, struct summary_pieces *copies,
		   struct np_step_copies *ret, struct np_err *err)
{
	struct np_span extent = { 0, 0 };
	int rc = exposed(copies, busy, &ret->exposed, err);

	if (rc < 0)
		return rc;
	(void)np_spans_extent(busy, NULL, &extent);
	clip(copies, extent);
	return exposed(copies, busy, &ret->inside, err);
}

static int reduce_step(struct mode_rank *rank, uint32_t step, struct summary_pieces *copies,
		       struct np_step_copies *ret)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *busy = NULL;
	int rc;

	if (copies->list.count == 0)
		return NP_OK;
	busy = np_spans_new();
	rc = busy ? mode_busy(rank, step, busy) : np_fail_nomem(rank->err, MODE);
	return rc < 0 ? rc : measure(busy, copies, ret, rank->err);
}

int time_summary_reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct summary_result *result = calloc(1, sizeof(*result));
	size_t count = rank->rank->steps.count;
	struct summary_pieces *pieces;
	int rc = NP_OK;

	(void)prepared;
	if (!result)
		return np_fail_nomem(rank->err, MODE);
	*ret = result;
	if (time_summary_knows(rank->rank)) {
		result->steps = calloc(count + 1, sizeof(*result->steps));
		if (!result->steps)
			return np_fail_nomem(rank->err, MODE);
		memcpy(result->steps, rank->rank->copies.item, count * sizeof(*result->steps));
		return NP_OK;
	}
	if (!(rank->detail->has & NP_DETAIL_TASKS))
		return NP_OK;
	result->steps = calloc(count + 1, sizeof(*result->steps));
	pieces = calloc(count + 1, sizeof(*pieces));
	if (!result->steps || !pieces) {
		free(pieces);
		return np_fail_nomem(rank->err, MODE);
	}
	rc = copy_pieces(rank, pieces, result->steps);
	for (uint32_t i = 0; i < count; i++) {
		if (rc == NP_OK)
			rc = reduce_step(rank, i, &pieces[i], &result->steps[i]);
		np_vec_release(&pieces[i].list);
	}
	free(pieces);
	return rc;
}

/* --- waits ----------------------------------------------------------------------------------- */

/* Σ over the operators of each rank and step: the shortest of all ranks, and the rest. */
struct shares {
	np_ns **transfer; /* by rank, step; NP_UNKNOWN where no operator has a partner */
	np_ns **wait;
};

static void begin_shares(const struct np_modes *modes, struct shares *shares)
{
	for (size_t i = 0; i < modes->run->sources.count; i++) {
		const struct np_rank *rank = modes->run->ranks[i];

		for (size_t j = 0; rank && j < rank->ops.count; j++) {
			const struct np_comm_op *op = &rank->ops.item[j];

			if (op->step == NP_NO_STEP || !mode_on_device(rank, op->device))
				continue;
			shares->transfer[i][op->step] = NP_UNKNOWN;
			shares->wait[i][op->step] = NP_UNKNOWN;
		}
	}
}

static void add_shares(const struct np_modes *modes, struct shares *shares)
{
	const struct np_align *align = modes->align;

	for (uint32_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		const struct np_member *members = mode_members(modes, instance);
		np_ns least = INT64_MAX;

		/* A rank that lost the operator may have been the last to arrive. */
		if (!mode_is_complete(modes, instance) || instance->count < 2)
			continue;
		for (uint32_t j = 0; j < instance->count; j++) {
			np_ns time = member_time(modes, &members[j]);

			least = time < least ? time : least;
		}
		for (uint32_t j = 0; j < instance->count; j++) {
			const struct np_comm_op *op = member_op(modes, &members[j]);
			uint32_t step = op->step;

			if (step == NP_NO_STEP ||
			    !mode_on_device(modes->run->ranks[members[j].rank], op->device))
				continue;
			np_add_known(&shares->transfer[members[j].rank][step], least);
			np_add_known(&shares->wait[members[j].rank][step],
				     member_time(modes, &members[j]) - least);
		}
	}
}

static np_ns **step_sums(const struct np_modes *modes)
{
	np_ns **sums = np_arena_array(modes->arena, modes->run->sources.count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < modes->run->sources.count; i++) {
		size_t steps = modes->run->ranks[i] ? modes->run->ranks[i]->steps.count : 0;

		sums[i] = np_arena_array(modes->arena, steps + 1, sizeof(**sums));
		if (!sums[i])
			return NULL;
	}
	return sums;
}

/* --- table ----------------------------------------------------------------------------------- */

const struct np_column time_summary_columns[TIME_SUMMARY_COLUMNS] = {
	{ "rank", NP_INTEGER },
	{ "step", NP_INTEGER },
	{ "stepTime", NP_REAL },
	{ "computation", NP_REAL },
	{ "communicationNotOverlapComputation", NP_REAL },
	{ "communicationOverlapComputation", NP_REAL },
	{ "communication", NP_REAL },
	{ "free", NP_REAL },
	{ "communicationWaitStageTime", NP_REAL },
	{ "communicationTransmitStageTime", NP_REAL },
	{ "memory", NP_REAL },
	{ "memoryNotOverlapComputationCommunication", NP_REAL },
};

/* What the device of a rank did in a step; NULL if nothing is known of it. */
static const struct np_step_time *time_of(const struct np_rank *rank, uint32_t step)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		if (time->step == step && mode_on_device(rank, time->device))
			return time;
	}
	return NULL;
}

static struct np_cell us(np_ns time)
{
	return np_cell_scaled(time, 1e3);
}

static int put_step(struct np_modes *modes, struct np_mode_table *table, size_t index,
		    uint32_t step, const struct np_step_copies *copies, const struct shares *shares,
		    struct np_err *err)
{
	const struct np_rank *rank = modes->run->ranks[index];
	const struct np_step *at = &rank->steps.item[step];
	const struct np_step_time *time = time_of(rank, step);
	np_ns step_time;

	if (!time)
		return NP_OK;
	step_time = at->host_begin == NP_UNKNOWN || at->host_end == NP_UNKNOWN
			    ? np_plus(np_plus(time->computing, time->communication_not_overlapped),
				      time->free)
			    : at->host_end - at->host_begin;
	return mode_row(modes, table,
			(const struct np_cell[TIME_SUMMARY_COLUMNS]){
				np_cell_integer(rank->id),
				mode_step_cell(modes, at->id),
				us(step_time),
				us(time->computing),
				us(time->communication_not_overlapped),
				us(time->overlapped),
				us(time->communication),
				us(copies ? np_plus(time->free, -copies->inside) : NP_UNKNOWN),
				us(rank->ops.count ? shares->wait[index][step] : NP_UNKNOWN),
				us(rank->ops.count ? shares->transfer[index][step] : NP_UNKNOWN),
				us(copies ? copies->time : NP_UNKNOWN),
				us(copies ? copies->exposed : NP_UNKNOWN),
			},
			err);
}

/* What rows are missing, or who has none. */
static int note_missing(struct np_modes *modes, const char *mode, void *const *ranks,
			struct np_err *err)
{
	size_t count = modes->run->sources.count;
	bool *without_times = calloc(count + 1, sizeof(*without_times));
	bool *without_tasks = calloc(count + 1, sizeof(*without_tasks));
	int rc = without_times && without_tasks ? NP_OK : np_fail_nomem(err, MODE);

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct summary_result *result = ranks[i];

		without_times[i] = result && modes->run->ranks[i]->times.count == 0;
		without_tasks[i] = result && !without_times[i] && !result->steps;
	}
	if (rc == NP_OK) {
		mode_note(modes, NP_NOTE_SKIPPED, mode, without_times,
			  "no rows: nothing tells what the device did");
		mode_note(modes, NP_NOTE_SKIPPED, mode, without_tasks,
			  "copies and free time are not known: no tasks of the device (collect a"
			  " trace or a database)");
	}
	free(without_times);
	free(without_tasks);
	return rc;
}

int time_summary_fill(struct np_modes *modes, const char *mode, struct np_mode_table *table,
		      void *const *ranks, struct np_err *err)
{
	struct shares shares = { step_sums(modes), step_sums(modes) };
	int rc = shares.transfer && shares.wait ? NP_OK : np_fail_nomem(err, MODE);

	if (rc == NP_OK) {
		begin_shares(modes, &shares);
		add_shares(modes, &shares);
	}
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct summary_result *result = ranks[i];

		if (!result)
			continue;
		for (uint32_t j = 0; j < modes->run->ranks[i]->steps.count && rc == NP_OK; j++)
			rc = put_step(modes, table, i, j, result->steps ? &result->steps[j] : NULL,
				      &shares, err);
	}
	if (rc == NP_OK)
		rc = note_missing(modes, mode, ranks, err);
	return rc < 0 ? rc : mode_note_left_out(modes, mode, err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "ClusterTimeSummary", "a step of a rank in one row, in µs",
			   time_summary_columns, err);

	(void)prepared;
	return table ? time_summary_fill(modes, MODE, table, ranks, err) : NP_E_NOMEM;
}

const struct mode mode_cluster_time_summary = {
	.name = MODE,
	.summary = "computing, communication, copies and idle time of each rank and step",
	.devices = MODE_DEVICES_FIRST,
	.model = MODE_OF_TIMES,
	.wants = TIME_SUMMARY_WANTS,
	.knows = time_summary_knows,
	.reduce = time_summary_reduce,
	.merge = merge,
	.release = time_summary_release,
};
