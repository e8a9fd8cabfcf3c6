/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RUN_H
#define NP_RUN_H

#include "npuprof/notes.h"
#include "npuprof/rank.h"
#include "npuprof/ranges.h"
#include "npuprof/strtab.h"

/*
 * A run: the ranks of one training job
 * ====================================
 *
 * np_discover() fills `sources` from names and small metadata files alone;
 * np_load() fills `ranks`, by the index of the source, with NULL for a rank
 * that could not be used. Both add to `notes`. Sources are sorted by rank.
 */
struct np_source_files {
	int32_t rank;
	char *dir;          /* the rank's directory, as found below the root */
	char *rank_db;      /* or NULL */
	char *analysis_db;  /* or NULL */
	char *info_json;    /* profiler_info_N.json, or NULL */
	char *metadata_json; /* profiler_metadata.json, or NULL */
	int64_t stamp;      /* from the directory's name, else the newest change of its files */
	int64_t bytes;      /* size of the input files */
};

struct np_run {
	NP_VEC(char *) roots;
	struct np_strtab *strings;
	NP_VEC(struct np_source_files) sources;
	struct np_rank **ranks; /* sources.count entries once loaded */
	struct np_notes notes;
};

struct np_run *np_run_new(void) NP_MUST_USE;
void np_run_free(struct np_run *run);
void np_run_freep(struct np_run **run);

/* The rank with this id, or NULL. */
const struct np_rank *np_run_rank(const struct np_run *run, int32_t id);

/* Number of ranks that were loaded. */
size_t np_run_used(const struct np_run *run);

/* The text of an interned string; NULL for NP_STR_NONE. */
const char *np_run_text(const struct np_run *run, np_str id);

/*
 * A fingerprint of the input files (names below the root, sizes, times of
 * change), as 16 hexadecimal digits: tells whether a merged database is fresh.
 */
void np_run_fingerprint(const struct np_run *run, char ret[17]);

#endif /* NP_RUN_H */
