/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_STORE_H
#define HIST_STORE_H

#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * Runs over time, in one SQLite file
 * ==================================
 *
 * What is left of every run that was added: who ran where, where the time of each rank went, how
 * fast links were, which repairs would have gained what, and the verdict. A run takes about 150
 * bytes for each of its ranks; single steps are kept of the newest runs only.
 *
 * The file is never changed in place: who adds to it holds the lock of its directory
 * (npuprof/lock.h), copies it, adds and puts the copy into its place. A reader needs no lock and
 * sees a whole file. A run is in it once, by the fingerprint of its files. The copy is on the disk
 * before it gets the name, so that a machine that fails leaves one or the other.
 */

/* The runs of which steps are kept. */
#define HIST_STEPS_OF_RUNS 20

struct hist_run {
	int64_t id;
	np_str fingerprint;
	np_str job;
	np_str dir;     /* as it was given */
	np_str program; /* version of npuprof */
	np_str device;  /* "NPU", "GPU", "mixed" */
	np_str basis;   /* of the step: "iteration", "span" */
	np_str verdict; /* kind */
	np_str what;    /* the repair, where the verdict names one */
	np_str sentence;
	np_ns captured; /* when it ran, since 1970 */
	np_ns added;
	int64_t world; /* ranks of the job; NP_UNKNOWN */
	int64_t ranks; /* that were used */
	int64_t steps;
	np_ns step; /* mean */
	/* Of `ranks`, those of this run. */
	size_t first_rank;
	size_t rank_count;
};

/* What a rank did in a mean step of a run; NP_UNKNOWN for what is not known. */
struct hist_rank {
	uint32_t run; /* index in hist_store.runs, as in all others */
	int64_t rank;
	np_str host;    /* NP_STR_NONE: not known */
	int64_t device; /* -1: not known */
	int64_t stage;  /* places in the parallel dimensions; -1: not known */
	int64_t tp;
	int64_t dp;
	int64_t ep;
	np_ns step;
	np_ns computing;
	np_ns wait;
	np_ns transfer;
	np_ns idle;   /* within steps and between them */
	np_ns charge; /* waiting of others that began here */
	double mhz;   /* of the AI cores; NaN where it was not read */
};

struct hist_label {
	uint32_t run;
	np_str name;
	np_str value;
};

/* Figures with names that begin so are bytes, the others ns. */
#define HIST_MEMORY "memory/"

bool hist_figure_is_bytes(const char *name);

/*
 * A leaf of the partition, "computing" and the like, in the mean step of all ranks; the highest
 * peak of memory.
 */
struct hist_figure {
	uint32_t run;
	np_str name;
	np_ns time; /* or bytes */
};

struct hist_step {
	uint32_t run;
	int64_t rank;
	np_str step;
	np_ns length;
	np_ns computing;
	np_ns wait;
	np_ns transfer;
	np_ns idle;
	np_ns blame; /* waiting of others that it owes by its arrivals, as np_blame has it */
};

/* How far a run is to be believed, and what recorded it; NP_UNKNOWN in runs of older versions. */
struct hist_trust {
	uint32_t run;
	int64_t ops;         /* operators of communication */
	int64_t ops_matched; /* over ranks */
	np_ns clock_error;   /* 90 % of all are less */
	int64_t left_out;    /* ranks that could not be used */
	int64_t partial;     /* ranks of which files are not whole */
	np_str cann;         /* versions; NP_STR_NONE: not known */
	np_str framework;
};

/* A window that a watch has told of; its run may be gone. */
struct hist_window {
	np_str job;
	np_str name;
	np_str fingerprint;
	int64_t run; /* number of the run that it became */
};

/* Between ranks; only those that were compared with others. */
struct hist_link {
	uint32_t run;
	int64_t src;
	int64_t dst;
	np_str transport;
	double gb_s;
	double peers_gb_s;
	int64_t slow; /* 1, or 0 */
};

