/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COLLECT_OPTIONS_H
#define NP_COLLECT_OPTIONS_H

#include "cli/command/opt.h"
#include "plan.h"

/*
 * The command line of npuprof-collect
 * ===================================
 *
 *	npuprof-collect [options] -- application [argument]...
 *
 * Options have the names of MindSpeed-LLM with or without the prefix
 * "profile-", and --ranks takes a list with spaces: "--profile-ranks 0 1 2 3".
 * Both are rewritten first; the option table sees "--ranks=0,1,2,3".
 *
 * Every rank reads its own command line; only rank 0 turns it into a plan.
 */
struct np_collect_options {
	const char *ranks;
	int64_t step_start; /* NP_UNKNOWN: not given, as all numbers below */
	int64_t step_end;
	int level; /* -1: not given, as all choices below */
	int aic_metrics;
	bool with_cpu;
	bool with_stack;
	bool with_memory;
	bool record_shapes;
	int preset;
	const char *config;
	const char *profile; /* "true", "false"; NULL: as the file says */
	const char *save_path;
	const char *job;
	int export;
	int export_type;
	bool data_simplification;
	int64_t grace;
	bool force_env;
	int backend;
	bool dynamic;
	int64_t window_steps;
	int64_t max_size;
	int step_source;
	const char *step_mstx;
	int64_t delay;
	int64_t duration;
	const char *memory_snapshot;
	const char *memory_ranks;
	int memory_stacks;
	int64_t memory_entries;
	const char *pid;
	int coord; /* enum np_mode + 1; 0: auto, -1: not given */
	const char *rdzv;
	int64_t nnodes;
	int64_t node_rank;
	int64_t rdzv_timeout;
	bool dry_run;
	bool quiet;
};

/* clang-format off */
/* Rows that npuprof ctl has as well. */
#define NP_OPT_RANKS(offset_, help_, default_) \
	{ .name = "ranks", .kind = NP_OPT_TEXT, .offset = (offset_), .value = "LIST", \
	  .help = (help_), .preset_words = (default_) }
#define NP_OPT_LEVEL(offset_, help_, default_) \
	{ .name = "level", .kind = NP_OPT_CHOICE, .offset = (offset_), .value = "LEVEL", \
	  .help = (help_), .choices = np_plan_levels, .preset_words = (default_) }
/* clang-format on */

/* A command line that was read: the texts of `options` live as long as it does. */
struct np_collect_line {
	struct np_collect_options options;
	int app; /* index of the application's name in argv; -1: --pid is given instead */
	struct np_buf words;
	const char **word; /* into `words` */
};

enum {
	NP_COLLECT_GROUPS = 7,
};

/* options_table.c: every option is one row. */
extern const struct np_opt_group np_collect_groups[NP_COLLECT_GROUPS];

/*
 * Read what follows the program's name. Returns as np_opt_parse() does.
 * np_collect_line_release() is due in every case.
 */
int np_collect_line_read(struct np_collect_line *line, int argc, const char *const *argv,
			 struct np_err *err) NP_MUST_USE;
void np_collect_line_release(struct np_collect_line *line);

/*
 * The plan: defaults, then the file, then the preset, then single options. What
 * deserves a word (ignored keys, settings that cannot be served) is added to
 * `notes`, one line each. `plan->job` may stay empty.
 */
int np_collect_plan(const struct np_collect_options *options, struct np_plan *plan,
		    struct np_buf *notes, struct np_err *err) NP_MUST_USE;

#endif /* NP_COLLECT_OPTIONS_H */
