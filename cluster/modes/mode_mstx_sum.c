/* SPDX-License-Identifier: Apache-2.0 */
/* mstx_sum: times between marks of a thread, and of ranges, as seen by framework, CANN and device.
 */
#include "registry.h"

#include "cluster/modes/common/grouping.h"

#include "npuprof/buf.h"

#include <math.h>

/*
 * Times between marks "X_start" and "X_stop" of a thread, and of ranges, on the
 * three layers where a mark is seen: framework, CANN and device.
 */
enum mstx_layer {
	MSTX_FRAMEWORK,
	MSTX_CANN,
	MSTX_DEVICE,
	MSTX_LAYERS,
};

/* One pair of marks, or one range. */
struct mstx_mark {
	np_str name;
	np_str step;             /* id; NP_STR_NONE outside of steps */
	np_ns time[MSTX_LAYERS]; /* NP_UNKNOWN where the mark was not seen */
	np_ns start;
};

struct mstx_marks {
	NP_VEC(struct mstx_mark) list;
	size_t unpaired; /* whose start or stop is missing */
};

/* --- marks of a rank -----------------------------------------------------------------------------
 */

static np_ns between(np_ns from, np_ns to)
{
	return from == NP_UNKNOWN || to == NP_UNKNOWN ? NP_UNKNOWN : to - from;
}

static struct mstx_mark *add_mark(struct mode_rank *rank, struct mstx_marks *marks,
				  const struct np_mark *from)
{
	struct mstx_mark *mark = np_vec_add(&marks->list, rank->err);

	if (!mark)
		return NULL;
	mark->start = from->start;
	if (from->step != NP_NO_STEP)
		mark->step = rank->rank->steps.item[from->step].id;
	return mark;
}

static int name_mark(struct mode_rank *rank, struct mstx_mark *mark, const char *name,
		     size_t length)
{
	return np_strtab_add(rank->run->strings, name, length, &mark->name, rank->err);
}

/* --- marks ----------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *suffix, size_t *ret_length)
{
	size_t length = strlen(text);
	size_t tail = strlen(suffix);

	if (length <= tail || strcmp(text + length - tail, suffix) != 0)
		return false;
	*ret_length = length - tail;
	return true;
}

/* Starts that wait for their stop. */
struct waiting {
	NP_VEC(uint32_t) list;
};

static int pair_mark(struct mode_rank *rank, struct mstx_marks *marks, struct waiting *waiting,
		     const struct np_mark *stop, const char *name, size_t length)
{
	const struct np_detail *detail = rank->detail;

	for (size_t i = waiting->list.count; i-- > 0;) {
		const struct np_mark *start = &detail->marks.item[waiting->list.item[i]];
		const char *message = np_detail_text(detail, start->message);
		struct mstx_mark *mark;

		if (start->tid != stop->tid || strncmp(message, name, length) != 0 ||
		    strcmp(message + length, "_start") != 0)
			continue;
		memmove(&waiting->list.item[i], &waiting->list.item[i + 1],
			(waiting->list.count - i - 1) * sizeof(waiting->list.item[0]));
		waiting->list.count--;
		if (!mode_takes(rank, start->step))
			return NP_OK;
		mark = add_mark(rank, marks, start);
		if (!mark)
			return NP_E_NOMEM;
		mark->time[MSTX_FRAMEWORK] = between(start->framework_start, stop->framework_start);
		mark->time[MSTX_CANN] = stop->start - start->start;
		mark->time[MSTX_DEVICE] = between(start->device_start, stop->device_start);
		return name_mark(rank, mark, name, length);
	}
	marks->unpaired += mode_takes(rank, stop->step);
	return NP_OK;
}

/* All are paired, so that a pair does not depend on the steps that are looked at. */
static int take_marks(struct mode_rank *rank, struct mstx_marks *marks)
{
	const struct np_detail *detail = rank->detail;
	struct waiting waiting = { 0 };
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->marks.count && rc == NP_OK; i++) {
		const struct np_mark *mark = &detail->marks.item[i];
		const char *message = np_detail_text(detail, mark->message);
		size_t length;

		if (mark->kind != NP_MARK_EX || !message)
			continue;
		if (ends_with(message, "_start", &length)) {
			uint32_t *slot = np_vec_add(&waiting.list, rank->err);

			rc = slot ? NP_OK : NP_E_NOMEM;
			if (slot)
				*slot = i;
		} else if (ends_with(message, "_stop", &length)) {
			rc = pair_mark(rank, marks, &waiting, mark, message, length);
		}
	}
	for (size_t i = 0; i < waiting.list.count; i++)
		marks->unpaired += mode_takes(rank, detail->marks.item[waiting.list.item[i]].step);
	np_vec_release(&waiting.list);
	return rc;
}

