/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a directory into which captures arrive, and says what each shows. */
#include "npuprof/watching.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "cli/prepare/prepare.h"
#include "engine/hist_entry.h"
#include "engine/watch_windows.h"
#include "present/watch_lines.h"
#include "watch_outlets.h"

#include "npuprof/dirs.h"
#include "npuprof/lock.h"
#include "npuprof/realtime.h"
#include "npuprof/run.h"
#include "npuprof/temporary.h"
#include "npuprof/text.h"

/* Unless told otherwise. */
#define INTERVAL_S 10
#define SETTLE_S   5
#define KEEP       1000

/* So long a window is looked at after it was analysed: more of it may arrive. */
#define AGAIN_NS INT64_C(600000000000)

/* So many of the newest windows of an earlier watch are looked at likewise. */
#define AGAIN_WINDOWS 8

static const char *const formats[] = { "table", "json", NULL };

const struct np_opt np_watch_rows[NP_WATCH_ROWS] = {
	{
		.name = "store",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_watch_options, store),
		.value = "FILE",
		.help = "the history that every window is added to, and that says which are known",
		.preset_words = "NPUPROF_HISTORY of the environment",
	},
	{
		.name = "job",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_watch_options, job),
		.value = "NAME",
		.help = "the job that the windows belong to",
		.preset_words = "the name of the directory",
	},
	{
		.name = "interval",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct np_watch_options, interval),
		.value = "S",
		.help = "look for new windows every S seconds",
		.preset_words = "10",
		.low = 1,
		.high = 86400,
	},
	{
		.name = "settle",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct np_watch_options, settle),
		.value = "S",
		.help = "a window is complete when none of its files has changed for S seconds",
		.preset_words = "5",
		.low = 0,
		.high = 86400,
	},
	{
		.name = "keep",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct np_watch_options, keep),
		.value = "N",
		.help = "keep the newest N windows of the job in the history; 0: all",
		.preset_words = "1000",
		.low = 0,
		.high = INT32_MAX,
	},
	{
		.name = "once",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct np_watch_options, once),
		.help = "analyse the windows that are there, and end",
	},
	{
		.name = "lines",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_watch_options, lines),
		.value = "FILE",
		.help = "append a line of JSON for each window, each once, whatever ends the watch",
	},
	{
		.name = "metrics",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_watch_options, metrics),
		.value = "FILE",
		.help = "write the figures of the newest window for the textfile collector of Prometheus",
	},
	{
		.name = "on-verdict",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct np_watch_options, on_verdict),
		.value = "COMMAND",
		.help = "run this by the shell when a verdict becomes or ceases to be significant, with "
			"the line of JSON on its standard input",
	},
	{
		.letter = 'f',
		.name = "format",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct np_watch_options, common.format),
		.value = "FORMAT",
		.help = "print a line for each window as",
		.choices = formats,
		.preset = "table",
	},
};

const char *np_watch_given(const struct np_watch_options *options)
{
	const struct {
		const char *name;
		bool given;
	} rows[] = {
		{ "--store", options->store != NULL },
		{ "--job", options->job != NULL },
		{ "--interval", options->interval != 0 },
		{ "--settle", options->settle >= 0 },
		{ "--keep", options->keep >= 0 },
		{ "--once", options->once },
		{ "--lines", options->lines != NULL },
		{ "--metrics", options->metrics != NULL },
		{ "--on-verdict", options->on_verdict != NULL },
		{ "--format", options->common.format != NP_OUTPUT_TABLE },
	};

	for (size_t i = 0; i < NP_COUNT(rows); i++) {
		if (rows[i].given)
			return rows[i].name;
	}
	return NULL;
}

int64_t np_watch_settle(const struct np_watch_options *options)
{
	return options->settle >= 0 ? options->settle : SETTLE_S;
}

/* --- ending ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t ending;

static void end(int signal_number)
{
	(void)signal_number;
	ending = 1;
}

/* The window in hand is finished first; who is in a hurry asks twice. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = end, .sa_flags = (int)SA_RESETHAND };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

/* --- state ----------------------------------------------------------------------------------- */

