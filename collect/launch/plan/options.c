/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of npuprof-collect: one row for every option, and the plan that they make. */
#include "options.h"

#include <strings.h>
#include <unistd.h>

#include "cli/command/common.h"
#include "collect/rank_list.h"
#include "config_file.h"
#include "mode.h"
#include "npuprof/text.h"

/* --- the table ------------------------------------------------------------- */

#define AT(member) offsetof(struct np_collect_options, member)

static const struct np_opt what_rows[] = {
	NP_OPT_RANKS(
		AT(ranks),
		"profile these ranks: numbers and ranges separated by commas or spaces, all or -1, "
		"every:K, node-leaders",
		"0"),
	{
		.name = "step-start",
		.kind = NP_OPT_INTEGER,
		.offset = AT(step_start),
		.value = "N",
		.help = "first step that is profiled",
		.preset_words = "0",
		.high = NP_PLAN_LAST_STEP,
	},
	{
		.name = "step-end",
		.kind = NP_OPT_INTEGER,
		.offset = AT(step_end),
		.value = "N",
		.help = "first step that is no longer profiled; -1 for all to the end",
		.preset_words = "-1",
		.low = -1,
		.high = NP_PLAN_LAST_STEP,
	},
	NP_OPT_LEVEL(AT(level), "how much is recorded", "level1"),
	{
		.name = "aic-metrics",
		.kind = NP_OPT_CHOICE,
		.offset = AT(aic_metrics),
		.value = "NAME",
		.help = "counters of the AI cores",
		.choices = np_plan_metrics,
		.preset_words = "PipeUtilization",
	},
	{
		.name = "with-cpu",
		.kind = NP_OPT_FLAG,
		.offset = AT(with_cpu),
		.help = "record the framework's operators (needs the framework's profiler)",
	},
	{
		.name = "with-stack",
		.kind = NP_OPT_FLAG,
		.offset = AT(with_stack),
		.help = "record call stacks (needs the framework's profiler)",
	},
	{
		.name = "with-memory",
		.kind = NP_OPT_FLAG,
		.offset = AT(with_memory),
		.help = "record memory",
	},
	{
		.name = "record-shapes",
		.kind = NP_OPT_FLAG,
		.offset = AT(record_shapes),
		.help = "record shapes of operators at level0 too",
	},
	{
		.name = "preset",
		.kind = NP_OPT_CHOICE,
		.offset = AT(preset),
		.value = "NAME",
		.help = "level and switches for a purpose; single options go before it",
		.choices = np_plan_presets,
	},
	{
		.name = "config",
		.kind = NP_OPT_TEXT,
		.offset = AT(config),
		.value = "FILE",
		.help = "settings from a file: ours, a tools.json of MindSpeed-MM, a YAML of MindSpeed-LLM or a "
			"profiler_config.json of torch_npu; options go before it",
	},
	{
		.name = "profile",
		.kind = NP_OPT_TEXT,
		.offset = AT(profile),
		.value = "true|false",
		.alone = "true",
		.help = "profile, or do not, whatever the file of --config says of enable",
	},
};

static const struct np_opt window_rows[] = {
	{
		.name = "dynamic",
		.kind = NP_OPT_FLAG,
		.offset = AT(dynamic),
		.help = "profile nothing until 'npuprof ctl start' or SIGUSR2 asks for a window",
	},
	{
		.name = "window-steps",
		.kind = NP_OPT_INTEGER,
		.offset = AT(window_steps),
		.value = "N",
		.help = "steps of a window that SIGUSR2 asks for",
		.preset_words = "2",
		.low = 1,
		.high = NP_PLAN_LAST_STEP,
	},
	{
		.name = "step-source",
		.kind = NP_OPT_CHOICE,
		.offset = AT(step_source),
		.value = "SOURCE",
		.help = "what tells that a step begins",
		.choices = np_plan_sources,
		.preset_words = "auto",
	},
	{
		.name = "step-mstx",
		.kind = NP_OPT_TEXT,
		.offset = AT(step_mstx),
		.value = "RE",
		.help = "mstx messages that begin a step; group 1 is its number",
	},
	{
		.name = "delay",
		.kind = NP_OPT_INTEGER,
		.offset = AT(delay),
		.value = "SECONDS",
		.help = "with --step-source time: begin so long after the first use of the NPU",
		.preset_words = "0",
		.high = 1000000,
	},
	{
		.name = "duration",
		.kind = NP_OPT_INTEGER,
		.offset = AT(duration),
		.value = "SECONDS",
		.help = "with --step-source time: end so long after that",
		.preset_words = "to the end",
		.low = -1,
		.high = 1000000,
	},
	{
		.name = "max-size",
		.kind = NP_OPT_INTEGER,
		.offset = AT(max_size),
		.value = "MB",
		.help = "end the window when the raw data of all ranks together is larger",
		.preset_words = "0: any size",
		.high = 1000000000,
	},
};

