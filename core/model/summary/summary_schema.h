/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SUMMARY_SCHEMA_H
#define NP_SUMMARY_SCHEMA_H

/*
 * What a summary holds of a rank: its values and vectors, field by field. Writing
 * and reading (summary_rank.c) go by these lists alone.
 */
#include "summary_bytes.h"

enum type {
	I64,
	I32,
	I8,
	U64,
	U32,
	U16,
	U8,
	BOOL,
	REAL, /* double, as it is */
	TEXT, /* np_str */
	LEAF, /* np_leaf */
};

/* What a value is checked against when it is read. */
enum limit {
	ANY,
	TIME, /* within ±NP_NS_MAX, or unknown */
	LENGTH,
	STEP,
	STEP_OR_NONE,
	GROUP,
	OP,
	OP_OR_NONE,
	BAND,
	PICK,
	SOURCE,
	STEPS_FROM,
	CUBE,
};

#define NO_BASE UINT16_MAX

struct summary_field {
	uint16_t offset;
	uint16_t base; /* offset of the I64 of the same row it is relative to, or NO_BASE */
	uint8_t type;
	uint8_t limit;
};

struct summary_table {
	size_t offset; /* of the vector in struct np_rank, or in its np_kernel_sums */
	size_t row_bytes;
	const struct summary_field *fields;
	size_t field_count;
	/* Bits of a row that have no address; may be NULL. */
	uint8_t (*flags)(const void *row);
	void (*set_flags)(void *row, uint8_t flags);
	bool shown; /* for nothing but tables: np_rank_only_shows_rows() */
};

struct summary_schema {
	const struct summary_field *fields; /* of the thing itself: a table of one row */
	size_t field_count;
	const struct summary_table
		*tables; /* of its vectors; what others are checked with comes first */
	size_t table_count;
};

extern const struct summary_schema summary_of_rank; /* struct np_rank */
extern const struct summary_schema summary_of_sums; /* struct np_kernel_sums */

#endif /* NP_SUMMARY_SCHEMA_H */
