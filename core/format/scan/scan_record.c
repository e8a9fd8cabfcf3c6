/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding the cells of a leaf: fast where records are alike, one value after the other elsewhere.
 */
#include "scan_pages.h"

#include "npuprof/text.h"

#include <endian.h>
#include <inttypes.h>
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
 * the slow way below, which also says what is damaged.
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

static inline bool has_header(const struct np_pages *pages, const struct np_layout *layout,
			      const uint8_t *record)
{
	uint64_t difference = 0;

	for (size_t i = 0; i < pages->header_words; i++) {
		uint64_t word;

		memcpy(&word, record + 8 * i, sizeof(word));
		difference |= layout->header[i] ^ (word & pages->header_mask[i]);
	}
	return difference == 0;
}

/* The layout of a record, made where its header is met for the first time. */
static struct np_layout *find_layout(struct np_pages *pages, const uint8_t *record)
{
	uint64_t header[NP_LAYOUT_WORDS];
	struct np_layout *layout;
	uint64_t hash = 0;

	memcpy(header, record, sizeof(header));
	for (size_t i = 0; i < NP_LAYOUT_WORDS; i++) {
		header[i] &= pages->header_mask[i];
		hash = (hash ^ header[i]) * UINT64_C(0x9e3779b97f4a7c15);
	}
	/* Only the highest bits of a product depend on all bytes of the header. */
	layout = &pages->layout[hash >> (64 - NP_LAYOUT_BITS)];
	if (!has_header(pages, layout, record))
		plan_layout(pages, layout, record, header);
	return layout;
}

/* --- decoding -------------------------------------------------------------------------------- */

/* A varint that may end behind the page, in the padding. */
static inline const uint8_t *get_padded_varint(const uint8_t *p, uint64_t *ret)
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

static inline int64_t load_shifted(const uint8_t *at, uint32_t shift)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	/* gcc and clang keep the sign of what they shift. */
	return (int64_t)be64toh(bytes) >> shift;
}

static inline int64_t load_value(const uint8_t *record, const struct np_layout_value *value)
{
	return (load_shifted(record + value->offset, value->shift) & value->mask) | value->constant;
}

static void put_odd(const struct np_pages *pages, const struct np_layout *layout,
		    const uint8_t *record, size_t row)
{
	for (size_t i = 0; i < layout->odd_count; i++) {
		const struct np_layout_odd *odd = &layout->odd[i];
		const struct np_layout_value *value = &layout->value[odd->column];
		struct np_scan_slot *slot = pages->stored[odd->column];
		const char *text = (const char *)record + value->offset;

		if (slot->type == NP_SCAN_REAL) {
			slot->values.real[row] = (double)load_value(record, value);
		} else if (!np_text_to_scaled(text, odd->text_length, 0,
					      &slot->values.integer[row])) {
			np_scan_wrong_text(slot, text, odd->text_length);
			slot->values.integer[row] = NP_UNKNOWN;
		}
	}
}

/* Cells that follow each other and are laid out alike are decoded together, column by column. */
#define RUN_CELLS 128
#define TOGETHER  ((size_t)4)

struct run {
	const struct np_layout *layout;
	size_t count;
	const uint8_t *record[RUN_CELLS];
	int64_t rowid[RUN_CELLS];
};

/* The highest bit of each byte: whether a varint goes on behind it. */
#define GOES_ON UINT64_C(0x8080808080808080)

/* A varint of up to 8 bytes, all at once: 7 bits of each byte come to those of its neighbour. */
static inline uint64_t join_varint(uint64_t bytes)
{
	bytes = (bytes & UINT64_C(0x7f007f007f007f00)) >> 1 |
		(bytes & UINT64_C(0x007f007f007f007f));
	bytes = (bytes & UINT64_C(0x3fff00003fff0000)) >> 2 |
		(bytes & UINT64_C(0x00003fff00003fff));
	return (bytes & UINT64_C(0x0fffffff00000000)) >> 4 | (bytes & UINT64_C(0x000000000fffffff));
}

