/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SUMMARY_BYTES_H
#define NP_SUMMARY_BYTES_H

/*
 * The bytes of summaries: numbers of variable length, texts, tables of rows.
 * Writer and reader remember the first failure; what follows it does nothing, so
 * that only the end has to be checked.
 */
#include "npuprof/idmap.h"
#include "npuprof/summary.h"

struct summary_writer {
	struct np_bytes bytes;
	const struct np_strtab *strings;
	struct np_idmap *numbers; /* of strings used so far */
	NP_VEC(np_str) used;
	bool failed; /* out of memory */
};

struct summary_reader {
	const uint8_t *at;
	const uint8_t *end;
	np_str *texts; /* by number; the first is NP_STR_NONE */
	size_t text_count;
	const char *problem; /* NULL while all is well */
	bool out_of_memory;
};

/* What every NP_VEC looks like. */
struct summary_vector {
	void *item;
	size_t count;
	size_t capacity;
};

/* Room for so many more bytes; false when out of memory. */
bool summary_room(struct summary_writer *writer, size_t count);

void summary_put_number(struct summary_writer *writer, uint64_t value);
void summary_put_signed(struct summary_writer *writer, int64_t value);
void summary_put_bytes(struct summary_writer *writer, const void *bytes, size_t length);
/* A text may be NULL. */
void summary_put_text(struct summary_writer *writer, const char *text);
/* The number of a string within the summary. */
uint32_t summary_number(struct summary_writer *writer, np_str string);

void summary_refuse(struct summary_reader *reader, const char *problem);
/* Memory ran out. */
void summary_exhaust(struct summary_reader *reader);
uint64_t summary_get_number(struct summary_reader *reader);
int64_t summary_get_signed(struct summary_reader *reader);
/* A number of at most `most`. */
uint64_t summary_get_at_most(struct summary_reader *reader, uint64_t most);
/* Allocated; NULL for no text, and after a failure. */
char *summary_get_text(struct summary_reader *reader);
/* Likewise, where there must be one. */
char *summary_get_some_text(struct summary_reader *reader);

/* NP_OK, or why not; `name` is what messages call the bytes. */
int summary_written(const struct summary_writer *writer, struct np_err *err) NP_MUST_USE;
int summary_read(const struct summary_reader *reader, const char *name, struct np_err *err)
	NP_MUST_USE;

/* All vectors and values of a rank but path and notes. */
void summary_put_rank(struct summary_writer *writer, const struct np_rank *rank);
void summary_get_rank(struct summary_reader *reader, struct np_rank *rank);

void summary_put_notes(struct summary_writer *writer, const struct np_notes *notes);
void summary_get_notes(struct summary_reader *reader, struct np_notes *notes);

void summary_put_source(struct summary_writer *writer, const struct np_source_files *source);
void summary_get_source(struct summary_reader *reader, struct np_source_files *source);

/* Check magic, form, length and checksum. */
int summary_open(const uint8_t *bytes, size_t length, const char *name, struct summary_reader *ret,
		 struct np_err *err) NP_MUST_USE;

/* Read a file as a whole, and write one under a temporary name first. */
int summary_slurp(const char *path, struct np_bytes *ret, struct np_err *err) NP_MUST_USE;
int summary_spill(const char *path, const struct np_bytes *bytes, struct np_err *err) NP_MUST_USE;

#endif /* NP_SUMMARY_BYTES_H */
