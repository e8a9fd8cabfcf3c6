/* SPDX-License-Identifier: Apache-2.0 */
/* A rank from the lines of msMonitor: one JSON object for each event. */
#include "load_trace.h"

#include "core/model/load/capture/capture.h"
#include "core/model/load/capture/statistics.h"
#include "core/model/load/text/text_files.h"
#include "core/model/vendor/hccl_types.h"

#include "npuprof/buf.h"
#include "npuprof/gz.h"
#include "npuprof/json.h"

#include <inttypes.h>
#include <strings.h>

/*
 * Kinds of events are there if they were asked for. Files are cut after so many lines, and
 * the oldest may be gone; what is known of communicators comes last, if the monitor was
 * stopped and not killed.
 */

/* A call of the host; steps are known only after all events. */
struct monitor_call {
	np_ns start;
	np_ns end;
	int64_t correlation;
	bool node;
};

struct monitor_op {
	np_ns start;
	np_ns end;
	int64_t correlation;
	int64_t device;
	int64_t bytes;
	uint64_t group;
	np_str name; /* bare, which is its type */
	np_str group_name;
	uint8_t data_type;
};

/* A range "step N": on the host, on the device, or on both. */
struct monitor_step {
	np_str id;
	struct np_span host; /* begin is NP_UNKNOWN without it */
	struct np_span device;
};

struct monitor {
	struct capture capture;
	struct np_rank *rank;
	NP_VEC(struct monitor_call) calls;
	NP_VEC(struct monitor_op) ops;
	NP_VEC(struct monitor_step) steps;
	struct np_idmap *step_index;   /* np_str of its id → steps */
	struct np_idmap *group_counts; /* hash of a communicator → its operators so far */
	struct np_idmap *call_index;   /* np_str of a function × levels + level → rank->calls */
	size_t lines;
	size_t bad_lines;
	size_t other_lines; /* of kinds that are not known */
	bool cut;           /* the last line of a file has no end */
};

/* --- members of a line ----------------------------------------------------------------------- */

static int64_t number(const struct np_json *line, const char *key)
{
	int64_t value;

	return np_json_integer(np_json_member(line, key), &value) ? value : NP_UNKNOWN;
}

static const char *text(const struct np_json *line, const char *key)
{
	const char *value = np_json_text(np_json_member(line, key));

	return value ? value : "";
}

static int intern(struct monitor *monitor, const char *value, np_str *ret)
{
	return np_strtab_add(monitor->capture.strings, value, strlen(value), ret,
			     monitor->capture.err);
}

static bool times(struct monitor *monitor, const struct np_json *line, struct np_span *ret)
{
	ret->begin = number(line, "startNs");
	ret->end = number(line, "endNs");
	if (vendor_time_ok(ret->begin, ret->end))
		return true;
	monitor->capture.impossible_times++;
	return false;
}

/* --- kinds of lines -------------------------------------------------------------------------- */

/* Levels as databases call them. */
static const struct {
	const char *kind;
	int64_t level;
} call_kinds[] = {
	{ "NodeAPI", VENDOR_API_NODE },
	{ "API", VENDOR_API_NODE },
	{ "AclAPI", VENDOR_API_ACL },
	{ "RuntimeAPI", VENDOR_API_RUNTIME },
};

static int count_call(struct monitor *monitor, const char *name, size_t kind, np_ns time)
{
	const char *level = vendor_api_name(call_kinds[kind].level);
	struct np_statistic *entry;
	uint32_t index;
	np_str id;
	int64_t key;
	int rc;

	if (!*name)
		return NP_OK;
	rc = intern(monitor, name, &id);
	if (rc < 0)
		return rc;
	key = (int64_t)id * (int64_t)NP_COUNT(call_kinds) + (int64_t)kind;
	index = np_idmap_get(monitor->call_index, key);
	if (index != NP_IDMAP_NONE) {
		statistics_add(&monitor->rank->calls.item[index], time);
		return NP_OK;
	}
	entry = np_vec_add(&monitor->rank->calls, monitor->capture.err);
	if (!entry)
		return NP_E_NOMEM;
	entry->name = id;
	statistics_add(entry, time);
	rc = intern(monitor, level, &entry->kind);
	return rc < 0 ? rc
		      : np_idmap_set(monitor->call_index, key,
				     (uint32_t)(monitor->rank->calls.count - 1),
				     monitor->capture.err);
}

