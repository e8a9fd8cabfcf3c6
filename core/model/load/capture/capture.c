/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, launches, tasks and operators of a rank while it is read, in one form for all readers. */
#include "capture.h"

#include "copies.h"

#include "npuprof/pattern.h"
#include "npuprof/steps.h"
#include "npuprof/text.h"

#include <assert.h>

/* --- launches --------------------------------------------------------------------------------- */

/*
 * Who launched what
 * -----------------
 *
 * Of a rank that is measured while it is read only the younger launches are
 * known: two generations of them, of which the older one is let go when the
 * younger is full. A call that comes after its connection was asked for, or a
 * question for one that was let go, shows that the file has another order than
 * that takes.
 */
#define GENERATION 16384

static int capture_launches_begin(struct capture *capture)
{
	capture->highest = INT64_MIN;
	capture->highest_asked = INT64_MIN;
	capture->launches[0].index = np_idmap_new();
	if (!capture->launches[0].index)
		return NP_E_NOMEM;
	if (!capture->in_parts)
		return NP_OK;
	capture->launches[1].index = np_idmap_new();
	capture->asked = np_idset_new();
	capture->let_go = np_idset_new();
	return capture->launches[1].index && capture->asked && capture->let_go ? NP_OK : NP_E_NOMEM;
}

static void capture_launches_end(struct capture *capture)
{
	for (size_t i = 0; i < NP_COUNT(capture->launches); i++) {
		np_idmap_free(capture->launches[i].index);
		np_vec_release(&capture->launches[i].list);
	}
	np_idset_free(capture->asked);
	np_idset_free(capture->let_go);
}

static struct capture_launch *find(const struct capture *capture, int64_t connection)
{
	for (size_t i = 0; i < NP_COUNT(capture->launches) && capture->launches[i].index; i++) {
		uint32_t at = np_idmap_get(capture->launches[i].index, connection);

		if (at != NP_IDMAP_NONE)
			return &capture->launches[i].list.item[at];
	}
	return NULL;
}

/* The younger generation is full: it becomes the older one. */
static int let_go(struct capture *capture)
{
	struct capture_launches older = capture->launches[1];
	int rc = NP_OK;

	for (size_t i = 0; i < older.list.count && rc == NP_OK; i++)
		rc = np_idset_add(capture->let_go, older.list.item[i].connection, capture->err);
	np_idmap_clear(older.index);
	older.list.count = 0;
	capture->launches[1] = capture->launches[0];
	capture->launches[0] = older;
	return rc;
}

static struct capture_launch *new_launch(struct capture_launches *young, int64_t connection)
{
	struct capture_launch *launch = &young->list.item[young->list.count++];

	*launch = (struct capture_launch){ .connection = connection,
					   .end = NP_UNKNOWN,
					   .step = NP_NO_STEP };
	return launch;
}

/* Any that may be known, or was asked for, or has no room. */
static struct capture_launch *place_any(struct capture *capture, int64_t connection)
{
	struct capture_launches *young = &capture->launches[0];
	struct capture_launch *launch;

	if (capture->in_parts && connection <= capture->highest_asked &&
	    np_idset_has(capture->asked, connection))
		capture->unordered = true;
	/* Mostly they come in order, a few of one connection behind each other. */
	if (young->list.count > 0 &&
	    young->list.item[young->list.count - 1].connection == connection)
		return &young->list.item[young->list.count - 1];
	if (connection <= capture->highest) {
		launch = find(capture, connection);
		if (launch)
			return launch;
		if (capture->in_parts && np_idset_has(capture->let_go, connection))
			capture->unordered = true;
	}
	if (connection > capture->highest)
		capture->highest = connection;
	if (capture->in_parts && young->list.count >= GENERATION && let_go(capture) < 0)
		return NULL;
	if (np_vec_reserve(&young->list, 1, capture->err) < 0 ||
	    np_idmap_set(young->index, connection, (uint32_t)young->list.count, capture->err) < 0)
		return NULL;
	return new_launch(young, connection);
}

/* The launch of a connection, added if it is new; NULL when out of memory. */
static inline struct capture_launch *place(struct capture *capture, int64_t connection)
{
	struct capture_launches *young = &capture->launches[0];
	size_t room = young->list.capacity < GENERATION ? young->list.capacity : GENERATION;
	uint32_t *at;

	/* Mostly they come in order, and before anyone asks. */
	if (connection <= capture->highest || connection <= capture->highest_asked ||
	    young->list.count >= room)
		return place_any(capture, connection);
	at = np_idmap_at(young->index, connection);
	if (!at)
		return place_any(capture, connection);
	capture->highest = connection;
	*at = (uint32_t)young->list.count;
	return new_launch(young, connection);
}

