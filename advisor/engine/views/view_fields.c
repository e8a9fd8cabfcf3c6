/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the cells of views from the structs that their rows are. */
#include "view_fields.h"

#include "npuprof/run.h"

struct np_cell adv_view_read_rank(const struct adv_view *view, size_t row, const void *member)
{
	(void)row;
	(void)member;
	return np_cell_integer(view_source(view)->rank->id);
}

struct np_cell adv_view_read_row(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)member;
	return np_cell_integer((int64_t)row);
}

struct np_cell adv_view_read_int64(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_integer(*(const int64_t *)member);
}

struct np_cell adv_view_read_int32(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_integer(*(const int32_t *)member);
}

struct np_cell adv_view_read_int8(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_integer(*(const int8_t *)member);
}

struct np_cell adv_view_read_uint32(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_integer(*(const uint32_t *)member);
}

struct np_cell adv_view_read_bool(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_integer(*(const bool *)member);
}

struct np_cell adv_view_read_real(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_real(*(const double *)member);
}

static struct np_cell id_cell(uint32_t id, uint32_t none)
{
	return id == none ? np_cell_null() : np_cell_integer(id);
}

struct np_cell adv_view_read_index(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return id_cell(*(const uint32_t *)member, NP_NO_ROW);
}

struct np_cell adv_view_read_text_id(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return id_cell(*(const np_str *)member, NP_STR_NONE);
}

struct np_cell adv_view_read_text(const struct adv_view *view, size_t row, const void *member)
{
	const struct np_strtab *strings = view_detail(view)->strings;
	np_str id = *(const np_str *)member;

	(void)row;
	return id == NP_STR_NONE
		       ? np_cell_null()
		       : np_cell_bytes(np_strtab_text(strings, id), np_strtab_length(strings, id));
}

struct np_cell adv_view_read_run_text(const struct adv_view *view, size_t row, const void *member)
{
	(void)row;
	return np_cell_text(np_run_text(view_source(view)->run, *(const np_str *)member));
}

struct np_cell adv_view_read_step(const struct adv_view *view, size_t row, const void *member)
{
	const struct adv_view_rank *source = view_source(view);
	uint32_t step = *(const uint32_t *)member;

	(void)row;
	if (step == NP_NO_STEP || step >= source->rank->steps.count)
		return np_cell_null();
	return np_cell_text(np_run_text(source->run, source->rank->steps.item[step].id));
}

struct np_cell adv_view_read_in_step(const struct adv_view *view, size_t row, const void *member)
{
	(void)view;
	(void)row;
	return np_cell_integer(*(const uint32_t *)member != NP_NO_STEP);
}

struct np_cell adv_view_read_length(const struct adv_view *view, size_t row, const void *member)
{
	const np_ns *times = member;

	(void)view;
	(void)row;
	return times[0] == NP_UNKNOWN || times[1] == NP_UNKNOWN
		       ? np_cell_null()
		       : np_cell_integer(times[1] - times[0]);
}

/* The item that a row picks; NULL if there is none. */
static const char *picked_item(const struct adv_view_items *items, size_t row)
{
	const char *pick = (const char *)items->pick;
	size_t index = row;

	if (pick)
		index = *(const uint32_t *)(const void *)(pick + row * items->pick_size);
	return index < items->count ? items->first + index * items->size : NULL;
}

struct np_cell adv_view_field_cell(const struct adv_view *view, size_t row, size_t column)
{
	const struct adv_view_field *field = &view->fields[column];
	const char *item = view->items[0].first + row * view->items[0].size;

	/* Most rows are items themselves, and quickly found: this is called for every cell. */
	if (field->of != 0 || view->items[0].pick) {
		item = picked_item(&view->items[field->of], row);
		if (!item)
			return np_cell_null();
	}
	return field->read(view, row, item + field->offset);
}

bool adv_view_has_value(const struct adv_view *view, size_t column, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		if (view->cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return false;
}
