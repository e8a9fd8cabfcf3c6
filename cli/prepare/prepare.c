/* SPDX-License-Identifier: Apache-2.0 */
/* What every command over a run begins with: options checked, ranks found, loaded and measured. */
#include "prepare.h"

#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "phases.h"
#include "processes.h"

#include "npuprof/buf.h"
#include "npuprof/clock.h"
#include "npuprof/dirs.h"
#include "npuprof/discover.h"
#include "npuprof/iteration.h"
#include "npuprof/load_run.h"
#include "npuprof/mem_snapshots.h"
#include "npuprof/pattern.h"
#include "npuprof/realtime.h"
#include "npuprof/say.h"
#include "npuprof/summary.h"
#include "npuprof/text.h"

#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

/* "2G", "512M", "100K" or bytes; powers of 1024. */
static int read_memory(const char *text, int64_t *ret, struct np_err *err)
{
	static const char units[] = "KMGT";
	size_t length = strlen(text);
	const char *unit =
		length > 1 ? strchr(units, toupper((unsigned char)text[length - 1])) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	int64_t value;

	if (!np_text_to_int(text, length - (unit != NULL), &value) || value < 1 ||
	    value > INT64_MAX >> shift)
		return np_fail(err, NP_E_USAGE,
			       "--max-memory needs a size such as 512M or 2G, not '%s'", text);
	*ret = value << shift;
	return NP_OK;
}

char *prepare_output(const struct np_common *common, const char *name)
{
	const char *base = common->output ? common->output : common->dirs.item[0];
	const char *slash = strrchr(base, '/');
	struct stat status;
	int length = (int)strlen(base);
	char *path;

	/* What is made of a file that was given goes beside it. */
	if (!common->output && stat(base, &status) == 0 && S_ISREG(status.st_mode)) {
		length = slash ? (int)(slash - base) : 1;
		base = slash ? base : ".";
	}
	if (asprintf(&path, "%.*s/cluster_analysis_output%s%s%s%s", length, base,
		     common->phase_part ? "/" : "", common->phase_part ? common->phase_part : "",
		     name ? "/" : "", name ? name : "") < 0)
		return NULL;
	return path;
}

/* Where summaries are kept, or NULL; freed by the caller. */
static int find_cache(const struct np_common *common, char **ret, struct np_err *err)
{
	*ret = NULL;
	if (!common->cache || common->from_summaries)
		return NP_OK;
	if (common->cache == np_cache_in_output)
		*ret = prepare_output(common, "summaries");
	else
		*ret = common->phase_part ? np_join_path(common->cache, common->phase_part)
					  : strdup(common->cache);
	return *ret ? NP_OK : np_fail_nomem(err, "the name of a directory");
}

/* An np_load_watcher that draws the np_progress which is its context. */
static void watch(void *progress, const struct np_load_progress *state)
{
	np_progress_draw(progress, &(struct np_progress_state){ state->ranks_done, state->ranks,
								state->bytes_done, state->bytes });
}

int prepare_steps_from(const struct np_common *common, struct np_steps_choice *ret,
		       struct np_err *err)
{
	static const struct {
		const char *word;
		enum np_steps_want want;
	} words[] = {
		{ "marks", NP_WANT_MARKS },
		{ "period", NP_WANT_PERIOD },
		{ "none", NP_WANT_NONE },
	};
	static const char range[] = "range:";
	NP_CLEANUP(np_pattern_freep) struct np_pattern *pattern = NULL;
	struct np_err problem = NP_ERR_INIT;
	const char *text = common->steps_from;
	int rc;

	*ret = (struct np_steps_choice){ .want = NP_WANT_ANY };
	if (!text)
		return NP_OK;
	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strcmp(text, words[i].word) == 0) {
			ret->want = words[i].want;
			return NP_OK;
		}
	}
	if (strncmp(text, range, strlen(range)) != 0 || !text[strlen(range)])
		return np_fail(err, NP_E_USAGE,
			       "--steps-from '%s' is none of marks, period, none and range:PATTERN",
			       text);
	text += strlen(range);
	rc = np_pattern_compile(text, strlen(text), 0, &pattern, NULL, &problem);
	if (rc < 0)
		return np_fail(err, rc == NP_E_NOMEM ? rc : NP_E_USAGE, "--steps-from range: %s",
			       problem.text);
	*ret = (struct np_steps_choice){ NP_WANT_RANGE, text };
	return NP_OK;
}