int capture_launch(struct capture *capture, int64_t connection, np_ns start, np_ns end)
{
	uint32_t step = capture_host_step(capture, start, end);
	struct capture_launch *launch;

	if (connection == NP_UNKNOWN)
		return NP_OK;
	launch = place(capture, connection);
	if (!launch)
		return NP_E_NOMEM;
	/* Of several calls of one connection those of a step count. */
	if (launch->node && step == NP_NO_STEP)
		return NP_OK;
	launch->node = true;
	launch->end = vendor_time_ok(start, end) ? end : NP_UNKNOWN;
	launch->step = step;
	return NP_OK;
}

int capture_call(struct capture *capture, int64_t connection, np_ns start, np_ns end)
{
	struct capture_launch *launch;

	/* It tells only since when a copy could have run. */
	if (connection == NP_UNKNOWN || capture->times_only || !vendor_time_ok(start, end))
		return NP_OK;
	launch = place(capture, connection);
	if (!launch)
		return NP_E_NOMEM;
	if (!launch->node && (launch->end == NP_UNKNOWN || end < launch->end))
		launch->end = end;
	return NP_OK;
}

/* In parts: what is known of the connection now is used, no call of it may come later. */
static int capture_ask(struct capture *capture, int64_t connection)
{
	if (!capture->in_parts || connection == NP_UNKNOWN)
		return NP_OK;
	if (connection > capture->highest_asked)
		capture->highest_asked = connection;
	return np_idset_add(capture->asked, connection, capture->err);
}

static struct capture_launch *calls_of(struct capture *capture, int64_t connection)
{
	struct capture_launch *launch = find(capture, connection);

	if (!launch && capture->in_parts && np_idset_has(capture->let_go, connection))
		capture->unordered = true;
	return launch;
}

int capture_reach_op(struct capture *capture)
{
	size_t index = capture->op_launched.count;
	int64_t connection = capture->op_connections.item[index];
	np_ns *launched = np_vec_add(&capture->op_launched, capture->err);

	if (!launched)
		return NP_E_NOMEM;
	*launched = capture_launched(capture_calls_of(capture, connection));
	capture_widen_by_op(capture, connection, capture->rank->ops.item[index].start,
			    capture->rank->ops.item[index].end);
	return capture_ask(capture, connection);
}

static void widen_by_launch(struct capture *capture, struct capture_launch *launch, np_ns start,
			    np_ns end)
{
	if (!launch)
		return;
	launch->has_tasks = true;
	if (launch->step != NP_NO_STEP)
		capture_widen_step(capture, launch->step, start, end);
}

void capture_widen_by_task(struct capture *capture, int64_t connection, np_ns start, np_ns end)
{
	widen_by_launch(capture, calls_of(capture, connection), start, end);
}

void capture_widen_by_op(struct capture *capture, int64_t connection, np_ns start, np_ns end)
{
	const struct capture_launch *launch = calls_of(capture, connection);
	uint32_t step;

	if (!launch || !vendor_time_ok(start, end))
		return;
	step = launch->step;
	if (step == NP_NO_STEP && launch->node && !launch->has_tasks)
		step = capture_host_step(capture, start, start);
	if (step != NP_NO_STEP)
		capture_widen_step(capture, step, start, end);
}

const struct capture_launch *capture_calls_of(struct capture *capture, int64_t connection)
{
	return calls_of(capture, connection);
}

const struct capture_launch *capture_launch_of(struct capture *capture, int64_t connection)
{
	const struct capture_launch *launch = capture_calls_of(capture, connection);

	return launch && launch->node ? launch : NULL;
}

/* A connection whose tasks ran on several devices. */
#define SEVERAL_DEVICES UINT16_MAX

/* A process has a few devices, a capture some thousand steps: this many of them, or of pairs, are
 * damage. */
#define MOST_DEVICES 64
#define MOST_CELLS   ((size_t)1 << 22)

int capture_begin(struct capture *capture)
{
	if (capture->times_only)
		capture->copies = capture_copies_new();
	return capture_launches_begin(capture) < 0 || (capture->times_only && !capture->copies)
		       ? np_fail_nomem(capture->err, "a rank")
		       : NP_OK;
}