static int take_call(struct monitor *monitor, const struct np_json *line, size_t kind)
{
	struct monitor_call *call;
	struct np_span span;
	int rc;

	if (!times(monitor, line, &span))
		return NP_OK;
	rc = count_call(monitor, text(line, "name"), kind, span.end - span.begin);
	if (rc < 0)
		return rc;
	call = np_vec_add(&monitor->calls, monitor->capture.err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct monitor_call){ span.begin, span.end, number(line, "correlationId"),
				       call_kinds[kind].level == VENDOR_API_NODE };
	return NP_OK;
}

/* The type of an operator is not there; what the device ran it on is. */
static int take_kernel(struct monitor *monitor, const struct np_json *line)
{
	const struct capture_row row = { .start = number(line, "startNs"),
					 .end = number(line, "endNs"),
					 .device = number(line, "deviceId"),
					 .connection = number(line, "correlationId"),
					 .stream = number(line, "streamId"),
					 .id = NP_UNKNOWN,
					 .key = NP_UNKNOWN,
					 .class = TASK_OTHER };
	uint32_t index;
	int rc = capture_add_task(&monitor->capture, &row, &index);

	if (rc == NP_OK && index != NP_IDMAP_NONE)
		monitor->capture.tasks.item[index].computes = true;
	return rc;
}

static int take_communication(struct monitor *monitor, const struct np_json *line)
{
	const char *group = text(line, "commName");
	const char *type = text(line, "dataType");
	char upper[16];
	struct monitor_op *op;
	struct np_span span;
	size_t length = strnlen(type, sizeof(upper) - 1);
	int rc;

	if (!times(monitor, line, &span))
		return NP_OK;
	op = np_vec_add(&monitor->ops, monitor->capture.err);
	if (!op)
		return NP_E_NOMEM;
	for (size_t i = 0; i < length; i++)
		upper[i] = (char)(type[i] >= 'a' && type[i] <= 'z' ? type[i] - 'a' + 'A' : type[i]);
	*op = (struct monitor_op){ .start = span.begin,
				   .end = span.end,
				   .correlation = number(line, "correlationId"),
				   .device = number(line, "deviceId"),
				   .group = np_group_hash(group, strlen(group)),
				   .data_type =
					   hccl_type_kept((struct np_slice){ upper, length }) };
	op->bytes =
		op->data_type ? hccl_bytes(number(line, "count"), op->data_type - 1) : NP_UNKNOWN;
	rc = intern(monitor, text(line, "name"), &op->name);
	return rc < 0 ? rc : intern(monitor, group, &op->group_name);
}

/* "step 12" of torch_npu's dynamic profiler; false for other marks. */
static bool is_step(const char *name, const char **ret_id)
{
	static const char word[] = "step ";
	size_t digits;

	if (strncmp(name, word, strlen(word)) != 0)
		return false;
	*ret_id = name + strlen(word);
	digits = strspn(*ret_id, "0123456789");
	return digits > 0 && (*ret_id)[digits] == '\0';
}

static int find_step(struct monitor *monitor, const char *label, struct monitor_step **ret)
{
	uint32_t index;
	np_str id;
	int rc = intern(monitor, label, &id);

	if (rc < 0)
		return rc;
	index = np_idmap_get(monitor->step_index, id);
	if (index != NP_IDMAP_NONE) {
		*ret = &monitor->steps.item[index];
		return NP_OK;
	}
	*ret = np_vec_add(&monitor->steps, monitor->capture.err);
	if (!*ret)
		return NP_E_NOMEM;
	**ret = (struct monitor_step){ id, { NP_UNKNOWN, NP_UNKNOWN }, { NP_UNKNOWN, NP_UNKNOWN } };
	return np_idmap_set(monitor->step_index, id, (uint32_t)(monitor->steps.count - 1),
			    monitor->capture.err);
}

