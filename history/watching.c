/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a directory into which captures arrive, and says what each shows. */
#include "npuprof/watching.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "cli/prepare/prepare.h"
#include "engine/hist_entry.h"
#include "engine/watch_windows.h"
#include "present/watch_lines.h"

#include "npuprof/dirs.h"
#include "npuprof/lock.h"
#include "npuprof/run.h"
#include "npuprof/temporary.h"
#include "npuprof/text.h"

/* A command that was told of a verdict ends within this. */
#define COMMAND_S 60

/* Unless told otherwise. */
#define INTERVAL_S 10
#define SETTLE_S   5

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

struct known_window {
	char *name;
	char fingerprint[17]; /* of one that failed; "" of one that is in the store */
};

struct watch {
	const struct np_watch_options *options;
	const char *dir;
	const char *store;
	const char *job;
	NP_VEC(struct known_window) known;
	char *cause; /* that the newest window names; NULL for none */
	int64_t analysed;
	int64_t failed;
	bool partial; /* of some windows not all could be used */
	bool waiting; /* some of the windows are not whole yet */
};

static const struct known_window *find_known(const struct watch *watch, const char *name)
{
	/* The newest are asked for most. */
	for (size_t i = watch->known.count; i-- > 0;) {
		if (strcmp(watch->known.item[i].name, name) == 0)
			return &watch->known.item[i];
	}
	return NULL;
}

static int remember(struct watch *watch, const char *name, const char *fingerprint,
		    struct np_err *err)
{
	struct known_window *known = np_vec_add(&watch->known, err);

	if (!known || !(known->name = strdup(name)))
		return np_fail_nomem(err, "windows");
	(void)snprintf(known->fingerprint, sizeof(known->fingerprint), "%s", fingerprint);
	return NP_OK;
}

static void release(struct watch *watch)
{
	for (size_t i = 0; i < watch->known.count; i++)
		free(watch->known.item[i].name);
	np_vec_release(&watch->known);
	free(watch->cause);
}

/* --- telling --------------------------------------------------------------------------------- */

/* The number of the last run in the file of lines; a line that was not finished is cut off. */
static int read_last(const char *path, int64_t *ret, struct np_err *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	off_t whole = 0;
	ssize_t length;

	*ret = 0;
	if (!file)
		return errno == ENOENT ? NP_OK : np_fail_errno(err, "read", path);
	while ((length = getline(&line, &room, file)) > 0 && line[length - 1] == '\n') {
		int64_t run = watch_line_run(line, (size_t)length);

		if (run == NP_UNKNOWN) {
			free(line);
			(void)fclose(file);
			return np_fail(
				err, NP_E_FORMAT,
				"'%s' has other lines than those of the watch: give another --lines",
				path);
		}
		*ret = run > *ret ? run : *ret;
		whole += length;
	}
	free(line);
	(void)fclose(file);
	return length > 0 && truncate(path, whole) != 0 ? np_fail_errno(err, "write", path) : NP_OK;
}