static const struct np_opt memory_rows[] = {
	{
		.name = "memory-snapshot",
		.kind = NP_OPT_TEXT,
		.offset = AT(memory_snapshot),
		.value = "START:END",
		.help = "record what torch_npu's caching allocator does, from step START on to before END (all to "
			"the end without it), and write a snapshot of each rank",
	},
	{
		.name = "memory-ranks",
		.kind = NP_OPT_TEXT,
		.offset = AT(memory_ranks),
		.value = "LIST",
		.help = "ranks that write one",
		.preset_words = "all",
	},
	{
		.name = "memory-stacks",
		.kind = NP_OPT_CHOICE,
		.offset = AT(memory_stacks),
		.value = "WHICH",
		.help = "frames that are kept; those of C++ make a snapshot a hundred times slower to write",
		.choices = np_plan_stacks,
		.preset_words = "python",
	},
	{
		.name = "memory-entries",
		.kind = NP_OPT_INTEGER,
		.offset = AT(memory_entries),
		.value = "N",
		.help = "keep the last N events",
		.preset_words = "0: all",
		.high = NP_PLAN_ENTRIES,
	},
};

static const struct np_opt output_rows[] = {
	{
		.letter = 'o',
		.name = "save-path",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = AT(save_path),
		.value = "DIR",
		.help = "make the directory of the job below DIR",
		.preset_words = NP_PLAN_SAVE_PATH,
	},
	{
		.name = "job",
		.kind = NP_OPT_TEXT,
		.offset = AT(job),
		.value = "NAME",
		.help = "name of the job and of its directory",
		.preset_words = "made from time and process",
	},
	{
		.name = "export",
		.kind = NP_OPT_CHOICE,
		.offset = AT(export),
		.value = "WHEN",
		.help = "turn the raw data into something readable",
		.choices = np_plan_exports,
		.preset_words = "none",
	},
	{
		.name = "export-type",
		.kind = NP_OPT_CHOICE,
		.offset = AT(export_type),
		.value = "TYPE",
		.help = "what the export writes",
		.choices = np_plan_export_types,
		.preset_words = "db",
	},
	{
		.name = "data-simplification",
		.kind = NP_OPT_FLAG,
		.offset = AT(data_simplification),
		.help = "delete intermediate files after the export",
	},
};

static const struct np_opt running_rows[] = {
	{
		.name = "grace",
		.kind = NP_OPT_INTEGER,
		.offset = AT(grace),
		.value = "SECONDS",
		.help = "time an application has to end by itself when the job fails",
		.preset_words = "10",
		.high = 3600,
	},
	{
		.name = "force-env",
		.kind = NP_OPT_FLAG,
		.offset = AT(force_env),
		.help = "replace RANK, WORLD_SIZE, MASTER_ADDR … where they are set already",
	},
	{
		.name = "dry-run",
		.kind = NP_OPT_FLAG,
		.offset = AT(dry_run),
		.help = "check everything, print the plan and start nothing",
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = NP_OPT_FLAG,
		.offset = AT(quiet),
		.help = "say nothing on standard error but failures",
	},
};