/* Can all of it be meant, as far as can be known before anything is read? */
static int check(const struct np_common *common, const struct np_opt_list *picks,
		 struct np_err *err)
{
	struct np_steps_choice steps;
	int64_t bytes;
	int rc = prepare_steps_from(common, &steps, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < picks->count; i++) {
		struct stat status;

		if (stat(picks->item[i], &status) < 0)
			return np_fail(err, NP_E_USAGE,
				       "'%s', which --pick names, is not a directory and no file",
				       picks->item[i]);
	}
	return common->max_memory ? read_memory(common->max_memory, &bytes, err) : NP_OK;
}

/* A step that is skipped is not there for --steps. */
int prepare_steps(struct np_run *run, const struct np_common *common, struct np_err *err)
{
	int rc = common->skip_steps > 0 ? np_run_skip_steps(run, (size_t)common->skip_steps, err)
					: NP_OK;

	return rc == NP_OK && common->steps.set ? np_run_keep_steps(run, common->steps.set, err)
						: rc;
}

/* With -v: how much was read in which time, and what of it a cache stood in for. */
static void say_read(const struct np_run *run, const char *cache, np_ns time)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int64_t bytes = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		bytes += run->sources.item[i].bytes;
	np_say(&text, "read {1} ranks, {2} of files, in {3}", NP_SAID_INT(np_run_used(run)),
	       NP_SAID_BYTES(bytes), NP_SAID_TIME(time));
	if (cache)
		np_say(&text, "; {1} of them from the cache {2}", NP_SAID_INT(run->cached),
		       NP_SAID_TEXT(cache));
	(void)np_report(0, "%s", text.text);
}

/* How many are left is not known where steps are chosen after they were counted. */
static enum np_load_rows load_rows(const struct np_common *common)
{
	bool chosen = common->steps.set || common->skip_steps > 0;

	return common->load_rows == NP_ROWS_COUNTED && chosen
		       ? NP_ROWS_PACKED
		       : (enum np_load_rows)common->load_rows;
}

static int load(struct np_run *run, const struct np_common *common, struct np_err *err)
{
	struct np_progress progress;
	struct np_load_options how = { .procs = processes_all(),
				       .workers = { .threads = (size_t)common->jobs },
				       .watch = watch,
				       .watch_context = &progress,
				       .program = NP_VERSION,
				       .part = (enum np_load_part)common->load_part,
				       .rows = load_rows(common),
				       .kernel_framework_op = common->kernel_framework_op };
	char *cache = NULL;
	np_ns begun;
	int rc = common->max_memory ? read_memory(common->max_memory, &how.max_memory, err) : NP_OK;

	if (rc == NP_OK)
		rc = prepare_steps_from(common, &how.steps, err);
	if (rc == NP_OK)
		rc = find_cache(common, &cache, err);
	if (rc < 0)
		return rc;
	how.cache = cache;
	begun = np_steady_ns();
	np_progress_init(&progress, "reading ranks", common->quiet);
	rc = np_load_run(run, &how, err);
	np_progress_end(&progress);
	if (rc == NP_OK && common->verbose > 0 && !common->quiet)
		say_read(run, cache, np_steady_ns() - begun);
	free(cache);
	return rc < 0 ? rc : prepare_steps(run, common, err);
}

static int discover(struct np_run *run, const struct np_common *common,
		    const struct np_opt_list *picks, struct np_err *err)
{
	const struct np_discover_options how = { .picks = picks->item,
						 .pick_count = picks->count,
						 .ranks = common->ranks.set,
						 .phase = common->phase_part ? common->phase_part
									     : common->phase,
						 .phase_if_any = common->phase_if_any };
	int rc;

	if (common->from_summaries)
		return np_summary_discover(run, common->dirs.item, common->dirs.count, &how, err);
	rc = np_discover(run, common->dirs.item, common->dirs.count, &how, err);
	if (rc == NP_OK && common->cache) {
		run->given = strdup(common->dirs.item[0]);
		rc = run->given ? NP_OK : np_fail_nomem(err, "the run");
	}
	return rc;
}

int prepare_found(const struct np_common *common, const struct np_opt_list *picks,
		  struct np_run **ret, struct np_err *err)
{
	int rc = check(common, picks, err);

	*ret = NULL;
	if (rc < 0)
		return rc;
	*ret = np_run_new();
	if (!*ret)
		return np_fail_nomem(err, "the run");
	np_timings_start(&(*ret)->timings);
	rc = discover(*ret, common, picks, err);
	np_timings_lap(&(*ret)->timings, NP_TIMED_DISCOVER);
	return rc;
}

int prepare_loaded(const struct np_common *common, struct np_run *run, struct np_err *err)
{
	int rc = load(run, common, err);

	np_timings_lap_load(&run->timings);
	if (rc == NP_OK) {
		np_manifest_note(run);
		np_run_note_forms(run);
	}
	/* Ranks that the user left out are not missing. */
	if (rc == NP_OK && !common->ranks.set)
		np_run_note_missing(run, np_manifest_lost(run));
	if (rc == NP_OK && common->phase_times)
		rc = phases_gather(common->phase_times, common->phase_part, run, err);
	return rc;
}

