/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the cells of views from the structs that their rows are. */
#include "view_fields.h"

static struct np_cell text_cell(const struct np_detail *detail, np_str id)
{
	if (id == NP_STR_NONE)
		return np_cell_null();
	return np_cell_bytes(np_strtab_text(detail->strings, id),
			     np_strtab_length(detail->strings, id));
}

static struct np_cell step_cell(const struct view_rank *source, uint32_t step)
{
	if (step == NP_NO_STEP || step >= source->rank->steps.count)
		return np_cell_null();
	return np_cell_text(np_run_text(source->run, source->rank->steps.item[step].id));
}

static struct np_cell length_cell(np_ns begin, np_ns end)
{
	return begin == NP_UNKNOWN || end == NP_UNKNOWN ? np_cell_null()
							: np_cell_integer(end - begin);
}

static struct np_cell id_cell(uint32_t id, uint32_t none)
{
	return id == none ? np_cell_null() : np_cell_integer(id);
}

#define AT(type) (*(const type *)(const void *)member)

struct np_cell view_field_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_field *field = &view->fields[column];
	const struct view_items *items = &view->items[field->of];
	const char *pick = (const char *)items->pick;
	size_t index = row;
	const char *item;
	const char *member;

	if (pick)
		index = *(const uint32_t *)(const void *)(pick + row * items->pick_size);
	if (index >= items->count)
		return np_cell_null();
	item = items->first + index * items->size;
	member = item + field->offset;
	switch (field->kind) {
	case VIEW_FIELD_GET:
		return field->get(view, row, item);
	case VIEW_FIELD_RANK:
		return np_cell_integer(view_source(view)->rank->id);
	case VIEW_FIELD_ROW:
		return np_cell_integer((int64_t)row);
	case VIEW_FIELD_INT64:
		return np_cell_integer(AT(int64_t));
	case VIEW_FIELD_INT32:
		return np_cell_integer(AT(int32_t));
	case VIEW_FIELD_INT8:
		return np_cell_integer(AT(int8_t));
	case VIEW_FIELD_UINT32:
		return np_cell_integer(AT(uint32_t));
	case VIEW_FIELD_BOOL:
		return np_cell_integer(AT(bool));
	case VIEW_FIELD_REAL:
		return np_cell_real(AT(double));
	case VIEW_FIELD_INDEX:
		return id_cell(AT(uint32_t), NP_NO_ROW);
	case VIEW_FIELD_TEXT:
		return text_cell(view_detail(view), AT(np_str));
	case VIEW_FIELD_TEXT_ID:
		return id_cell(AT(np_str), NP_STR_NONE);
	case VIEW_FIELD_RUN_TEXT:
		return np_cell_text(np_run_text(view_source(view)->run, AT(np_str)));
	case VIEW_FIELD_STEP:
		return step_cell(view_source(view), AT(uint32_t));
	case VIEW_FIELD_IN_STEP:
		return np_cell_integer(AT(uint32_t) != NP_NO_STEP);
	case VIEW_FIELD_LENGTH:
		return length_cell(AT(np_ns), *(const np_ns *)(const void *)(item + field->end));
	}
	return np_cell_null();
}

bool view_has_value(const struct view *view, size_t column, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		if (view->cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return false;
}
