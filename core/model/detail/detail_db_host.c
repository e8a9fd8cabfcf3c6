/* SPDX-License-Identifier: Apache-2.0 */
/* What the host did, from the rank database: calls of CANN and of the framework, and marks. */
#include "detail_db.h"

#include "npuprof/rank.h"

/* --- CANN ------------------------------------------------------------------------------------ */

static enum np_call_level level_of(struct detail_db *db, int64_t type)
{
	struct detail_text *name = detail_find_enum(db, DETAIL_API_TYPES, type);

	if (!name)
		return NP_CALL_OTHER;
	if (!name->level_known) {
		name->level = detail_call_level(name->bytes, name->length);
		name->level_known = true;
	}
	return name->level;
}

static int take_call(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[CALL_START].integer[row];
	np_ns end = batch->column[CALL_END].integer[row];
	struct np_call *call;

	if (!detail_time_ok(db->load, start, end))
		return NP_OK;
	if (db->detail->calls.count == 0)
		np_vec_expect(&db->detail->calls, db->about);
	if (np_vec_reserve(&db->detail->calls, 1, db->err) < 0)
		return NP_E_NOMEM;
	call = &db->detail->calls.item[db->detail->calls.count++];
	*call = (struct np_call){
		.start = start,
		.end = end,
		.tid = vendor_thread(batch->column[CALL_THREAD].integer[row]),
		.connection = vendor_known(batch->column[CALL_CONNECTION].integer[row]),
		.level = level_of(db, batch->column[CALL_TYPE].integer[row]),
		.step = NP_NO_STEP,
	};
	return detail_string(db, batch->column[CALL_NAME].integer[row], &call->name);
}

/* --- framework ------------------------------------------------------------------------------- */

static int end_chain(struct detail_db *db)
{
	np_str *slot;
	int rc;

	if (db->frames.length == 0)
		return NP_OK;
	slot = np_vec_add(&db->chains, db->err);
	if (!slot)
		return NP_E_NOMEM;
	rc = np_strtab_add(db->detail->strings, db->frames.text, db->frames.length, slot, db->err);
	np_buf_clear(&db->frames);
	return rc < 0 ? rc
		      : np_idmap_set(db->stacks, db->chain, (uint32_t)(db->chains.count - 1),
				     db->err);
}

/* Frames of a chain stand together, from the innermost outwards. */
static int take_frame(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	struct detail_text frame = detail_text_of(db, batch->column[CHAIN_FRAME].integer[row]);
	int64_t id = batch->column[CHAIN_ID].integer[row];
	int rc = NP_OK;

	if (id != db->chain)
		rc = end_chain(db);
	db->chain = id;
	if (db->frames.length > 0)
		np_buf_add_char(&db->frames, '\n');
	np_buf_add_bytes(&db->frames, frame.bytes, frame.length);
	return rc;
}

static int read_chains(struct detail_db *db)
{
	static const struct vendor_pick chains = { &vendor_callchains, 0, 0 };
	int rc = detail_each(db, &chains, take_frame);

	return rc < 0 ? rc : end_chain(db);
}

/* Of a row that is none of the others: steps are known by their names alone. */
static enum np_framework_kind detail_db_kind_by_name(struct detail_text *name)
{
	if (!name)
		return NP_FRAMEWORK_OP;
	if (name->names == DETAIL_NAMES_UNKNOWN)
		name->names = vendor_is_step(name->bytes) ? DETAIL_NAMES_STEP : DETAIL_NAMES_OP;
	return name->names == DETAIL_NAMES_STEP ? NP_FRAMEWORK_STEP : NP_FRAMEWORK_OP;
}

static bool kind_of(struct detail_db *db, int64_t type, struct detail_text *name,
		    enum np_framework_kind *ret)
{
	switch (type) {
	case VENDOR_TORCH_QUEUE:
		*ret = NP_FRAMEWORK_QUEUE;
		break;
	case VENDOR_TORCH_PYTHON:
		*ret = NP_FRAMEWORK_PYTHON;
		return detail_wants(db->load, NP_DETAIL_PYTHON);
	case VENDOR_TORCH_MARK:
		*ret = NP_FRAMEWORK_MARK;
		return true;
	default:
		*ret = detail_db_kind_by_name(name);
		break;
	}
	return detail_wants(db->load, NP_DETAIL_FRAMEWORK);
}

