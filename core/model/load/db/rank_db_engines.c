/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communication that engines beside the NPU carried out (CCU, DPU_TASK): their work is the
 * sub-tasks of operators that have no others.
 */
#include "core/model/vendor/hccl_types.h"
#include "rank_db.h"

/* Operators that run at once are few: so many before a time are looked at. */
#define MOST_AT_ONCE 256

struct engines {
	struct rank_db *load;
	bool *has_tasks; /* by operator: COMMUNICATION_TASK_INFO has some */
	bool *unsure;    /* likewise: some rows may be of this one, or of another */
	bool sized;
	size_t orphans;
	size_t ambiguous; /* of one of several operators that ran at once */
	size_t bad_arguments;
};

/* What a row says of its operator. */
struct engine_op {
	struct np_slice group; /* empty: nothing */
	np_str name;           /* NP_STR_NONE: nothing */
};

/* --- arguments ------------------------------------------------------------------------------- */

/* Writers put keys and values into an array in turn, or make an object of them. */
static const struct np_json *argument(const struct np_json *arguments, const char *key)
{
	size_t count = np_json_count(arguments);

	if (np_json_type(arguments) == NP_JSON_OBJECT)
		return np_json_member(arguments, key);
	for (size_t i = 0; i + 1 < count; i += 2) {
		const char *name = np_json_text(np_json_item(arguments, i));

		if (name && strcmp(name, key) == 0)
			return np_json_item(arguments, i + 1);
	}
	return NULL;
}

static int64_t number(const struct np_json *arguments, const char *key)
{
	int64_t value;

	return np_json_integer(argument(arguments, key), &value) ? value : NP_UNKNOWN;
}

static struct np_slice word(const struct np_json *arguments, const char *key)
{
	const char *text = np_json_text(argument(arguments, key));

	return text ? (struct np_slice){ text, strlen(text) } : (struct np_slice){ "", 0 };
}

/* Without any, or with such as cannot be read, a row has its times. */
static int parse(struct engines *engines, int64_t id, struct np_json **ret)
{
	struct rank_db_text text = rank_db_text(engines->load, id);
	struct np_err problem = NP_ERR_INIT;

	if (text.length == 0)
		return NP_OK;
	if (np_json_parse(text.bytes, text.length, "args", ret, &problem) == NP_OK)
		return NP_OK;
	if (problem.code == NP_E_NOMEM)
		return np_fail(engines->load->err, NP_E_NOMEM, "%s", problem.text);
	engines->bad_arguments++;
	return NP_OK;
}

/* --- the operator of a row ------------------------------------------------------------------- */

/* "name(id)" without the id. */
static uint64_t group_of(struct np_slice text)
{
	const char *end = memrchr(text.bytes, '(', text.length);

	return np_group_hash(text.bytes, end ? (size_t)(end - text.bytes) : text.length);
}

/* Does the operator run then; is it of the communicator and has it the name, as far as given? */
static bool is_candidate(const struct engines *engines, const struct np_comm_op *op, np_ns start,
			 const struct engine_op *like)
{
	const struct rank_db *load = engines->load;

	return op->end > start &&
	       (like->group.length == 0 ||
		load->rank->groups.item[op->group].hash == group_of(like->group)) &&
	       (like->name == NP_STR_NONE || like->name == op->name);
}

