/* SPDX-License-Identifier: Apache-2.0 */
/* Without step marks: iterations are found in the sequence of kernels and operators of a rank. */
#include "capture.h"

#include "npuprof/hash.h"
#include "npuprof/order.h"
#include "npuprof/period.h"
#include "npuprof/steps.h"

#include <math.h>
#include <stdio.h>

/*
 * In what order the sequence is
 * -----------------------------
 *
 * The host launches the same things in the same order again and again; on the
 * device streams run side by side, and which of two kernels starts first is
 * chance. So the order is that of the launches where they are known, else that of
 * the stream that computes most, else that of all starts. The first of them
 * that has a period wins.
 */
enum sequence_order {
	BY_LAUNCH,
	BY_STREAM,
	BY_START,
	SEQUENCE_ORDERS,
};

/* So often a single kernel must come, and at most; so many of its starts must be regular. */
#define LEAST_SINGLE  4
#define MOST_SINGLE   10000
#define LEAST_REGULAR 0.8

/* A cut may be so many beside the pause that it belongs to. */
#define SNAP 3

/* So many must have a launch; the busiest stream must have so many of the kernels. */
#define LEAST_LAUNCHED  0.95
#define LEAST_ON_STREAM 0.5

/* A kernel or an operator, and what it is like. */
struct period_op {
	np_ns start;
	np_ns end;
	np_ns launched;  /* NP_UNKNOWN where it is not known */
	uint32_t stream; /* of a kernel; UINT32_MAX when not known, and of operators */
	uint32_t signature;
	uint32_t plain; /* likewise, without shape and size */
	bool kernel;
};

struct members {
	struct period_op *item;
	size_t count;
	size_t capacity;
};

static int by_start(const void *left, const void *right)
{
	const struct period_op *a = left;
	const struct period_op *b = right;

	if (a->start != b->start)
		return np_order(a->start, b->start);
	if (a->end != b->end)
		return np_order(a->end, b->end);
	return np_order(a->plain, b->plain);
}

static int by_launch(const void *left, const void *right)
{
	const struct period_op *a = left;
	const struct period_op *b = right;

	return a->launched != b->launched ? np_order(a->launched, b->launched)
					  : by_start(left, right);
}

static int by_gap(const void *left, const void *right)
{
	return np_order(*(const np_ns *)left, *(const np_ns *)right);
}

static uint32_t fold(const int64_t *facts, size_t count)
{
	uint64_t hash = np_hash(NP_HASH_START, facts, count * sizeof(*facts));

	return (uint32_t)(hash ^ hash >> 32);
}

static struct period_op *add_member(struct capture *capture, struct members *members,
				    const int64_t facts[3])
{
	struct period_op *member = np_vec_add(members, capture->err);

	if (member)
		*member = (struct period_op){ .plain = fold(facts, 2),
					      .signature = fold(facts, 3),
					      .stream = UINT32_MAX };
	return member;
}

int capture_add_shape(struct capture *capture, np_ns start, np_str type, const char *shapes,
		      size_t length)
{
	uint64_t hash = np_hash(NP_HASH_START, shapes, length);

	if (!capture->shapes)
		capture->shapes = np_idmap_new();
	if (!capture->shapes)
		return np_fail_nomem(capture->err, "shapes");
	return np_idmap_set(capture->shapes, capture_shape_key(start, type),
			    (uint32_t)(hash ^ hash >> 32) >> 1, capture->err);
}

static np_ns launch_of(struct capture *capture, int64_t connection)
{
	return capture_launched(capture_launch_of(capture, connection));
}

static int gather_kernels(struct capture *capture, struct members *members)
{
	for (size_t i = 0; i < capture->tasks.count; i++) {
		const struct capture_task *task = &capture->tasks.item[i];
		uint32_t shape = 0;
		struct period_op *member;

		if (!task->computes)
			continue;
		if (capture->shapes)
			shape = np_idmap_get(capture->shapes,
					     capture_shape_key(task->start, task->type));
		member = add_member(capture, members, (const int64_t[]){ -1, task->type, shape });
		if (!member)
			return NP_E_NOMEM;
		member->start = task->start;
		member->end = task->end;
		member->stream = task->stream;
		member->kernel = true;
		member->launched = launch_of(capture, task->connection);
	}
	return NP_OK;
}

