/* SPDX-License-Identifier: Apache-2.0 */
/* Views of what the host did: calls of the framework and of CANN, stacks, marks, collections. */
#include "view_fields.h"

#include <stdlib.h>
#include <string.h>

#include "advisor/engine/data/frames.h"

static struct np_cell kind_cell(const struct adv_view *view, size_t row, const void *item)
{
	static const char *const kinds[] = { [NP_FRAMEWORK_OP] = "op",
					     [NP_FRAMEWORK_STEP] = "step",
					     [NP_FRAMEWORK_QUEUE] = "queue",
					     [NP_FRAMEWORK_PYTHON] = "python",
					     [NP_FRAMEWORK_MARK] = "mark" };

	(void)view;
	(void)row;
	return np_cell_text(kinds[((const struct np_framework_call *)item)->kind]);
}

/* clang-format off */
#define API_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(id, NP_INTEGER, VIEW_ROW) \
	X(step, NP_TEXT, VIEW_STEP(np_framework_call, step)) \
	X(in_step, NP_INTEGER, VIEW_IN_STEP(np_framework_call, step)) \
	X(tid, NP_INTEGER, VIEW_NUMBER(np_framework_call, tid)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_framework_call, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_framework_call, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_framework_call, start, end)) \
	X(name, NP_TEXT, VIEW_TEXT(np_framework_call, name)) \
	X(kind, NP_TEXT, VIEW_GET(kind_cell)) \
	X(depth, NP_INTEGER, VIEW_NUMBER(np_framework_call, depth)) \
	X(top, NP_INTEGER, VIEW_NUMBER(np_framework_call, top)) \
	X(in_shapes, NP_TEXT, VIEW_TEXT(np_framework_call, in_shapes)) \
	X(in_dtypes, NP_TEXT, VIEW_TEXT(np_framework_call, in_dtypes)) \
	X(sequence, NP_INTEGER, VIEW_NUMBER(np_framework_call, sequence)) \
	X(stack_id, NP_INTEGER, VIEW_TEXT_ID(np_framework_call, stack))
/* clang-format on */
VIEW_TABLES(api, API_COLUMNS);

static bool api_known(const struct adv_view *view, size_t column)
{
	return adv_view_has_value(view, column, view->items[0].count);
}

static void begin_api(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_FRAMEWORK) != 0 &&
			source->detail->framework.count > 0;
	view->items[0] = VIEW_ITEMS(source->detail->framework);
	view->known = api_known;
}

const struct adv_view_description adv_view_host_api = {
	.name = "v_host_api",
	VIEW_OF_TABLES(api),
	.begin = begin_api,
	.scope = VIEW_RANK,
	.typical = 20000,
	.what = "calls of the framework: operators (kind op), steps, queue, python functions",
	.cure = "activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]",
};

/* Names with the prefix of their level, by row. */
struct call_names {
	struct np_strtab *strings;
	np_str *of_row;
};

static struct np_cell name_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct call_names *names = view->state;

	(void)item;
	return np_cell_bytes(np_strtab_text(names->strings, names->of_row[row]),
			     np_strtab_length(names->strings, names->of_row[row]));
}

static struct np_cell level_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_text(np_call_level_name(((const struct np_call *)item)->level));
}

/* clang-format off */
#define CALL_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP(np_call, step)) \
	X(in_step, NP_INTEGER, VIEW_IN_STEP(np_call, step)) \
	X(tid, NP_INTEGER, VIEW_NUMBER(np_call, tid)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_call, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_call, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_call, start, end)) \
	X(name, NP_TEXT, VIEW_GET(name_cell)) \
	X(level, NP_TEXT, VIEW_GET(level_cell)) \
	X(conn_id, NP_INTEGER, VIEW_NUMBER(np_call, connection))
/* clang-format on */
VIEW_TABLES(call, CALL_COLUMNS);

static void close_calls(struct adv_view *view)
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

static int open_calls(struct adv_view *view, struct np_err *err)
{
	const struct np_detail *detail = view_detail(view);
	struct call_names *names = calloc(1, sizeof(*names));

	view->state = names;
	if (!names)
		return np_fail_nomem(err, "calls");
	names->strings = np_strtab_new();
	names->of_row = calloc(detail->calls.count + 1, sizeof(*names->of_row));
	if (!names->strings || !names->of_row)
		return np_fail_nomem(err, "calls");
	view->rows = detail->calls.count;
	view->own_texts.of_row = names->of_row;
	view->own_texts.strings = names->strings;
	view->own_texts.column = adv_view_column(view, "name");
	return name_calls(detail, names, err);
}

static void begin_calls(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present =
		(source->detail->has & NP_DETAIL_CALLS) != 0 && source->detail->calls.count > 0;
	view->items[0] = VIEW_ITEMS(source->detail->calls);
	view->open = open_calls;
	view->close = close_calls;
}

