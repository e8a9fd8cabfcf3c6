/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_pages.h"

#include "npuprof/text.h"

#include <endian.h>
#include <math.h>

/*
 * Records of a table are mostly alike: their numbers take the same few sizes, so that
 * their headers are the same bytes, and with them all offsets. What a header means is
 * worked out once and remembered as a layout; a record with a known header costs a
 * comparison and one load for each column asked for, however many it has.
 *
 * This is for tables of which only numbers are asked for, and for records that lie on
 * the leaf as a whole, have all these columns, and in them and before the last of them
 * nothing but numbers, NULLs and texts of up to 57 bytes. Everything else is left to
 * scan_record.c, which also says what is damaged.
 */

/* --- what a header means --------------------------------------------------------------------- */

static void plan_integer(struct np_layout_value *value, unsigned type)
{
	static const int64_t constants[] = { [NP_SERIAL_NULL] = NP_UNKNOWN, [NP_SERIAL_ONE] = 1 };

	if (np_serial_size(type) > 0) {
		value->shift = 64 - 8 * (uint32_t)np_serial_size(type);
		value->mask = -1;
	} else {
		value->constant = constants[type];
	}
}

/* Reals are copied bit by bit, and constants are made such bits. */
static void plan_real(struct np_layout_value *value, unsigned type)
{
	double real = type == NP_SERIAL_NULL ? (double)NAN : (double)(type == NP_SERIAL_ONE);

	if (type == NP_SERIAL_REAL)
		value->mask = -1;
	else
		memcpy(&value->constant, &real, sizeof(real));
}

static void add_odd(struct np_layout *layout, size_t column, uint64_t text_length)
{
	layout->odd[layout->odd_count++] =
		(struct np_layout_odd){ (uint32_t)column, (uint32_t)text_length };
}

/* False for a value that is not for the fast way. */
static bool plan_value(struct np_layout *layout, size_t column, enum np_scan_type wanted,
		       unsigned type)
{
	struct np_layout_value *value = &layout->value[column];
	bool is_integer = type != NP_SERIAL_REAL && np_serial_size(type) > 0;

	if (type > NP_SERIAL_ONE) {
		if (wanted != NP_SCAN_INTEGER || type % 2 == 0)
			return false;
		add_odd(layout, column, np_serial_size(type));
	} else if (wanted == NP_SCAN_INTEGER) {
		if (type == NP_SERIAL_REAL)
			return false;
		plan_integer(value, type);
	} else if (is_integer) {
		plan_integer(value, type);
		add_odd(layout, column, 0);
	} else {
		plan_real(value, type);
	}
	return true;
}

/* A byte with the highest bit set is but the beginning of a type. */
static bool is_plain_type(unsigned type)
{
	return type < 0x80 && type != NP_SERIAL_RESERVED && type != NP_SERIAL_RESERVED + 1;
}

/* Only those bytes of the header are looked at that all records of this layout share. */
static void plan_layout(const struct np_pages *pages, struct np_layout *layout,
			const uint8_t *record, const uint64_t *header)
{
	uint64_t offset = record[0];
	size_t column = 0;

	/* A header longer than the number of columns has at least a byte for each of them. */
	*layout = (struct np_layout){ .usable = offset > pages->needed && offset < 0x80 };
	memcpy(layout->header, header, sizeof(layout->header));
	for (uint32_t i = 0; i < pages->needed && layout->usable; i++) {
		unsigned type = record[1 + i];

		layout->usable = is_plain_type(type);
		for (; layout->usable && column < pages->stored_count &&
		       pages->stored[column]->position == i;
		     column++) {
			layout->value[column].offset = (uint32_t)offset;
			layout->usable =
				plan_value(layout, column, pages->stored[column]->type, type);
		}
		offset += np_serial_size(type);
	}
	layout->size = (uint32_t)offset;
}

static inline bool has_header(const struct np_layout *layout, const uint64_t *header)
{
	uint64_t difference = 0;

	for (size_t i = 0; i < NP_LAYOUT_WORDS; i++)
		difference |= layout->header[i] ^ header[i];
	return difference == 0;
}

/* The layout of a record, made where its header is met for the first time. */
static inline const struct np_layout *find_layout(struct np_pages *pages, const uint8_t *record)
{
	uint64_t header[NP_LAYOUT_WORDS];
	struct np_layout *layout;
	uint64_t hash = 0;

	memcpy(header, record, sizeof(header));
	for (size_t i = 0; i < NP_LAYOUT_WORDS; i++) {
		header[i] &= pages->header_mask[i];
		hash = (hash ^ header[i]) * UINT64_C(0x9e3779b97f4a7c15);
	}
	layout = &pages->layout[(hash >> 32) % NP_LAYOUTS];
	if (!has_header(layout, header))
		plan_layout(pages, layout, record, header);
	return layout;
}