/* What is known of a window that was seen. */
struct known_window {
	np_str name;
	int64_t run;          /* in the store; NP_UNKNOWN: it is not there */
	char fingerprint[17]; /* of what is in the store, or could not be used; "" of neither */
	np_ns changed;        /* of the window, when it was looked at */
	np_ns again;          /* it is looked at until then, on the steady clock */
	/* While it is not whole: how it looked, and since when, on the steady clock. */
	char seen[17];
	np_ns stamp;
	np_ns since;
};

struct watch {
	const struct np_watch_options *options;
	const char *dir;
	const char *store;
	const char *job;
	struct np_strtab *names; /* their numbers are those of `known`, from 1 on */
	NP_VEC(struct known_window) known;
	struct watch_told told;
	char *cause;  /* that the newest window names; NULL for none */
	char *newest; /* that was told, as text of the metrics */
	struct watch_course course;
	char *trouble; /* that was said last; NULL: there is none */
	int64_t analysed;
	int64_t failed;
	size_t waiting; /* windows that are not whole yet */
	bool partial;   /* of some windows not all could be used */
	bool deaf;      /* nobody hears what is printed */
};

static int find_known(struct watch *watch, const char *name, struct known_window **ret,
		      struct np_err *err)
{
	np_str id;
	int rc = np_strtab_add(watch->names, name, strlen(name), &id, err);

	while (rc == NP_OK && watch->known.count < id) {
		struct known_window *slot = np_vec_add(&watch->known, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = (struct known_window){ .name = (np_str)watch->known.count,
					       .run = NP_UNKNOWN,
					       .stamp = NP_UNKNOWN };
	}
	if (rc == NP_OK)
		*ret = &watch->known.item[id - 1];
	return rc;
}

static int begin_known(struct watch *watch, struct np_err *err)
{
	np_strtab_free(watch->names);
	np_vec_release(&watch->known);
	watch_course_release(&watch->course);
	watch->names = np_strtab_new();
	return watch->names ? NP_OK : np_fail_nomem(err, "windows");
}

static void release(struct watch *watch)
{
	np_strtab_free(watch->names);
	np_vec_release(&watch->known);
	watch_told_release(&watch->told);
	watch_course_release(&watch->course);
	free(watch->newest);
	free(watch->cause);
	free(watch->trouble);
}

/* --- telling --------------------------------------------------------------------------------- */

/* What a run of the store names; NULL for nobody. */
static const char *named(const struct hist_store *store, const struct hist_run *run)
{
	const char *what = hist_text(store, run->what);

	if (!watch_names_cause(store, run))
		return NULL;
	return what ? what : hist_text(store, run->verdict);
}

/* Compare with the window before, and make it the one before. */
static int take_news(struct watch *watch, struct watch_line *line, char **ret_before,
		     struct np_err *err)
{
	const char *cause = named(line->store, &line->store->runs.item[line->run]);
	char *kept = NULL;