static const struct np_opt where_rows[] = {
	{
		.name = "backend",
		.kind = NP_OPT_CHOICE,
		.offset = AT(backend),
		.value = "NAME",
		.help = "who profiles: our library in the application (acl), torch_npu's "
			"dynamic_profile (torch), or msprof around it",
		.choices = np_plan_backends,
		.preset_words = "auto",
	},
	{
		.name = "pid",
		.kind = NP_OPT_TEXT,
		.offset = AT(pid),
		.value = "LIST",
		.help = "start no application: attach msprof, on request, to these processes, which "
			"were started with PROFILING_MODE=dynamic",
	},
	{
		.name = "coord",
		.kind = NP_OPT_CHOICE,
		.offset = AT(coord),
		.value = "MODE",
		.help = "how the launchers talk to each other",
		.choices = np_mode_choices,
		.preset_words = "auto",
	},
	{
		.name = "rdzv",
		.kind = NP_OPT_TEXT,
		.offset = AT(rdzv),
		.value = "HOST:PORT",
		.help = "without mpirun, one launcher for each node: where node 0 is reached",
	},
	{
		.name = "nnodes",
		.kind = NP_OPT_INTEGER,
		.offset = AT(nnodes),
		.value = "N",
		.help = "number of nodes with --rdzv",
		.preset_words = "what Slurm says",
		.low = 1,
		.high = 100000,
	},
	{
		.name = "node-rank",
		.kind = NP_OPT_INTEGER,
		.offset = AT(node_rank),
		.value = "K",
		.help = "number of this node with --rdzv, from 0",
		.preset_words = "what Slurm says",
		.high = 99999,
	},
	{
		.name = "rdzv-timeout",
		.kind = NP_OPT_INTEGER,
		.offset = AT(rdzv_timeout),
		.value = "SECONDS",
		.help = "how long launchers wait for each other",
		.preset_words = "60; the stage with MPI: 20",
		.low = 1,
		.high = 86400,
	},
};

const struct np_opt_group np_collect_groups[NP_COLLECT_GROUPS] = {
	{ "What", what_rows, NP_COUNT(what_rows), 0 },
	{ "Steps and windows", window_rows, NP_COUNT(window_rows), 0 },
	{ "Memory snapshots", memory_rows, NP_COUNT(memory_rows), 0 },
	{ "Who and where", where_rows, NP_COUNT(where_rows), 0 },
	{ "Output", output_rows, NP_COUNT(output_rows), 0 },
	{ "Running", running_rows, NP_COUNT(running_rows), 0 },
	NP_GROUP_GENERAL,
};

/* --- reading --------------------------------------------------------------- */

static const struct np_opt_table table = { .groups = np_collect_groups,
					   .count = NP_COLLECT_GROUPS };

/* Is it this name? '_' and '-' are the same. */
static bool same_name(const char *known, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (known[i] == '\0' || known[i] != (name[i] == '_' ? '-' : name[i]))
			return false;
	}
	return known[length] == '\0';
}

static bool is_name(const char *name, size_t length)
{
	for (size_t g = 0; g < NP_COLLECT_GROUPS; g++) {
		for (size_t i = 0; i < np_collect_groups[g].count; i++) {
			if (same_name(np_collect_groups[g].options[i].name, name, length))
				return true;
		}
	}
	return false;
}

/* The word without the prefix of MindSpeed-LLM, if an option is left. */
static const char *without_prefix(const char *word)
{
	const char prefix[] = "--profile-";
	const char *name = word + sizeof(prefix) - 1;

	if (strlen(word) < sizeof(prefix) || !same_name("--profile-", word, sizeof(prefix) - 1) ||
	    !is_name(name, strcspn(name, "=")))
		return NULL;
	return name;
}

/* Append the words from `next` on that belong to a list of ranks; returns the one after them. */
static int add_ranks(struct np_buf *words, const char *const *argv, int next, int end)
{
	const char *separator = "=";

	for (; next < end && np_rank_list_is_word(argv[next]); next++) {
		np_buf_add(words, separator);
		np_buf_add(words, argv[next]);
		separator = ",";
	}
	return next;
}

/* Write argv[0..end) into line->words as the table knows it: NUL after each word. */
static int rewrite(struct np_collect_line *line, const char *const *argv, int end)
{
	int count = 0;

	for (int i = 0; i < end; count++) {
		const char *name = without_prefix(argv[i]);
		size_t start = line->words.length;

		if (name)
			np_buf_add(&line->words, "--");
		np_buf_add(&line->words, name ? name : argv[i]);
		i++;
		if (line->words.text && strcmp(line->words.text + start, "--ranks") == 0)
			i = add_ranks(&line->words, argv, i, end);
		np_buf_add_char(&line->words, '\0');
	}
	return count;
}

static void not_given(struct np_collect_options *options)
{
	*options = (struct np_collect_options){
		.step_start = NP_UNKNOWN,
		.step_end = NP_UNKNOWN,
		.level = -1,
		.aic_metrics = -1,
		.preset = -1,
		.export = -1,
		.export_type = -1,
		.grace = NP_UNKNOWN,
		.backend = -1,
		.window_steps = NP_UNKNOWN,
		.max_size = NP_UNKNOWN,
		.step_source = -1,
		.delay = NP_UNKNOWN,
		.duration = NP_UNKNOWN,
		.coord = -1,
		.nnodes = NP_UNKNOWN,
		.node_rank = NP_UNKNOWN,
		.rdzv_timeout = NP_UNKNOWN,
		.memory_stacks = -1,
		.memory_entries = NP_UNKNOWN,
	};
}

