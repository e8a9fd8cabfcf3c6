/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of Nsight Systems as events: a pass over each of its tables, one after the other. */
#include "nsys.h"

#include "tables.h"

#include "npuprof/arena.h"
#include "npuprof/buf.h"
#include "npuprof/db.h"
#include "npuprof/idmap.h"
#include "npuprof/scan.h"
#include "npuprof/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MODULE_PREFIX "nn.Module: "
#define STEP_PREFIX   "ProfilerStep#"

/* NVTX_EVENTS.eventType of a range of one thread (push and pop), and of any (start and end). */
#define NVTX_PUSH_POP  59
#define NVTX_START_END 60

/* --- tables ---------------------------------------------------------------------------------- */

enum {
	TEXT_ID,
	TEXT_VALUE,
	TEXT_COLUMNS,
};

static const struct np_scan_column text_columns[TEXT_COLUMNS] = {
	[TEXT_ID] = { "id", NP_SCAN_INTEGER, NP_REQUIRED },
	[TEXT_VALUE] = { "value", NP_SCAN_TEXT, NP_REQUIRED },
};

/* All that happens on a device or in a call: where a table lacks a column it has no values. */
enum {
	ROW_START,
	ROW_END,
	ROW_DEVICE,
	ROW_STREAM,
	ROW_CORRELATION,
	ROW_NAME,
	ROW_THREAD,
	ROW_EVENT, /* of NVTX: the type */
	ROW_TEXT,  /* likewise, where it is no id */
	ROW_COLUMNS,
};

static const struct np_scan_column kernel_columns[ROW_COLUMNS] = {
	[ROW_START] = { "start", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_END] = { "end", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_STREAM] = { "streamId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_CORRELATION] = { "correlationId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_NAME] = { "demangledName|shortName", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_THREAD] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_EVENT] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_TEXT] = { "", NP_SCAN_TEXT, NP_OPTIONAL },
};

static const struct np_scan_column call_columns[ROW_COLUMNS] = {
	[ROW_START] = { "start", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_END] = { "end", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_DEVICE] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_STREAM] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_CORRELATION] = { "correlationId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_NAME] = { "nameId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_EVENT] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_TEXT] = { "", NP_SCAN_TEXT, NP_OPTIONAL },
};

static const struct np_scan_column copy_columns[ROW_COLUMNS] = {
	[ROW_START] = { "start", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_END] = { "end", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_STREAM] = { "streamId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_CORRELATION] = { "correlationId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_NAME] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_THREAD] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_EVENT] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_TEXT] = { "", NP_SCAN_TEXT, NP_OPTIONAL },
};

static const struct np_scan_column range_columns[ROW_COLUMNS] = {
	[ROW_START] = { "start", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_END] = { "end", NP_SCAN_INTEGER, NP_REQUIRED },
	[ROW_DEVICE] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_STREAM] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_CORRELATION] = { "", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_NAME] = { "textId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_EVENT] = { "eventType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[ROW_TEXT] = { "text", NP_SCAN_TEXT, NP_OPTIONAL },
};

#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"

/* The passes, in order; the category is Kineto's. Calls come first: they say that it is a GPU. */
static const struct {
	const char *table;
	const struct np_scan_column *columns;
	const char *category; /* NULL: of a range, by its name */
} passes[] = {
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, "cuda_runtime" },
	{ KERNELS, kernel_columns, "kernel" },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, "gpu_memcpy" },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", copy_columns, "gpu_memset" },
	{ "NVTX_EVENTS", range_columns, NULL },
};

/* --- texts ----------------------------------------------------------------------------------- */

struct nsys_events {
	struct np_db *db;
	struct np_arena *arena;
	struct np_idmap *text_of; /* StringIds.id → texts */
	NP_VEC(struct np_slice) texts;
	bool modules;
	size_t pass;
	struct np_scan *scan; /* NULL: the pass has not begun */
	struct np_batch batch;
	size_t row;
	struct np_trace_event event;
	struct np_buf name;
	char args[160];
	char scratch[160];
};

static int take_text(struct nsys_events *events, int64_t id, const struct np_scan_text *text,
		     struct np_err *err)
{
	struct np_slice *slot;
	char *kept;