/* Between repairs that were made together. */
#define HIST_AND "+"

struct hist_repair {
	uint32_t run;
	np_str repair; /* "host:node-7"; "rank:3+host:node-7" of several together */
	np_ns saved;   /* of the step */
};

struct hist_store {
	struct np_strtab *strings;
	NP_VEC(struct hist_run) runs;   /* by time of capture, then id */
	NP_VEC(struct hist_rank) ranks; /* by run, then rank */
	NP_VEC(struct hist_label) labels;
	NP_VEC(struct hist_figure) figures;
	NP_VEC(struct hist_step) steps;
	NP_VEC(struct hist_link) links;
	NP_VEC(struct hist_repair) repairs;
	NP_VEC(struct hist_trust) trusts;   /* at most one of each run */
	NP_VEC(struct hist_window) windows; /* by the number of their run */
};

/* The store that was given, else that of NPUPROF_HISTORY; NULL where neither names one. */
const char *hist_store_path(const char *given);

struct hist_store *hist_store_new(struct np_err *err) NP_MUST_USE;
void hist_store_free(struct hist_store *store);
void hist_store_freep(struct hist_store **store);

/* The text of a string of the store; NULL for none. */
const char *hist_text(const struct hist_store *store, np_str id);
int hist_intern(struct hist_store *store, const char *text, np_str *ret, struct np_err *err)
	NP_MUST_USE;

/* The value of a label of a run, or NULL. */
const char *hist_label_of(const struct hist_store *store, size_t run, const char *name);

/*
 * Read all of a store. NP_E_NOTFOUND where there is none yet, NP_E_FORMAT for what is none, is
 * damaged, or was made by a newer version.
 */
int hist_store_read(const char *path, struct hist_store **ret, struct np_err *err) NP_MUST_USE;

/* What became of a run that was to be added. */
struct hist_added {
	int64_t id;       /* its number in the store */
	bool known;       /* it was there already */
	bool same;        /* as other files with the same capture: they were copied */
	int64_t replaces; /* the run that lacked ranks of this capture; NP_UNKNOWN: none */
};

/*
 * Put the one run of `entry` into the store at `path`, which is made if need be. A capture is in it
 * once: where a run of the job began within a minute of it and the ranks they share took the same
 * time to the nanosecond, the one with more ranks is kept, with the labels of both.
 */
int hist_store_add(const char *path, const struct hist_store *entry, struct hist_added *ret,
		   struct np_err *err) NP_MUST_USE;

/* A window of a watch that is put into the store. */
struct hist_arrival {
	const char *name;
	int64_t replaces; /* the run that it was before more of it arrived; NP_UNKNOWN: none */
	int64_t keep;     /* so many runs of windows of this job are kept; 0: all */
};

/* The same for a window: it stays known when its run is removed. Copies are windows of their own.
 */
int hist_store_add_window(const char *path, const struct hist_store *entry,
			  const struct hist_arrival *arrival, struct hist_added *ret,
			  struct np_err *err) NP_MUST_USE;

/* The number of the run with this fingerprint; NP_UNKNOWN for none, also without a store. */
int hist_store_find(const char *path, const char *fingerprint, int64_t *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * Say something else of a run that is there: its job (NULL: as it is), and labels, "name=value"
 * each, instead of those with the same names.
 */
int hist_store_rename(const char *path, int64_t id, const char *job, const char *const *labels,
		      size_t label_count, struct np_err *err) NP_MUST_USE;

/* Remove runs by their numbers, which have to be there; windows stay known. */
int hist_store_remove(const char *path, const int64_t *ids, size_t count, struct np_err *err)
	NP_MUST_USE;

/* Keep the newest so many runs of each job; how many were removed. */
int hist_store_prune(const char *path, int64_t keep, int64_t *ret, struct np_err *err) NP_MUST_USE;

#endif /* HIST_STORE_H */