int np_collect_line_read(struct np_collect_line *line, int argc, const char *const *argv,
			 struct np_err *err)
{
	int end = 0;
	int count;
	int rc;

	*line = (struct np_collect_line){ .words = NP_BUF_INIT };
	not_given(&line->options);
	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	count = rewrite(line, argv, end);
	line->word = calloc((size_t)count + 1, sizeof(*line->word));
	if (!line->word || np_buf_check(&line->words, err) < 0)
		return np_fail_nomem(err, "the command line");
	for (size_t i = 0, at = 0; i < (size_t)count; i++) {
		line->word[i] = line->words.text + at;
		at += strlen(line->word[i]) + 1;
	}
	for (int i = 0; i < count; i++) {
		if (strcasecmp(line->word[i], "level_none") == 0 ||
		    strcasecmp(line->word[i], "--level=level_none") == 0)
			return np_fail(err, NP_E_USAGE,
				       "level_none records nothing but mstx marks, and leaves "
				       "nothing to analyse; use level0 or level1");
	}
	rc = np_opt_parse(&table, NULL, count, line->word, &line->options, err);
	if (rc != NP_OK)
		return rc;
	if (line->options.profile && strcmp(line->options.profile, "true") != 0 &&
	    strcmp(line->options.profile, "false") != 0)
		return np_fail(err, NP_E_USAGE, "'--profile' is true or false, not '%s'",
			       line->options.profile);
	line->app = line->options.pid ? -1 : end + 1;
	if (line->options.pid && end + 1 < argc)
		return np_fail(
			err, NP_E_USAGE,
			"--pid is for processes that run already: give it or an application");
	if (!line->options.pid && end + 1 >= argc)
		return np_fail(err, NP_E_USAGE,
			       "there is no application; write it after the options and '--'");
	return NP_OK;
}

void np_collect_line_release(struct np_collect_line *line)
{
	np_opt_release(&table, &line->options);
	np_buf_release(&line->words);
	free(line->word);
	line->word = NULL;
}

static int apply_texts(const struct np_collect_options *options, struct np_plan *plan,
		       struct np_err *err)
{
	int rc = NP_OK;

	if (options->ranks)
		rc = np_plan_set_text(plan->ranks, sizeof(plan->ranks), options->ranks, "--ranks",
				      err);
	if (rc == NP_OK && options->save_path)
		rc = np_plan_set_text(plan->save_path, sizeof(plan->save_path), options->save_path,
				      "--save-path", err);
	if (rc == NP_OK && options->job)
		rc = np_plan_set_text(plan->job, sizeof(plan->job), options->job, "--job", err);
	if (rc == NP_OK && options->step_mstx)
		rc = np_plan_set_text(plan->step_mstx, sizeof(plan->step_mstx), options->step_mstx,
				      "--step-mstx", err);
	return rc;
}

static bool take_step(const char *text, size_t length, int64_t *ret)
{
	return np_text_to_int(text, length, ret) && *ret >= 0 && *ret <= NP_PLAN_LAST_STEP;
}

/* "2:4", "2:" or "2". */
static int apply_memory(const struct np_collect_options *options, struct np_plan *plan,
			struct np_err *err)
{
	const char *steps = options->memory_snapshot;
	size_t length = steps ? strcspn(steps, ":") : 0;

	if (steps) {
		plan->memory_end = -1;
		if (!take_step(steps, length, &plan->memory_start) ||
		    (steps[length] && steps[length + 1] &&
		     !take_step(steps + length + 1, strlen(steps + length + 1), &plan->memory_end)))
			return np_fail(err, NP_E_USAGE,
				       "'--memory-snapshot' is START:END, two steps such as 2:4, "
				       "not '%.60s'",
				       steps);
	}
	if (plan->memory_start < 0 && (options->memory_ranks || options->memory_stacks >= 0 ||
				       options->memory_entries != NP_UNKNOWN))
		return np_fail(err, NP_E_USAGE,
			       "--memory-ranks, --memory-stacks and --memory-entries are for "
			       "--memory-snapshot START:END");
	if (!options->memory_ranks)
		return NP_OK;
	return np_plan_set_text(plan->memory_ranks, sizeof(plan->memory_ranks),
				options->memory_ranks, "--memory-ranks", err);
}

