/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DISCOVER_FILES_H
#define NP_DISCOVER_FILES_H

/* What the sources of this folder share; README.md says which of them answers what. */

#include "npuprof/dirs.h"
#include "npuprof/discover.h"
#include "npuprof/gz.h"
#include "npuprof/run.h"

#define OUTPUT_NAME   "ASCEND_PROFILER_OUTPUT"
#define MSPROF_OUTPUT "mindstudio_profiler_output"
#define CLUSTER_NAME  "cluster_analysis_output"

/* The names in a directory; one that cannot be read has none, and is noted. */
int discover_names(struct np_run *run, const char *path, struct np_names *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * If `dir` holds the profile of a rank, or several databases, add them to the
 * run. A rank directory without anything readable is noted and counted in
 * `ret_without_data`. `ret_enter` says whether ranks may stand below.
 */
int discover_take(struct np_run *run, const char *dir, const struct np_names *names,
		  size_t *ret_without_data, bool *ret_enter, struct np_err *err) NP_MUST_USE;

/* A result of an earlier run, where there are no profiles: its ranks. */
int discover_take_cluster(struct np_run *run, const char *dir, size_t *ret_without_data,
			  struct np_err *err) NP_MUST_USE;
int discover_take_cluster_db(struct np_run *run, const char *path, size_t *ret_without_data,
			     struct np_err *err) NP_MUST_USE;

/* Is this the name of a file of such a result, one that ranks can be read from? */
bool discover_is_result(const char *name);

/* A file that was given by itself. NP_E_USAGE, saying what to do, if it is none of a profile. */
int discover_take_file(struct np_run *run, const char *path, struct np_err *err) NP_MUST_USE;

/* Is it an archive? Then the line that unpacks it is appended to `buf`, unless that is NULL. */
struct np_buf;
bool discover_is_archive(const char *path, struct np_buf *buf);

/* Which file of a rank has this fixed name, such as "trace_view.json"; NP_FILE_COUNT: none. */
enum np_file discover_fixed_file(const char *name);

/* Likewise of a name that holds it: where the fixed part without its suffix is, and the length of
 * the suffix. */
enum np_file discover_find_stem(const char *name, size_t *ret_begin, size_t *ret_length,
				size_t *ret_suffix);

/* Likewise of the names of msprof, which hold the time of the export: "op_summary_2025….csv". */
enum np_file discover_stamped_file(const char *name);

/* Set a file of a source; add a source, which is empty then, to the run. */
int discover_set_file(struct np_source_files *source, enum np_file file, const char *dir,
		      const char *name, struct np_err *err) NP_MUST_USE;
int discover_keep(struct np_run *run, struct np_source_files *source, struct np_err *err)
	NP_MUST_USE;

/* Add a source that is one file, whose name need not say anything. */
int discover_keep_lone(struct np_run *run, const char *dir, const char *name, enum np_kind kind,
		       enum np_file file, struct np_err *err) NP_MUST_USE;

/* Take a file with a fixed name, unless the source has it; is there enough to read a rank from? */
int discover_find_fixed(const char *dir, const char *name, struct np_source_files *source,
			struct np_err *err) NP_MUST_USE;
bool discover_readable(const struct np_source_files *source);

/* The rank and the host that the metadata file of the source names inside. */
void discover_read_info(struct np_source_files *source);

/*
 * The output of torch_npu or MindSpore: `output` is ASCEND_PROFILER_OUTPUT of `dir`, or `dir`
 * itself where somebody has copied its files elsewhere.
 */
int discover_take_framework(struct np_run *run, const char *dir, const struct np_names *names,
			    const char *output, const struct np_names *outputs,
			    size_t *ret_without_data, struct np_err *err) NP_MUST_USE;
int discover_take_output(struct np_run *run, const char *dir, const struct np_names *names,
			 const char *output, size_t *ret_without_data, struct np_err *err)
	NP_MUST_USE;
size_t discover_count_rank_dbs(const struct np_names *names);

/* A directory of msprof; the exports that stand in a directory; the layout before 2024. */
int discover_take_msprof(struct np_run *run, const char *dir, const struct np_names *names,
			 size_t *ret_without_data, struct np_err *err) NP_MUST_USE;
int discover_find_exports(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_source_files *source, struct np_err *err) NP_MUST_USE;
bool discover_is_old_device(const char *dir);
void discover_note_old(struct np_run *run, const char *dir, size_t *ret_without_data);

/* profiler_info and profiler_metadata among the names of a directory, and the rank they say. */
int discover_metadata(const char *dir, const struct np_names *names, struct np_source_files *source,
		      struct np_err *err) NP_MUST_USE;

/* What msMonitor left in a directory. */
int discover_take_monitor(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_err *err) NP_MUST_USE;

/* Are two files of lines, by the processes and ranks in their names, of one process? */
bool discover_same_monitor(int64_t process, int32_t rank, int64_t other, int32_t other_rank);

/* Has the database the tables of a rank's? */
bool discover_is_rank_db(const char *path);

/* Rank, host and device, as far as the database says them and they are not known. */
void discover_read_db(struct np_source_files *source);

/* discover_kineto.c: is it a trace of Kineto? By its name, its head or its first events. */
int discover_is_kineto(const char *path, bool *ret, struct np_err *err) NP_MUST_USE;

/* The traces of Kineto that stand in a directory: each is a rank of its own. */
int discover_take_kineto(struct np_run *run, const char *dir, const struct np_names *names,
			 struct np_err *err) NP_MUST_USE;

/* The rank that the head of the trace names. */
void discover_read_kineto(struct np_source_files *source);

/* --- discover_renamed.c ---------------------------------------------------------------------- */

/* Longer names are nobody's. */
#define NP_RENAMED_MOST 1024

/* A file of an output directory with words around its name: rank0_trace_view.json. */
struct renamed_file {
	enum np_file file; /* NP_FILE_COUNT: it is none */
	struct np_slice before;
	struct np_slice behind;
};

bool discover_renamed(const char *name, struct renamed_file *ret);

/* Have they the same words around their names? */
bool discover_same_renamed(const struct renamed_file *a, const struct renamed_file *b);

/* Take the files of a directory that are such, a rank for those with the same words. */
int discover_take_renamed(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_err *err) NP_MUST_USE;

/*
 * Where no capture has a rank and their files or directories are numbered from 0 on, each once,
 * that is the rank.
 */
int discover_count_names(struct np_run *run, struct np_err *err) NP_MUST_USE;

/* Give every capture that was found its rank, as far as anything says it. */
int discover_name_ranks(struct np_run *run, const struct np_discover_options *options,
			struct np_err *err) NP_MUST_USE;

/* Which captures are used; sorts them by rank. */
int discover_choose(struct np_run *run, const struct np_discover_options *options,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_DISCOVER_FILES_H */