/* --- ranges ---------------------------------------------------------------------------------- */

#define DEPTH_MOST 100

/* The ranges of a thread that are open, outermost first, with the names that lead to them. */
struct open_ranges {
	int64_t tid;
	size_t depth;
	np_ns end[DEPTH_MOST];
	np_str path[DEPTH_MOST];
};

struct mark_threads {
	NP_VEC(struct open_ranges) list;
};

static struct open_ranges *thread_of(struct mark_threads *threads, int64_t tid, struct np_err *err)
{
	struct open_ranges *open;

	for (size_t i = 0; i < threads->list.count; i++) {
		if (threads->list.item[i].tid == tid)
			return &threads->list.item[i];
	}
	open = np_vec_add(&threads->list, err);
	if (open)
		open->tid = tid;
	return open;
}

/* "outer::inner": the name of a range with those around it. */
static int open_range(struct mode_rank *rank, struct open_ranges *open, const struct np_mark *range,
		      np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	int rc;

	while (open->depth > 0 && open->end[open->depth - 1] < range->end)
		open->depth--;
	if (open->depth > 0)
		np_buf_printf(&buf, "%s::",
			      np_strtab_text(rank->run->strings, open->path[open->depth - 1]));
	np_buf_add(&buf, np_detail_text(rank->detail, range->message));
	rc = np_buf_check(&buf, rank->err);
	if (rc == NP_OK)
		rc = np_strtab_add(rank->run->strings, buf.text, buf.length, ret, rank->err);
	if (rc == NP_OK && open->depth < DEPTH_MOST) {
		open->end[open->depth] = range->end;
		open->path[open->depth++] = *ret;
	}
	return rc;
}

static int take_range(struct mode_rank *rank, struct mstx_marks *marks,
		      struct mark_threads *threads, const struct np_mark *range)
{
	struct open_ranges *open = thread_of(threads, range->tid, rank->err);
	struct mstx_mark *mark;
	np_str path;

	if (!open || open_range(rank, open, range, &path) < 0)
		return NP_E_NOMEM;
	if (!mode_takes(rank, range->step))
		return NP_OK;
	mark = add_mark(rank, marks, range);
	if (!mark)
		return NP_E_NOMEM;
	mark->name = path;
	mark->time[MSTX_FRAMEWORK] = NP_UNKNOWN;
	mark->time[MSTX_CANN] = range->end - range->start;
	mark->time[MSTX_DEVICE] = between(range->device_start, range->device_end);
	return NP_OK;
}

/* A range without a connection marks the host alone, and is not listed. */
static int take_ranges(struct mode_rank *rank, struct mstx_marks *marks)
{
	struct mark_threads threads = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < rank->detail->marks.count && rc == NP_OK; i++) {
		const struct np_mark *range = &rank->detail->marks.item[i];

		if (range->kind == NP_MARK_RANGE && range->connection != NP_UNKNOWN &&
		    range->message != NP_STR_NONE)
			rc = take_range(rank, marks, &threads, range);
	}
	np_vec_release(&threads.list);
	return rc;
}

/* --- a rank ---------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right, void *context)
{
	const struct np_strtab *strings = context;
	const struct mstx_mark *a = left;
	const struct mstx_mark *b = right;

	if (a->step != b->step)
		return strcmp(np_strtab_text(strings, a->step), np_strtab_text(strings, b->step));
	if (a->name != b->name)
		return strcmp(np_strtab_text(strings, a->name), np_strtab_text(strings, b->name));
	return np_order(a->start, b->start);
}

/* Several of one name in a step are distinguished by a number. */
static int number_names(struct mode_rank *rank, struct mstx_marks *marks)
{
	int rc = NP_OK;

	if (marks->list.count)
		qsort_r(marks->list.item, marks->list.count, sizeof(marks->list.item[0]), by_name,
			rank->run->strings);
	for (size_t first = 0, end; first < marks->list.count && rc == NP_OK; first = end) {
		np_str name = marks->list.item[first].name;
		np_str step = marks->list.item[first].step;

		for (end = first; end < marks->list.count && marks->list.item[end].name == name &&
				  marks->list.item[end].step == step;
		     end++)
			;
		for (size_t i = first; end - first > 1 && i < end && rc == NP_OK; i++) {
			NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

			np_buf_printf(&buf, "%s_%zu", np_strtab_text(rank->run->strings, name),
				      i - first);
			rc = name_mark(rank, &marks->list.item[i], buf.text, buf.length);
		}
	}
	return rc;
}