/* NP_IDMAP_NONE where there is none, or several. */
static uint32_t find_op(struct engines *engines, np_ns start, const struct engine_op *like)
{
	const struct np_rank *rank = engines->load->rank;
	uint32_t found = NP_IDMAP_NONE;
	bool several = false;
	size_t low = 0;
	size_t high = rank->ops.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rank->ops.item[middle].start <= start)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && low - i <= MOST_AT_ONCE;) {
		if (!is_candidate(engines, &rank->ops.item[i], start, like))
			continue;
		/* Of none of them all rows are known then. */
		if (found != NP_IDMAP_NONE) {
			engines->unsure[found] = true;
			engines->unsure[i] = true;
			several = true;
		}
		found = (uint32_t)i;
	}
	engines->ambiguous += several;
	engines->orphans += found == NP_IDMAP_NONE;
	return several ? NP_IDMAP_NONE : found;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int add(struct engines *engines, const struct np_comm_task *task,
	       const struct engine_op *like)
{
	struct rank_db *load = engines->load;
	struct np_comm_task *slot;
	uint32_t op;

	if (!vendor_time_ok(task->start, task->end)) {
		load->capture.impossible_times++;
		return NP_OK;
	}
	if (load->rank->ops.count == 0)
		return load->capture.devices.count <= 1
			       ? capture_add_communication(&load->capture, task->start, task->end)
			       : NP_OK;
	op = find_op(engines, task->start, like);
	if (op == NP_IDMAP_NONE)
		return NP_OK;
	/* They are told there already. */
	if (engines->has_tasks[op])
		return NP_OK;
	slot = np_vec_add(&load->sub_task.list, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = *task;
	slot->op = op;
	engines->sized |= task->bytes != NP_UNKNOWN && task->bytes > 0;
	np_rank_meet(load->rank, op, task->src, task->dst);
	return NP_OK;
}

/* An engine waits for a rank that it names, or moves data. */
static int take_ccu(struct engines *engines, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_json_freep) struct np_json *arguments = NULL;
	struct rank_db_text name =
		rank_db_text(engines->load, batch->column[CCU_NAME].integer[row]);
	bool waits = name.length >= 4 && strncasecmp(name.bytes, "wait", 4) == 0;
	struct np_comm_task task = { .start = batch->column[CCU_START].integer[row],
				     .end = batch->column[CCU_END].integer[row],
				     .src = NP_NO_PEER,
				     .link = NP_LINK_UB,
				     .transport = NP_TRANSPORT_UB };
	int rc = parse(engines, batch->column[CCU_ARGUMENTS].integer[row], &arguments);

	if (rc < 0)
		return rc;
	task.kind = waits ? NP_TASK_NOTIFY_WAIT : NP_TASK_PAYLOAD;
	task.dst = waits ? np_peer_of(number(arguments, "Notify Rank ID")) : NP_NO_PEER;
	task.bytes = waits ? 0 : vendor_bytes(number(arguments, "Data Size"));
	return add(engines, &task, &(struct engine_op){ { "", 0 }, NP_STR_NONE });
}

static void set_kind(struct np_comm_task *task, struct np_slice type, struct np_slice rdma)
{
	enum sub_task_kind kind = vendor_sub_task_kind(type.bytes, type.length);

	task->kind = NP_TASK_OTHER;
	task->reduces = kind == SUB_TASK_REDUCE;
	if (hccl_is_rdma_payload(rdma))
		task->kind = NP_TASK_RDMA_PAYLOAD;
	else if (kind == SUB_TASK_WAIT)
		task->kind = NP_TASK_NOTIFY_WAIT;
	else if (kind == SUB_TASK_PAYLOAD || kind == SUB_TASK_REDUCE)
		task->kind = NP_TASK_PAYLOAD;
}

/* What these units do beside communication has a task type instead of an operator type. */
static int take_dpu(struct engines *engines, const struct np_batch *batch, size_t row)
{
	NP_CLEANUP(np_json_freep) struct np_json *arguments = NULL;
	struct np_comm_task task = { .start = batch->column[DPU_START].integer[row],
				     .end = batch->column[DPU_END].integer[row] };
	struct engine_op like = { .name = NP_STR_NONE };
	struct rank_db_text name;
	struct np_slice type;
	int64_t plane;
	int rc = parse(engines, batch->column[DPU_ARGUMENTS].integer[row], &arguments);

	if (rc < 0)
		return rc;
	type = word(arguments, "OP Type");
	if (type.length == 0)
		return NP_OK;
	plane = number(arguments, "Plane Id");
	task.plane = plane < 0 || plane >= VENDOR_NO_NUMBER ? 0 : (uint32_t)plane;
	task.src = np_peer_of(number(arguments, "Src Rank"));
	task.dst = np_peer_of(number(arguments, "Dst Rank"));
	task.bytes = vendor_bytes(number(arguments, "Size(Byte)"));
	task.link = hccl_link_number(word(arguments, "Link Type"));
	task.transport = hccl_transport_number(word(arguments, "Transport Type"));
	set_kind(&task, type, word(arguments, "Rdma Type"));
	like.group = word(arguments, "Group Name");
	/* Some versions name the operator, others the task. */
	name = rank_db_text(engines->load, batch->column[DPU_NAME].integer[row]);
	if (memmem(name.bytes, name.length, "__", 2))
		rc = rank_db_intern(engines->load, batch->column[DPU_NAME].integer[row],
				    &like.name);
	return rc < 0 ? rc : add(engines, &task, &like);
}