/* --- decoding -------------------------------------------------------------------------------- */

/* A varint that may end behind the page, in the padding. */
static inline const uint8_t *get_varint(const uint8_t *p, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < NP_VARINT_MAX - 1; i++) {
		value = value << 7 | (*p & 0x7f);
		if (*p++ < 0x80) {
			*ret = value;
			return p;
		}
	}
	*ret = value << 8 | *p;
	return p + 1;
}

static inline int64_t load_value(const uint8_t *record, const struct np_layout_value *value)
{
	uint64_t bytes;

	memcpy(&bytes, record + value->offset, sizeof(bytes));
	/* gcc and clang keep the sign of what they shift. */
	return (((int64_t)be64toh(bytes) >> value->shift) & value->mask) | value->constant;
}

static void put_odd(const struct np_pages *pages, const struct np_layout *layout,
		    const uint8_t *record, size_t row)
{
	for (size_t i = 0; i < layout->odd_count; i++) {
		const struct np_layout_odd *odd = &layout->odd[i];
		const struct np_layout_value *value = &layout->value[odd->column];
		const struct np_scan_slot *slot = pages->stored[odd->column];

		if (slot->type == NP_SCAN_REAL)
			slot->values.real[row] = (double)load_value(record, value);
		else if (!np_text_to_scaled((const char *)record + value->offset, odd->text_length,
					    0, &slot->values.integer[row]))
			slot->values.integer[row] = NP_UNKNOWN;
	}
}

/* False if the cell is not for the fast way, or damaged. */
static inline bool decode(struct np_pages *pages, const uint8_t *cell, size_t row)
{
	const uint8_t *end = pages->leaf + pages->usable;
	const struct np_layout *layout;
	const uint8_t *record;
	uint64_t rowid;
	uint64_t size;

	record = get_varint(cell, &size);
	record = get_varint(record, &rowid);
	if (record >= end || size > (size_t)(end - record) || size > pages->usable - 35)
		return false;
	layout = find_layout(pages, record);
	if (!layout->usable || layout->size > size)
		return false;
	for (size_t i = 0; i < pages->rowid_count; i++)
		pages->rowid[i]->values.integer[row] = (int64_t)rowid;
	for (size_t i = 0; i < pages->stored_count; i++)
		pages->target[i][row] = load_value(record, &layout->value[i]);
	if (layout->odd_count > 0)
		put_odd(pages, layout, record, row);
	return true;
}

size_t np_layouts_decode(struct np_pages *pages, size_t row, uint32_t cell, size_t count)
{
	const uint8_t *pointers = pages->leaf + 8 + 2 * (size_t)cell;
	uint32_t first = 8 + 2 * pages->cells;
	uint32_t last = pages->usable - 4;
	size_t done = 0;

	for (; pages->fast && done < count; done++) {
		uint32_t at = np_be16(pointers + 2 * done);

		if (at < first || at > last || !decode(pages, pages->leaf + at, row + done))
			break;
	}
	return done;
}

/* --- whether --------------------------------------------------------------------------------- */

/* Bits of a real lie where the real does. */
static int64_t *target_of(const struct np_scan_slot *slot)
{
	return slot->type == NP_SCAN_REAL ? (int64_t *)(void *)slot->values.real
					  : slot->values.integer;
}

static bool is_number(const struct np_scan_slot *slot)
{
	return slot->type == NP_SCAN_REAL || (slot->type == NP_SCAN_INTEGER && !slot->is_real);
}

void np_layouts_plan(struct np_pages *pages)
{
	uint8_t mask[NP_LAYOUT_BYTES] = { 0 };

	pages->fast = pages->needed < NP_LAYOUT_BYTES;
	for (size_t i = 0; i < pages->stored_count; i++) {
		pages->fast &= is_number(pages->stored[i]);
		pages->target[i] = target_of(pages->stored[i]);
	}
	for (size_t i = 0; i < pages->rowid_count; i++)
		pages->fast &=
			pages->rowid[i]->type == NP_SCAN_INTEGER && !pages->rowid[i]->is_real;
	memset(mask, 0xff, pages->fast ? pages->needed + 1 : 0);
	memcpy(pages->header_mask, mask, sizeof(mask));
}