	if (cause && (!watch->cause || strcmp(cause, watch->cause) != 0))
		line->news = WATCH_BECAME;
	else if (!cause && watch->cause)
		line->news = WATCH_CEASED;
	line->before = watch->cause;
	if (cause && !(kept = strdup(cause)))
		return np_fail_nomem(err, "a verdict");
	*ret_before = watch->cause;
	watch->cause = kept;
	return NP_OK;
}

static int print_line(const struct watch *watch, const struct watch_line *line,
		      const struct np_buf *json)
{
	struct np_buf text = NP_BUF_INIT;

	if (watch->options->common.format == NP_OUTPUT_JSON)
		np_buf_add_bytes(&text, json->text, json->length);
	else
		watch_say(&text, line);
	if (np_output_release(&text) != 0)
		return NP_E_IO;
	return fflush(np_output_stream()) == 0 ? NP_OK : NP_E_IO;
}

static int write_metrics(const struct watch *watch, struct np_err *err)
{
	const struct watch_metrics metrics = { .newest = watch->newest,
					       .job = watch->job,
					       .version = NP_VERSION,
					       .looked = hist_now(),
					       .windows = watch->analysed,
					       .failed = watch->failed };

	return watch->options->metrics
		       ? np_write_file(watch->options->metrics, watch_write_metrics, &metrics, err)
		       : NP_OK;
}

/* Hold a window against those before it, and keep what the metrics say of it. */
static int judge(struct watch *watch, struct watch_line *line, struct np_err *err)
{
	int rc = watch_course_add(&watch->course, &line->store->runs.item[line->run], line->id,
				  line->replaces, &line->usual, err);

	if (rc < 0 || !watch->options->metrics)
		return rc;
	free(watch->newest);
	watch->newest = NULL;
	return watch_put_newest(line, watch->job, &watch->newest, err);
}

/* Is there something of a window that somebody is to be called for? */
static bool is_news(const struct watch_line *line)
{
	return line->news != WATCH_SAME || line->usual.began || line->usual.ended;
}

/* Tell of a run; `again` of one that another told, of which only the file of lines may lack. */
static int tell(struct watch *watch, struct watch_line *line, bool in_lines, bool again,
		struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf json = NP_BUF_INIT;
	const struct np_watch_options *options = watch->options;
	const struct hist_run *run = &line->store->runs.item[line->run];
	const char *fingerprint = hist_text(line->store, run->fingerprint);
	bool told = watch_is_told(&watch->told, line->window, fingerprint);
	char *before = NULL;
	int rc = take_news(watch, line, &before, err);

	if (rc == NP_OK) {
		watch_put_json(&json, line);
		rc = np_buf_check(&json, err);
	}
	if (rc == NP_OK && options->lines && in_lines)
		rc = watch_told_append(&watch->told, options->lines, line->window, fingerprint,
				       &json, err);
	if (rc == NP_OK)
		rc = watch_note_told(&watch->told, line->window, fingerprint, err);
	again |= told;
	if (rc == NP_OK && !again && print_line(watch, line, &json) < 0) {
		watch->deaf = true;
		rc = np_fail(err, NP_E_IO, "%s", "nobody hears what is printed");
	}
	if (rc == NP_OK && !again && options->on_verdict && is_news(line) &&
	    !watch_run_command(options->on_verdict, &json, &ending))
		(void)np_report(0, "--on-verdict '%s' failed", options->on_verdict);
	line->before = NULL;
	free(before);
	return rc;
}

/* --- windows --------------------------------------------------------------------------------- */

/* What is left of a window; failures are the window's, but for memory. */
static int reduce(struct watch *watch, const struct np_common *common, const char *name,
		  struct np_run *run, struct hist_store **ret, struct np_err *err)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	const char *labels[1];
	struct hist_entry_words words = {
		.job = watch->job, .labels = labels, .label_count = 1, .now = hist_now()
	};
	int rc = prepare_loaded(common, run, err);

	if (rc < 0) {
		np_run_free(run);
		return rc;
	}
	/* Captures side by side have their directory in common. */
	words.dir = common->dirs.count > 1 ? watch->dir : common->dirs.item[0];
	np_buf_printf(&label, "window=%s", name);
	labels[0] = label.text;
	rc = prepare_measures(common, run, &analysis, err);
	if (rc == NP_OK)
		rc = np_buf_check(&label, err);
	if (rc == NP_OK)
		rc = hist_entry_make(analysis, NULL, &words, ret, err);
	if (rc < 0)
		return rc;
	prepare_say_notes(&watch->options->common, &analysis->run->notes, NULL);
	watch->partial |= prepare_is_partial(common, &analysis->run->notes);
	return NP_OK;
}

/* Put it into the history, and tell of it; failures are ours. Takes the entry over. */
static int keep(struct watch *watch, struct known_window *known, const char *name,
		struct hist_store *entry, struct np_err *err)
{
	const struct np_watch_options *options = watch->options;
	struct watch_line line = { .store = entry, .window = name, .replaces = known->run };
	struct hist_added added;
	const struct hist_arrival arrival = { .name = name,
					      .replaces = known->run,
					      .keep = options->keep < 0 ? KEEP : options->keep };
	int rc = hist_store_add_window(watch->store, entry, &arrival, &added, err);

	/* Others may add to the history while this one waits. */
	np_lock_release_all();
	if (rc == NP_OK) {
		watch->analysed += !added.known;
		known->run = line.id = added.id;
		rc = judge(watch, &line, err);
	}
	if (rc == NP_OK)
		rc = tell(watch, &line, true, added.known, err);
	hist_store_free(entry);
	return rc == NP_OK ? write_metrics(watch, err) : rc;
}

