/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"

/* What the host did: calls of the framework and of CANN, stacks, marks, garbage collection. */

#define ENTRY(name, type) { #name, type },

/* clang-format off */
#define API_COLUMNS(X) \
	X(rank, NP_INTEGER) X(id, NP_INTEGER) X(step, NP_TEXT) X(in_step, NP_INTEGER) \
	X(tid, NP_INTEGER) \
	X(start_ns, NP_INTEGER) X(end_ns, NP_INTEGER) X(dur_ns, NP_INTEGER) X(name, NP_TEXT) \
	X(kind, NP_TEXT) X(depth, NP_INTEGER) X(top, NP_INTEGER) X(in_shapes, NP_TEXT) \
	X(in_dtypes, NP_TEXT) X(sequence, NP_INTEGER) X(stack_id, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) API_##name,
enum {
	API_COLUMNS(NUMBER) API_COUNT
};
#undef NUMBER
static const struct np_column api_columns[] = { API_COLUMNS(ENTRY) };

const struct view_description view_host_api = {
	.name = "v_host_api",
	.columns = api_columns,
	.column_count = API_COUNT,
	.scope = VIEW_RANK,
	.typical = 20000,
	.what = "calls of the framework: operators (kind op), steps, queue, python functions",
	.cure = "activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]",
};

static const struct np_detail *detail_of(const struct view *view)
{
	return ((const struct view_rank *)view->data)->detail;
}

static int open_api(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = detail_of(view)->framework.count;
	return NP_OK;
}

static struct np_cell api_cell(const struct view *view, size_t row, size_t column)
{
	static const char *const kinds[] = { [NP_FRAMEWORK_OP] = "op",
					     [NP_FRAMEWORK_STEP] = "step",
					     [NP_FRAMEWORK_QUEUE] = "queue",
					     [NP_FRAMEWORK_PYTHON] = "python",
					     [NP_FRAMEWORK_MARK] = "mark" };
	const struct np_detail *detail = detail_of(view);
	const struct np_framework_call *call = &detail->framework.item[row];

	switch (column) {
	case API_rank:
		return np_cell_integer(detail->id);
	case API_id:
		return np_cell_integer((int64_t)row);
	case API_step:
		return view_step_id(view->data, call->step);
	case API_in_step:
		return np_cell_integer(call->step != NP_NO_STEP);
	case API_tid:
		return np_cell_integer(call->tid);
	case API_start_ns:
		return np_cell_integer(call->start);
	case API_end_ns:
		return np_cell_integer(call->end);
	case API_dur_ns:
		return view_difference(call->start, call->end);
	case API_name:
		return view_text(detail, call->name);
	case API_kind:
		return np_cell_text(kinds[call->kind]);
	case API_depth:
		return np_cell_integer(call->depth);
	case API_top:
		return np_cell_integer(call->top);
	case API_in_shapes:
		return view_text(detail, call->in_shapes);
	case API_in_dtypes:
		return view_text(detail, call->in_dtypes);
	case API_sequence:
		return np_cell_integer(call->sequence);
	default:
		return call->stack == NP_STR_NONE ? np_cell_null() : np_cell_integer(call->stack);
	}
}