void capture_end(struct capture *capture)
{
	capture_launches_end(capture);
	capture_meter_free(capture->meter);
	capture_copies_free(capture->copies);
	np_vec_release(&capture->tasks);
	np_vec_release(&capture->devices);
	np_vec_release(&capture->op_connections);
	np_vec_release(&capture->connections);
	np_vec_release(&capture->op_launched);
	np_vec_release(&capture->computing);
	np_vec_release(&capture->communication);
	np_vec_release(&capture->part.used);
	np_spans_free(capture->loading);
	np_vec_release(&capture->ranges);
	np_pattern_free(capture->pattern);
	np_idmap_free(capture->shapes);
	np_idmap_free(capture->connection_device);
}

/* --- steps ----------------------------------------------------------------------------------- */

int capture_add_step(struct capture *capture, np_str id, np_ns host_begin, np_ns host_end)
{
	struct np_step *step = np_vec_add(&capture->rank->steps, capture->err);

	if (!step)
		return NP_E_NOMEM;
	*step = (struct np_step){ .id = id,
				  .host_begin = host_begin,
				  .host_end = host_end,
				  .begin = NP_UNKNOWN,
				  .end = NP_UNKNOWN };
	return NP_OK;
}

static int by_host_begin(const void *left, const void *right)
{
	const struct np_step *a = left;
	const struct np_step *b = right;

	return (a->host_begin > b->host_begin) - (a->host_begin < b->host_begin);
}

/* The number that a step goes by; -1 for none. */
static int64_t step_number(const struct capture *capture, const struct np_step *step)
{
	const char *id = step->id == NP_STR_NONE ? "" : np_strtab_text(capture->strings, step->id);
	int64_t number;

	return np_text_to_int(id, strlen(id), &number) && number >= 0 ? number : -1;
}

/*
 * Numbers of steps grow with time. Where marks say otherwise nobody knows which of them are wrong:
 * every step that stands before one with a smaller number, or behind one with a larger, is left
 * out.
 */
static size_t drop_exchanged(const struct capture *capture, struct np_step *steps, size_t count,
			     bool *wrong)
{
	int64_t largest = -1;
	int64_t smallest = INT64_MAX;
	size_t dropped = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t number = step_number(capture, &steps[i]);

		wrong[i] = number >= 0 && number < largest;
		largest = number > largest ? number : largest;
	}
	for (size_t i = count; i-- > 0;) {
		int64_t number = step_number(capture, &steps[i]);

		wrong[i] = wrong[i] || (number >= 0 && number > smallest);
		smallest = number >= 0 && number < smallest ? number : smallest;
		dropped += wrong[i];
	}
	return dropped;
}

/* Ranges of the user's choice may be called anything. */
static int check_order(struct capture *capture)
{
	struct np_rank *rank = capture->rank;
	size_t count = rank->steps.count;
	bool *wrong = count ? calloc(count, sizeof(*wrong)) : NULL;
	size_t dropped;
	size_t kept = 0;

	if (count && !wrong)
		return np_fail_nomem(capture->err, "steps");
	dropped = drop_exchanged(capture, rank->steps.item, count, wrong);
	for (size_t i = 0; i < count; i++) {
		/* Where that is all of them, they are better than none. */
		if (!wrong[i] || dropped == count)
			rank->steps.item[kept++] = rank->steps.item[i];
	}
	rank->steps.count = kept;
	free(wrong);
	if (dropped > 0)
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, capture->path, "steps",
			    dropped == count
				    ? "marks of %zu steps are not in the order of their numbers: "
				      "which figures belong to which is not known"
				    : "marks of %zu steps are not in the order of their numbers: "
				      "these steps are left out",
			    dropped);
	return NP_OK;
}

/* One step ends before the next begins. */
static void check_overlaps(struct capture *capture)
{
	const struct np_step *steps = capture->rank->steps.item;
	const struct np_step *first = NULL;
	size_t overlaps = 0;

	for (size_t i = 1; i < capture->rank->steps.count; i++) {
		if (steps[i - 1].host_end > steps[i].host_begin && overlaps++ == 0)
			first = &steps[i - 1];
	}
	if (first)
		np_note_add(
			&capture->rank->notes, NP_NOTE_SKIPPED, capture->rank->id, capture->path,
			"steps",
			"marks of steps overlap, %zu times, such as step %s with the one behind it:"
			" what was launched in both counts to the later",
			overlaps, np_strtab_text(capture->strings, first->id));
}