/* Only digits, signs and separators: a list of shapes and not of types. */
static enum detail_looks looks_of(const struct detail_text *text)
{
	for (size_t i = 0; i < text->length; i++) {
		if (!strchr("0123456789,;-[]() \r\n", text->bytes[i]) || text->bytes[i] == '\0')
			return DETAIL_LOOKS_OTHERWISE;
	}
	return DETAIL_LOOKS_LIKE_SHAPES;
}

static bool is_shapes(struct detail_db *db, int64_t id)
{
	struct detail_text *text = detail_find_text(db, id);

	if (!text)
		return true;
	if (text->looks == DETAIL_LOOKS_UNKNOWN)
		text->looks = looks_of(text);
	return text->looks == DETAIL_LOOKS_LIKE_SHAPES;
}

/* Exporters of 2025 write the shapes of inputs as their types and the other way round. */
static int inputs_of(struct detail_db *db, const struct np_batch *batch, size_t row,
		     struct np_framework_call *call)
{
	int64_t shapes = batch->column[TORCH_SHAPES].integer[row];
	int64_t types = batch->column[TORCH_TYPES].integer[row];
	int rc;

	if (shapes == NP_UNKNOWN && types == NP_UNKNOWN)
		return NP_OK;
	if (!is_shapes(db, shapes) && is_shapes(db, types)) {
		shapes = batch->column[TORCH_TYPES].integer[row];
		types = batch->column[TORCH_SHAPES].integer[row];
	}
	rc = detail_plain_string(db, shapes, &call->in_shapes);
	return rc < 0 ? rc : detail_plain_string(db, types, &call->in_dtypes);
}

static np_str stack_of(const struct detail_db *db, int64_t id)
{
	uint32_t chain = np_idmap_get(db->stacks, id);

	return chain == NP_IDMAP_NONE ? NP_STR_NONE : db->chains.item[chain];
}

static int take_torch(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[TORCH_START].integer[row];
	np_ns end = batch->column[TORCH_END].integer[row];
	struct detail_text *name = detail_find_text(db, batch->column[TORCH_NAME].integer[row]);
	enum np_framework_kind kind;
	struct np_framework_call *call;
	int rc = NP_OK;

	if (!kind_of(db, batch->column[TORCH_KIND].integer[row], name, &kind) ||
	    !detail_time_ok(db->load, start, end))
		return NP_OK;
	if (db->detail->framework.count == 0)
		np_vec_expect(&db->detail->framework, db->about);
	call = detail_add_framework(db->load);
	if (!call)
		return NP_E_NOMEM;
	call->start = start;
	call->end = end;
	call->kind = kind;
	call->tid = vendor_thread(batch->column[TORCH_THREAD].integer[row]);
	call->sequence = vendor_known(batch->column[TORCH_SEQUENCE].integer[row]);
	call->fwd_thread = vendor_known(batch->column[TORCH_FORWARD].integer[row]);
	if (call->fwd_thread == 0)
		call->fwd_thread = NP_UNKNOWN;
	/* Replaced by the links, once all are known. */
	call->first_link = (uint32_t)batch->column[TORCH_CONNECTION].integer[row];
	call->link_count = batch->column[TORCH_CONNECTION].integer[row] >= 0;
	if (detail_wants(db->load, NP_DETAIL_STACKS))
		call->stack = stack_of(db, batch->column[TORCH_CHAIN].integer[row]);
	if (detail_wants(db->load, NP_DETAIL_INPUTS))
		rc = inputs_of(db, batch, row, call);
	return rc < 0 ? rc : detail_intern_text(db, name, &call->name);
}

/* --- connections ----------------------------------------------------------------------------- */

static int take_connection(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	struct detail_row *pair;

	if (db->rows.count == 0)
		np_vec_expect(&db->rows, db->about);
	if (np_vec_reserve(&db->rows, 1, db->err) < 0)
		return NP_E_NOMEM;
	pair = &db->rows.item[db->rows.count++];
	*pair = (struct detail_row){ batch->column[CONNECTION_ID].integer[row],
				     batch->column[CONNECTION_VALUE].integer[row] };
	return NP_OK;
}

static int by_id(const void *left, const void *right)
{
	const struct detail_row *a = left;
	const struct detail_row *b = right;

	return a->id != b->id ? np_order(a->id, b->id) : np_order(a->value, b->value);
}

/* Files have them in order already. */
static void sort_rows(struct detail_db *db)
{
	for (size_t i = 1; i < db->rows.count; i++) {
		if (by_id(&db->rows.item[i - 1], &db->rows.item[i]) > 0) {
			qsort(db->rows.item, db->rows.count, sizeof(db->rows.item[0]), by_id);
			break;
		}
	}
}