static int gather_ops(struct capture *capture, struct members *members)
{
	const struct np_rank *rank = capture->rank;

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct period_op *member = add_member(
			capture, members, (const int64_t[]){ op->group, op->type, op->bytes });

		if (!member)
			return NP_E_NOMEM;
		member->start = op->start;
		member->end = op->end;
		member->launched = launch_of(capture, capture->op_connections.item[i]);
	}
	return NP_OK;
}

/* Those whose launch is known, in the order of launches; false if they are too few. */
static bool take_launched(const struct members *all, struct members *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < all->count; i++) {
		if (all->item[i].launched != NP_UNKNOWN)
			ret->item[ret->count++] = all->item[i];
	}
	if ((double)ret->count < LEAST_LAUNCHED * (double)all->count)
		return false;
	qsort(ret->item, ret->count, sizeof(*ret->item), by_launch);
	return true;
}

static int by_number(const void *left, const void *right)
{
	return np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* The stream that has the most kernels; UINT32_MAX where it is not most of them, or all. */
static int busiest_stream(const struct capture *capture, const struct members *all, uint32_t *ret)
{
	uint32_t *streams = malloc((all->count + 1) * sizeof(*streams));
	size_t kernels = 0;
	size_t most = 0;
	size_t run = 0;

	*ret = UINT32_MAX;
	if (!streams)
		return np_fail_nomem(capture->err, "a sequence");
	for (size_t i = 0; i < all->count; i++) {
		if (all->item[i].stream != UINT32_MAX)
			streams[kernels++] = all->item[i].stream;
	}
	if (kernels)
		qsort(streams, kernels, sizeof(*streams), by_number);
	for (size_t i = 0; i < kernels; i++) {
		run = i > 0 && streams[i] == streams[i - 1] ? run + 1 : 1;
		if (run > most) {
			most = run;
			*ret = streams[i];
		}
	}
	if ((double)most < LEAST_ON_STREAM * (double)kernels || most == all->count)
		*ret = UINT32_MAX;
	free(streams);
	return NP_OK;
}

static int take_stream(const struct capture *capture, const struct members *all,
		       struct members *ret, bool *ret_any)
{
	uint32_t stream;
	int rc = busiest_stream(capture, all, &stream);

	ret->count = 0;
	*ret_any = rc == NP_OK && stream != UINT32_MAX;
	for (size_t i = 0; *ret_any && i < all->count; i++) {
		if (all->item[i].stream == stream)
			ret->item[ret->count++] = all->item[i];
	}
	return rc;
}

/* A sequence of `all`, which is by start, in an order; none of it if it cannot be had. */
static int arrange(const struct capture *capture, const struct members *all,
		   enum sequence_order order, struct members *ret)
{
	bool any = true;
	int rc = NP_OK;

	if (order == BY_LAUNCH)
		any = take_launched(all, ret);
	else if (order == BY_STREAM)
		rc = take_stream(capture, all, ret, &any);
	else
		memcpy(ret->item, all->item, all->count * sizeof(*all->item));
	ret->count = !any ? 0 : order == BY_START ? all->count : ret->count;
	return rc;
}

static int look(struct capture *capture, const struct members *members, bool plain,
		struct np_period *ret)
{
	uint32_t *signatures = malloc((members->count + 1) * sizeof(*signatures));
	int rc;

	if (!signatures)
		return np_fail_nomem(capture->err, "a sequence");
	for (size_t i = 0; i < members->count; i++)
		signatures[i] = plain ? members->item[i].plain : members->item[i].signature;
	rc = np_period_find(signatures, members->count, ret, capture->err);
	free(signatures);
	return rc;
}

/* When a repeat begins on the device: with the first of its members that starts. */
static np_ns begin_of(const struct members *members, const struct np_period *period, size_t repeat)
{
	size_t end = period->begin[repeat + 1];
	np_ns begin = members->item[period->begin[repeat]].start;

	for (size_t i = period->begin[repeat]; i < end; i++) {
		if (members->item[i].start < begin)
			begin = members->item[i].start;
	}
	return begin;
}

/* When that begins which follows the last whole repeat. */
static np_ns rest_begins(const struct members *members, const struct np_period *period)
{
	np_ns begin = NP_NS_MAX;

	for (size_t i = period->begin[period->count]; i < members->count; i++) {
		if (members->item[i].start < begin)
			begin = members->item[i].start;
	}
	return begin;
}

/* When the last of its members ends. */
static np_ns end_of(const struct members *members, const struct np_period *period, size_t repeat)
{
	np_ns end = 0;

	for (size_t i = period->begin[repeat]; i < period->begin[repeat + 1]; i++) {
		if (members->item[i].end > end)
			end = members->item[i].end;
	}
	return end;
}

/* The start of the operator that has `count` - 1 others between it and `begin`, of all `starts`. */
static np_ns head_begins(const np_ns *starts, size_t all, np_ns begin, size_t count)
{
	size_t behind = 0;

	while (behind < all && starts[behind] < begin)
		behind++;
	return behind < count ? NP_UNKNOWN : starts[behind - count];
}

/*
 * Where a stream of kernels gave the order, the operators ahead of its first kernel, as the
 * gathering of parameters, are of that iteration: as many are ahead of each of the others.
 */
static int take_heads(struct capture *capture, const struct members *members,
		      const struct np_period *period)
{
	struct np_rank *rank = capture->rank;
	struct np_step *steps = rank->steps.item;
	np_ns *starts = malloc((rank->ops.count + 1) * sizeof(*starts));
	np_ns *begins = malloc((period->count + 1) * sizeof(*begins));
	size_t heads = 0;
	bool all = starts && begins && period->begin[0] == 0;

	for (size_t i = 0; i < rank->ops.count && all; i++) {
		starts[i] = rank->ops.item[i].start;
		heads += starts[i] < steps[0].begin;
	}
	if (all && rank->ops.count)
		qsort(starts, rank->ops.count, sizeof(*starts), by_gap);
	for (size_t i = 0; i < period->count && all && heads > 0; i++) {
		begins[i] = head_begins(starts, rank->ops.count, steps[i].begin, heads);
		all = begins[i] != NP_UNKNOWN &&
		      (i == 0 || begins[i] >= end_of(members, period, i - 1));
	}
	for (size_t i = 0; i < period->count && all && heads > 0; i++) {
		steps[i].begin = begins[i];
		if (i > 0)
			steps[i - 1].end = begins[i];
	}
	all = starts && begins;
	free(starts);
	free(begins);
	return all ? NP_OK : np_fail_nomem(capture->err, "a sequence");
}

static int add_steps(struct capture *capture, const struct members *members,
		     const struct np_period *period)
{
	struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	capture->pseudo = rank->steps.item[0];
	rank->steps.count = 0;
	for (size_t i = 0; i < period->count && rc == NP_OK; i++) {
		struct np_step *step;
		char id[24];
		np_str text;
		int length = snprintf(id, sizeof(id), "%zu", i + 1);

		rc = np_strtab_add(capture->strings, id, (size_t)length, &text, capture->err);
		if (rc == NP_OK)
			rc = capture_add_step(capture, text, NP_UNKNOWN, NP_UNKNOWN);
		if (rc < 0)
			break;
		step = &rank->steps.item[i];
		step->begin = begin_of(members, period, i);
		step->end = NP_NS_MAX;
		if (i > 0)
			rank->steps.item[i - 1].end = step->begin;
	}
	/* What begins another repeat, which is not whole, is in none. */
	if (rc == NP_OK && period->begin[period->count] < members->count)
		rank->steps.item[period->count - 1].end = rest_begins(members, period);
	if (rc == NP_OK)
		rc = take_heads(capture, members, period);
	for (size_t i = 0; i < rank->ops.count && rc == NP_OK; i++)
		rank->ops.item[i].step =
			np_steps_find(rank->steps.item, rank->steps.count, rank->ops.item[i].start);
	rank->steps_from = NP_STEPS_PERIOD;
	rank->steps_confidence = (uint32_t)(period->confidence * 1000);
	return rc;
}

/* --- layers ---------------------------------------------------------------------------------- */

/* So many kinds of layers are kept at each depth, and so many iterations asked for them. */
#define MOST_LAYERS     4
#define MOST_ITERATIONS 8

/* Micro batches have layers in them, and these nothing that one would want to know. */
#define MOST_DEPTH 2

/* The kernels of an iteration: buckets of gradients are sent whenever they are full. */
struct layered {
	uint32_t *signatures;
	np_ns *starts;
	size_t count;
};

static void layered_release(struct layered *part)
{
	free(part->signatures);
	free(part->starts);
	*part = (struct layered){ 0 };
}

static int take_kernels(struct capture *capture, const struct members *members,
			const struct np_period *period, size_t iteration, bool plain,
			struct layered *ret)
{
	size_t end = period->begin[iteration + 1];
	size_t most = end - period->begin[iteration] + 1;

	*ret = (struct layered){ .signatures = malloc(most * sizeof(*ret->signatures)),
				 .starts = malloc(most * sizeof(*ret->starts)) };
	if (!ret->signatures || !ret->starts) {
		layered_release(ret);
		return np_fail_nomem(capture->err, "layers");
	}
	for (size_t i = period->begin[iteration]; i < end; i++) {
		const struct period_op *member = &members->item[i];

		if (!member->kernel)
			continue;
		ret->signatures[ret->count] = plain ? member->plain : member->signature;
		ret->starts[ret->count++] = member->start;
	}
	return NP_OK;
}

/* The median from one begin to the next, in its first stretch. */
static int layer_time(struct capture *capture, const struct layered *part,
		      const struct np_inner *inner, np_ns *ret)
{
	size_t count = inner->repeats / inner->stretches;
	np_ns *gaps = malloc(count * sizeof(*gaps));

	if (!gaps)
		return np_fail_nomem(capture->err, "layers");
	for (size_t i = 0; i + 1 < count; i++) {
		const np_ns *at = &part->starts[inner->begin + i * inner->members];

		gaps[i] = at[inner->members] - at[0];
	}
	qsort(gaps, count - 1, sizeof(*gaps), by_gap);
	*ret = gaps[(count - 1) / 2] > 0 ? gaps[(count - 1) / 2] : NP_UNKNOWN;
	free(gaps);
	return NP_OK;
}

struct layers {
	struct np_layer *item;
	size_t count;
	size_t capacity;
};

/* Blocks of a part, and in each of them those of one of its repeats. */
static int add_layers(struct capture *capture, const struct layered *part, uint32_t depth,
		      struct layers *list)
{
	struct np_inner found[MOST_LAYERS];
	size_t count;
	int rc = np_period_inner(part->signatures, part->count, found, MOST_LAYERS, &count,
				 capture->err);

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct layered one = { &part->signatures[found[i].begin],
					     &part->starts[found[i].begin], found[i].members };
		struct np_layer *layer = np_vec_add(list, capture->err);

		if (!layer)
			return NP_E_NOMEM;
		*layer = (struct np_layer){ .members = (uint32_t)found[i].members,
					    .repeats = (uint32_t)found[i].repeats,
					    .stretches = (uint32_t)found[i].stretches,
					    .of = (uint32_t)part->count,
					    .depth = depth };
		rc = layer_time(capture, part, &found[i], &layer->time);
		if (rc == NP_OK && depth + 1 < MOST_DEPTH)
			rc = add_layers(capture, &one, depth + 1, list);
	}
	return rc;
}

