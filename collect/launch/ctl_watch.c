/* SPDX-License-Identifier: Apache-2.0 */
/* "npuprof ctl watch": asks for windows, exports those that are closed, and has them watched. */
#include "ctl_watch.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "collect/export/export.h"
#include "collect/protocol.h"
#include "npuprof/dirs.h"
#include "npuprof/json.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"

enum {
	EXPORT_S = 7200,
	RANK_FILE_BYTES = 64 << 20,
};

struct job_watch {
	const struct ctl_watch_order *order;
	char job[PATH_MAX];
	np_ns next;            /* window that is asked for */
	bool left;             /* windows are closed, and not exported yet */
	struct np_names tried; /* windows whose export has failed */
};

/* --- closed? --------------------------------------------------------------------------------- */

/* What is known of the ranks in the directory of a window. */
struct window_state {
	size_t ranks;
	size_t open;
	size_t raw; /* closed, and not exported */
	np_ns newest;
	np_ns cost; /* what opening and closing its profile took of the rank where it took most */
	NP_VEC(char *) dirs; /* those that are raw */
};

static void release_state(struct window_state *state)
{
	for (size_t i = 0; i < state->dirs.count; i++)
		free(state->dirs.item[i]);
	np_vec_release(&state->dirs);
}

/* From the first call of AscendCL to where the window is open, and from where it ends to the last.
 */
static np_ns cost_of(const struct np_json *doc)
{
	const struct np_json *window = np_json_member(doc, "window");
	const struct np_json *codes = np_json_member(doc, "prof_codes");
	size_t count = np_json_count(codes);
	int64_t first;
	int64_t last;
	int64_t open;
	int64_t closed;

	if (count == 0 ||
	    !np_json_integer(np_json_member(np_json_item(codes, 0), "at_ns"), &first) ||
	    !np_json_integer(np_json_member(np_json_item(codes, count - 1), "at_ns"), &last) ||
	    !np_json_integer(np_json_member(window, "open_ns"), &open) ||
	    !np_json_integer(np_json_member(window, "close_ns"), &closed) || first > open ||
	    last < closed)
		return 0;
	return open - first + last - closed;
}

/* Is a rank still recording, by the file that the library keeps in its directory? */
static bool is_open(const char *file, np_ns *cost)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *state;
	np_ns own;

	if (np_json_read_file(file, RANK_FILE_BYTES, &doc, NULL) < 0)
		return true;
	state = np_json_text(np_json_member(doc, "state"));
	own = cost_of(doc);
	*cost = own > *cost ? own : *cost;
	return !state || strcmp(state, "open") == 0;
}

static int add_rank(struct window_state *state, const char *dir, struct np_err *err)
{
	char *file = np_join_path(dir, NP_RANK_FILE);
	char *output = np_join_path(dir, NP_EXPORT_OUTPUT);
	struct stat info;
	char **slot;
	int rc = file && output ? NP_OK : np_fail_nomem(err, dir);

	if (rc == NP_OK && stat(file, &info) == 0) {
		np_ns changed = (np_ns)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;

		state->ranks++;
		state->newest = changed > state->newest ? changed : state->newest;
		if (is_open(file, &state->cost))
			state->open++;
		else if (!np_is_directory(output)) {
			state->raw++;
			slot = np_vec_add(&state->dirs, err);
			if (!slot || !(*slot = strdup(dir)))
				rc = np_fail_nomem(err, dir);
		}
	}
	free(file);
	free(output);
	return rc;
}

static int read_window(const char *dir, struct window_state *ret, struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = np_names_read(dir, &names, err);

	/* It may be gone again. */
	if (rc == NP_E_IO || rc == NP_E_NOTFOUND)
		rc = NP_OK;
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++) {
		char *rank = np_text_ends(names.list.item[i], "_ascend_pt")
				     ? np_join_path(dir, names.list.item[i])
				     : NULL;

		if (rank)
			rc = add_rank(ret, rank, err);
		free(rank);
	}
	np_names_release(&names);
	return rc;
}

/* --- exporting ------------------------------------------------------------------------------- */

static bool was_tried(const struct job_watch *watch, const char *dir)
{
	for (size_t i = 0; i < watch->tried.list.count; i++) {
		if (strcmp(watch->tried.list.item[i], dir) == 0)
			return true;
	}
	return false;
}

static int note_tried(struct job_watch *watch, const char *dir, struct np_err *err)
{
	char **slot = np_vec_add(&watch->tried.list, err);

	return slot && (*slot = strdup(dir)) ? NP_OK : np_fail_nomem(err, dir);
}

