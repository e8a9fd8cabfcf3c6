/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_pages.h"

#include "npuprof/text.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>

/* SQLite's own limit on the size of a row. */
#define PAYLOAD_MAX INT32_MAX

static void insert_stored(struct np_pages *pages, struct np_scan_slot *slot)
{
	size_t at = pages->stored_count++;

	for (; at > 0 && slot->position < pages->stored[at - 1]->position; at--)
		pages->stored[at] = pages->stored[at - 1];
	pages->stored[at] = slot;
}

/* One value */

static int64_t stored_integer(unsigned type, const uint8_t *bytes)
{
	uint64_t value;

	if (type >= NP_SERIAL_ZERO)
		return type - NP_SERIAL_ZERO;
	/* Big-endian two's complement, here of 1 to 8 bytes. */
	value = bytes[0] & 0x80 ? UINT64_MAX : 0;
	for (unsigned i = 0; i < np_serial_size(type); i++)
		value = value << 8 | bytes[i];
	return (int64_t)value;
}

static double stored_real(const uint8_t *bytes)
{
	uint64_t bits;
	double value;

	memcpy(&bits, bytes, sizeof(bits));
	bits = be64toh(bits);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int put_real(struct np_scan *scan, struct np_scan_slot *slot, size_t row, double value,
		    struct np_err *err)
{
	switch (slot->type) {
	case NP_SCAN_INTEGER:
		slot->values.integer[row] = np_double_to_scaled(value, 1.0);
		return NP_OK;
	case NP_SCAN_REAL:
		slot->values.real[row] = value;
		return NP_OK;
	case NP_SCAN_TEXT:
		break;
	}
	return np_scan_text_of_real(scan, slot, row, value, err);
}

static int put_integer(struct np_scan *scan, struct np_scan_slot *slot, size_t row, int64_t value,
		       struct np_err *err)
{
	char text[32];
	int length;

	if (slot->is_real)
		return put_real(scan, slot, row, (double)value, err);
	switch (slot->type) {
	case NP_SCAN_INTEGER:
		slot->values.integer[row] = value;
		break;
	case NP_SCAN_REAL:
		slot->values.real[row] = (double)value;
		break;
	case NP_SCAN_TEXT:
		length = snprintf(text, sizeof(text), "%" PRId64, value);
		np_scan_keep_text(scan, slot, row, text, (size_t)length);
		break;
	}
	return NP_OK;
}

static void put_null(struct np_scan *scan, struct np_scan_slot *slot, size_t row)
{
	switch (slot->type) {
	case NP_SCAN_INTEGER:
		slot->values.integer[row] = NP_UNKNOWN;
		break;
	case NP_SCAN_REAL:
		slot->values.real[row] = (double)NAN;
		break;
	case NP_SCAN_TEXT:
		np_scan_keep_text(scan, slot, row, NULL, 0);
		break;
	}
}

/* A text or, with `is_blob`, bytes: which are a text where one is asked for, but no number. */
static void put_bytes(struct np_scan *scan, struct np_scan_slot *slot, size_t row, bool is_blob,
		      const uint8_t *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	int64_t value;

	switch (slot->type) {
	case NP_SCAN_INTEGER:
		if (is_blob || !np_text_to_scaled(text, length, 0, &value))
			value = NP_UNKNOWN;
		slot->values.integer[row] = value;
		break;
	case NP_SCAN_REAL:
		slot->values.real[row] = is_blob ? (double)NAN : np_scan_real_of_text(text, length);
		break;
	case NP_SCAN_TEXT:
		np_scan_keep_text(scan, slot, row, text, length);
		break;
	}
}

/* Any value; the caller has made sure that its bytes are there. */
static int put_value(struct np_pages *pages, struct np_scan_slot *slot, size_t row, uint64_t type,
		     const uint8_t *bytes, size_t length, struct np_err *err)
{
	if (type >= NP_SERIAL_BLOB) {
		put_bytes(pages->scan, slot, row, type % 2 == 0, bytes, length);
		return NP_OK;
	}
	if (type >= NP_SERIAL_RESERVED)
		return np_pages_damaged(pages, err);
	/* SQLite has no NaN and takes one for NULL, and so does put_real(). */
	if (type == NP_SERIAL_REAL)
		return put_real(pages->scan, slot, row, stored_real(bytes), err);
	if (type != NP_SERIAL_NULL)
		return put_integer(pages->scan, slot, row, stored_integer((unsigned)type, bytes),
				   err);
	put_null(pages->scan, slot, row);
	return NP_OK;
}

/* Any record: long ones, wide ones, those from before a column was added */

/* A varint that ends before `end`; NULL if it does not. */
static const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t value = 0;

	if (p < end && *p < 0x80) {
		*ret = *p;
		return p + 1;
	}
	for (unsigned i = 0; i < NP_VARINT_MAX && p < end; i++, p++) {
		if (i == NP_VARINT_MAX - 1) {
			*ret = value << 8 | *p;
			return p + 1;
		}
		value = value << 7 | (*p & 0x7f);
		if (*p < 0x80) {
			*ret = value;
			return p + 1;
		}
	}
	return NULL;
}