/* A window that cannot be used is said once, and tried again when it has changed. */
static int give_up(struct watch *watch, struct known_window *known, const char *name,
		   const char *fingerprint, struct np_err *err)
{
	watch->failed++;
	(void)np_report(0, "%s: %s", name, err->text);
	(void)snprintf(known->fingerprint, sizeof(known->fingerprint), "%s", fingerprint);
	return write_metrics(watch, err);
}

/*
 * Has nothing of it changed for a while? Times of files are those of the clock of who wrote them,
 * and copies may keep theirs: when a file was put there counts as well. What claims to be of the
 * future is whole when it has looked the same for as long. Where its files are gone again it is
 * not there.
 */
static bool is_settled(const struct watch *watch, const struct np_run *run,
		       const struct watch_window *window, const char *fingerprint,
		       struct known_window *known)
{
	np_ns wait = np_watch_settle(watch->options) * INT64_C(1000000000);
	np_ns newest = hist_newest_change(run);
	np_ns now = hist_now();

	if (newest == NP_UNKNOWN)
		return false;
	newest = window->changed > newest ? window->changed : newest;
	if (known->stamp != newest || strcmp(known->seen, fingerprint) != 0) {
		known->stamp = newest;
		known->since = np_steady_ns();
		(void)snprintf(known->seen, sizeof(known->seen), "%s", fingerprint);
	}
	return now - newest >= wait || np_steady_ns() - known->since >= wait;
}

/* Stands for the fingerprint of a window in which profiles could not even be told apart. */
#define NOT_FOUND "?"

/* A window whose profiles were not found: later, or never. */
static int not_found(struct watch *watch, struct known_window *known, const char *name, int rc,
		     struct np_err *err)
{
	/* Without profiles it is not there yet, or no longer. */
	if (rc == NP_E_NOTFOUND || rc == NP_E_NOMEM)
		return rc == NP_E_NOMEM ? rc : NP_OK;
	return strcmp(known->fingerprint, NOT_FOUND) == 0 || known->run != NP_UNKNOWN
		       ? NP_OK
		       : give_up(watch, known, name, NOT_FOUND, err);
}

/* A window that is new, or may have changed: wait until it is whole, then analyse it. */
static int look_at(struct watch *watch, const struct watch_window *window,
		   struct known_window *known, struct np_err *err)
{
	struct hist_store *entry = NULL;
	struct np_common common = watch->options->common;
	const char *name = window->name;
	struct np_run *run = NULL;
	char fingerprint[17] = NOT_FOUND;
	bool settled;
	int rc;

	common.dirs = (struct np_opt_list){ .item = (const char **)(uintptr_t)window->paths.item,
					    .count = window->paths.count,
					    .capacity = window->paths.count };
	common.quiet = true;
	rc = prepare_found(&common, &(struct np_opt_list){ 0 }, &run, err);
	if (rc < 0) {
		np_run_free(run);
		return not_found(watch, known, name, rc, err);
	}
	np_run_fingerprint(run, fingerprint);
	if (strcmp(known->fingerprint, fingerprint) == 0) {
		known->changed = window->changed;
		np_run_free(run);
		return NP_OK;
	}
	settled = is_settled(watch, run, window, fingerprint, known);
	watch->waiting += !settled;
	if (!settled) {
		np_run_free(run);
		return NP_OK;
	}
	rc = reduce(watch, &common, name, run, &entry, err);
	if (rc == NP_E_NOMEM)
		return rc;
	if (rc < 0)
		return give_up(watch, known, name, fingerprint, err);
	rc = keep(watch, known, name, entry, err);
	(void)snprintf(known->fingerprint, sizeof(known->fingerprint), "%s",
		       rc == NP_OK ? fingerprint : "");
	known->changed = window->changed;
	known->again = np_steady_ns() + AGAIN_NS;
	return rc;
}

/* One that is in the store is looked at for a while, and later when something was put into it. */
static bool is_of_interest(const struct known_window *known, const struct watch_window *window)
{
	return known->run == NP_UNKNOWN || window->changed > known->changed ||
	       np_steady_ns() < known->again;
}