/* Calls come mostly in the order of ids. */
static size_t detail_db_first_connection(const struct detail_db *db, int64_t id)
{
	size_t near = db->near;
	size_t low = 0;
	size_t high = db->rows.count;

	if (near < high && db->rows.item[near].id == id &&
	    (near == 0 || db->rows.item[near - 1].id < id))
		return near;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (db->rows.item[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Connections of calls, tasks and operators: other numbers tie calls of the framework together. */
static int add_launch(struct detail_db *db, int64_t connection)
{
	return connection == NP_UNKNOWN ? NP_OK : np_idset_add(db->launched, connection, db->err);
}

static int take_launch(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	return add_launch(db, vendor_known(batch->column[db->launch_column].integer[row]));
}

static int launches_of_table(struct detail_db *db, const struct vendor_table *table,
			     size_t connection)
{
	const struct vendor_pick pick = { table, VENDOR_BIT(connection), 0 };

	db->launch_column = connection;
	return detail_each(db, &pick, take_launch);
}

/* Tables that were read already are not read again. */
static int read_launches(struct detail_db *db)
{
	const struct np_detail *detail = db->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->tasks.count && rc == NP_OK; i++)
		rc = add_launch(db, detail->tasks.item[i].connection);
	if (rc == NP_OK && detail->tasks.count == 0)
		rc = launches_of_table(db, &vendor_task, TASK_CONNECTION);
	for (size_t i = 0; i < detail->calls.count && rc == NP_OK; i++)
		rc = add_launch(db, detail->calls.item[i].connection);
	if (rc == NP_OK && detail->calls.count == 0)
		rc = launches_of_table(db, &vendor_cann_api, CALL_CONNECTION);
	return rc < 0 ? rc : launches_of_table(db, &vendor_communication_op, OP_CONNECTION);
}

/* Most lead to tasks, which have an index; all that launch are gathered for the first that does
 * not. */
static int lead_of(struct detail_db *db, const struct np_framework_call *call, int64_t connection,
		   enum np_lead_kind *ret)
{
	int rc = NP_OK;

	*ret = NP_LEADS_TO_TASK;
	if (call->kind == NP_FRAMEWORK_QUEUE)
		*ret = NP_LEADS_TO_QUEUE;
	if (call->kind == NP_FRAMEWORK_QUEUE ||
	    np_idmap_get(db->task_of, connection) != NP_IDMAP_NONE)
		return NP_OK;
	if (!db->launches_known)
		rc = read_launches(db);
	db->launches_known = true;
	if (!np_idset_has(db->launched, connection))
		*ret = NP_LEADS_TO_BACKWARD;
	return rc;
}

static int link_call(struct detail_db *db, uint32_t index)
{
	struct np_framework_call *call = &db->detail->framework.item[index];
	int64_t id = call->link_count ? (int64_t)call->first_link : -1;
	size_t i;

	call->first_link = 0;
	call->link_count = 0;
	if (id < 0)
		return NP_OK;
	for (i = detail_db_first_connection(db, id);
	     i < db->rows.count && db->rows.item[i].id == id; i++) {
		struct np_framework_link *link;

		if (np_vec_reserve(&db->detail->links, 1, db->err) < 0)
			return NP_E_NOMEM;
		link = &db->detail->links.item[db->detail->links.count++];
		*link = (struct np_framework_link){ .id = db->rows.item[i].value, .call = index };
		if (lead_of(db, call, link->id, &link->kind) < 0)
			return NP_E_NOMEM;
	}
	db->near = i;
	return NP_OK;
}

/* Read CONNECTION_IDS; where the rows of an id begin, which mostly follow those of the last. */
static int detail_db_read_connections(struct detail_db *db)
{
	static const struct vendor_pick connections = { &vendor_connection_ids, 0, 0 };
	int rc = detail_each(db, &connections, take_connection);

	sort_rows(db);
	return rc;
}

static int read_framework(struct detail_db *db)
{
	static const struct vendor_pick all = { &vendor_pytorch_api, 0, 0 };
	static const struct vendor_pick always = {
		&vendor_pytorch_api,
		VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_END) | VENDOR_BIT(TORCH_THREAD) |
			VENDOR_BIT(TORCH_CONNECTION) | VENDOR_BIT(TORCH_NAME) |
			VENDOR_BIT(TORCH_SEQUENCE) | VENDOR_BIT(TORCH_FORWARD) |
			VENDOR_BIT(TORCH_KIND),
		0
	};
	bool inputs = detail_wants(db->load, NP_DETAIL_INPUTS | NP_DETAIL_STACKS);
	int rc = detail_db_read_connections(db);

	db->chain = NP_UNKNOWN;
	if (rc == NP_OK && detail_wants(db->load, NP_DETAIL_STACKS))
		rc = read_chains(db);
	if (rc == NP_OK)
		rc = detail_each(db, inputs ? &all : &always, take_torch);
	np_vec_expect(&db->detail->links, db->rows.count);
	for (uint32_t i = 0; i < db->detail->framework.count && rc == NP_OK; i++)
		rc = link_call(db, i);
	if (db->detail->framework.count > 0)
		detail_found(db->load, DETAIL_OF_FRAMEWORK | DETAIL_OF_FRAMEWORK_IN_BRIEF);
	return rc;
}

/* --- the framework in brief ------------------------------------------------------------------- */

static int add_dispatches(struct detail_db *db, np_ns end, int64_t id)
{
	size_t i;

	if (db->detail->dispatches.count == 0)
		np_vec_expect(&db->detail->dispatches, db->about);
	for (i = detail_db_first_connection(db, id);
	     i < db->rows.count && db->rows.item[i].id == id; i++) {
		struct np_dispatch *dispatch = np_vec_add(&db->detail->dispatches, db->err);

		if (!dispatch)
			return NP_E_NOMEM;
		*dispatch = (struct np_dispatch){ end, db->rows.item[i].value };
	}
	db->near = i;
	return NP_OK;
}

static int take_dispatch(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns end = batch->column[TORCH_END].integer[row];
	int64_t id = batch->column[TORCH_CONNECTION].integer[row];
	int64_t kind = batch->column[TORCH_KIND].integer[row];

	if (kind == VENDOR_TORCH_PYTHON || kind == VENDOR_TORCH_QUEUE || id < 0 ||
	    !detail_time_ok(db->load, end, end))
		return NP_OK;
	return add_dispatches(db, end, id);
}

static int add_operator(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	struct detail_text *name = detail_find_text(db, batch->column[TORCH_NAME].integer[row]);
	struct np_operator *added;

	if (detail_db_kind_by_name(name) != NP_FRAMEWORK_OP)
		return NP_OK;
	if (db->detail->operators.count == 0)
		np_vec_expect(&db->detail->operators, db->about);
	added = np_vec_add(&db->detail->operators, db->err);
	if (!added)
		return NP_E_NOMEM;
	added->start = batch->column[TORCH_START].integer[row];
	added->end = batch->column[TORCH_END].integer[row];
	return detail_intern_text(db, name, &added->name);
}

static int take_operator(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	int64_t id = batch->column[TORCH_CONNECTION].integer[row];
	int64_t kind = batch->column[TORCH_KIND].integer[row];
	np_ns end = batch->column[TORCH_END].integer[row];
	int rc = NP_OK;

	if (kind == VENDOR_TORCH_PYTHON ||
	    !detail_time_ok(db->load, batch->column[TORCH_START].integer[row], end) ||
	    kind == VENDOR_TORCH_QUEUE)
		return NP_OK;
	if (kind != VENDOR_TORCH_MARK)
		rc = add_operator(db, batch, row);
	return rc < 0 || id < 0 || !detail_wants(db->load, NP_DETAIL_DISPATCHES)
		       ? rc
		       : add_dispatches(db, end, id);
}

/* detail_db_brief.c: of the same tables what is enough for who does not want every call. */
static int detail_db_read_framework_in_brief(struct detail_db *db)
{
	static const struct vendor_pick of_operators = {
		&vendor_pytorch_api,
		VENDOR_BIT(TORCH_END) | VENDOR_BIT(TORCH_CONNECTION) | VENDOR_BIT(TORCH_KIND) |
			VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_NAME),
		0
	};
	static const struct vendor_pick of_dispatches = {
		&vendor_pytorch_api,
		VENDOR_BIT(TORCH_END) | VENDOR_BIT(TORCH_CONNECTION) | VENDOR_BIT(TORCH_KIND), 0
	};
	bool operators = detail_wants(db->load, NP_DETAIL_OPERATORS);
	int rc = NP_OK;

	if (detail_wants(db->load, NP_DETAIL_DISPATCHES))
		rc = detail_db_read_connections(db);
	if (rc == NP_OK)
		rc = operators ? detail_each(db, &of_operators, take_operator)
			       : detail_each(db, &of_dispatches, take_dispatch);
	if (db->detail->dispatches.count > 0)
		detail_found(db->load, NP_DETAIL_DISPATCHES);
	if (db->detail->operators.count > 0)
		detail_found(db->load, NP_DETAIL_OPERATORS);
	return rc;
}

