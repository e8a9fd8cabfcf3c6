/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_db.h"

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

int detail_db_read_framework_in_brief(struct detail_db *db)
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
		detail_told(db->load, NP_DETAIL_DISPATCHES);
	if (db->detail->operators.count > 0)
		detail_told(db->load, NP_DETAIL_OPERATORS);
	return rc;
}