/* What is in front of a record: its size, mostly of one byte, and the rowid, mostly of up to 8. */
static const uint8_t *pass_sizes(const uint8_t *cell, uint64_t *size, int64_t *rowid)
{
	uint64_t bytes;
	unsigned shift;

	memcpy(&bytes, cell + 1, sizeof(bytes));
	bytes = be64toh(bytes);
	if (cell[0] >= 0x80 || (bytes & GOES_ON) == GOES_ON) {
		uint64_t value;

		cell = get_padded_varint(get_padded_varint(cell, size), &value);
		*rowid = (int64_t)value;
		return cell;
	}
	/* Bits behind the highest that is not set, which is that of the last byte. */
	shift = 56 - ((unsigned)__builtin_clzll(~bytes & GOES_ON) & ~7U);
	*size = cell[0];
	*rowid = (int64_t)join_varint(bytes >> shift);
	return cell + 1 + 8 - shift / 8;
}

/* The first cell of a run says how they are laid out; false if it is not for the fast way. */
static bool begin_run(struct np_pages *pages, const uint8_t *cell, struct run *run)
{
	const uint8_t *end = pages->leaf + pages->usable;
	const struct np_layout *layout;
	const uint8_t *record;
	uint64_t size;

	record = pass_sizes(cell, &size, &run->rowid[0]);
	if (record >= end || size > (size_t)(end - record) || size > pages->usable - 35)
		return false;
	layout = find_layout(pages, record);
	if (!layout->usable || layout->size > size)
		return false;
	run->layout = layout;
	run->record[0] = record;
	return true;
}

/* What is in front of a record, its size of one byte or two and the rowid, in the first cells. */
struct front {
	uint32_t bytes;
	uint32_t size_bytes;
	uint64_t mask; /* of the bits that say which varints go on */
	uint64_t bits; /* what they are */
};

/* False for one that is rare, and has no others like it. */
static bool find_front(const uint8_t *cell, const uint8_t *record, struct front *ret)
{
	uint64_t word;

	ret->bytes = (uint32_t)(record - cell);
	if (ret->bytes > sizeof(word) || (cell[0] >= 0x80 && cell[1] >= 0x80))
		return false;
	ret->size_bytes = cell[0] < 0x80 ? 1 : 2;
	memcpy(&word, cell, sizeof(word));
	ret->mask = GOES_ON & UINT64_MAX >> (64 - 8 * ret->bytes);
	ret->bits = le64toh(word) & ret->mask;
	return true;
}

/* As many of the next cells as are alike; none if the first is not for the fast way, or damaged. */
__attribute__((always_inline)) static inline void find_run_with(struct np_pages *pages,
								const uint8_t *pointers,
								size_t count, bool rowids,
								struct run *run)
{
	const uint8_t *leaf = pages->leaf;
	const uint32_t usable = pages->usable;
	const uint32_t first = 8 + 2 * pages->at.cells;
	const uint32_t room = usable - 4 - first;
	const uint64_t mask = pages->header_mask[0];
	const bool is_long = pages->header_words > 1;
	uint32_t at = np_be16(pointers);
	struct front front;
	uint64_t header;
	uint32_t least;
	size_t done;

	run->count = 0;
	if (at - first > room || !begin_run(pages, leaf + at, run))
		return;
	run->count = 1;
	if (!find_front(leaf + at, run->record[0], &front))
		return;
	count = count < RUN_CELLS ? count : RUN_CELLS;
	header = run->layout->header[0];
	least = run->layout->size;
	for (done = 1; done < count; done++) {
		const uint8_t *record;
		uint64_t word;
		uint32_t size;

		at = np_be16(pointers + 2 * done);
		if (at - first > room)
			break;
		memcpy(&word, leaf + at, sizeof(word));
		word = le64toh(word);
		if ((word & front.mask) != front.bits)
			break;
		size = word & 0x7f;
		if (front.size_bytes > 1) {
			size = size << 7 | (uint32_t)(word >> 8 & 0x7f);
			if (size > usable - 35)
				break;
		}
		if (size < least || at + front.bytes + size > usable)
			break;
		record = leaf + at + front.bytes;
		memcpy(&word, record, sizeof(word));
		if ((word & mask) != header || (is_long && !has_header(pages, run->layout, record)))
			break;
		run->record[done] = record;
		if (rowids) {
			memcpy(&word, leaf + at + front.size_bytes, sizeof(word));
			run->rowid[done] = (int64_t)join_varint(
				be64toh(word) >> (64 - 8 * (front.bytes - front.size_bytes)));
		}
	}
	run->count = done;
}

