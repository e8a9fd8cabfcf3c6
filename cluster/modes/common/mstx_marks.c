/* SPDX-License-Identifier: Apache-2.0 */
#include "mstx_marks.h"

#include "npuprof/buf.h"

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

struct threads {
	NP_VEC(struct open_ranges) list;
};

static struct open_ranges *thread_of(struct threads *threads, int64_t tid, struct np_err *err)
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

static int take_range(struct mode_rank *rank, struct mstx_marks *marks, struct threads *threads,
		      const struct np_mark *range)
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
	struct threads threads = { 0 };
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

/* Several of one name in a step are told apart by a number. */
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

int mstx_marks_read(struct mode_rank *rank, struct mstx_marks *ret)
{
	int rc = take_marks(rank, ret);

	if (rc == NP_OK)
		rc = take_ranges(rank, ret);
	return rc < 0 ? rc : number_names(rank, ret);
}

void mstx_marks_release(struct mstx_marks *marks)
{
	np_vec_release(&marks->list);
}