/* --- the tables ------------------------------------------------------------------------------ */

typedef int take_engine_row(struct engines *engines, const struct np_batch *batch, size_t row);

/* A damaged table costs itself. */
static int read_table(struct engines *engines, const struct vendor_table *table,
		      take_engine_row *take)
{
	const struct vendor_pick all = { table, 0, 0 };
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct rank_db *load = engines->load;
	struct np_err problem = NP_ERR_INIT;
	struct np_batch batch;
	int rc;

	if (!np_db_has_rows(load->db, table->name))
		return NP_OK;
	engines->orphans = 0;
	engines->ambiguous = 0;
	engines->bad_arguments = 0;
	rc = vendor_scan_open(load->db, &all, &scan, &problem);
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, &problem);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++)
			rc = take(engines, &batch, i);
		if (rc < 0)
			return rc;
	}
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, rc, "%s", problem.text);
	if (rc < 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), table->name, "%s", problem.text);
	if (engines->orphans > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), table->name,
			    "%zu rows belong to no operator of the file", engines->orphans);
	if (engines->ambiguous > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), table->name,
			    "%zu rows are of one of several operators that ran at once, and nothing"
			    " says of which: how much of these was transfer is not known",
			    engines->ambiguous);
	if (engines->bad_arguments > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), table->name,
			    "the arguments of %zu rows cannot be read", engines->bad_arguments);
	return NP_OK;
}

/* A part of the rows of an operator would make too little transfer of it. */
static void drop_unsure(const struct engines *engines)
{
	struct rank_db_sub_task *sub_task = &engines->load->sub_task;
	size_t kept = 0;

	for (size_t i = 0; i < sub_task->list.count; i++) {
		uint32_t op = sub_task->list.item[i].op;

		if (engines->has_tasks[op] || !engines->unsure[op])
			sub_task->list.item[kept++] = sub_task->list.item[i];
	}
	sub_task->list.count = kept;
}

bool rank_db_has_engines(struct np_db *db)
{
	return np_db_has_rows(db, vendor_ccu.name) || np_db_has_rows(db, vendor_dpu_task.name);
}

int rank_db_read_engines(struct rank_db *load)
{
	struct engines engines = { .load = load };
	bool only = load->sub_task.list.count == 0;
	int rc;

	if (!rank_db_has_engines(load->db))
		return NP_OK;
	engines.has_tasks = calloc(2 * load->rank->ops.count + 1, sizeof(bool));
	if (!engines.has_tasks)
		return np_fail_nomem(load->err, "communication tasks");
	engines.unsure = engines.has_tasks + load->rank->ops.count;
	for (size_t i = 0; i < load->sub_task.list.count; i++)
		engines.has_tasks[load->sub_task.list.item[i].op] = true;
	rc = read_table(&engines, &vendor_ccu, take_ccu);
	if (rc == NP_OK)
		rc = read_table(&engines, &vendor_dpu_task, take_dpu);
	if (rc == NP_OK)
		drop_unsure(&engines);
	/* Sub-tasks without planes and sizes are read by another rule, all or none. */
	if (only && engines.sized) {
		load->sub_task.form.has_links = true;
		load->sub_task.form.may_lack = true;
	}
	free(engines.has_tasks);
	return rc;
}