	if (!text->bytes || id == NP_UNKNOWN)
		return NP_OK;
	kept = np_arena_text(events->arena, text->bytes, text->length);
	slot = kept ? np_vec_add(&events->texts, err) : NULL;
	if (!slot)
		return np_fail_nomem(err, "texts");
	*slot = (struct np_slice){ kept, text->length };
	return np_idmap_set(events->text_of, id, (uint32_t)(events->texts.count - 1), err);
}

static int read_texts(struct nsys_events *events, struct np_err *err)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc = np_scan_open(events->db, "StringIds", text_columns, TEXT_COLUMNS, &scan, err);

	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, err);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++)
			rc = take_text(events, batch.column[TEXT_ID].integer[i],
				       &batch.column[TEXT_VALUE].text[i], err);
	}
	return rc;
}

static struct np_slice text_of(const struct nsys_events *events, int64_t id)
{
	uint32_t index = id == NP_UNKNOWN ? NP_IDMAP_NONE : np_idmap_get(events->text_of, id);

	return index == NP_IDMAP_NONE ? (struct np_slice){ "", 0 } : events->texts.item[index];
}

/* --- opening --------------------------------------------------------------------------------- */

bool nsys_is(const char *path)
{
	static const char head[] = "SQLite format 3";
	char found[sizeof(head)] = { 0 };
	FILE *file = fopen(path, "re");
	bool is = file && fread(found, 1, sizeof(found), file) == sizeof(found) &&
		  memcmp(found, head, sizeof(head)) == 0;

	if (file)
		(void)fclose(file);
	return is;
}

void nsys_close(struct nsys_events *events)
{
	if (!events)
		return;
	np_scan_close(events->scan);
	np_db_close(events->db);
	np_arena_free(events->arena);
	np_idmap_free(events->text_of);
	np_vec_release(&events->texts);
	np_buf_release(&events->name);
	free(events);
}

void nsys_closep(struct nsys_events **events)
{
	nsys_close(*events);
}

static int open_db(struct nsys_events *events, const char *path, struct np_err *err)
{
	int rc;

	events->arena = np_arena_new();
	events->text_of = np_idmap_new();
	if (!events->arena || !events->text_of)
		return np_fail_nomem(err, path);
	rc = np_db_open(path, &events->db, err);
	if (rc == NP_OK && !np_db_has_table(events->db, KERNELS))
		rc = np_fail(err, NP_E_NOTFOUND,
			     "'%s' is no database of Nsight Systems with kernels (no " KERNELS
			     "): profile with --trace=cuda,nvtx and export with --type sqlite",
			     path);
	return rc < 0 ? rc : read_texts(events, err);
}