/* --- marks ------------------------------------------------------------------------------------ */

/* The vendor's numbers: marker, push/pop, start/end, marker_ex. */
static enum np_mark_kind mark_kind(int64_t type)
{
	if (type == 3)
		return NP_MARK_EX;
	return type == 1 || type == 2 ? NP_MARK_RANGE : NP_MARK;
}

static int take_mark(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[MARK_START].integer[row];
	np_ns end = batch->column[MARK_END].integer[row];
	struct np_mark *mark;
	uint32_t task;
	int rc;

	if (end == NP_UNKNOWN)
		end = start;
	if (!detail_time_ok(db->load, start, end))
		return NP_OK;
	mark = detail_add_mark(db->load);
	if (!mark)
		return NP_E_NOMEM;
	mark->start = start;
	mark->end = end;
	mark->kind = mark_kind(batch->column[MARK_KIND].integer[row]);
	mark->tid = vendor_thread(batch->column[MARK_THREAD].integer[row]);
	mark->connection = vendor_known(batch->column[MARK_CONNECTION].integer[row]);
	task = mark->connection == NP_UNKNOWN ? NP_IDMAP_NONE
					      : np_idmap_get(db->task_of, mark->connection);
	if (task != NP_IDMAP_NONE) {
		mark->device_start = db->detail->tasks.item[task].start;
		mark->device_end = db->detail->tasks.item[task].end;
	}
	rc = detail_string(db, batch->column[MARK_MESSAGE].integer[row], &mark->message);
	return rc < 0 ? rc
		      : detail_string(db, batch->column[MARK_DOMAIN].integer[row], &mark->domain);
}