static int append_line(const char *path, const struct np_buf *text, struct np_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	size_t done = 0;

	while (fd >= 0 && done < text->length) {
		ssize_t wrote = write(fd, text->text + done, text->length - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			break;
		done += (size_t)wrote;
	}
	if (fd < 0 || done < text->length) {
		int rc = np_fail_errno(err, "write", path);

		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	return close(fd) == 0 ? NP_OK : np_fail_errno(err, "write", path);
}

static void feed(int fd, const struct np_buf *text)
{
	size_t done = 0;

	while (done < text->length) {
		ssize_t wrote = write(fd, text->text + done, text->length - done);

		/* Who does not read is not forced to. */
		if (wrote <= 0 && errno != EINTR)
			break;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	(void)close(fd);
}

/* Run the command of --on-verdict with the line on its standard input, at most for a while. */
static void tell_command(const char *command, const struct np_buf *text)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	int ends[2];
	int status = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	child = fork();
	if (child == 0) {
		(void)dup2(ends[0], STDIN_FILENO);
		(void)signal(SIGINT, SIG_DFL);
		(void)signal(SIGTERM, SIG_DFL);
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[0]);
	feed(ends[1], text);
	for (int i = 0; child > 0 && waitpid(child, &status, WNOHANG) == 0; i++) {
		if (i == COMMAND_S * 100)
			(void)kill(child, SIGKILL);
		(void)nanosleep(&moment, NULL);
	}
	if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		(void)np_report(0, "--on-verdict '%s' failed", command);
}

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

/* Tell of a run: `again` one that was analysed before, of which only the file of lines may lack. */
static int tell(struct watch *watch, struct watch_line *line, int64_t last, bool again,
		struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf json = NP_BUF_INIT;
	const struct np_watch_options *options = watch->options;
	char *before = NULL;
	int rc = take_news(watch, line, &before, err);

	if (rc == NP_OK) {
		watch_put_json(&json, line);
		rc = np_buf_check(&json, err);
	}
	if (rc == NP_OK && options->lines && line->id > last)
		rc = append_line(options->lines, &json, err);
	if (rc == NP_OK && !again && print_line(watch, line, &json) < 0)
		rc = np_fail(err, NP_E_IO, "%s", "");
	if (rc == NP_OK && !again && options->metrics)
		rc = np_write_file(options->metrics, watch_write_metrics,
				   &(struct watch_metrics){ line, watch->analysed, watch->failed },
				   err);
	if (rc == NP_OK && !again && options->on_verdict && line->news != WATCH_SAME)
		tell_command(options->on_verdict, &json);
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

/* Put it into the history, and tell of it; failures are ours, and end the watch. */
static int keep(struct watch *watch, const struct hist_store *entry, struct np_err *err)
{
	struct watch_line line = { .store = entry };
	bool is_known = false;
	int rc = hist_store_add(watch->store, entry, &line.id, &is_known, err);

	/* Others may add to the history while this one waits. */
	np_lock_release_all();
	if (rc < 0 || is_known)
		return rc;
	watch->analysed++;
	return tell(watch, &line, 0, false, err);
}

/* A window that cannot be used is said once, and tried again when it has changed. */
static int give_up(struct watch *watch, const char *name, const char *fingerprint,
		   struct np_err *err)
{
	watch->failed++;
	(void)np_report(0, "%s: %s", name, err->text);
	return remember(watch, name, fingerprint, err);
}

/* Has nothing of it changed for a while? Where its files are gone again it is not there. */
static bool is_settled(const struct watch *watch, const struct np_run *run)
{
	np_ns newest = hist_newest_file(run);

	return newest != NP_UNKNOWN &&
	       hist_now() - newest >= np_watch_settle(watch->options) * INT64_C(1000000000);
}

/* Stands for the fingerprint of a window in which profiles could not even be told apart. */
#define NOT_FOUND "?"

/* A window whose profiles were not found: later, or never. */
static int not_found(struct watch *watch, const char *name, int rc, struct np_err *err)
{
	const struct known_window *known = find_known(watch, name);

	/* Without profiles it is not there yet. */
	if (rc == NP_E_NOTFOUND || rc == NP_E_NOMEM)
		return rc == NP_E_NOMEM ? rc : NP_OK;
	return known && strcmp(known->fingerprint, NOT_FOUND) == 0
		       ? NP_OK
		       : give_up(watch, name, NOT_FOUND, err);
}

/* A window that is new: wait until it is whole, then analyse it. */
static int look_at(struct watch *watch, const struct watch_window *window, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *entry = NULL;
	struct np_common common = watch->options->common;
	const char *name = window->name;
	const struct known_window *known = find_known(watch, name);
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
		return not_found(watch, name, rc, err);
	}
	np_run_fingerprint(run, fingerprint);
	settled = is_settled(watch, run);
	watch->waiting |= !settled;
	if (!settled || (known && strcmp(known->fingerprint, fingerprint) == 0)) {
		np_run_free(run);
		return NP_OK;
	}
	rc = reduce(watch, &common, name, run, &entry, err);
	if (rc == NP_E_NOMEM)
		return rc;
	if (rc < 0)
		return give_up(watch, name, fingerprint, err);
	rc = keep(watch, entry, err);
	return rc == NP_OK ? remember(watch, name, "", err) : rc;
}

/* The names of the windows that are in the store. */
static const char **list_known(const struct watch *watch, size_t *ret_count)
{
	const char **names = calloc(watch->known.count + 1, sizeof(*names));

	*ret_count = 0;
	for (size_t i = 0; names && i < watch->known.count; i++) {
		if (watch->known.item[i].fingerprint[0] == '\0')
			names[(*ret_count)++] = watch->known.item[i].name;
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
	watch->waiting = false;
	for (size_t i = 0; i < windows.list.count && rc == NP_OK && !ending; i++) {
		const struct known_window *before = find_known(watch, windows.list.item[i].name);

		if (!before || before->fingerprint[0] != '\0')
			rc = look_at(watch, &windows.list.item[i], err);
	}
	watch_windows_release(&windows);
	return rc;
}

/* What an earlier watch has done: its windows are known, and the file of lines gets what it lacks.
 */
static int go_on(struct watch *watch, struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	int64_t last = 0;
	int64_t id = 0;
	int rc = hist_store_read(watch->store, &store, err);

	if (rc == NP_E_NOTFOUND)
		rc = NP_OK;
	if (rc == NP_OK && watch->options->lines)
		rc = read_last(watch->options->lines, &last, err);
	/* In the order in which they were added, which is not that of their times. */
	while (rc == NP_OK && store) {
		size_t next = SIZE_MAX;
		const char *window;

		for (size_t i = 0; i < store->runs.count; i++) {
			if (store->runs.item[i].id > id &&
			    strcmp(hist_text(store, store->runs.item[i].job), watch->job) == 0 &&
			    (next == SIZE_MAX ||
			     store->runs.item[i].id < store->runs.item[next].id))
				next = i;
		}
		if (next == SIZE_MAX)
			break;
		id = store->runs.item[next].id;
		window = hist_label_of(store, next, "window");
		if (!window)
			continue;
		rc = remember(watch, window, "", err);
		if (rc == NP_OK)
			rc = tell(watch,
				  &(struct watch_line){ .store = store, .run = next, .id = id },
				  last, true, err);
	}
	return rc;
}

/* Sleep until the next look, or until a signal. */
static void pause_for(const struct watch *watch)
{
	int64_t seconds = watch->options->interval > 0 ? watch->options->interval : INTERVAL_S;
	const struct timespec pause = { .tv_sec = (time_t)seconds };

	(void)nanosleep(&pause, NULL);
}

static int watch_dir(struct watch *watch, const struct np_watch_guide *guide, struct np_err *err)
{
	bool more = true;
	int rc;

	if (!np_is_directory(watch->dir))
		return np_fail(err, NP_E_USAGE, "'%s' is no directory", watch->dir);
	rc = go_on(watch, err);
	catch_signals();
	while (rc == NP_OK && !ending) {
		if (guide)
			rc = guide->prepare(guide->context, &more, err);
		if (rc == NP_OK)
			rc = look(watch, err);
		if (watch->options->once || (!more && !watch->waiting))
			break;
		if (rc == NP_OK && !ending)
			pause_for(watch);
	}
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