static bool api_known(const struct view *view, size_t column)
{
	const struct np_detail *detail = detail_of(view);

	for (size_t i = 0; i < detail->framework.count; i++) {
		if (api_cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return false;
}

void view_make_host_api(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_host_api.name,
			       .columns = api_columns,
			       .column_count = API_COUNT,
			       .present = (source->detail->has & NP_DETAIL_FRAMEWORK) != 0 &&
					  source->detail->framework.count > 0,
			       .data = source,
			       .open = open_api,
			       .cell = api_cell,
			       .known = api_known };
}

/* clang-format off */
#define CALL_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(in_step, NP_INTEGER) X(tid, NP_INTEGER) \
	X(start_ns, NP_INTEGER) \
	X(end_ns, NP_INTEGER) X(dur_ns, NP_INTEGER) X(name, NP_TEXT) X(level, NP_TEXT) \
	X(conn_id, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) CALL_##name,
enum {
	CALL_COLUMNS(NUMBER) CALL_COUNT
};
#undef NUMBER
static const struct np_column call_columns[] = { CALL_COLUMNS(ENTRY) };

const struct view_description view_cann_api = {
	.name = "v_cann_api",
	.columns = call_columns,
	.column_count = CALL_COUNT,
	.scope = VIEW_RANK,
	.typical = 40000,
	.what = "calls of CANN, named as in traces: AscendCL@…, Node@…, Runtime@…, Model@…",
	.cure = "profiler_level=Level1",
};

/* Names with the prefix of their level, by row. */
struct call_names {
	struct np_strtab *strings;
	np_str *of_row;
};

static void close_calls(struct view *view)
{
	struct call_names *names = view->state;

	if (names) {
		np_strtab_free(names->strings);
		free(names->of_row);
	}
	free(names);
}

static int name_call(const struct np_detail *detail, const struct np_call *call,
		     struct np_strtab *strings, np_str *ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const char *name = np_detail_text(detail, call->name);
	const char *prefix = np_call_level_prefix(call->level);
	int rc;

	np_buf_add(&text, prefix ? prefix : "");
	np_buf_add(&text, name ? name : "");
	rc = np_buf_check(&text, err);
	return rc == NP_OK ? np_strtab_add(strings, text.text, text.length, ret, err) : rc;
}

/* The same name at the same level is put together once. */
static int name_calls(const struct np_detail *detail, struct call_names *names, struct np_err *err)
{
	size_t texts = np_strtab_count(detail->strings) + 1;
	np_str *known = calloc(texts * NP_CALL_LEVELS, sizeof(*known)); /* NP_STR_NONE is 0 */
	int rc = known ? NP_OK : np_fail_nomem(err, "calls");

	for (size_t i = 0; i < detail->calls.count && rc == NP_OK; i++) {
		const struct np_call *call = &detail->calls.item[i];
		np_str *place = &known[call->name * NP_CALL_LEVELS + call->level];

		if (*place == NP_STR_NONE)
			rc = name_call(detail, call, names->strings, place, err);
		names->of_row[i] = *place;
	}
	free(known);
	return rc;
}

static int open_calls(struct view *view, struct np_err *err)
{
	const struct np_detail *detail = detail_of(view);
	struct call_names *names = calloc(1, sizeof(*names));

	view->state = names;
	if (!names)
		return np_fail_nomem(err, "calls");
	names->strings = np_strtab_new();
	names->of_row = calloc(detail->calls.count + 1, sizeof(*names->of_row));
	if (!names->strings || !names->of_row)
		return np_fail_nomem(err, "calls");
	view->rows = detail->calls.count;
	return name_calls(detail, names, err);
}

static struct np_cell call_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = detail_of(view);
	const struct np_call *call = &detail->calls.item[row];
	const struct call_names *names = view->state;

	switch (column) {
	case CALL_rank:
		return np_cell_integer(detail->id);
	case CALL_step:
		return view_step_id(view->data, call->step);
	case CALL_in_step:
		return np_cell_integer(call->step != NP_NO_STEP);
	case CALL_tid:
		return np_cell_integer(call->tid);
	case CALL_start_ns:
		return np_cell_integer(call->start);
	case CALL_end_ns:
		return np_cell_integer(call->end);
	case CALL_dur_ns:
		return view_difference(call->start, call->end);
	case CALL_name:
		return np_cell_bytes(np_strtab_text(names->strings, names->of_row[row]),
				     np_strtab_length(names->strings, names->of_row[row]));
	case CALL_level:
		return np_cell_text(np_call_level_name(call->level));
	default:
		return np_cell_integer(call->connection);
	}
}

void view_make_cann_api(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_cann_api.name,
			       .columns = call_columns,
			       .column_count = CALL_COUNT,
			       .present = (source->detail->has & NP_DETAIL_CALLS) != 0 &&
					  source->detail->calls.count > 0,
			       .data = source,
			       .open = open_calls,
			       .close = close_calls,
			       .cell = call_cell };
}

/* clang-format off */
#define STACK_COLUMNS(X) \
	X(rank, NP_INTEGER) X(stack_id, NP_INTEGER) X(stack, NP_TEXT) X(user_frame, NP_TEXT)
/* clang-format on */

#define NUMBER(name, type) STACK_##name,
enum {
	STACK_COLUMNS(NUMBER) STACK_COUNT
};
#undef NUMBER
static const struct np_column stack_columns[] = { STACK_COLUMNS(ENTRY) };

const struct view_description view_stack = {
	.name = "v_stack",
	.columns = stack_columns,
	.column_count = STACK_COUNT,
	.scope = VIEW_RANK,
	.what = "call stacks, and the innermost frame of each that is the user's own",
	.cure = "with_stack=True",
};

struct stacks {
	NP_VEC(np_str) list; /* ascending */
};

static void close_stacks(struct view *view)
{
	struct stacks *stacks = view->state;

	if (stacks)
		np_vec_release(&stacks->list);
	free(stacks);
}

static int compare_ids(const void *a, const void *b)
{
	return np_order(*(const np_str *)a, *(const np_str *)b);
}

static int open_stacks(struct view *view, struct np_err *err)
{
	const struct np_detail *detail = detail_of(view);
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	size_t kept = 0;

	view->state = stacks;
	if (!stacks)
		return np_fail_nomem(err, "stacks");
	for (size_t i = 0; i < detail->framework.count; i++) {
		np_str stack = detail->framework.item[i].stack;
		np_str *slot = stack == NP_STR_NONE ? NULL : np_vec_add(&stacks->list, err);

		if (stack != NP_STR_NONE && !slot)
			return NP_E_NOMEM;
		if (slot)
			*slot = stack;
	}
	if (stacks->list.count > 0)
		qsort(stacks->list.item, stacks->list.count, sizeof(np_str), compare_ids);
	for (size_t i = 0; i < stacks->list.count; i++) {
		if (kept == 0 || stacks->list.item[kept - 1] != stacks->list.item[i])
			stacks->list.item[kept++] = stacks->list.item[i];
	}
	view->rows = stacks->list.count = kept;
	return NP_OK;
}

