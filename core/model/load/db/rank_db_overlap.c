/* SPDX-License-Identifier: Apache-2.0 */
/* What the exporter found of computing and communication: a check of other tables, or in their
 * place. */
#include "rank_db.h"

static int take_interval(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[OVERLAP_START].integer[row];
	np_ns end = batch->column[OVERLAP_END].integer[row];
	int64_t type = batch->column[OVERLAP_TYPE].integer[row];

	if (!vendor_time_ok(start, end))
		return NP_OK;
	if (type != VENDOR_OVERLAP_COMPUTE)
		return NP_OK;
	/* They are disjoint: more than the longest capture is damage. */
	if (load->overlap_computing < NP_LONGEST_NS)
		load->overlap_computing += end - start;
	if (!load->computing_given)
		return NP_OK;
	return capture_add_computing(&load->capture, start, end);
}

/* An interval in the place of the kernels that made it. */
static int take_as_task(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct capture_row task = {
		.start = batch->column[OVERLAP_START].integer[row],
		.end = batch->column[OVERLAP_END].integer[row],
		.device = batch->column[OVERLAP_DEVICE].integer[row],
		.connection = NP_UNKNOWN,
		.stream = NP_UNKNOWN,
		.id = NP_UNKNOWN,
		.key = NP_UNKNOWN,
		.class = TASK_OTHER,
	};
	uint32_t index = NP_IDMAP_NONE;
	int rc;

	if (batch->column[OVERLAP_TYPE].integer[row] != VENDOR_OVERLAP_COMPUTE)
		return NP_OK;
	rc = capture_add_task(&load->capture, &task, &index);
	if (rc == NP_OK && index != NP_IDMAP_NONE)
		load->capture.tasks.item[index].computes = true;
	return rc;
}

static int take_communication(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[OVERLAP_START].integer[row];
	np_ns end = batch->column[OVERLAP_END].integer[row];

	if (batch->column[OVERLAP_TYPE].integer[row] != VENDOR_OVERLAP_COMMUNICATION ||
	    !vendor_time_ok(start, end))
		return NP_OK;
	return capture_add_communication(&load->capture, start, end);
}

int rank_db_read_overlap_alone(struct rank_db *load)
{
	static const struct vendor_pick intervals = { &vendor_overlap, 0, 0 };
	int rc = rank_db_each(load, &intervals, take_as_task);

	if (rc == NP_OK && load->rank->ops.count == 0 && load->capture.devices.count == 1)
		rc = rank_db_each(load, &intervals, take_communication);
	if (rc == NP_OK)
		np_note_add(
			&load->rank->notes, NP_NOTE_WARNING, load->rank->id, np_db_path(load->db),
			vendor_overlap.name,
			"there are no tasks: step times are from here%s, by the marks of the host,"
			" and nothing is known of single kernels; export the profile again",
			load->capture.communication_given || load->rank->ops.count > 0
				? ""
				: ", without communication");
	return rc;
}

int rank_db_read_overlap(struct rank_db *load, bool give)
{
	static const struct vendor_pick intervals = { &vendor_overlap, 0, 0 };
	int rc;

	/* Spans that are given are of one device. */
	load->computing_given = give && load->capture.devices.count == 1 &&
				np_db_has_rows(load->db, vendor_overlap.name);
	rc = rank_db_each(load, &intervals, take_interval);
	if (rc < 0 && rc != NP_E_NOMEM && !load->computing_given) {
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), vendor_overlap.name, "%s; nothing else needs it",
			    load->err->text);
		*load->err = NP_ERR_INIT;
		load->overlap_computing = 0;
		return NP_OK;
	}
	if (load->overlap_computing == 0)
		load->computing_given = false;
	return rc;
}