/* The framework's own row for a mark shares its connection. */
static int frame_marks(struct detail_db *db)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *calls = np_idmap_new();
	int rc = NP_OK;

	if (!calls)
		return np_fail_nomem(db->err, "marks");
	for (size_t i = 0; i < db->detail->links.count && rc == NP_OK; i++) {
		const struct np_framework_link *link = &db->detail->links.item[i];

		if (db->detail->framework.item[link->call].kind == NP_FRAMEWORK_MARK)
			rc = np_idmap_set(calls, link->id, link->call, db->err);
	}
	for (size_t i = 0; i < db->detail->marks.count && rc == NP_OK; i++) {
		struct np_mark *mark = &db->detail->marks.item[i];
		uint32_t call = mark->connection == NP_UNKNOWN
					? NP_IDMAP_NONE
					: np_idmap_get(calls, mark->connection);

		if (call == NP_IDMAP_NONE)
			continue;
		mark->framework_start = db->detail->framework.item[call].start;
		mark->framework_end = db->detail->framework.item[call].end;
	}
	return rc;
}

/* detail_db_marks.c: MSTX_EVENTS, after tasks and calls of the framework. */
static int detail_db_read_marks(struct detail_db *db)
{
	static const struct vendor_pick marks = { &vendor_mstx_events, 0, 0 };
	int rc = detail_each(db, &marks, take_mark);

	if (rc == NP_OK && db->detail->marks.count > 0) {
		detail_found(db->load, NP_DETAIL_MARKS);
		rc = frame_marks(db);
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

/* Marks are joined with the framework's own rows for them. */
static bool needs_framework(const struct detail_db *db)
{
	return detail_wants(db->load, NP_DETAIL_FRAMEWORK) ||
	       (detail_wants(db->load, NP_DETAIL_MARKS) &&
		np_db_has_rows(db->db, vendor_mstx_events.name));
}

int detail_db_read_host(struct detail_db *db)
{
	static const struct vendor_pick calls = { &vendor_cann_api, 0, 0 };
	struct detail_load *load = db->load;
	int rc = NP_OK;

	if (detail_wants(load, NP_DETAIL_CALLS))
		rc = detail_each(db, &calls, take_call);
	if (db->detail->calls.count > 0)
		detail_found(load, NP_DETAIL_CALLS);
	if (rc == NP_OK && needs_framework(db))
		rc = read_framework(db);
	else if (rc == NP_OK && detail_wants(load, DETAIL_OF_FRAMEWORK_IN_BRIEF))
		rc = detail_db_read_framework_in_brief(db);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_MARKS))
		rc = detail_db_read_marks(db);
	return rc;
}
