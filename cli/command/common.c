/* SPDX-License-Identifier: Apache-2.0 */
/* The options that mean the same in every command. */
#include "common.h"

#include "output.h"

#include <stdlib.h>

static const char *const formats[] = {
	[NP_OUTPUT_TABLE] = "table",
	[NP_OUTPUT_JSON] = "json",
	[NP_OUTPUT_CSV] = "csv",
	[NP_OUTPUT_MD] = "md",
	NULL,
};

const struct np_opt np_input_options[NP_INPUT_COUNT] = {
	{
		.letter = 'd',
		.name = "dir",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct np_common, dirs),
		.value = "DIR",
		.help = "read the profiles below DIR, or this database, trace or table; repeat it "
			"for a run spread over several directories, one per node; a bare argument "
			"means the same",
	},
	{
		.name = "ranks",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct np_common, ranks),
		.value = "LIST",
		.help = "use these ranks only, such as 0-7,64",
		.preset_words = "all",
	},
	{
		.name = "steps",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct np_common, steps),
		.value = "LIST",
		.help = "use these steps only, such as 10-20",
		.preset_words = "all",
	},
	{
		.name = "skip-steps",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct np_common, skip_steps),
		.value = "N",
		.help = "leave the first N steps out, which may be warm-up",
		.preset_words = "none",
		.low = 0,
		.high = INT32_MAX,
	},
	{
		.name = "phase",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_common, phase),
		.value = "NAME",
		.help = "use this phase of the job only, where captures of its ranks are of several "
			"roles, steps or windows",
		.preset_words = "all, one after the other",
	},
	{
		.name = "steps-from",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_common, steps_from),
		.value = "HOW",
		.help = NP_HELP_STEPS_FROM,
		.preset_words = "marks, and period where there are none",
	},
};

/* clang-format off */
#define OUTPUT_ROW(...) \
	{ \
		.letter = 'o', \
		.name = "output", \
		.kind = NP_OPT_TEXT, \
		.fill = NP_FILL_DIRECTORY, \
		.offset = offsetof(struct np_common, output), \
		.value = "DIR", \
		__VA_ARGS__ \
	}
#define FORMAT_ROW \
	{ \
		.letter = 'f', \
		.name = "format", \
		.kind = NP_OPT_CHOICE, \
		.offset = offsetof(struct np_common, format), \
		.value = "FORMAT", \
		.help = "print the result as", \
		.choices = formats, \
		.preset = "table", \
	}
#define COLOR_ROW \
	{ \
		.name = "no-color", \
		.kind = NP_OPT_FLAG, \
		.offset = offsetof(struct np_common, no_color), \
		.help = "print without colours, as with NO_COLOR in the environment", \
	}
/* clang-format on */

const struct np_opt np_output_options[NP_OUTPUT_COUNT] = {
	OUTPUT_ROW(.help = "write files below DIR; with -f csv, one for each table",
		   .preset_words = "the first input directory"),
	FORMAT_ROW,
	COLOR_ROW,
};

const struct np_opt np_tables_options[NP_OUTPUT_COUNT] = {
	OUTPUT_ROW(.help = "write every table as a CSV file below DIR"),
	FORMAT_ROW,
	COLOR_ROW,
};

const char np_cache_in_output[] = "";

const struct np_opt np_running_options[NP_RUNNING_COUNT] = {
	{
		.letter = 'j',
		.name = "jobs",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct np_common, jobs),
		.value = "N",
		.help = "read N ranks at a time",
		.preset_words = "one per processor",
		.low = 1,
		.high = 1024,
	},
	{
		.name = "cache",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct np_common, cache),
		.value = "DIR",
		.alone = np_cache_in_output,
		.help = "keep a summary of every rank in DIR, and use those of unchanged profiles "
			"instead of reading these again; without DIR beside the output",
	},
	{
		.name = "from-summaries",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct np_common, from_summaries),
		.help = "the input directories hold summaries that --cache kept, and no profiles",
	},
	{
		.name = "max-memory",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_common, max_memory),
		.value = "SIZE",
		.help = "read fewer ranks at a time where they would need more than SIZE, such as 2G",
		.preset_words = "any",
	},
	{
		.name = "strict",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct np_common, strict),
		.help = "exit with status 3 also where everything was used and there is a note",
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct np_common, quiet),
		.help = "say nothing on standard error but failures",
	},
	{
		.letter = 'v',
		.name = "verbose",
		.kind = NP_OPT_COUNT,
		.offset = offsetof(struct np_common, verbose),
		.help = "say more about what is done; twice for still more",
	},
};

const struct np_opt np_vendor_options[NP_VENDOR_COUNT] = {
	{
		.name = "vendor-files",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct np_common, vendor_files),
		.help = "write the files that msprof-analyze writes, with its names, sheets and "
			"columns",
	},
	{
		.name = "agent",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct np_common, agent),
		.help = "print one line of JSON: status, code, message, suggestion",
	},
};

static void offer_languages(struct np_buf *words)
{
	np_buf_add(words, " en zh");
}

const struct np_opt np_general_options[NP_GENERAL_COUNT] = {
	{
		.name = "lang",
		.kind = NP_OPT_LANG,
		.value = "LANG",
		.help = "speak English (en) or Chinese (zh, cn) on the screen",
		.preset_words = "as the locale says",
		.offer = offer_languages,
	},
	{
		.letter = 'h',
		.name = "help",
		.kind = NP_OPT_HELP,
		.help = "show this help",
	},
	{
		.letter = 'V',
		.name = "version",
		.kind = NP_OPT_VERSION,
		.help = "show the version",
	},
};

bool np_common_color(const struct np_common *common, FILE *stream)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *unwanted = getenv("NO_COLOR");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *terminal = getenv("TERM");

	/* An empty NO_COLOR counts as not set: https://no-color.org */
	return !common->no_color && !(unwanted && *unwanted) &&
	       !(terminal && strcmp(terminal, "dumb") == 0) && np_output_is_terminal(stream);
}