/* The names of the windows that are in the store. */
static const char **list_known(const struct watch *watch, size_t *ret_count)
{
	const char **names = calloc(watch->known.count + 1, sizeof(*names));

	*ret_count = 0;
	for (size_t i = 0; names && i < watch->known.count; i++) {
		if (watch->known.item[i].run != NP_UNKNOWN)
			names[(*ret_count)++] =
				np_strtab_text(watch->names, watch->known.item[i].name);
	}
	return names;
}

static int look(struct watch *watch, struct np_err *err)
{
	struct watch_listing listing = { .dir = watch->dir };
	struct watch_windows windows = { 0 };
	const char **known = list_known(watch, &listing.known_count);
	int rc;

	listing.known = known;
	rc = known ? watch_windows_list(&listing, &windows, err) : np_fail_nomem(err, "windows");
	free(known);
	watch->waiting = 0;
	for (size_t i = 0; i < windows.list.count && rc == NP_OK && !ending; i++) {
		const struct watch_window *window = &windows.list.item[i];
		struct known_window *before;

		rc = find_known(watch, window->name, &before, err);
		if (rc == NP_OK && is_of_interest(before, window))
			rc = look_at(watch, window, before, err);
	}
	watch_windows_release(&windows);
	return rc;
}

/* --- going on -------------------------------------------------------------------------------- */

/* The index of a run in the store; SIZE_MAX: it was removed. */
static size_t find_run(const struct hist_store *store, int64_t id)
{
	for (size_t i = store->runs.count; i-- > 0;) {
		if (store->runs.item[i].id == id)
			return i;
	}
	return SIZE_MAX;
}

/* A window of the store: it is known, and its line is written if the one who added it could not. */
static int recall(struct watch *watch, const struct hist_store *store,
		  const struct hist_window *window, bool newest, struct np_err *err)
{
	struct watch_line line = { .store = store,
				   .window = hist_text(store, window->name),
				   .run = find_run(store, window->run),
				   .id = window->run,
				   .replaces = NP_UNKNOWN };
	struct known_window *known;
	int rc = find_known(watch, line.window, &known, err);

	if (rc < 0)
		return rc;
	known->run = window->run;
	(void)snprintf(known->fingerprint, sizeof(known->fingerprint), "%s",
		       hist_text(store, window->fingerprint));
	/* Without its run only this is left of it. */
	if (line.run == SIZE_MAX)
		return watch_note_told(&watch->told, line.window, known->fingerprint, err);
	known->changed = store->runs.item[line.run].added;
	rc = judge(watch, &line, err);
	if (rc < 0)
		return rc;
	/* One that was killed has told all but the last; an empty file is a new one. */
	return tell(watch, &line,
		    newest || (watch->told.last > 0 && window->run > watch->told.last), true, err);
}

/* What an earlier watch has done: its windows are known, and the file of lines gets what it lacks.
 */
static int go_on(struct watch *watch, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	size_t newest = SIZE_MAX;
	size_t first = 0;
	int rc = begin_known(watch, err);

	if (rc == NP_OK)
		rc = hist_store_read(watch->store, &store, err);
	if (rc == NP_E_NOTFOUND)
		rc = NP_OK;
	if (rc == NP_OK && watch->options->lines)
		rc = watch_told_read(&watch->told, watch->options->lines, err);
	free(watch->cause);
	watch->cause = NULL;
	for (size_t i = 0; rc == NP_OK && store && i < store->windows.count; i++) {
		if (strcmp(hist_text(store, store->windows.item[i].job), watch->job) == 0)
			newest = i;
	}
	/* In the order in which they were added, which is not that of their times. */
	for (size_t i = 0; newest != SIZE_MAX && rc == NP_OK && i < store->windows.count; i++) {
		if (strcmp(hist_text(store, store->windows.item[i].job), watch->job) == 0)
			rc = recall(watch, store, &store->windows.item[i], i == newest, err);
	}
	/* The newest may have been taken while more was to come. */
	if (watch->known.count > AGAIN_WINDOWS)
		first = watch->known.count - AGAIN_WINDOWS;
	for (size_t i = first; rc == NP_OK && i < watch->known.count; i++)
		watch->known.item[i].again = np_steady_ns() + AGAIN_NS;
	return rc;
}

