/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <unistd.h>

#include "collect/rank_list.h"
#include "config_file.h"

static const struct np_opt_table table = { .groups = np_collect_groups,
					   .count = NP_COLLECT_GROUPS };

static bool is_name(const char *name, size_t length)
{
	for (size_t g = 0; g < NP_COLLECT_GROUPS; g++) {
		for (size_t i = 0; i < np_collect_groups[g].count; i++) {
			const char *known = np_collect_groups[g].options[i].name;

			if (strlen(known) == length && memcmp(known, name, length) == 0)
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

	if (strncmp(word, prefix, sizeof(prefix) - 1) != 0 || !is_name(name, strcspn(name, "=")))
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
	rc = np_opt_parse(&table, NULL, count, line->word, &line->options, err);
	if (rc != NP_OK)
		return rc;
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
	plan->dynamic |= options->dynamic;
	plan->with_cpu |= options->with_cpu;
	plan->with_stack |= options->with_stack;
	plan->with_memory |= options->with_memory;
	plan->record_shapes |= options->record_shapes;
	plan->data_simplification |= options->data_simplification;
	plan->force_env |= options->force_env;
	plan->enable |= options->profile;
}

/* Settings that are accepted for the sake of scripts, or that contradict each other. */
static void add_doubts(const struct np_collect_options *options, const struct np_plan *plan,
		       struct np_buf *notes)
{
	if (!plan->enable)
		np_buf_add(notes, "enable is false: the application runs unprofiled; --profile "
				  "says otherwise\n");
	if (plan->level == NP_LEVEL_0 && options->preset != NP_PRESET_LIGHT)
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