/* How much of an iteration its layers cover. */
static double covered(const struct layers *list)
{
	double share = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct np_layer *each = &list->item[i];

		if (each->depth == 0)
			share += (double)each->members * each->repeats / each->of;
	}
	return share;
}

/* Where something is missing of an iteration, or it is of another kind, less of it is covered. */
static int find_layers(struct capture *capture, const struct members *members,
		       const struct np_period *period, bool plain)
{
	size_t every = period->count / MOST_ITERATIONS + 1;
	struct np_rank *rank = capture->rank;
	struct layers best = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < period->count && rc == NP_OK; i += every) {
		struct layers each = { 0 };
		struct layered part = { 0 };

		rc = take_kernels(capture, members, period, i, plain, &part);
		if (rc == NP_OK)
			rc = add_layers(capture, &part, 0, &each);
		if (rc == NP_OK && covered(&each) > covered(&best)) {
			struct layers other = best;

			best = each;
			each = other;
		}
		layered_release(&part);
		np_vec_release(&each);
	}
	rank->layers.count = 0;
	for (size_t i = 0; i < best.count && rc == NP_OK; i++) {
		struct np_layer *slot = np_vec_add(&rank->layers, capture->err);

		rc = slot ? NP_OK : NP_E_NOMEM;
		if (slot)
			*slot = best.item[i];
	}
	np_vec_release(&best);
	return rc;
}