/* Somebody may have removed the store: what is there makes a new one, and is not told again. */
static int check_store(struct watch *watch, struct np_err *err)
{
	bool had = false;

	for (size_t i = 0; i < watch->known.count && !had; i++)
		had = watch->known.item[i].run != NP_UNKNOWN;
	if (!had || access(watch->store, F_OK) == 0 || errno != ENOENT)
		return NP_OK;
	(void)np_report(0,
			"the history '%s' is gone: it is made again of the windows that are there",
			watch->store);
	return begin_known(watch, err);
}

/* Sleep until the next look, or until a signal. */
static void pause_for(const struct watch *watch)
{
	int64_t seconds = watch->options->interval > 0 ? watch->options->interval : INTERVAL_S;
	const struct timespec pause = { .tv_sec = (time_t)seconds };

	(void)nanosleep(&pause, NULL);
}

/* What may pass, as a disk that is full, is said once, and tried again at the next look. */
static int bear(struct watch *watch, int rc, struct np_err *err)
{
	bool passes = rc == NP_E_IO || rc == NP_E_BUSY || rc == NP_E_NOTFOUND;

	if (rc == NP_OK) {
		free(watch->trouble);
		watch->trouble = NULL;
		return NP_OK;
	}
	if (!passes || watch->deaf || watch->options->once)
		return rc;
	if (!watch->trouble || strcmp(watch->trouble, err->text) != 0) {
		free(watch->trouble);
		watch->trouble = strdup(err->text);
		(void)np_report(0, "%s; it is tried again", err->text);
	}
	*err = NP_ERR_INIT;
	return NP_OK;
}

static int watch_dir(struct watch *watch, const struct np_watch_guide *guide, struct np_err *err)
{
	bool more = true;
	int rc;

	if (!np_is_directory(watch->dir))
		return np_fail(err, NP_E_USAGE, "'%s' is no directory", watch->dir);
	rc = watch_told_init(&watch->told, err);
	if (rc == NP_OK)
		rc = go_on(watch, err);
	catch_signals();
	while (rc == NP_OK && !ending) {
		if (guide)
			rc = guide->prepare(guide->context, &more, err);
		if (rc < 0)
			break;
		rc = watch->trouble ? go_on(watch, err) : check_store(watch, err);
		if (rc == NP_OK)
			rc = look(watch, err);
		/* Who reads the metrics sees that the watch lives. */
		if (rc == NP_OK)
			rc = write_metrics(watch, err);
		rc = bear(watch, rc, err);
		if (watch->options->once || (!more && watch->waiting == 0 && !watch->trouble))
			break;
		if (rc == NP_OK && !ending)
			pause_for(watch);
	}
	if (rc == NP_OK && watch->options->once && watch->waiting > 0)
		(void)np_report(
			0,
			"%zu windows have changed within the last %lld s, and are left for later",
			watch->waiting, (long long)np_watch_settle(watch->options));
	return rc;
}

int np_watch_follow(const struct np_cmd *cmd, const char *dir,
		    const struct np_watch_options *options, const struct np_watch_guide *guide)
{
	struct watch watch = { .options = options, .dir = dir };
	char *name = strdup(dir);
	struct np_err err = NP_ERR_INIT;
	int rc;

	watch.store = hist_store_path(options->store);
	if (!watch.store) {
		free(name);
		return np_cmd_usage(cmd, "which store? give --store FILE, or set NPUPROF_HISTORY");
	}
	while (name && strlen(name) > 1 && name[strlen(name) - 1] == '/')
		name[strlen(name) - 1] = '\0';
	watch.job = options->job ? options->job : name ? np_text_last_part(name) : NULL;
	rc = watch.job ? watch_dir(&watch, guide, &err) : np_fail_nomem(&err, "options");
	release(&watch);
	free(name);
	if (rc == NP_OK)
		return watch.failed > 0 || watch.partial ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
	return rc == NP_E_USAGE ? np_cmd_usage(cmd, "%s", err.text)
				: np_report(NP_EXIT_FAILED, "%s", err.text);
}