static int take_marker(struct monitor *monitor, const struct np_json *line)
{
	bool device = strcasecmp(text(line, "sourceKind"), "Device") == 0;
	const char *name = text(line, "name");
	const char *domain = text(line, "domain");
	struct monitor_step *step;
	const char *id;
	struct np_span span;
	bool is_range;
	int rc;

	if (!times(monitor, line, &span))
		return NP_OK;
	if (monitor->capture.choice.want == NP_WANT_RANGE) {
		rc = capture_is_range(&monitor->capture, name, strlen(name), &is_range);
		if (rc < 0 || device || !is_range)
			return rc;
		return capture_add_range(&monitor->capture, name, strlen(name), span.begin,
					 span.end);
	}
	if (!np_steps_read_marks(&monitor->capture.choice) ||
	    (*domain && strcmp(domain, "default") != 0) || !is_step(name, &id))
		return NP_OK;
	rc = find_step(monitor, id, &step);
	if (rc < 0)
		return rc;
	*(device ? &step->device : &step->host) = span;
	return NP_OK;
}

/* JSON in a text. */
static int take_groups(struct monitor *monitor, const struct np_json *line)
{
	NP_CLEANUP(np_json_freep) struct np_json *groups = NULL;
	const char *value = text(line, "value");
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!*value)
		return NP_OK;
	rc = np_json_parse(value, strlen(value), "parallel_group_info", &groups, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(monitor->capture.err, rc, "%s", problem.text);
	if (rc < 0) {
		np_note_add(&monitor->rank->notes, NP_NOTE_SKIPPED, monitor->rank->id,
			    monitor->capture.path, "parallel_group_info", "%s", problem.text);
		return NP_OK;
	}
	return np_load_metadata_value(monitor->rank, "parallel_group_info", groups,
				      monitor->capture.strings, monitor->capture.err);
}

static int take_object(struct monitor *monitor, const struct np_json *line)
{
	const char *kind = text(line, "kind");

	for (size_t i = 0; i < NP_COUNT(call_kinds); i++) {
		if (strcmp(kind, call_kinds[i].kind) == 0)
			return take_call(monitor, line, i);
	}
	if (strcmp(kind, "Kernel") == 0)
		return take_kernel(monitor, line);
	if (strcmp(kind, "Communication") == 0)
		return take_communication(monitor, line);
	if (strcmp(kind, "Marker") == 0)
		return take_marker(monitor, line);
	if (strcmp(kind, "parallel_group_info") == 0)
		return take_groups(monitor, line);
	monitor->other_lines += strcmp(kind, "rank_device_map") != 0;
	return NP_OK;
}

/* --- lines ----------------------------------------------------------------------------------- */