static struct np_cell stack_cell(const struct view *view, size_t row, size_t column)
{
	const struct stacks *stacks = view->state;
	const struct np_detail *detail = detail_of(view);
	np_str id = stacks->list.item[row];
	const char *text = np_detail_text(detail, id);
	const char *frame;
	size_t length = 0;

	switch (column) {
	case STACK_rank:
		return np_cell_integer(detail->id);
	case STACK_stack_id:
		return np_cell_integer(id);
	case STACK_stack:
		return np_cell_text(text);
	default:
		frame = text ? user_frame(text, &length) : NULL;
		return frame ? np_cell_bytes(frame, length) : np_cell_null();
	}
}

void view_make_stack(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_stack.name,
			       .columns = stack_columns,
			       .column_count = STACK_COUNT,
			       .present = (source->detail->has & NP_DETAIL_STACKS) != 0,
			       .data = source,
			       .open = open_stacks,
			       .close = close_stacks,
			       .cell = stack_cell };
}

/* clang-format off */
#define GC_COLUMNS(X) \
	X(rank, NP_INTEGER) X(start_ns, NP_INTEGER) X(end_ns, NP_INTEGER) \
	X(dur_ns, NP_INTEGER) X(tid, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) GC_##name,
enum {
	GC_COLUMNS(NUMBER) GC_COUNT
};
#undef NUMBER
static const struct np_column gc_columns[] = { GC_COLUMNS(ENTRY) };

const struct view_description view_gc = {
	.name = "v_gc",
	.columns = gc_columns,
	.column_count = GC_COUNT,
	.scope = VIEW_RANK,
	.what = "garbage collections of python",
	.cure = "experimental_config gc_detect_threshold",
};

static int open_gc(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = detail_of(view)->gc.count;
	return NP_OK;
}

static struct np_cell gc_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_gc *gc = &detail_of(view)->gc.item[row];

	switch (column) {
	case GC_rank:
		return np_cell_integer(detail_of(view)->id);
	case GC_start_ns:
		return np_cell_integer(gc->start);
	case GC_end_ns:
		return np_cell_integer(gc->end);
	case GC_dur_ns:
		return view_difference(gc->start, gc->end);
	default:
		return np_cell_integer(gc->tid);
	}
}

void view_make_gc(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_gc.name,
			       .columns = gc_columns,
			       .column_count = GC_COUNT,
			       .present = (source->detail->has & NP_DETAIL_GC) != 0,
			       .data = source,
			       .open = open_gc,
			       .cell = gc_cell };
}

/* clang-format off */
#define MARK_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(tid, NP_INTEGER) X(start_ns, NP_INTEGER) \
	X(end_ns, NP_INTEGER) X(dur_ns, NP_INTEGER) X(message, NP_TEXT) X(domain, NP_TEXT) \
	X(is_range, NP_INTEGER) X(device_start_ns, NP_INTEGER) X(device_end_ns, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) MARK_##name,
enum {
	MARK_COLUMNS(NUMBER) MARK_COUNT
};
#undef NUMBER
static const struct np_column mark_columns[] = { MARK_COLUMNS(ENTRY) };

const struct view_description view_mark = {
	.name = "v_mark",
	.columns = mark_columns,
	.column_count = MARK_COUNT,
	.scope = VIEW_RANK,
	.what = "marks and ranges of mstx",
	.cure = "msprof_tx=True (mstx)",
};

static int open_marks(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = detail_of(view)->marks.count;
	return NP_OK;
}

static struct np_cell mark_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = detail_of(view);
	const struct np_mark *mark = &detail->marks.item[row];

	switch (column) {
	case MARK_rank:
		return np_cell_integer(detail->id);
	case MARK_step:
		return view_step_id(view->data, mark->step);
	case MARK_tid:
		return np_cell_integer(mark->tid);
	case MARK_start_ns:
		return np_cell_integer(mark->start);
	case MARK_end_ns:
		return np_cell_integer(mark->end);
	case MARK_dur_ns:
		return view_difference(mark->start, mark->end);
	case MARK_message:
		return view_text(detail, mark->message);
	case MARK_domain:
		return view_text(detail, mark->domain);
	case MARK_is_range:
		return np_cell_integer(mark->kind == NP_MARK_RANGE);
	case MARK_device_start_ns:
		return np_cell_integer(mark->device_start);
	default:
		return np_cell_integer(mark->device_end);
	}
}

void view_make_mark(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_mark.name,
			       .columns = mark_columns,
			       .column_count = MARK_COUNT,
			       .present = (source->detail->has & NP_DETAIL_MARKS) != 0,
			       .data = source,
			       .open = open_marks,
			       .cell = mark_cell };
}