int capture_sort_steps(struct capture *capture)
{
	struct np_rank *rank = capture->rank;
	int rc;

	if (rank->steps.count)
		qsort(rank->steps.item, rank->steps.count, sizeof(rank->steps.item[0]),
		      by_host_begin);
	/* The one pseudo step has no number, and ranges of the user's choice have any. */
	if (rank->steps.count < 2 || capture->choice.pattern)
		return NP_OK;
	rc = check_order(capture);
	if (rc == NP_OK)
		check_overlaps(capture);
	return rc;
}

uint32_t capture_host_step(struct capture *capture, np_ns start, np_ns end)
{
	const struct np_step *steps = capture->rank->steps.item;
	size_t low = 0;
	size_t high = capture->rank->steps.count;

	if (high == 0)
		return NP_NO_STEP;
	/* The pseudo step holds every call. */
	if (steps[0].id == NP_STR_NONE)
		return 0;
	/* Mostly that of the call before. */
	if (capture->near_step < high && steps[capture->near_step].host_begin <= start &&
	    (capture->near_step + 1 == high || steps[capture->near_step + 1].host_begin > start))
		low = high = capture->near_step + 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps[middle].host_begin <= start)
			low = middle + 1;
		else
			high = middle;
	}
	capture->near_step = low > 0 ? low - 1 : 0;
	if (low == 0 || end > steps[low - 1].host_end)
		return NP_NO_STEP;
	return (uint32_t)(low - 1);
}

void capture_widen_step(struct capture *capture, uint32_t step_index, np_ns start, np_ns end)
{
	struct np_step *step = &capture->rank->steps.item[step_index];

	if (step->begin == NP_UNKNOWN || start < step->begin)
		step->begin = start;
	if (step->end == NP_UNKNOWN || end > step->end)
		step->end = end;
}