const struct adv_view_description adv_view_cann_api = {
	.name = "v_cann_api",
	VIEW_OF_TABLES(call),
	.begin = begin_calls,
	.scope = VIEW_RANK,
	.typical = 40000,
	.what = "calls of CANN, named as in traces: AscendCL@…, Node@…, Runtime@…, Model@…",
	.data = NP_DATA_CALLS,
};

/* The stacks that calls have, each once. */
struct known_stack {
	np_str id;
};

static struct np_cell stack_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)row;
	return np_cell_text(
		np_detail_text(view_detail(view), ((const struct known_stack *)item)->id));
}

static struct np_cell frame_cell(const struct adv_view *view, size_t row, const void *item)
{
	const char *text =
		np_detail_text(view_detail(view), ((const struct known_stack *)item)->id);
	size_t length = 0;
	const char *frame = text ? adv_user_frame(text, &length) : NULL;

	(void)row;
	return frame ? np_cell_bytes(frame, length) : np_cell_null();
}

/* clang-format off */
#define STACK_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(stack_id, NP_INTEGER, VIEW_NUMBER(known_stack, id)) \
	X(stack, NP_TEXT, VIEW_GET(stack_cell)) \
	X(user_frame, NP_TEXT, VIEW_GET(frame_cell))
/* clang-format on */
VIEW_TABLES(stack, STACK_COLUMNS);

static int compare_stacks(const void *a, const void *b)
{
	return np_order(((const struct known_stack *)a)->id, ((const struct known_stack *)b)->id);
}

static int open_stacks(struct adv_view *view, struct np_err *err)
{
	const struct np_detail *detail = view_detail(view);
	NP_VEC(struct known_stack) list = { 0 };
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		np_str id = detail->framework.item[i].stack;
		struct known_stack *slot = id == NP_STR_NONE ? NULL : np_vec_add(&list, err);

		if (slot)
			slot->id = id;
		else if (id != NP_STR_NONE)
			rc = NP_E_NOMEM;
	}
	if (list.count > 0)
		qsort(list.item, list.count, sizeof(*list.item), compare_stacks);
	for (size_t i = 0; i < list.count; i++) {
		if (kept == 0 || list.item[kept - 1].id != list.item[i].id)
			list.item[kept++] = list.item[i];
	}
	list.count = kept;
	view->state = list.item;
	view->items[0] = VIEW_ITEMS(list);
	view->rows = list.count;
	return rc;
}

static void begin_stacks(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_STACKS) != 0;
	view->open = open_stacks;
}

const struct adv_view_description adv_view_stack = {
	.name = "v_stack",
	VIEW_OF_TABLES(stack),
	.begin = begin_stacks,
	.scope = VIEW_RANK,
	.what = "call stacks, and the innermost frame of each that is the user's own",
	.cure = "with_stack=True",
};

/* clang-format off */
#define GC_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_gc, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_gc, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_gc, start, end)) \
	X(tid, NP_INTEGER, VIEW_NUMBER(np_gc, tid))
/* clang-format on */
VIEW_TABLES(gc, GC_COLUMNS);

static void begin_gc(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_GC) != 0;
	view->items[0] = VIEW_ITEMS(source->detail->gc);
}

const struct adv_view_description adv_view_gc = {
	.name = "v_gc",
	VIEW_OF_TABLES(gc),
	.begin = begin_gc,
	.scope = VIEW_RANK,
	.what = "garbage collections of python",
	.cure = "experimental_config gc_detect_threshold",
};

static struct np_cell range_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_integer(((const struct np_mark *)item)->kind == NP_MARK_RANGE);
}

/* clang-format off */
#define MARK_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP(np_mark, step)) \
	X(tid, NP_INTEGER, VIEW_NUMBER(np_mark, tid)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_mark, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_mark, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_mark, start, end)) \
	X(message, NP_TEXT, VIEW_TEXT(np_mark, message)) \
	X(domain, NP_TEXT, VIEW_TEXT(np_mark, domain)) \
	X(is_range, NP_INTEGER, VIEW_GET(range_cell)) \
	X(device_start_ns, NP_INTEGER, VIEW_NUMBER(np_mark, device_start)) \
	X(device_end_ns, NP_INTEGER, VIEW_NUMBER(np_mark, device_end))
/* clang-format on */
VIEW_TABLES(mark, MARK_COLUMNS);

static void begin_marks(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_MARKS) != 0;
	view->items[0] = VIEW_ITEMS(source->detail->marks);
}

const struct adv_view_description adv_view_mark = {
	.name = "v_mark",
	VIEW_OF_TABLES(mark),
	.begin = begin_marks,
	.scope = VIEW_RANK,
	.what = "marks and ranges of mstx",
	.cure = "msprof_tx=True (mstx)",
};
