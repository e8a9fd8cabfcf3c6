/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SUMMARY_BYTES_H
#define NP_SUMMARY_BYTES_H

/*
 * What the sources of summaries share: packed bytes (npuprof/bytes.h) in which a string
 * is a number, and the parts that messages between processes are made of too.
 */
#include "core/model/run/rank_members.h"

#include "npuprof/idmap.h"
#include "npuprof/summary.h"

struct summary_writer {
	struct np_bytes_writer out;
	const struct np_strtab *strings;
	struct np_idmap *numbers; /* of strings used so far */
	NP_VEC(np_str) used;
	struct np_member_runs runs; /* of the communicator in hand */
};

struct summary_reader {
	struct np_bytes_reader in;
	np_str *texts; /* by number; the first is NP_STR_NONE */
	size_t text_count;
	struct np_strtab *strings;
	struct np_member_runs runs; /* of the communicator in hand */
	bool count_rows;            /* np_rank_count_rows() */
};

/* What every NP_VEC looks like. */
struct summary_vector {
	void *item;
	size_t count;
	size_t capacity;
};

/* NP_OK, or why not; `name` is what messages call the bytes. */
int summary_read(const struct np_bytes_reader *reader, const char *name, struct np_err *err)
	NP_MUST_USE;

/* np_summary_decode(), and np_rank_count_rows() without reading what it counts. */
int summary_decode_rows(const uint8_t *bytes, size_t length, const char *name,
			struct np_strtab *strings, bool count_rows, struct np_summary *ret,
			struct np_err *err) NP_MUST_USE;

/* All vectors and values of a rank but path and notes. */
void summary_put_rank(struct summary_writer *writer, const struct np_rank *rank);
void summary_get_rank(struct summary_reader *reader, struct np_rank *rank);

void summary_put_notes(struct np_bytes_writer *writer, const struct np_notes *notes);
void summary_get_notes(struct np_bytes_reader *reader, struct np_notes *notes);

void summary_put_source(struct np_bytes_writer *writer, const struct np_source_files *source);
void summary_get_source(struct np_bytes_reader *reader, struct np_source_files *source);

/* Check magic, form, length and checksum. */
int summary_open(const uint8_t *bytes, size_t length, const char *name, struct np_bytes_reader *ret,
		 struct np_err *err) NP_MUST_USE;

#endif /* NP_SUMMARY_BYTES_H */
