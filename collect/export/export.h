/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EXPORT_H
#define NP_EXPORT_H

/*
 * From raw data to files that can be analysed
 * ===========================================
 *
 * What a collector leaves of a rank is a directory *_ascend_pt with raw data in
 * PROF_*. Exporting it is running the vendor's msprof over the raw data, adding
 * what only the collector knows (rank, host, steps, communicators, clock), and
 * deriving what torch_npu would have derived:
 *
 *	find.c      which directories there are, and what is known about them
 *	files.c     write, copy, remove
 *	child.c     run a program with a log and a time limit
 *	metadata.c  communicators of which each rank knows only its own position
 *	msprof.c    raw data -> databases and text of msprof, inside PROF_*
 *	rank_db.c   those -> ascend_pytorch_profiler_<rank>.db
 *	rank_text.c those -> trace_view.json, kernel_details.csv
 *	one.c       all of this for one rank, and what is derived of the loaded rank
 *	            (analysis.db, step_trace_time.csv, communication*.json: written by
 *	            core/model/vendor); verified, then renamed into place
 *	manifest.c  what became of it, into npuprof_manifest.json
 *
 * Raw data are never changed. A rank that fails does not touch the others.
 */

#include <stdio.h>

#include "npuprof/buf.h"
#include "npuprof/dirs.h"
#include "npuprof/json.h"
#include "npuprof/notes.h"
#include "npuprof/temporary.h"

struct np_rank;

#define NP_EXPORT_OUTPUT "ASCEND_PROFILER_OUTPUT"
#define NP_EXPORT_DONE   "analyse.done"

enum np_export_type {
	NP_EXPORT_DB = 1 << 0,
	NP_EXPORT_TEXT = 1 << 1,
};

/* A directory with npuprof_manifest.json, and what that says; shared by the ranks below it. */
struct np_export_job {
	char *dir;
	struct np_json *manifest;
};

struct np_export_step {
	int64_t step;
	np_ns begin;
	np_ns end;
};

enum np_export_state {
	NP_EXPORT_FAILED,
	NP_EXPORT_EXPORTED,
	NP_EXPORT_FRESH,   /* it was exported before, and nothing has changed since */
	NP_EXPORT_STOPPED, /* by the user, before it was done */
};

struct np_export_rank {
	char *dir;
	char *prof; /* its PROF_*, the newest if there are several; NULL: none */
	const struct np_export_job *job; /* NULL without a manifest */
	int32_t rank;                    /* -1: nothing says */
	int32_t device;                  /* -1: nothing says */
	char *host;                      /* NULL: nothing says; likewise the next */
	char *host_uid;
	bool framework; /* recorded by torch_npu itself, which has its own exporter */
	NP_VEC(struct np_export_step) steps;
	struct np_json *record; /* npuprof_rank.json, or NULL */

	/* What became of it. */
	enum np_export_state state;
	struct np_err err;
	size_t step_count; /* of the steps that were written */
	int64_t first_step;
	int64_t last_step;
	size_t op_count;
	int64_t bytes;
	struct np_notes notes;
};

struct np_export_tree {
	NP_VEC(struct np_export_job *) jobs;
	NP_VEC(struct np_export_rank) ranks; /* by rank, then directory */
	size_t chosen;                       /* so many of them, the first, are to be exported */
	struct np_notes notes;               /* directories that could not be read */
};

struct np_export_options {
	const char *msprof; /* path of the program */
	unsigned types;     /* bits of enum np_export_type */
	int64_t timeout_s;  /* of one run of msprof */
	bool keep_raw;      /* keep what msprof wrote beside the raw data */
	bool force;         /* export again what is fresh */
};

/* --- find.c ---------------------------------------------------------------------------------- */

void np_export_tree_release(struct np_export_tree *tree);

/* Find the rank directories below a directory. NP_E_NOTFOUND says what was looked for. */
int np_export_find(struct np_export_tree *tree, const char *root, struct np_err *err) NP_MUST_USE;

/* Names in a directory, sorted; one that is not there has none. */
int np_export_list(const char *dir, struct np_names *ret, struct np_err *err) NP_MUST_USE;

