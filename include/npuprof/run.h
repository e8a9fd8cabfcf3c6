/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RUN_H
#define NP_RUN_H

#include "npuprof/err.h"
#include "npuprof/iteration.h"
#include "npuprof/notes.h"
#include "npuprof/strtab.h"
#include "npuprof/timings.h"
#include "npuprof/vec.h"

/*
 * A run: the ranks of one training job
 * ====================================
 *
 * np_discover() fills `sources` from names and small metadata files alone;
 * np_load_run() fills `ranks`, by the index of the source, with NULL for a rank
 * that could not be used. Both add to `notes`. Sources are sorted by rank.
 */

struct np_detail;
struct np_distributed;
struct np_ranges;
struct np_rank;

/* Which tool laid the files out, and so where they are and what they are called. */
enum np_kind {
	NP_KIND_PYTORCH,   /* *_ascend_pt of torch_npu */
	NP_KIND_MINDSPORE, /* *_ascend_ms */
	NP_KIND_MSPROF,    /* PROF_* of msprof, exported */
	NP_KIND_MSMONITOR, /* a single database, or lines in its place (NP_FILE_TRACE) */
	NP_KIND_CLUSTER,   /* cluster_analysis_output: what an analysis made of profiles */
	NP_KIND_KINETO,    /* a trace of PyTorch's own profiler */
	NP_KIND_COUNT,
};

/* The files of a rank that a reader is interested in. */
enum np_file {
	NP_FILE_RANK_DB,
	NP_FILE_ANALYSIS_DB,
	NP_FILE_TRACE,      /* trace_view.json, msprof_*.json */
	NP_FILE_KERNELS,    /* kernel_details.csv, op_summary_*.csv */
	NP_FILE_STEP_TRACE, /* step_trace_time.csv */
	NP_FILE_COMM,       /* communication.json */
	NP_FILE_COMM_MATRIX,
	NP_FILE_OP_STATISTIC,
	NP_FILE_API_STATISTIC,
	NP_FILE_MEMORY_RECORD,
	NP_FILE_OPERATOR_MEMORY,
	NP_FILE_MODULE_MEMORY, /* npu_module_mem.csv */
	NP_FILE_INFO,          /* profiler_info_N.json, info.json.N */
	NP_FILE_METADATA,      /* profiler_metadata.json */
	NP_FILE_KINETO,        /* a trace of PyTorch's own profiler, of a GPU or an NPU */
	NP_FILE_CLUSTER_DB,    /* cluster_analysis.db: the derived figures of all ranks */
	NP_FILE_COUNT,
};

/* "trace_view.json" …: the usual name of a file, for messages and lists. */
const char *np_file_name(enum np_file file);
const char *np_kind_name(enum np_kind kind);

/* How the number of a rank is known. */
enum np_rank_from {
	NP_RANK_FROM_FILES,  /* a file of the profile says it */
	NP_RANK_FROM_NAME,   /* only the name of a directory or file does */
	NP_RANK_ASSUMED,     /* by host and device, or as the only one */
	NP_RANK_PROVISIONAL, /* captures that nothing tells apart were counted */
	NP_RANK_FROM_COUNT,
};

/* "from the name" …; NULL for a file, which goes without saying. */
const char *np_rank_from_name(enum np_rank_from from);

/* Coordinates that the name of a capture says, if it is known to; -1 for what it does not. */
struct np_named_place {
	bool known;
	int32_t dp, pp, tp, cp, ep;
};

/* How much of a rank is wanted, where its files can be read for that alone. */
enum np_load_part {
	NP_LOAD_WHOLE,
	/* Not what a nanosecond of a step went to, nor samples and memory; copies beside. */
	NP_LOAD_TIMES,
	/* Only operators and communicators: neither steps nor times. */
	NP_LOAD_OPERATORS,
};

/* How links and packets are kept, which most ranks have for tables alone. */
enum np_load_rows {
	NP_ROWS_WHOLE,
	NP_ROWS_PACKED,  /* np_rank_pack_rows() */
	NP_ROWS_COUNTED, /* np_rank_count_rows() */
};

