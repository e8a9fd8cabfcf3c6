/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_BACKEND_H
#define SYN_BACKEND_H

#include "npuprof/buf.h"
#include "stream.h"

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
	/* NULL: always */
	bool (*is_wanted)(const struct syn_config *config);
	/* `info` lives until close(). */
	int (*open)(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err);
	/* Free the sink; complete what it writes if `rc` is NP_OK, else abandon it. Gives the final
	 * code. */
	int (*close)(struct syn_sink *sink, int rc, struct np_err *err);
};

extern const struct syn_backend syn_rank_db;
extern const struct syn_backend syn_analysis_db;
extern const struct syn_backend syn_metadata;

extern const struct syn_backend *const syn_backends[];
extern const size_t syn_backend_count;

/* Name of a rank's directory, below the output directory. */
void syn_rank_dir(const struct syn_rank_info *info, struct np_buf *buf);

/* Values of the metadata that the json file and the database share, as JSON text. */
void syn_distributed_args(const struct syn_rank_info *info, struct np_buf *buf);
void syn_parallel_group_info(const struct syn_rank_info *info, struct np_buf *buf);
void syn_env_variables(const struct syn_rank_info *info, struct np_buf *buf);

#endif /* SYN_BACKEND_H */