static int mstx_marks_read(struct mode_rank *rank, struct mstx_marks *ret)
{
	int rc = take_marks(rank, ret);

	if (rc == NP_OK)
		rc = take_ranges(rank, ret);
	return rc < 0 ? rc : number_names(rank, ret);
}

static void mstx_marks_release(struct mstx_marks *marks)
{
	np_vec_release(&marks->list);
}

/* --- tables --------------------------------------------------------------------------------------
 */

#define MODE "mstx_sum"

static void release(void *result)
{
	mstx_marks_release(result);
	free(result);
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct mstx_marks *marks = calloc(1, sizeof(*marks));

	(void)prepared;
	if (!marks)
		return np_fail_nomem(rank->err, MODE);
	*ret = marks;
	return mstx_marks_read(rank, marks);
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column mark_columns[] = {
	{ "index", NP_INTEGER },
	{ "Name", NP_TEXT },
	{ "FrameworkDurationNs", NP_INTEGER },
	{ "FrameworkDurationRatio(%)", NP_REAL },
	{ "CannDurationNs", NP_INTEGER },
	{ "CannDurationRatio(%)", NP_REAL },
	{ "DeviceDurationNs", NP_INTEGER },
	{ "DeviceDurationRatio(%)", NP_REAL },
	{ "Rank", NP_INTEGER },
	{ "StepId", NP_INTEGER },
};

static double percent(np_ns part, np_ns whole)
{
	return part == NP_UNKNOWN || whole <= 0 ? (double)NAN
						: 100.0 * (double)part / (double)whole;
}

static int by_cann(const void *left, const void *right, void *context)
{
	const struct np_strtab *strings = context;
	const struct mstx_mark *a = left;
	const struct mstx_mark *b = right;

	if (a->time[MSTX_CANN] != b->time[MSTX_CANN])
		return np_order(b->time[MSTX_CANN], a->time[MSTX_CANN]);
	if (a->start != b->start)
		return np_order(a->start, b->start);
	return strcmp(np_strtab_text(strings, a->name), np_strtab_text(strings, b->name));
}

static int put_rank(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
		    struct mstx_marks *marks, struct np_err *err)
{
	np_ns total[MSTX_LAYERS] = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < marks->list.count; i++) {
		for (size_t layer = 0; layer < MSTX_LAYERS; layer++) {
			if (marks->list.item[i].time[layer] != NP_UNKNOWN)
				total[layer] += marks->list.item[i].time[layer];
		}
	}
	if (marks->list.count)
		qsort_r(marks->list.item, marks->list.count, sizeof(marks->list.item[0]), by_cann,
			modes->run->strings);
	for (size_t i = 0; i < marks->list.count && rc == NP_OK; i++) {
		const struct mstx_mark *mark = &marks->list.item[i];
		struct np_cell cells[NP_COUNT(mark_columns)] = {
			np_cell_integer((int64_t)table->rows),
			mode_name_cell(modes, mark->name),
		};

		for (size_t layer = 0; layer < MSTX_LAYERS; layer++) {
			cells[2 + 2 * layer] = np_cell_integer(mark->time[layer]);
			cells[3 + 2 * layer] =
				np_cell_real(percent(mark->time[layer], total[layer]));
		}
		cells[8] = np_cell_integer(rank);
		cells[9] = mode_step_cell(modes, mark->step);
		rc = mode_row(modes, table, cells, err);
	}
	return rc;
}

static const struct np_column layer_columns[] = {
	{ "Name", NP_TEXT },          { "Count", NP_INTEGER },   { "MeanNs", NP_REAL },
	{ "StdNs", NP_REAL },         { "MinNs", NP_REAL },      { "MinRank", NP_INTEGER },
	{ "Q1Ns", NP_REAL },          { "MedianNs", NP_REAL },   { "Q3Ns", NP_REAL },
	{ "MaxNs", NP_REAL },         { "MaxRank", NP_INTEGER }, { "SumNs", NP_REAL },
	{ "Dispersion(%)", NP_REAL }, { "StepId", NP_INTEGER },
};

/* How far the longest lies above the bulk, in percent of the sum. */
static double dispersion(const struct summary *summary)
{
	return summary->sum > 0
		       ? 100.0 * ((double)summary->max - summary->q3) / (double)summary->sum
		       : 0;
}

struct scattered {
	double dispersion;
	uint32_t group;
};

static int by_dispersion(const void *left, const void *right, void *context)
{
	const uint32_t *places = context;
	const struct scattered *a = left;
	const struct scattered *b = right;

	if (a->dispersion != b->dispersion)
		return a->dispersion > b->dispersion ? -1 : 1;
	return np_order(places[a->group], places[b->group]);
}

