/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_db.h"

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

int detail_db_read_marks(struct detail_db *db)
{
	static const struct vendor_pick marks = { &vendor_mstx_events, 0, 0 };
	int rc = detail_each(db, &marks, take_mark);

	if (rc == NP_OK && db->detail->marks.count > 0) {
		detail_told(db->load, NP_DETAIL_MARKS);
		rc = frame_marks(db);
	}
	return rc;
}