int prepare_run(const struct np_common *common, const struct np_opt_list *picks,
		struct np_run **ret, struct np_err *err)
{
	int rc = prepare_found(common, picks, ret, err);

	return rc == NP_OK ? prepare_loaded(common, *ret, err) : rc;
}

const char *prepare_input(const struct np_common *common, const struct np_run *run)
{
	return common->from_summaries && run->given ? run->given : common->dirs.item[0];
}

static void say_measured(np_ns time)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_text_duration(&text, time);
	(void)np_report(0, "measured in %s", text.text);
}

static bool is_noted(const struct np_run *run, const char *what)
{
	for (size_t i = 0; i < run->notes.list.count; i++) {
		if (strcmp(run->notes.list.item[i].what, what) == 0)
			return true;
	}
	return false;
}

/* NULL without a manifest, or with a damaged one: clocks are known from collectives. */
static struct np_manifest *read_manifest(struct np_run *run)
{
	struct np_manifest *manifest = NULL;
	struct np_err problem = NP_ERR_INIT;

	if (np_load_manifest(run, &manifest, &problem) < 0 && problem.code != NP_E_NOTFOUND &&
	    !is_noted(run, NP_MANIFEST_NAME))
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->roots.item[0],
			    NP_MANIFEST_NAME, "%s", problem.text);
	return manifest;
}

int prepare_for_modes(const struct np_common *common, struct np_run *run, struct np_analysis **ret,
		      struct np_err *err)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = read_manifest(run);

	return np_analysis_build_for_modes(run, manifest, common->load_part != NP_LOAD_WHOLE,
					   (size_t)common->jobs, ret, err);
}

int prepare_measures(const struct np_common *common, struct np_run *run, struct np_analysis **ret,
		     struct np_err *err)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = read_manifest(run);
	np_ns begun = np_steady_ns();
	int rc;

	rc = np_analysis_build(run, manifest, (size_t)common->jobs, ret, err);
	if (rc == NP_OK && common->verbose > 0 && !common->quiet)
		say_measured(np_steady_ns() - begun);
	if (rc == NP_OK && common->snapshots && !common->from_summaries)
		rc = np_mem_snapshots_read(common->dirs.item, common->dirs.count, (*ret)->cluster,
					   (size_t)common->jobs, &(*ret)->run->notes,
					   &(*ret)->memory, err);
	if (rc < 0 && *ret) {
		np_analysis_free(*ret);
		*ret = NULL;
	}
	if (rc == NP_OK)
		(*ret)->version = NP_VERSION;
	return rc;
}

int prepare_analysis(const struct np_common *common, const struct np_opt_list *picks,
		     struct np_analysis **ret, struct np_err *err)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	int rc = prepare_run(common, picks, &run, err);

	return rc == NP_OK ? prepare_measures(common, NP_STEAL(run), ret, err) : rc;
}

/* Reasons of readers name the file already. */
static void say_note(const struct np_note *note)
{
	bool named = strstr(note->reason, note->path) != NULL;

	(void)np_report(0, "%s%s%s: %s", named ? "" : note->path, named ? "" : ": ", note->what,
			note->reason);
}

void prepare_say_notes(const struct np_common *common, const struct np_notes *notes,
		       const char *(*matters)(const char *what))
{
	for (size_t i = 0; i < notes->list.count && !common->quiet; i++) {
		const struct np_note *note = &notes->list.item[i];

		if (note->kind == NP_NOTE_SKIPPED || common->verbose > 0 ||
		    (matters && matters(note->what)))
			say_note(note);
	}
}

/* Is the profile of a rank elsewhere? */
static bool is_summary(const struct np_run *run, size_t index)
{
	const char *dir = run->sources.item[index].dir;

	return run->summarised && run->ranks[index] && !run->distributed &&
	       (!dir || access(dir, R_OK) < 0);
}

size_t prepare_note_summaries(struct np_run *run, const char *what, const char *missing)
{
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		count += is_summary(run, i);
	if (count > 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK,
			    run->given ? run->given : run->roots.item[0], what,
			    "the profiles of %zu ranks are not here, only their summaries: %s",
			    count, missing);
	return count;
}

bool prepare_is_partial(const struct np_common *common, const struct np_notes *notes)
{
	return np_notes_count(notes, NP_NOTE_SKIPPED) > 0 ||
	       (common->strict && np_notes_count(notes, NP_NOTE_WARNING) > 0);
}

int prepare_status(const struct np_common *common, const struct np_run *run)
{
	return prepare_is_partial(common, &run->notes) ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
}