/* Two repeats that begin at once, or not one after the other, are none. */
static bool advances(const struct members *members, const struct np_period *period)
{
	np_ns last = -NP_NS_MAX;

	for (size_t i = 0; i < period->count; i++) {
		np_ns begin = begin_of(members, period, i);

		if (begin <= last)
			return false;
		last = begin;
	}
	return period->begin[period->count] == members->count ||
	       rest_begins(members, period) > last;
}

/*
 * A single kernel over and over, as in a benchmark: the sequence says nothing, and
 * only if the starts are regular it is an iteration each time.
 */
static int repeat_single(struct capture *capture, const struct members *members,
			 struct np_period *ret)
{
	const int64_t unknown[] = { -1, NP_STR_NONE };
	size_t count = members->count;
	size_t regular = 0;
	np_ns *gaps;
	np_ns median;

	if (count < LEAST_SINGLE || count > MOST_SINGLE ||
	    members->item[0].plain == fold(unknown, 2))
		return NP_OK;
	for (size_t i = 1; i < count; i++) {
		if (members->item[i].plain != members->item[0].plain)
			return NP_OK;
	}
	gaps = malloc(count * sizeof(*gaps));
	ret->begin = malloc((count + 1) * sizeof(*ret->begin));
	if (!gaps || !ret->begin) {
		free(gaps);
		return np_fail_nomem(capture->err, "a sequence");
	}
	for (size_t i = 1; i < count; i++)
		gaps[i - 1] = members->item[i].start - members->item[i - 1].start;
	qsort(gaps, count - 1, sizeof(*gaps), by_gap);
	median = gaps[(count - 1) / 2];
	for (size_t i = 0; i + 1 < count; i++)
		regular += gaps[i] >= median / 2 && gaps[i] <= median + median / 2;
	free(gaps);
	for (size_t i = 0; i <= count; i++)
		ret->begin[i] = i;
	ret->alike = 1;
	ret->confidence = (double)regular / (double)(count - 1) * (1 - ldexp(1, -(int)count));
	if ((double)regular >= LEAST_REGULAR * (double)(count - 1))
		ret->count = count;
	else
		ret->confidence *= NP_PERIOD_CONFIDENCE / LEAST_REGULAR;
	return NP_OK;
}