static int put_group(struct np_modes *modes, struct np_mode_table *table, struct value_group *group,
		     struct np_err *err)
{
	struct summary summary = samples_describe(&group->samples);
	struct np_cell described[DESCRIBE_CELLS];

	describe_cells(&summary, described);
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(layer_columns)]){
				mode_name_cell(modes, group->key[1]),
				described[0],
				described[1],
				described[2],
				described[3],
				np_cell_integer(group->least_of),
				described[4],
				described[5],
				described[6],
				described[7],
				np_cell_integer(group->most_of),
				described[8],
				np_cell_real(dispersion(&summary)),
				mode_step_cell(modes, group->key[0]),
			},
			err);
}

static int put_scattered(struct np_modes *modes, struct np_mode_table *table,
			 struct grouping *names, struct np_err *err)
{
	uint32_t *order = grouping_by_key(modes, names, err);
	uint32_t *places = malloc((names->list.count + 1) * sizeof(*places));
	struct scattered *list = malloc((names->list.count + 1) * sizeof(*list));
	int rc = order && places && list ? NP_OK : np_fail_nomem(err, MODE);

	for (uint32_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		struct summary summary = samples_describe(&names->list.item[i].samples);

		places[order[i]] = i;
		list[i] = (struct scattered){ dispersion(&summary), i };
	}
	if (rc == NP_OK && names->list.count)
		qsort_r(list, names->list.count, sizeof(*list), by_dispersion, places);
	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++)
		rc = put_group(modes, table, &names->list.item[list[i].group], err);
	free(order);
	free(places);
	free(list);
	return rc;
}

static int put_layer(struct np_modes *modes, struct np_mode_table *table, void *const *ranks,
		     enum mstx_layer layer, struct np_err *err)
{
	struct grouping names = { .parts = 2 }; /* step, name */
	int rc = NP_OK;

	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct mstx_marks *marks = ranks[i];

		for (size_t j = 0; marks && j < marks->list.count && rc == NP_OK; j++) {
			const struct mstx_mark *mark = &marks->list.item[j];
			const np_str key[2] = { mark->step, mark->name };
			struct value_group *group;

			if (mark->time[layer] == NP_UNKNOWN)
				continue;
			group = grouping_find(&names, key, err);
			rc = group ? group_add(group, mark->time[layer], mode_rank_id(modes, i),
					       err)
				   : NP_E_NOMEM;
		}
	}
	if (rc == NP_OK)
		rc = put_scattered(modes, table, &names, err);
	grouping_release(&names);
	return rc;
}

static int note_unpaired(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;
	size_t count = modes->run->sources.count;
	bool *with = calloc(count + 1, sizeof(*with));
	size_t unpaired = 0;

	if (!with)
		return np_fail_nomem(err, MODE);
	for (size_t i = 0; i < count; i++) {
		const struct mstx_marks *marks = ranks[i];

		with[i] = marks && marks->unpaired;
		unpaired += marks ? marks->unpaired : 0;
	}
	np_buf_printf(&reason, "%zu marks lack the _start or _stop that belongs to them", unpaired);
	mode_note(modes, NP_NOTE_WARNING, MODE, with, reason.text);
	free(with);
	return np_buf_check(&reason, err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	static const struct {
		const char *table;
		const char *summary;
	} layers[MSTX_LAYERS] = {
		[MSTX_FRAMEWORK] = { "MSTXAllFrameworkStats",
				     "times between marks over ranks, in the framework" },
		[MSTX_CANN] = { "MSTXAllCannStats", "times between marks over ranks, in CANN" },
		[MSTX_DEVICE] = { "MSTXAllDeviceStats",
				  "times between marks over ranks, on the device" },
	};
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "MSTXMarkStats", "times between marks on three layers",
			   mark_columns, err);
	int rc = table ? note_unpaired(modes, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK)
		table->empty = "no marks X_start and X_stop, and no ranges with a device part";
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (!ranks[i])
			continue;
		rc = put_rank(modes, table, mode_rank_id(modes, i), ranks[i], err);
	}
	if (rc == NP_OK)
		rc = mode_note_absent(modes, MODE, table, "Rank", ranks, err);
	for (enum mstx_layer layer = 0; layer < MSTX_LAYERS && rc == NP_OK; layer++) {
		table = MODE_TABLE(modes, MODE, layers[layer].table, layers[layer].summary,
				   layer_columns, err);
		rc = table ? put_layer(modes, table, ranks, layer, err) : NP_E_NOMEM;
	}
	return rc;
}

const struct mode mode_mstx_sum = {
	.name = MODE,
	.summary = "times between mstx marks, and of ranges",
	.devices = MODE_DEVICES_APART,
	.wants = NP_DETAIL_MARKS,
	.needs = NP_DETAIL_MARKS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