int nsys_open(const char *path, bool modules, struct nsys_events **ret, struct np_err *err)
{
	NP_CLEANUP(nsys_closep) struct nsys_events *events = calloc(1, sizeof(*events));
	int rc;

	if (!events)
		return np_fail_nomem(err, path);
	events->modules = modules;
	rc = open_db(events, path, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(events);
	return rc;
}

/* --- events ---------------------------------------------------------------------------------- */

static struct np_slice slice(const char *text)
{
	return (struct np_slice){ text, strlen(text) };
}

/* An operator, a step, or a module; `false` for what is no range of a thread. */
static bool describe_range(struct nsys_events *events, struct np_slice name)
{
	struct np_trace_event *event = &events->event;
	const char *comma;

	if (name.length == 0)
		return false;
	event->name = name;
	event->cat = slice("user_annotation");
	if (memmem(name.bytes, name.length, "::", 2)) {
		comma = memchr(name.bytes, ',', name.length);
		event->name.length = comma ? (size_t)(comma - name.bytes) : name.length;
		event->cat = slice("cpu_op");
		return event->name.length > 0;
	}
	if (!events->modules || np_slice_begins(name, STEP_PREFIX))
		return true;
	np_buf_clear(&events->name);
	np_buf_add(&events->name, MODULE_PREFIX);
	np_buf_add_bytes(&events->name, name.bytes, name.length);
	if (events->name.failed)
		return true;
	event->name = (struct np_slice){ events->name.text, events->name.length };
	event->cat = slice("python_function");
	return true;
}

static void add_number(char *text, size_t size, const char *name, int64_t value)
{
	size_t used = strlen(text);

	if (value != NP_UNKNOWN)
		(void)snprintf(text + used, size - used, "%s\"%s\":%" PRId64, used > 1 ? "," : "",
			       name, value);
}

/* Columns that a table does not have hold nothing. */
static int64_t number_at(const struct nsys_events *events, size_t column, size_t row)
{
	return *passes[events->pass].columns[column].names
		       ? events->batch.column[column].integer[row]
		       : NP_UNKNOWN;
}

/* The row as an event; false for one that is none. */
static bool describe(struct nsys_events *events, size_t row)
{
	const char *category = passes[events->pass].category;
	struct np_trace_event *event = &events->event;
	np_ns start = number_at(events, ROW_START, row);
	np_ns end = number_at(events, ROW_END, row);
	int64_t thread = category && passes[events->pass].columns != call_columns
				 ? number_at(events, ROW_STREAM, row)
				 : number_at(events, ROW_THREAD, row);
	const struct np_scan_text *text;
	size_t used;
	int64_t type;

	if (start == NP_UNKNOWN || end == NP_UNKNOWN || end < start)
		return false;
	*event = (struct np_trace_event){
		.phase = 'X',
		.ts_ns = start,
		.dur_ns = end - start,
		.tid = { .text = slice(thread == NP_UNKNOWN ? "" : "0"),
			 .value = thread,
			 .number = thread != NP_UNKNOWN },
		.scratch = events->scratch,
	};
	if (category) {
		event->cat = slice(category);
		event->name = text_of(events, number_at(events, ROW_NAME, row));
		if (event->name.length == 0)
			event->name = slice(category);
		(void)snprintf(events->args, sizeof(events->args), "{");
		add_number(events->args, sizeof(events->args), "device",
			   number_at(events, ROW_DEVICE, row));
		add_number(events->args, sizeof(events->args), "stream",
			   number_at(events, ROW_STREAM, row));
		add_number(events->args, sizeof(events->args), "correlation",
			   number_at(events, ROW_CORRELATION, row));
		used = strlen(events->args);
		(void)snprintf(events->args + used, sizeof(events->args) - used, "}");
		event->args = slice(events->args);
		return true;
	}
	type = number_at(events, ROW_EVENT, row);
	text = &events->batch.column[ROW_TEXT].text[row];
	if (type != NP_UNKNOWN && type != NVTX_PUSH_POP && type != NVTX_START_END)
		return false;
	return describe_range(events, text->bytes && text->length
					      ? (struct np_slice){ text->bytes, text->length }
					      : text_of(events, number_at(events, ROW_NAME, row)));
}

/* Rows of the pass, or of the next one that has a table. */
static int fill(struct nsys_events *events, struct np_err *err)
{
	int rc = NP_OK;

	while (rc == NP_OK && events->pass < NP_COUNT(passes)) {
		if (!events->scan) {
			rc = np_scan_open(events->db, passes[events->pass].table,
					  passes[events->pass].columns, ROW_COLUMNS, &events->scan,
					  err);
			if (rc == NP_E_NOTFOUND) {
				events->pass++;
				rc = NP_OK;
				continue;
			}
		}
		if (rc == NP_OK)
			rc = np_scan_next(events->scan, &events->batch, err);
		events->row = 0;
		if (rc < 0 || events->batch.rows > 0)
			return rc;
		np_scan_close(events->scan);
		events->scan = NULL;
		events->pass++;
	}
	return rc;
}

int nsys_next(struct nsys_events *events, const struct np_trace_event **ret, struct np_err *err)
{
	*ret = NULL;
	for (;;) {
		int rc = NP_OK;

		if (!events->scan || events->row == events->batch.rows)
			rc = fill(events, err);
		if (rc < 0 || events->pass == NP_COUNT(passes))
			return rc;
		if (describe(events, events->row++)) {
			*ret = &events->event;
			return NP_OK;
		}
	}
}