/* What the export said first is why it failed; what comes last is a table. */
static int first_words(int log, struct np_err *err)
{
	static const char before[] = "\nnpuprof: ";
	char text[4096] = "";
	ssize_t got = pread(log, text, sizeof(text) - 1, 0);
	char *at = got > 0 ? strstr(text, before) : NULL;

	if (!at)
		return NP_E_FORMAT;
	at += sizeof(before) - 1;
	at[strcspn(at, "\n")] = '\0';
	return np_fail(err, NP_E_FORMAT, "%s", at);
}

/* A process of its own, as somebody would start it: what it needs of memory ends with it. */
static int run_export(const struct job_watch *watch, const struct window_state *state,
		      struct np_err *err)
{
	const char *const begin[] = { "/proc/self/exe",
				      "export",
				      "-q",
				      "--lang",
				      "en",
				      "--msprof",
				      watch->order->msprof ? watch->order->msprof : "msprof" };
	const char **words = calloc(NP_COUNT(begin) + state->dirs.count + 1, sizeof(*words));
	int log = memfd_create("export", MFD_CLOEXEC);
	int rc = words && log >= 0 ? NP_OK : np_fail_nomem(err, "export");

	if (rc == NP_OK) {
		memcpy(words, begin, sizeof(begin));
		memcpy(words + NP_COUNT(begin), state->dirs.item,
		       state->dirs.count * sizeof(*words));
		rc = np_export_child(words, log, EXPORT_S, err);
		if (rc < 0)
			(void)first_words(log, err);
	}
	free(words);
	if (log >= 0)
		(void)close(log);
	return rc;
}

static void say_cost(const char *dir, np_ns cost)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_text_duration(&text, cost);
	if (cost > 0 && !text.failed)
		(void)np_report(0, "%s: opening and closing its profile took a rank %s at most",
				np_text_last_part(dir), text.text);
}

/* Export a window when every rank has closed its profile and nothing happens any more. */
static int bring(struct job_watch *watch, const char *dir, struct np_err *err)
{
	np_ns settle = np_watch_settle(watch->order->watch) * INT64_C(1000000000);
	struct window_state state = { 0 };
	struct np_err why = NP_ERR_INIT;
	int rc = was_tried(watch, dir) ? NP_OK : read_window(dir, &state, err);

	if (rc < 0 || state.raw == 0 || state.open > 0) {
		release_state(&state);
		return rc;
	}
	if (np_realtime_ns() - state.newest < settle) {
		watch->left = true;
		release_state(&state);
		return NP_OK;
	}
	say_cost(dir, state.cost);
	if (run_export(watch, &state, &why) < 0) {
		/* Some of its ranks may have been exported all the same. */
		(void)np_report(0, "%s: %s", np_text_last_part(dir), why.text);
		rc = note_tried(watch, dir, err);
	}
	release_state(&state);
	return rc;
}

static int bring_all(struct job_watch *watch, struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = bring(watch, watch->job, err);

	if (rc == NP_OK)
		rc = np_names_read(watch->job, &names, err);
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++) {
		char *dir = np_text_begins(names.list.item[i], "window-")
				    ? np_join_path(watch->job, names.list.item[i])
				    : NULL;

		if (dir)
			rc = bring(watch, dir, err);
		free(dir);
	}
	np_names_release(&names);
	return rc;
}

/* --- asking ---------------------------------------------------------------------------------- */

/* That a window cannot be opened now is no reason to stop looking at the others. */
static void ask_for_window(struct job_watch *watch)
{
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	np_ns now = np_steady_ns();

	if (watch->order->every_s == 0 || now < watch->next)
		return;
	watch->next = now + watch->order->every_s * INT64_C(1000000000);
	if (np_ctl_ask(watch->job, &watch->order->request, &answer, watch->order->patience_s,
		       &err) < 0)
		(void)np_report(0, "%s", err.text);
	else if (answer.failed)
		(void)np_report(0, "%s", answer.text);
}

static int prepare(void *context, bool *ret_more, struct np_err *err)
{
	struct job_watch *watch = context;
	bool runs = np_ctl_has_job(watch->job);
	int rc;

	if (runs)
		ask_for_window(watch);
	watch->left = false;
	rc = bring_all(watch, err);
	*ret_more = runs || watch->left;
	return rc;
}

int ctl_watch(const struct np_cmd *cmd, const struct ctl_watch_order *order)
{
	struct job_watch watch = { .order = order };
	const struct np_watch_guide guide = { prepare, &watch };
	struct np_err err = NP_ERR_INIT;
	int rc = np_ctl_find_job(order->dir, watch.job, sizeof(watch.job), &err);
	int status;

	if (rc < 0)
		return rc == NP_E_USAGE ? np_cmd_usage(cmd, "%s", err.text)
					: np_report(NP_EXIT_FAILED, "%s", err.text);
	status = np_watch_follow(cmd, watch.job, order->watch, &guide);
	if (status == NP_EXIT_DONE && watch.tried.list.count > 0)
		status = NP_EXIT_PARTIAL;
	np_names_release(&watch.tried);
	return status;
}
