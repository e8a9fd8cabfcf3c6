/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMMON_H
#define NP_COMMON_H

#include <stdio.h>

#include "npuprof/lang.h"

#include "opt.h"

/*
 * The options that mean the same in every command. A command keeps a
 * `struct np_common` in its options and lists the groups it serves after its
 * own:
 *
 *	struct foo_options {
 *		struct np_common common;
 *		bool thorough;
 *	};
 *
 *	static const struct np_opt_group groups[] = {
 *		{ "Analysis", foo_rows, NP_COUNT(foo_rows), 0 },
 *		NP_GROUP_INPUT(struct foo_options, common),
 *		NP_GROUP_OUTPUT(struct foo_options, common),
 *		NP_GROUP_RUNNING(struct foo_options, common),
 *		NP_GROUP_GENERAL,
 *	};
 */
enum np_output_format {
	NP_OUTPUT_TABLE,
	NP_OUTPUT_JSON,
	NP_OUTPUT_CSV,
	NP_OUTPUT_MD,
	NP_OUTPUT_HTML, /* of commands with a row of their own for -f */
};

struct np_phase_times;

struct np_common {
	struct np_opt_list dirs;    /* the directories of one run, one per node */
	struct np_opt_ranges ranks; /* .set is NULL: all */
	struct np_opt_ranges steps;
	int64_t skip_steps;     /* the first so many are left out */
	const char *phase;      /* of the job; NULL: all */
	const char *steps_from; /* as given: prepare_steps_from(); NULL: marks, else period */
	const char *output;     /* NULL: beside the input */
	int format;             /* enum np_output_format */
	int64_t jobs;           /* 0: one per processor */
	const char *cache;      /* directory of summaries, or np_cache_in_output; NULL: none */
	bool from_summaries;    /* the input directories hold summaries */
	const char *max_memory; /* as given; NULL: any */
	bool strict;            /* whatever deserves a word makes the exit status 3 */
	bool quiet;
	int verbose;
	bool no_color;
	bool vendor_files; /* write what msprof-analyze writes, under its names */
	bool agent;        /* the answer is one line of JSON (cli/prepare/agent.h) */
	/* No option: the phase in hand, where there are several, and what is gathered of each. */
	const char *phase_part;
	bool snapshots;    /* no option: memory snapshots beside the profiles are read too */
	bool phase_if_any; /* a run without phases need not have the one that was asked for */
	struct np_phase_times *phase_times;
	/* No option: np_load_options.kernel_framework_op, for commands that want kernels summed. */
	bool (*kernel_framework_op)(const char *name);
	int load_part; /* enum np_load_part: likewise np_load_options.part, … */
	int load_rows; /* … and rows, enum np_load_rows: for commands that read links so, or not */
};

/* Help of --steps-from, for who has an option of its own. */
#define NP_HELP_STEPS_FROM \
	NP_MSG("where steps come from: marks of the framework; period, the iterations that are " \
	       "found by what repeats; range:PATTERN, marked ranges and annotations whose name " \
	       "matches the pattern; none, all is one step")

/* The cache is a directory of the output. */
extern const char np_cache_in_output[];

enum {
	NP_INPUT_COUNT = 6,
	NP_OUTPUT_COUNT = 3,
	NP_RUNNING_COUNT = 7,
	NP_GENERAL_COUNT = 3,
};

/* -d --ranks --steps --skip-steps --phase --steps-from */
extern const struct np_opt np_input_options[NP_INPUT_COUNT];
extern const struct np_opt np_output_options[NP_OUTPUT_COUNT]; /* -o -f --no-color */
/* The same of commands that write nothing but tables, and these only with -o. */
extern const struct np_opt np_tables_options[NP_OUTPUT_COUNT];
/* -j --cache --from-summaries --max-memory --strict -q -v */
extern const struct np_opt np_running_options[NP_RUNNING_COUNT];
extern const struct np_opt np_general_options[NP_GENERAL_COUNT]; /* --lang -h -V */

/* The options of commands that msprof-analyze has as well. */
enum {
	NP_VENDOR_COUNT = 2
};
extern const struct np_opt np_vendor_options[NP_VENDOR_COUNT]; /* --vendor-files --agent */

/* clang-format off */
#define NP_GROUP_VENDOR(type, member) \
	{ NP_MSG("For scripts of msprof-analyze"), np_vendor_options, NP_VENDOR_COUNT, \
	  offsetof(type, member) }
#define NP_GROUP_INPUT(type, member) \
	{ NP_MSG("Input"), np_input_options, NP_INPUT_COUNT, offsetof(type, member) }
#define NP_GROUP_OUTPUT(type, member) \
	{ NP_MSG("Output"), np_output_options, NP_OUTPUT_COUNT, offsetof(type, member) }
#define NP_GROUP_TABLES(type, member) \
	{ NP_MSG("Output"), np_tables_options, NP_OUTPUT_COUNT, offsetof(type, member) }
#define NP_GROUP_RUNNING(type, member) \
	{ NP_MSG("Running"), np_running_options, NP_RUNNING_COUNT, offsetof(type, member) }
/* These fill nothing, so a command without a struct has them too. */
#define NP_GROUP_GENERAL \
	{ NP_MSG("General"), np_general_options, NP_GENERAL_COUNT, 0 }

/* Bare arguments are further -d; at least so many are needed, in either form. */
#define NP_OPERAND_SOME_DIRS(type, member, least_) \
	{ \
		.option = { .kind = NP_OPT_LIST, .fill = NP_FILL_DIRECTORY, .value = "DIR", \
			    .offset = offsetof(type, member) + offsetof(struct np_common, dirs) }, \
		.least = (least_), \
		.most = NP_OPERANDS_ANY, \
	}
#define NP_OPERAND_DIRS(type, member)          NP_OPERAND_SOME_DIRS(type, member, 1)
#define NP_OPERAND_OPTIONAL_DIRS(type, member) NP_OPERAND_SOME_DIRS(type, member, 0)
/* clang-format on */

/* Is the result a page for people? It shows notes as well, other forms do not. */
static inline bool np_common_page(const struct np_common *common)
{
	return common->format == NP_OUTPUT_TABLE || common->format == NP_OUTPUT_MD;
}

/* May `stream` carry colour: a terminal, --no-color not given, NO_COLOR not set? */
bool np_common_color(const struct np_common *common, FILE *stream);

#endif /* NP_COMMON_H */