static np_ns gap_before(const struct members *members, size_t at)
{
	const struct period_op *a = &members->item[at - 1];
	const struct period_op *b = &members->item[at];

	return b->start > a->end ? b->start - a->end : 0;
}

/* Are two cuts at the same place of what repeats, by what is around them? */
static bool same_place(const struct members *members, size_t a, size_t b)
{
	for (size_t i = 0; i < 2 * SNAP; i++) {
		if (a + i < SNAP || b + i < SNAP || a + i - SNAP >= members->count ||
		    b + i - SNAP >= members->count ||
		    members->item[a + i - SNAP].plain != members->item[b + i - SNAP].plain)
			return false;
	}
	return true;
}

/* A pause may be short once: the cut is where one is that a pause precedes. */
static bool is_cut_right(const struct members *members, const struct np_period *period, size_t at,
			 np_ns pause)
{
	for (size_t i = 1; i < period->count; i++) {
		if (gap_before(members, period->begin[i]) >= pause &&
		    same_place(members, period->begin[i], at))
			return true;
	}
	return false;
}

/*
 * Where iterations begin behind a pause, one whose first or last kernel was not
 * recorded may have been cut a few beside it.
 */
static int snap_to_pauses(struct capture *capture, const struct members *members,
			  struct np_period *period)
{
	np_ns *gaps = malloc((period->count + 1) * sizeof(*gaps));
	size_t count = 0;
	np_ns typical;