static int take_line(struct monitor *monitor, const char *bytes, size_t length, bool ended)
{
	NP_CLEANUP(np_json_freep) struct np_json *line = NULL;
	struct np_err problem = NP_ERR_INIT;
	int rc;

	while (length > 0 && (bytes[length - 1] == '\r' || bytes[length - 1] == ' '))
		length--;
	if (length == 0)
		return NP_OK;
	rc = np_json_parse(bytes, length, monitor->capture.path, &line, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(monitor->capture.err, rc, "%s", problem.text);
	monitor->lines++;
	if (rc == NP_OK && np_json_type(line) == NP_JSON_OBJECT)
		return take_object(monitor, line);
	if (ended)
		monitor->bad_lines++;
	else
		monitor->cut = true;
	return NP_OK;
}

static int read_file(struct monitor *monitor, const char *path)
{
	NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
	struct np_window window;
	int rc = np_gz_open(path, &gz, &window, monitor->capture.err);

	while (rc == NP_OK && window.length > 0) {
		size_t used = 0;
		char *end;

		while (rc == NP_OK &&
		       (end = memchr(window.bytes + used, '\n', window.length - used))) {
			size_t length = (size_t)(end - window.bytes) - used;

			rc = take_line(monitor, window.bytes + used, length, true);
			used += length + 1;
		}
		if (rc == NP_OK && window.ended)
			return take_line(monitor, window.bytes + used, window.length - used, false);
		if (rc == NP_OK)
			rc = np_gz_more(gz, used, &window, monitor->capture.err);
	}
	return rc;
}

/* One of several files that cannot be read costs itself. */
static int read_files(struct monitor *monitor, const struct np_source_files *source)
{
	int rc = read_file(monitor, source->file[NP_FILE_TRACE]);
	bool any = rc == NP_OK;

	for (size_t i = 0; i < source->more_traces.count && rc != NP_E_NOMEM; i++) {
		struct np_err first = *monitor->capture.err;
		int next;

		*monitor->capture.err = NP_ERR_INIT;
		next = read_file(monitor, source->more_traces.item[i]);
		any |= next == NP_OK;
		if (rc < 0)
			np_note_add(&monitor->rank->notes, NP_NOTE_SKIPPED, monitor->rank->id,
				    source->dir, "msMonitor", "%s", first.text);
		rc = next;
	}
	if (rc < 0 && rc != NP_E_NOMEM && any) {
		np_note_add(&monitor->rank->notes, NP_NOTE_SKIPPED, monitor->rank->id, source->dir,
			    "msMonitor", "%s", monitor->capture.err->text);
		*monitor->capture.err = NP_ERR_INIT;
		rc = NP_OK;
	}
	return rc;
}

/* --- what follows from them ------------------------------------------------------------------ */

static int add_steps(struct monitor *monitor)
{
	int rc = NP_OK;

	for (size_t i = 0; i < monitor->steps.count && rc == NP_OK; i++) {
		const struct monitor_step *step = &monitor->steps.item[i];
		struct np_span span = step->host.begin != NP_UNKNOWN ? step->host : step->device;

		rc = capture_add_step(&monitor->capture, step->id, span.begin, span.end);
	}
	if (rc == NP_OK && monitor->capture.choice.want == NP_WANT_RANGE)
		rc = capture_steps_of_ranges(&monitor->capture);
	if (rc == NP_OK && monitor->rank->steps.count == 0)
		rc = capture_add_step(&monitor->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);
	if (rc == NP_OK)
		rc = capture_sort_steps(&monitor->capture);
	return rc;
}

static void widen(struct monitor *monitor, int64_t connection, np_ns start, np_ns end)
{
	const struct capture_launch *launch = capture_launch_of(&monitor->capture, connection);

	if (launch && launch->step != NP_NO_STEP)
		capture_widen_step(&monitor->capture, launch->step, start, end);
}

static int make_steps(struct monitor *monitor)
{
	struct capture *capture = &monitor->capture;
	int rc = add_steps(monitor);

	for (size_t i = 0; i < monitor->calls.count && rc == NP_OK; i++) {
		const struct monitor_call *call = &monitor->calls.item[i];

		if (call->correlation == NP_UNKNOWN)
			continue;
		rc = call->node ? capture_launch(capture, call->correlation, call->start, call->end)
				: capture_call(capture, call->correlation, call->start, call->end);
	}
	for (size_t i = 0; i < capture->tasks.count && rc == NP_OK; i++)
		widen(monitor, capture->tasks.item[i].connection, capture->tasks.item[i].start,
		      capture->tasks.item[i].end);
	for (size_t i = 0; i < monitor->ops.count && rc == NP_OK; i++)
		widen(monitor, monitor->ops.item[i].correlation, monitor->ops.item[i].start,
		      monitor->ops.item[i].end);
	/* They are sorted now: find the marks again by their ids. */
	for (size_t i = 0; i < monitor->rank->steps.count && rc == NP_OK; i++) {
		uint32_t index = np_idmap_get(monitor->step_index, monitor->rank->steps.item[i].id);
		const struct np_span *device =
			index == NP_IDMAP_NONE ? NULL : &monitor->steps.item[index].device;

		if (device && device->begin != NP_UNKNOWN)
			capture_widen_step(capture, (uint32_t)i, device->begin, device->end);
	}
	return rc < 0 ? rc : capture_close_steps(capture);
}

/* As its databases call it: the number is that of the operator in its communicator. */
static int name_op(struct monitor *monitor, const struct monitor_op *from, np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	uint32_t count = np_idmap_get(monitor->group_counts, (int64_t)from->group);
	int rc;

	if (count == NP_IDMAP_NONE)
		count = 0;
	rc = np_idmap_set(monitor->group_counts, (int64_t)from->group, count + 1,
			  monitor->capture.err);
	if (rc < 0)
		return rc;
	np_buf_printf(&name, "%s_%03" PRIu64 "_%" PRIu32 "_1",
		      np_strtab_text(monitor->capture.strings, from->name), from->group % 1000,
		      count);
	rc = np_buf_check(&name, monitor->capture.err);
	return rc < 0 ? rc : intern(monitor, name.text, ret);
}

static int by_start(const void *left, const void *right)
{
	const struct monitor_op *a = left;
	const struct monitor_op *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int add_op(struct monitor *monitor, const struct monitor_op *from)
{
	struct np_rank *rank = monitor->rank;
	struct np_comm_op *op;
	uint32_t group;
	int rc = np_rank_group(rank, from->group, &group, monitor->capture.err);

	if (rc < 0)
		return rc;
	if (rank->groups.item[group].name == NP_STR_NONE)
		rank->groups.item[group].name = from->group_name;
	op = capture_add_op(&monitor->capture, from->start, from->end, from->correlation);
	if (!op)
		return NP_E_NOMEM;
	op->type = from->name;
	op->group = group;
	op->bytes = from->bytes;
	op->data_type = from->data_type & 31U;
	op->p2p = np_op_is_p2p(np_strtab_text(monitor->capture.strings, from->name));
	op->device = capture_op_device(&monitor->capture, from->device, from->correlation);
	return name_op(monitor, from, &op->name);
}

static void note_oddities(struct monitor *monitor)
{
	struct np_notes *notes = &monitor->rank->notes;
	const char *path = monitor->capture.path;

	capture_note_oddities(&monitor->capture);
	if (monitor->bad_lines > 0)
		np_note_add(notes, np_note_of_loss(monitor->bad_lines, monitor->lines),
			    monitor->rank->id, path, "msMonitor",
			    "%zu of %zu lines cannot be read and are left out", monitor->bad_lines,
			    monitor->lines);
	if (monitor->other_lines > 0)
		np_note_add(notes, NP_NOTE_WARNING, monitor->rank->id, path, "msMonitor",
			    "%zu lines are of kinds that are not known", monitor->other_lines);
	if (monitor->cut)
		np_note_add(notes, NP_NOTE_SKIPPED, monitor->rank->id, path, "msMonitor",
			    "the last line is cut off");
}

static int derive(struct monitor *monitor)
{
	int rc;

	if (monitor->capture.tasks.count == 0 && monitor->ops.count == 0)
		return np_fail(monitor->capture.err, NP_E_NOTFOUND,
			       "'%s' has neither kernels nor communication: start the monitor with"
			       " Kernel and Communication",
			       monitor->capture.path);
	rc = make_steps(monitor);
	if (monitor->ops.count > 0)
		qsort(monitor->ops.item, monitor->ops.count, sizeof(monitor->ops.item[0]),
		      by_start);
	for (size_t i = 0; i < monitor->ops.count && rc == NP_OK; i++)
		rc = add_op(monitor, &monitor->ops.item[i]);
	if (rc == NP_OK)
		rc = capture_find_steps(&monitor->capture);
	return rc < 0 ? rc : capture_measure(&monitor->capture);
}

int np_load_monitor(struct np_rank *rank, const struct np_source_files *source,
		    struct np_strtab *strings, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct monitor monitor = { .rank = rank,
				   .capture = { .rank = rank,
						.strings = strings,
						.path = source->file[NP_FILE_TRACE],
						.choice = source->steps,
						.err = err ? err : &own } };
	int rc = capture_begin(&monitor.capture);

	monitor.call_index = np_idmap_new();
	monitor.step_index = np_idmap_new();
	monitor.group_counts = np_idmap_new();
	if (rc == NP_OK && (!monitor.call_index || !monitor.step_index || !monitor.group_counts))
		rc = np_fail_nomem(monitor.capture.err, "lines");
	if (rc == NP_OK)
		rc = read_files(&monitor, source);
	if (rc == NP_OK)
		rc = derive(&monitor);
	if (rc == NP_OK) {
		rank->device_count = monitor.capture.devices.count;
		rank->device = rank->device_count ? monitor.capture.devices.item[0] : -1;
		rank->step_source = NP_FROM_TRACE;
		rank->comm_source = rank->ops.count ? NP_FROM_TRACE : NP_FROM_NOTHING;
		rank->exposed_source = rank->comm_source;
		rank->contents |= monitor.calls.count ? NP_HAS_HOST_CALLS : 0;
		note_oddities(&monitor);
	}
	capture_end(&monitor.capture);
	np_vec_release(&monitor.calls);
	np_vec_release(&monitor.ops);
	np_vec_release(&monitor.steps);
	np_idmap_free(monitor.group_counts);
	np_idmap_free(monitor.step_index);
	np_idmap_free(monitor.call_index);
	return rc;
}