/* The device of each connection, for operators that do not say their own. */
static int map_connections(struct capture *capture)
{
	capture->connection_device = np_idmap_new();
	if (!capture->connection_device)
		return np_fail_nomem(capture->err, "devices of operators");
	for (size_t i = 0; i < capture->tasks.count; i++) {
		const struct capture_task *task = &capture->tasks.item[i];
		uint32_t known = np_idmap_get(capture->connection_device, task->connection);
		uint32_t device = known == NP_IDMAP_NONE || known == task->device ? task->device
										  : SEVERAL_DEVICES;
		int rc = np_idmap_set(capture->connection_device, task->connection, device,
				      capture->err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

int capture_close_steps(struct capture *capture)
{
	struct np_rank *rank = capture->rank;
	size_t count = capture->devices.count * rank->steps.count;

	if (count > MOST_CELLS)
		return np_fail(capture->err, NP_E_FORMAT,
			       "'%s': %zu steps on %zu devices are more than possible",
			       capture->path, rank->steps.count, capture->devices.count);
	np_steps_finish(rank->steps.item, rank->steps.count);
	if (capture->in_parts && !capture_windows_hold(capture))
		capture->unordered = true;
	return capture->devices.count < 2 ? NP_OK : map_connections(capture);
}

/* --- tasks ----------------------------------------------------------------------------------- */

/*
 * The index of a device, added if it is new; the rule is that there is one. A task that names none,
 * or an impossible one, runs where the others run: it is no device of its own.
 */
static int device_index(struct capture *capture, int64_t id, uint16_t *ret)
{
	int32_t device = np_device_of(id);
	int32_t *slot;

	*ret = 0;
	if (capture->devices.count > 0 && device < 0)
		return NP_OK;
	if (capture->devices.count == 1 && capture->devices.item[0] < 0) {
		capture->devices.item[0] = device;
		return NP_OK;
	}

	for (size_t i = 0; i < capture->devices.count; i++) {
		if (capture->devices.item[i] == device) {
			*ret = (uint16_t)i;
			return NP_OK;
		}
	}
	if (capture->devices.count == MOST_DEVICES)
		return np_fail(capture->err, NP_E_FORMAT,
			       "'%s': tasks of over %d devices are more than possible",
			       capture->path, MOST_DEVICES);
	slot = np_vec_add(&capture->devices, capture->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = device;
	*ret = (uint16_t)(capture->devices.count - 1);
	/* The operators of several are distinguished by all tasks. */
	if (*ret > 0 && capture->in_parts)
		capture->unordered = true;
	return NP_OK;
}

static uint32_t small_number(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* In parts: what the calls say about a task, which will be forgotten before it is measured. */
static int resolve(struct capture *capture, const struct capture_launch *launch,
		   struct capture_task *task)
{
	int64_t connection = task->connection;

	/* It would have been measured already. */
	if ((capture->part.begun || capture->part.used.count) && task->start < capture->part.until)
		capture->unordered = true;
	task->of_op = capture_copies(task) && capture_is_of_op(capture, connection);
	task->launched =
		capture_copies(task) ? capture_copy_launched(launch) : capture_launched(launch);
	return capture_ask(capture, connection);
}

int capture_add_task(struct capture *capture, const struct capture_row *row, uint32_t *ret_index)
{
	struct capture_launch *launch;
	struct capture_task *task;
	int rc;

	*ret_index = NP_IDMAP_NONE;
	if (!vendor_time_ok(row->start, row->end)) {
		capture->impossible_times++;
		return NP_OK;
	}
	if (np_vec_reserve(&capture->tasks, 1, capture->err) < 0)
		return NP_E_NOMEM;
	*ret_index = (uint32_t)capture->tasks.count;
	task = &capture->tasks.item[capture->tasks.count++];
	capture->task_count++;
	*task = (struct capture_task){
		.start = row->start,
		.end = row->end,
		.connection = row->connection,
		.key = row->key,
		.stream = small_number(row->stream),
		.id = small_number(row->id),
		.class = (uint8_t)row->class,
		.memory = row->memory,
	};
	launch = calls_of(capture, row->connection);
	widen_by_launch(capture, launch, row->start, row->end);
	rc = capture->in_parts ? resolve(capture, launch, task) : NP_OK;
	return rc < 0 ? rc : device_index(capture, row->device, &task->device);
}

/* --- the host -------------------------------------------------------------------------------- */

void capture_add_collection(struct np_rank *rank, np_ns start, np_ns end)
{
	if (!vendor_time_ok(start, end))
		return;
	rank->collections++;
	rank->collection_time += end - start;
}

int capture_add_loading(struct capture *capture, np_ns start, np_ns end)
{
	if (!vendor_time_ok(start, end))
		return NP_OK;
	if (!capture->loading)
		capture->loading = np_spans_new();
	if (!capture->loading)
		return np_fail_nomem(capture->err, "a rank");
	return np_spans_add(capture->loading, start, end, capture->err);
}

/* --- operators ------------------------------------------------------------------------------- */

int8_t capture_op_device(struct capture *capture, int64_t device, int64_t connection)
{
	uint32_t index = 0;

	if (np_device_of(device) >= 0)
		return np_device_of(device);
	if (capture->devices.count > 1)
		index = np_idmap_get(capture->connection_device, connection);
	return np_device_of(index < capture->devices.count ? capture->devices.item[index] : -1);
}

struct np_comm_op *capture_add_op(struct capture *capture, np_ns start, np_ns end,
				  int64_t connection)
{
	struct np_rank *rank = capture->rank;
	struct np_comm_op *op = np_vec_add(&rank->ops, capture->err);
	int64_t *launched_by = np_vec_add(&capture->op_connections, capture->err);

	assert(vendor_time_ok(start, end));
	if (!op || !launched_by)
		return NULL;
	*launched_by = connection;
	*op = (struct np_comm_op){ .start = start,
				   .end = end,
				   .transfer = NP_LENGTH_UNKNOWN,
				   .bytes = NP_UNKNOWN,
				   .device = -1 };
	op->step = np_steps_find(rank->steps.item, rank->steps.count, start);
	return op;
}

void capture_note_oddities(struct capture *capture)
{
	struct np_notes *notes = &capture->rank->notes;
	int32_t id = capture->rank->id;

	if (capture->too_long)
		np_note_add(&capture->rank->notes, NP_NOTE_WARNING, capture->rank->id,
			    capture->path, "partition",
			    "a step lasts over a day by these times: it is not divided");
	if (capture->impossible_times)
		np_note_add(notes,
			    np_note_of_loss(capture->impossible_times,
					    capture->task_count + capture->rank->ops.count),
			    id, capture->path, "tasks",
			    "%zu tasks or operators with impossible times were left out",
			    capture->impossible_times);
	if (capture->ops_outside)
		np_note_add(notes, NP_NOTE_WARNING, id, capture->path, "operators",
			    "%zu of %zu communication operators start outside every step and are"
			    " in no step's figures",
			    capture->ops_outside, capture->rank->ops.count);
	if (capture->ops_without_device)
		np_note_add(notes, NP_NOTE_SKIPPED, id, capture->path, "operators",
			    "%zu operators cannot be told to belong to one of the %zu devices",
			    capture->ops_without_device, capture->devices.count);
}