	if (!gaps)
		return np_fail_nomem(capture->err, "a sequence");
	for (size_t i = 1; i < period->count; i++)
		gaps[count++] = gap_before(members, period->begin[i]);
	if (count)
		qsort(gaps, count, sizeof(*gaps), by_gap);
	typical = count ? gaps[count / 2] : 0;
	free(gaps);
	for (size_t i = 1; i < period->count; i++) {
		size_t at = period->begin[i];

		if (at <= SNAP || gap_before(members, at) >= typical / 2 ||
		    is_cut_right(members, period, at, typical / 2))
			continue;
		for (size_t near = at - SNAP; near <= at + SNAP; near++) {
			if (near > period->begin[i - 1] && near < period->begin[i + 1] &&
			    near < members->count && gap_before(members, near) >= typical / 2)
				period->begin[i] = near;
		}
	}
	return NP_OK;
}

/* Find iterations in one sequence. */
static int find_in(struct capture *capture, const struct members *members)
{
	struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	/* Shapes may grow from one iteration to the next: then types alone. */
	for (int plain = 0; plain < 2 && rc == NP_OK && rank->steps_from == NP_STEPS_NONE;
	     plain++) {
		struct np_period period = { 0 };

		rc = repeat_single(capture, members, &period);
		if (rc == NP_OK && period.count == 0 && period.alike < 1)
			rc = look(capture, members, plain != 0, &period);
		if (rc == NP_OK && period.count > 0)
			rc = snap_to_pauses(capture, members, &period);
		if (rc == NP_OK && period.count > 0 && advances(members, &period)) {
			rc = add_steps(capture, members, &period);
			if (rc == NP_OK)
				rc = find_layers(capture, members, &period, plain != 0);
		} else if (rc == NP_OK && period.confidence * 1000 > rank->steps_confidence &&
			   period.count == 0)
			rank->steps_confidence = (uint32_t)(period.confidence * 1000);
		np_period_release(&period);
	}
	return rc;
}

static int find_in_all(struct capture *capture, struct members *all)
{
	struct members sequence = { .item = malloc((all->count + 1) * sizeof(*all->item)) };
	int rc = sequence.item ? NP_OK : np_fail_nomem(capture->err, "a sequence");

	if (all->count)
		qsort(all->item, all->count, sizeof(*all->item), by_start);
	for (int order = 0;
	     order < SEQUENCE_ORDERS && rc == NP_OK && capture->rank->steps_from == NP_STEPS_NONE;
	     order++) {
		rc = arrange(capture, all, (enum sequence_order)order, &sequence);
		if (rc == NP_OK && sequence.count > 0)
			rc = find_in(capture, &sequence);
	}
	free(sequence.item);
	return rc;
}

/* The one step that holds everything from the first task on that something launched. */
static struct np_step pseudo_step(struct capture *capture)
{
	struct np_step step = { .id = NP_STR_NONE,
				.host_begin = NP_UNKNOWN,
				.host_end = NP_UNKNOWN,
				.begin = NP_UNKNOWN,
				.end = NP_UNKNOWN };

	for (size_t i = 0; i < capture->tasks.count; i++) {
		const struct capture_task *task = &capture->tasks.item[i];

		if ((step.begin == NP_UNKNOWN || task->start < step.begin) &&
		    capture_launch_of(capture, task->connection))
			step.begin = task->start;
	}
	np_steps_finish(&step, 1);
	return step;
}

int capture_find_steps(struct capture *capture)
{
	struct np_rank *rank = capture->rank;
	struct members members = { 0 };
	int rc;

	if (rank->steps.count != 1 || rank->steps.item[0].id != NP_STR_NONE) {
		rank->steps_from = capture->ranges.count > 0 ? NP_STEPS_RANGE : NP_STEPS_MARKS;
		if (rank->steps_from == NP_STEPS_RANGE)
			capture->pseudo = pseudo_step(capture);
		return NP_OK;
	}
	rank->steps_from = NP_STEPS_NONE;
	/* Devices of one process have a rhythm each, and a rank has the steps of all. */
	if (!np_steps_may_find(&capture->choice) || capture->devices.count > 1)
		return NP_OK;
	rc = gather_kernels(capture, &members);
	if (rc == NP_OK)
		rc = gather_ops(capture, &members);
	if (rc == NP_OK)
		rc = find_in_all(capture, &members);
	np_vec_release(&members);
	return rc;
}