static void find_run(struct np_pages *pages, const uint8_t *pointers, size_t count, struct run *run)
{
	if (pages->rowid_count > 0)
		find_run_with(pages, pointers, count, true, run);
	else
		find_run_with(pages, pointers, count, false, run);
}

static void put_column(int64_t *target, const struct run *run, const struct np_layout_value *value)
{
	/* Of its own, so that what is stored cannot be what is read. */
	const uint32_t offset = value->offset;
	const uint32_t shift = value->shift;
	const int64_t constant = value->constant;
	size_t i = 0;

	if (value->mask == 0) {
		for (; i < run->count; i++)
			target[i] = constant;
		return;
	}
	/* Several at a time: to count them costs half as much as to load one. */
	for (; i + TOGETHER <= run->count; i += TOGETHER) {
		for (size_t j = 0; j < TOGETHER; j++)
			target[i + j] = load_shifted(run->record[i + j] + offset, shift);
	}
	for (; i < run->count; i++)
		target[i] = load_shifted(run->record[i] + offset, shift);
}

static void put_run(const struct np_pages *pages, const struct run *run, size_t row)
{
	for (size_t i = 0; i < pages->rowid_count; i++)
		memcpy(&pages->rowid[i]->values.integer[row], run->rowid,
		       run->count * sizeof(run->rowid[0]));
	for (size_t i = 0; i < pages->stored_count; i++)
		put_column(&pages->target[i][row], run, &run->layout->value[i]);
	for (size_t i = 0; run->layout->odd_count > 0 && i < run->count; i++)
		put_odd(pages, run->layout, run->record[i], row + i);
}

static size_t layouts_decode(struct np_pages *pages, size_t row, uint32_t cell, size_t count)
{
	const uint8_t *pointers = pages->leaf + 8 + 2 * (size_t)cell;
	size_t done = 0;
	struct run run;

	while (pages->fast && done < count) {
		find_run(pages, pointers + 2 * done, count - done, &run);
		if (run.count == 0)
			break;
		put_run(pages, &run, row + done);
		done += run.count;
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

static void layouts_plan(struct np_pages *pages)
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
	pages->header_words = (pages->needed + 1 + 7) / 8;
}

/* --- one record after the other --------------------------------------------------------------- */

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
		slot->wrong += !isnan(value) && slot->values.integer[row] == NP_UNKNOWN;
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

/* Bytes are never a number; a text may say that there is none. */
static void count_wrong(struct np_scan_slot *slot, bool is_blob, const char *text, size_t length)
{
	if (is_blob)
		slot->wrong++;
	else
		np_scan_wrong_text(slot, text, length);
}

/* A text or, with `is_blob`, bytes: which are a text where one is asked for, but no number. */
static void put_bytes(struct np_scan *scan, struct np_scan_slot *slot, size_t row, bool is_blob,
		      const uint8_t *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	int64_t value;

	switch (slot->type) {
	case NP_SCAN_INTEGER:
		if (is_blob || !np_text_to_scaled(text, length, 0, &value)) {
			count_wrong(slot, is_blob, text, length);
			value = NP_UNKNOWN;
		}
		slot->values.integer[row] = value;
		break;
	case NP_SCAN_REAL:
		slot->values.real[row] = is_blob ? (double)NAN : np_scan_real_of_text(text, length);
		if (isnan(slot->values.real[row]))
			count_wrong(slot, is_blob, text, length);
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

/* A value of the record. Types and sizes of columns that are missing in the record are those of
 * NULL. */
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
	uint32_t first = 8 + 2 * pages->at.cells;
	uint32_t last = pages->usable - 4;
	size_t done = 0;

	while (done < count) {
		uint32_t at;
		int rc;

		done += layouts_decode(pages, row + done, pages->at.cell + (uint32_t)done,
				       count - done);
		if (done == count)
			break;
		at = np_be16(pointers + 2 * (pages->at.cell + done));
		if (at < first || at > last)
			return np_pages_damaged(pages, err);
		rc = decode_any(pages, pages->leaf + at, row + done, err);
		if (rc < 0)
			return rc;
		done++;
	}
	pages->at.cell += (uint32_t)count;
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
	layouts_plan(pages);
}