static void take_number(int64_t *field, int64_t given)
{
	if (given != NP_UNKNOWN)
		*field = given;
}

static void take_choice(int *field, int given)
{
	if (given >= 0)
		*field = given;
}

static void apply_values(const struct np_collect_options *options, struct np_plan *plan)
{
	take_number(&plan->step_start, options->step_start);
	take_number(&plan->step_end, options->step_end);
	take_number(&plan->grace, options->grace);
	take_choice(&plan->level, options->level);
	take_choice(&plan->aic_metrics, options->aic_metrics);
	take_choice(&plan->export, options->export);
	take_choice(&plan->export_type, options->export_type);
	take_number(&plan->window_steps, options->window_steps);
	take_number(&plan->max_size, options->max_size);
	take_number(&plan->delay, options->delay);
	take_number(&plan->duration, options->duration);
	take_choice(&plan->backend, options->backend);
	take_choice(&plan->step_source, options->step_source);
	take_choice(&plan->memory_stacks, options->memory_stacks);
	take_number(&plan->memory_entries, options->memory_entries);
	plan->dynamic |= options->dynamic;
	plan->with_cpu |= options->with_cpu;
	plan->with_stack |= options->with_stack;
	plan->with_memory |= options->with_memory;
	plan->record_shapes |= options->record_shapes;
	plan->data_simplification |= options->data_simplification;
	plan->force_env |= options->force_env;
	if (options->profile)
		plan->enable = strcmp(options->profile, "true") == 0;
}

/* Settings that are accepted for the sake of scripts, or that contradict each other. */
static void add_doubts(const struct np_collect_options *options, const struct np_plan *plan,
		       struct np_buf *notes)
{
	if (!plan->enable)
		np_buf_add(notes, "enable is false: the application runs unprofiled; --profile "
				  "says otherwise\n");
	if (!plan->enable && plan->memory_start >= 0)
		np_buf_add(notes, "and without memory snapshots: --dynamic profiles nothing but "
				  "what is asked for, and takes them\n");
	if (plan->enable && plan->level == NP_LEVEL_0 && options->preset != NP_PRESET_LIGHT)
		np_buf_add(notes, "level0 has no links, sizes and counters: slow links and the "
				  "communication matrix need level1\n");
}

/* Absolute, so that it can be found later whatever the directory of the application is. */
static int make_absolute(struct np_plan *plan, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	char here[NP_PLAN_PATH];
	const char *relative = plan->save_path;

	if (relative[0] == '/')
		return NP_OK;
	if (!getcwd(here, sizeof(here)))
		return np_fail(err, NP_E_IO, "cannot tell the current directory");
	while (strncmp(relative, "./", 2) == 0)
		relative += 2;
	np_buf_add(&path, here);
	if (strcmp(relative, ".") != 0 && *relative)
		np_buf_printf(&path, "/%s", relative);
	if (np_buf_check(&path, err) < 0)
		return NP_E_NOMEM;
	return np_plan_set_text(plan->save_path, sizeof(plan->save_path), path.text, "--save-path",
				err);
}

int np_collect_plan(const struct np_collect_options *options, struct np_plan *plan,
		    struct np_buf *notes, struct np_err *err)
{
	int rc = NP_OK;

	np_plan_init(plan);
	if (options->config)
		rc = np_config_file_read(options->config, plan, notes, err);
	if (rc == NP_OK && options->preset >= 0)
		np_plan_preset(plan, (enum np_plan_preset)options->preset);
	if (rc == NP_OK)
		rc = apply_texts(options, plan, err);
	if (rc == NP_OK)
		rc = apply_memory(options, plan, err);
	if (rc < 0)
		return rc;
	apply_values(options, plan);
	if (options->pid && plan->backend != NP_BACKEND_AUTO && plan->backend != NP_BACKEND_MSPROF)
		return np_fail(err, NP_E_USAGE,
			       "--pid: only msprof can be attached to processes that run already");
	if (options->pid) {
		plan->backend = NP_BACKEND_MSPROF;
		plan->dynamic = true;
	}
	add_doubts(options, plan, notes);
	rc = np_plan_check(plan, err);
	return rc == NP_OK ? make_absolute(plan, err) : rc;
}