/* A payload, of which the first `have` bytes are at `bytes` and more follows on page `next`. */
struct payload {
	const uint8_t *bytes;
	uint32_t have;
	uint32_t size;
	uint32_t next;
};

/* §1.6: how much of a payload of `size` bytes is on the leaf itself. */
static uint32_t local_size(const struct np_pages *pages, uint32_t size)
{
	uint32_t most = pages->usable - 35;
	uint32_t least = (pages->usable - 12) * 32 / 255 - 23;
	uint32_t fitting;

	if (size <= most)
		return size;
	/* So much that the rest fills its overflow pages. */
	fitting = least + (size - least) % (pages->usable - 4);
	return fitting <= most ? fitting : least;
}

/* §1.6: a cell of a leaf is the size of the payload, the rowid and the payload's beginning. */
static bool open_cell(const struct np_pages *pages, const uint8_t *cell, struct payload *ret,
		      int64_t *rowid)
{
	const uint8_t *end = pages->leaf + pages->usable;
	uint64_t size;
	uint64_t key;
	size_t room;

	cell = get_varint(cell, end, &size);
	cell = cell ? get_varint(cell, end, &key) : NULL;
	/* That a payload is no longer than the file is seen when its pages run out. */
	if (!cell || size > PAYLOAD_MAX)
		return false;
	*rowid = (int64_t)key;
	ret->bytes = cell;
	ret->size = (uint32_t)size;
	ret->have = local_size(pages, ret->size);
	ret->next = 0;
	room = (size_t)(end - cell);
	if (ret->have == ret->size)
		return ret->have <= room;
	if (ret->have + 4 > room)
		return false;
	ret->next = np_be32(cell + ret->have);
	return true;
}

/* §1.5: an overflow page is the number of the next one and the payload's next bytes. */
static int read_more(struct np_pages *pages, struct payload *payload, struct np_err *err)
{
	uint32_t count = payload->size - payload->have;
	const uint8_t *page;
	int rc = np_pages_overflow(pages, payload->next, &page, err);

	if (rc < 0)
		return rc;
	if (count > pages->usable - 4)
		count = pages->usable - 4;
	np_buf_add_bytes(&pages->spill, (const char *)page + 4, count);
	rc = np_buf_check(&pages->spill, err);
	if (rc < 0)
		return rc;
	payload->next = np_be32(page);
	payload->have += count;
	payload->bytes = (const uint8_t *)pages->spill.text;
	return NP_OK;
}