bool np_export_is_file(const char *path);

/* --- files.c --------------------------------------------------------------------------------- */

struct np_jsonout;
/* Write a node as it was read, on one line if `line`; null below a nesting nobody writes. */
void np_export_copy_json(struct np_jsonout *out, const char *key, const struct np_json *node,
			 bool line);

/* --- child.c --------------------------------------------------------------------------------- */

/*
 * Run a program to its end, its output going to `log`. Fails with what it ended
 * with and the last thing it said; a program that takes too long, or that runs
 * when the user stops us, is ended with all that it started.
 */
int np_export_child(const char *const *argv, int log, int64_t timeout_s, struct np_err *err)
	NP_MUST_USE;

/* Let SIGINT and SIGTERM end children and then this program. */
void np_export_catch_signals(void);
bool np_export_was_stopped(void);

/* The program behind a name, as a shell finds it; NULL if there is none. */
char *np_export_find_program(const char *name);

/* --- metadata.c ------------------------------------------------------------------------------ */

/*
 * A process knows its position in a communicator, not who the others are. Where the
 * records of all members are in the tree, complete profiler_metadata.json.
 */
int np_export_complete_metadata(const struct np_export_rank *rank,
				const struct np_export_tree *tree, struct np_err *err) NP_MUST_USE;

/* --- msprof.c -------------------------------------------------------------------------------- */

/*
 * Have msprof export and analyse the raw data of the rank in one form, unless
 * that was done and they have not changed since.
 */
int np_export_msprof(struct np_export_rank *rank, const struct np_export_options *options,
		     enum np_export_type type, int log, struct np_err *err) NP_MUST_USE;

/* Time of the newest raw file of the rank and of what was recorded beside it. */
np_ns np_export_raw_time(const struct np_export_rank *rank);

/* Remove what msprof wrote into PROF_*. */
void np_export_remove_msprof(const struct np_export_rank *rank);

/* The newest database that msprof made of a PROF_*; NULL if there is none. */
char *np_export_msprof_db(const char *prof);

/* The newest text file "<stem>_<time><suffix>", likewise; the slices of a cut trace have several.
 */
char *np_export_msprof_text(const char *prof, const char *stem, const char *suffix);
int np_export_msprof_trace(const char *prof, struct np_names *ret, struct np_err *err) NP_MUST_USE;

/* --- rank_db.c ------------------------------------------------------------------------------- */

/* Write the rank's database, from those msprof made, to `path`, and look whether it is good. */
int np_export_rank_db(struct np_export_rank *rank, const char *path, struct np_err *err)
	NP_MUST_USE;

/* --- rank_text.c ----------------------------------------------------------------------------- */

/* A rank as npuprof loads it from what was made. */
struct np_export_loaded {
	const struct np_rank *rank;
	const struct np_strtab *strings;
};

/*
 * Write trace_view.json (the recorded steps, then msprof's trace), and copy
 * op_statistic.csv and api_statistic.csv, into `dir`.
 */
int np_export_trace_text(struct np_export_rank *rank, const char *dir, struct np_err *err)
	NP_MUST_USE;

/* Write kernel_details.csv: msprof's op_summary under other titles, with the step of each row. */
int np_export_kernels_csv(const struct np_export_rank *rank, const struct np_export_loaded *loaded,
			  const char *path, struct np_err *err) NP_MUST_USE;

/* --- one.c ----------------------------------------------------------------------------------- */

/* Export one rank; what became of it stands in the rank. */
void np_export_one(struct np_export_rank *rank, const struct np_export_tree *tree,
		   const struct np_export_options *options);

/* Is there nothing to do for this rank? */
bool np_export_is_fresh(const struct np_export_rank *rank, const struct np_export_options *options);

/* --- manifest.c ------------------------------------------------------------------------------ */

/* Write the states of the ranks into the manifest of their job. */
int np_export_update_manifest(const struct np_export_job *job, const struct np_export_tree *tree,
			      struct np_err *err) NP_MUST_USE;

#endif /* NP_EXPORT_H */