struct np_source_files {
	enum np_kind kind;
	int32_t rank;
	enum np_rank_from rank_from;
	struct np_named_place place;
	char *phase; /* of the job, where captures of its ranks form several; else NULL */
	char *dir;   /* the rank's directory, as found below the root */
	char *file[NP_FILE_COUNT];  /* NULL for one that is not there */
	NP_VEC(char *) more_traces; /* further files of a trace that was cut up */
	char *host;                 /* where the metadata names it, else NULL */
	int32_t device;             /* likewise, else -1 */
	int64_t process;            /* likewise, else 0: the id of what was profiled */
	int64_t stamp;        /* from the directory's name, else the newest change of its files */
	int64_t bytes;        /* size of the input files */
	uint64_t fingerprint; /* np_source_fingerprint() where the files need not be here, else 0 */
	char *summary;        /* a file that holds the rank already reduced, else NULL */
	int64_t summary_at;   /* where in that file, of a part; else 0 */
	int64_t summary_size; /* bytes of it there; 0: all of the file */
	enum np_load_part part;
	enum np_load_rows rows;
	struct np_steps_choice steps; /* where its steps come from; the pattern is not its own */
	/* Sum its kernels too, by these calls (kernel_sums.h); NULL: do not. */
	bool (*kernel_framework_op)(const char *name);
};

void np_source_files_release(struct np_source_files *source);

struct np_run;

/* What a run asks of the processes that have loaded its ranks. */
struct np_distributed_calls {
	/* Is the detail of a rank with these sections on its way? Then it can be waited for, once.
	 */
	bool (*detail_comes)(const struct np_run *run, size_t index, unsigned wants);
	int (*take_detail)(const struct np_run *run, size_t index, struct np_detail **ret,
			   struct np_err *err);
	void (*free)(struct np_distributed *distributed);
};

struct np_run {
	NP_VEC(char *) roots;
	/* Names of the phases of the job, if there are several; the sources are of one of them. */
	NP_VEC(char *) phases;
	char *given; /* what the user called the first root; NULL: the same */
	/* Made of summaries: the roots need not be here, and this is the text of the manifest. */
	bool summarised;
	char *manifest;
	struct np_strtab *strings;
	NP_VEC(struct np_source_files) sources;
	struct np_rank **ranks; /* sources.count entries once loaded */
	size_t cached;          /* ranks of this process that a kept summary stood in for */
	bool steps_chosen;      /* some were left out */
	/* Over other processes, and how to ask them; both NULL for one alone. */
	struct np_distributed *distributed;
	const struct np_distributed_calls *distributed_calls;
	struct np_notes notes;
	struct np_timings timings; /* of what was done with it so far */
};

struct np_run *np_run_new(void) NP_MUST_USE;
void np_run_free(struct np_run *run);
void np_run_freep(struct np_run **run);

/* The rank with this id, or NULL. */
const struct np_rank *np_run_rank(const struct np_run *run, int32_t id);

/* The index of a rank in run->sources, which are by id; SIZE_MAX if there is none. */
size_t np_run_index(const struct np_run *run, int32_t id);

/* What the ranks ran on: "NPU", "GPU", or "mixed". */
const char *np_run_device_kind(const struct np_run *run);

/* Number of ranks that were loaded. */
size_t np_run_used(const struct np_run *run);

/*
 * Note which ranks of the job have no profile, as far as the metadata tell its size; one that was
 * `collected` and is gone is a loss.
 */
void np_run_note_missing(struct np_run *run, bool collected);

/* The text of an interned string; NULL for NP_STR_NONE. */
const char *np_run_text(const struct np_run *run, np_str id);

/*
 * Keep only the steps in `steps`. NP_E_USAGE, listing those there are, when a
 * step asked for exists on no rank.
 */
int np_run_keep_steps(struct np_run *run, const struct np_ranges *steps, struct np_err *err)
	NP_MUST_USE;

/*
 * Leave out the first steps of the run, by their numbers over all ranks. NP_E_USAGE
 * when none would be left.
 */
int np_run_skip_steps(struct np_run *run, size_t number, struct np_err *err) NP_MUST_USE;

/*
 * A fingerprint of the input files (names below the root, sizes, times of
 * change), as 16 hexadecimal digits: tells whether a merged database is fresh.
 */
void np_run_fingerprint(const struct np_run *run, char ret[17]);

/* The part of it that is about one rank. */
uint64_t np_source_fingerprint(const struct np_run *run, const struct np_source_files *source);

#endif /* NP_RUN_H */
