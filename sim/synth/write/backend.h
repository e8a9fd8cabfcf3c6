/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_BACKEND_H
#define SYN_BACKEND_H

#include "npuprof/buf.h"
#include "sim/synth/world/stream.h"

/*
 * Forms of output
 * ===============
 *
 * A back-end writes one file, or a few that belong together, of a rank. It
 * opens a sink, the stream fills it, and close() completes the files. A new
 * form is a new file with a back-end and a row in the table of backend.c.
 */
struct syn_backend {
	const char *name;
	bool (*is_wanted)(const struct syn_rank_info *info);
	/* `info` lives until close(). */
	int (*open)(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err);
	/* Free the sink; complete what it writes if `rc` is NP_OK, else abandon it. Gives the final
	 * code. */
	int (*close)(struct syn_sink *sink, int rc, struct np_err *err);
};

extern const struct syn_backend syn_rank_db;
extern const struct syn_backend syn_analysis_db;
extern const struct syn_backend syn_metadata;
extern const struct syn_backend syn_prof_info;
extern const struct syn_backend syn_trace;
extern const struct syn_backend syn_kernel_csv;
extern const struct syn_backend syn_step_csv;
extern const struct syn_backend syn_statistic_csv;
extern const struct syn_backend syn_memory_csv;
extern const struct syn_backend syn_memory_snapshot;
extern const struct syn_backend syn_comm_json;
extern const struct syn_backend syn_monitor;
extern const struct syn_backend syn_nsys;
extern const struct syn_backend syn_kineto;

#define SYN_BACKENDS 14
extern const struct syn_backend *const syn_backends[SYN_BACKENDS];

/* Name of a rank's directory, below the output directory; of a rank of msMonitor, of its file. */
void syn_rank_dir(const struct syn_rank_info *info, struct np_buf *buf);

/* Make the directories of a rank; `dir` and `output` become those of its info. */
int syn_make_rank_dirs(const struct syn_rank_info *info, struct np_buf *dir, struct np_buf *output,
		       struct np_err *err) NP_MUST_USE;

/* Paths of a rank's files, each added to `buf`. */
void syn_rank_db_path(const struct syn_rank_info *info, struct np_buf *buf);
void syn_analysis_path(const struct syn_rank_info *info, const char *name, struct np_buf *buf);

/* An exported text file: "<stem><suffix>", with the time between them if msprof made it. */
void syn_text_path(const struct syn_rank_info *info, const char *stem, const char *suffix,
		   struct np_buf *buf);

/* Values of the metadata that the json file and the database share, as JSON text. */
void syn_distributed_args(const struct syn_rank_info *info, struct np_buf *buf);
void syn_parallel_group_info(const struct syn_rank_info *info, struct np_buf *buf);
void syn_env_variables(const struct syn_rank_info *info, struct np_buf *buf);

#endif /* SYN_BACKEND_H */