/* Have the first `size` bytes in one piece; what is behind them need not be read. */
static int gather(struct np_pages *pages, struct payload *payload, uint32_t size,
		  struct np_err *err)
{
	if (size <= payload->have)
		return NP_OK;
	if (payload->bytes != (const uint8_t *)pages->spill.text) {
		np_buf_clear(&pages->spill);
		np_buf_add_bytes(&pages->spill, (const char *)payload->bytes, payload->have);
	}
	while (payload->have < size) {
		int rc = read_more(pages, payload, err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

/* A value of the record. Types and sizes of columns that the record lacks are those of NULL. */
struct field {
	uint64_t type;
	uint32_t offset;
	uint32_t size;
};

/* The header, in one piece: its first serial type, its end, and so where the values begin. */
static int open_header(struct np_pages *pages, struct payload *payload, const uint8_t **types,
		       const uint8_t **end, struct np_err *err)
{
	uint64_t size = 0;
	const uint8_t *p = get_varint(payload->bytes, payload->bytes + payload->have, &size);
	size_t own;
	int rc;

	if (!p || size > payload->size)
		return np_pages_damaged(pages, err);
	own = (size_t)(p - payload->bytes);
	if (size < own)
		return np_pages_damaged(pages, err);
	rc = gather(pages, payload, (uint32_t)size, err);
	if (rc < 0)
		return rc;
	*types = payload->bytes + own;
	*end = payload->bytes + size;
	return NP_OK;
}

/*
 * Find the columns asked for: their fields in the order of pages->stored, and
 * the size of the record up to the last of them.
 */
static int find_fields(struct np_pages *pages, struct payload *payload, struct field *fields,
		       uint32_t *extent, struct np_err *err)
{
	const uint8_t *p = NULL;
	const uint8_t *end = NULL;
	uint64_t offset;
	size_t stored = 0;
	int rc = open_header(pages, payload, &p, &end, err);

	if (rc < 0)
		return rc;
	offset = (uint64_t)(end - payload->bytes);
	*extent = (uint32_t)offset;
	for (uint32_t i = 0; i < pages->needed && p < end; i++) {
		struct field field = { .offset = (uint32_t)offset };

		p = get_varint(p, end, &field.type);
		/* Sizes are below 2^63, so that the sum does not overflow. */
		offset += p ? np_serial_size(field.type) : 0;
		if (!p || offset > payload->size)
			return np_pages_damaged(pages, err);
		field.size = (uint32_t)offset - field.offset;
		for (; stored < pages->stored_count && pages->stored[stored]->position == i;
		     stored++) {
			fields[stored] = field;
			*extent = (uint32_t)offset;
		}
	}
	return NP_OK;
}

static int put_rowid(struct np_pages *pages, size_t row, int64_t rowid, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < pages->rowid_count && rc == NP_OK; i++)
		rc = put_integer(pages->scan, pages->rowid[i], row, rowid, err);
	return rc;
}

static int decode_any(struct np_pages *pages, const uint8_t *cell, size_t row, struct np_err *err)
{
	struct field fields[NP_SCAN_COLUMNS] = { 0 };
	struct payload payload;
	uint32_t extent;
	int64_t rowid;
	int rc;

	if (!open_cell(pages, cell, &payload, &rowid))
		return np_pages_damaged(pages, err);
	rc = find_fields(pages, &payload, fields, &extent, err);
	if (rc == NP_OK)
		rc = gather(pages, &payload, extent, err);
	if (rc == NP_OK)
		rc = put_rowid(pages, row, rowid, err);
	for (size_t i = 0; i < pages->stored_count && rc == NP_OK; i++)
		rc = put_value(pages, pages->stored[i], row, fields[i].type,
			       payload.bytes + fields[i].offset, fields[i].size, err);
	return rc;
}

int np_record_decode(struct np_pages *pages, size_t row, size_t count, struct np_err *err)
{
	const uint8_t *pointers = pages->leaf + 8;
	uint32_t first = 8 + 2 * pages->cells;
	uint32_t last = pages->usable - 4;
	size_t done = 0;

	while (done < count) {
		uint32_t at;
		int rc;

		done += np_layouts_decode(pages, row + done, pages->cell + (uint32_t)done,
					  count - done);
		if (done == count)
			break;
		at = np_be16(pointers + 2 * (pages->cell + done));
		if (at < first || at > last)
			return np_pages_damaged(pages, err);
		rc = decode_any(pages, pages->leaf + at, row + done, err);
		if (rc < 0)
			return rc;
		done++;
	}
	pages->cell += (uint32_t)count;
	return NP_OK;
}

void np_record_plan(struct np_pages *pages)
{
	struct np_scan *scan = pages->scan;

	for (size_t i = 0; i < scan->count; i++) {
		struct np_scan_slot *slot = &scan->slot[i];

		if (!slot->present)
			continue;
		if (slot->is_rowid) {
			pages->rowid[pages->rowid_count++] = slot;
			continue;
		}
		insert_stored(pages, slot);
		if (slot->position >= pages->needed)
			pages->needed = slot->position + 1;
	}
	np_layouts_plan(pages);
}
