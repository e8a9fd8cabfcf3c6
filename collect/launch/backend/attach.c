/* SPDX-License-Identifier: Apache-2.0 */
/* Windows by msprof, which is attached to the processes of ranks while a window is wanted. */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "collect/launch/output/tree.h"
#include "collect/place.h"
#include "msprof.h"
#include "npuprof/dirs.h"
#include "npuprof/jsonout.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"

/* --- the note beside the data of msprof ------------------------------------ */

bool np_attach_comm_take(const struct np_message *message, struct np_attach_comm *ret)
{
	size_t length = strcspn(message->text, "\n");
	const char *rest = message->text + length + (message->text[length] ? 1 : 0);

	if (message->type != NP_MSG_COMM || length == 0 || length >= sizeof(ret->name))
		return false;
	*ret = (struct np_attach_comm){ .rank = message->rank,
					.position = message->step,
					.size = message->value };
	memcpy(ret->name, message->text, length);
	(void)snprintf(ret->pg_name, sizeof(ret->pg_name), "%.*s", (int)sizeof(ret->pg_name) - 1,
		       rest);
	return true;
}

/* When a step began, or NP_UNKNOWN. */
static np_ns begin_of(const struct np_attach_note *note, int64_t step)
{
	for (size_t i = 0; i < note->step_count; i++) {
		if (note->steps[i].step == step)
			return note->steps[i].begin;
	}
	return NP_UNKNOWN;
}

static bool are_steps_known(const struct np_attach_note *note)
{
	if (note->first == NP_UNKNOWN || note->last == NP_UNKNOWN)
		return false;
	for (int64_t step = note->first; step <= note->last + 1; step++) {
		if (begin_of(note, step) == NP_UNKNOWN)
			return false;
	}
	return true;
}

static void put_steps(struct np_jsonout *out, const struct np_attach_note *note)
{
	bool known = are_steps_known(note);

	np_jsonout_array(out, "steps");
	for (int64_t step = note->first; known && step <= note->last; step++) {
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "step", step);
		np_jsonout_integer(out, "begin_ns", begin_of(note, step));
		np_jsonout_integer(out, "end_ns", begin_of(note, step + 1));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_comms(struct np_jsonout *out, const struct np_attach_note *note)
{
	np_jsonout_array(out, "communicators");
	for (size_t i = 0; i < note->comm_count; i++) {
		const struct np_attach_comm *comm = &note->comms[i];

		if (comm->rank != note->record->rank)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "name", comm->name);
		np_jsonout_integer(out, "size", comm->size);
		np_jsonout_integer(out, "group_rank", comm->position);
		np_jsonout_text(out, "pg_name", comm->pg_name[0] ? comm->pg_name : NULL);
		np_jsonout_null(out, "ranks");
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

int np_attach_note_format(const struct np_attach_note *note, struct np_buf *text,
			  struct np_err *err)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	const struct np_record *record = note->record;
	bool named = record->source >= 0 && record->source < NP_STEP_SOURCES;
	int rc;

	np_jsonout_init(&out, NULL);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", NP_RANK_FILE_SCHEMA);
	np_jsonout_text(&out, "job", note->job);
	np_jsonout_integer(&out, "rank", record->rank);
	np_jsonout_integer(&out, "world_size", record->world);
	np_jsonout_text(&out, "host", note->host);
	np_jsonout_integer(&out, "pid", record->pid);
	np_jsonout_integer(&out, "device", record->device);
	np_jsonout_text(&out, "state", "closed");
	np_jsonout_text(&out, "reason", "recorded by msprof");
	np_jsonout_text(&out, "step_source",
			named ? np_step_source_name((enum np_step_source)record->source) : NULL);
	np_jsonout_text(&out, "step_detail", record->source_detail);
	put_steps(&out, note);
	np_jsonout_object_line(&out, "window");
	np_jsonout_integer(&out, "first_step", note->first);
	np_jsonout_integer(&out, "last_step", note->last);
	np_jsonout_end(&out);
	put_comms(&out, note);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_buf_add_bytes(text, out.buf.text, out.buf.length);
	return rc == NP_OK ? np_buf_check(text, err) : rc;
}

static int write_note_file(const struct np_attach_note *note, const char *dir, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int rc = np_attach_note_format(note, &text, err);

	if (rc < 0)
		return rc;
	return np_place_write(dir, NP_RANK_FILE,
			      (struct np_place_bytes){ .bytes = text.text, .length = text.length },
			      NP_PLACE_OUTPUT, err);
}

/* --- windows --------------------------------------------------------------- */

enum {
	START_S = 9,  /* less than launcher 0 waits for an answer (control_requests.c) */
	STOP_S = 60,  /* msprof writes what there is */
	HURRY_S = 10, /* the application is gone */
	NAP_US = 10000,
	BYTES_S = 1,
};

#define LOG_NAME "msprof.log"

static np_ns in_seconds(int seconds)
{
	return np_steady_ns() + (np_ns)seconds * 1000000000;
}

static struct np_attach *find(struct np_backend *backend, int32_t rank)
{
	for (size_t i = 0; i < backend->attached.windows.count; i++) {
		if (backend->attached.windows.item[i]->rank == rank)
			return backend->attached.windows.item[i];
	}
	return NULL;
}

/* Speak as the library in the rank would. */
static void say(struct np_backend *backend, const struct np_attach *window,
		enum np_message_type type, int64_t step, int64_t value, const char *text)
{
	struct np_message message;

	np_message_init(&message, type, window->rank);
	message.step = step;
	message.value = value;
	(void)snprintf(message.text, sizeof(message.text), "%.*s", (int)sizeof(message.text) - 1,
		       text);
	backend->session.take(backend->session.self, &message);
}

static int64_t step_of(struct np_backend *backend, int32_t rank)
{
	const struct np_record *record = np_job_record(backend->job, rank);

	return record ? record->last_seen_step : NP_UNKNOWN;
}

/* --- the process ---------------------------------------------------------- */

/* Only what a forked process may call. */
_Noreturn static void become_msprof(char *const *argv, int input, int log)
{
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(input, STDIN_FILENO);
	(void)dup2(log, STDOUT_FILENO);
	(void)dup2(log, STDERR_FILENO);
	(void)execvp(argv[0], argv);
	(void)dprintf(STDERR_FILENO, "cannot execute msprof: %s\n", strerrordesc_np(errno));
	_exit(127);
}

static bool start_msprof(struct np_attach *window, const struct np_msprof_line *line)
{
	struct np_err err = NP_ERR_INIT;
	int ends[2];
	int log = np_place_append(line->dir, LOG_NAME, NP_PLACE_OUTPUT, &err);

	if (log < 0)
		np_job_warn("%s", err.text);
	if (log < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		if (log >= 0)
			(void)close(log);
		return false;
	}
	window->msprof = fork();
	if (window->msprof == 0)
		become_msprof(line->argv, ends[0], log);
	(void)close(ends[0]);
	(void)close(log);
	window->input = ends[1];
	return window->msprof > 0;
}

static void type_words(const struct np_attach *window, const char *words)
{
	/* One that is gone cannot be asked, and need not. SIGPIPE is ignored here. */
	(void)!write(window->input, words, strlen(words));
}

static bool has_ended(struct np_attach *window)
{
	if (window->msprof > 0 && waitpid(window->msprof, NULL, WNOHANG) == window->msprof)
		window->msprof = 0;
	return window->msprof <= 0;
}

static void kill_msprof(struct np_attach *window)
{
	if (window->msprof <= 0)
		return;
	(void)kill(window->msprof, SIGKILL);
	(void)waitpid(window->msprof, NULL, 0);
	window->msprof = 0;
}

/* --- what is asked for ---------------------------------------------------- */

static void answer(struct np_backend *backend, int32_t rank, enum np_message_type type,
		   int64_t step, const char *text)
{
	const struct np_attach nobody = { .rank = rank };

	say(backend, &nobody, type, step, NP_UNKNOWN, text);
}

/* "<directory>[\n<level>]", as in protocol.h. */
static int take_dir_and_level(const struct np_job *job, const char *text, char *base, size_t size)
{
	size_t length = strcspn(text, "\n");
	int64_t level;

	(void)snprintf(base, size, "%.*s", (int)length, text);
	if (!text[length] ||
	    !np_text_to_int(text + length + 1, strlen(text + length + 1), &level) ||
	    level < NP_PROF_LEVEL_0 || level > NP_PROF_LEVEL_2)
		return job->plan.level;
	return (int)level - NP_PROF_LEVEL_0;
}

/* A window that stays where it is: answers to it may bring the next. */
static struct np_attach *add_window(struct np_backend *backend, struct np_err *err)
{
	struct np_attach *window = calloc(1, sizeof(*window));
	struct np_attach **slot = window ? np_vec_add(&backend->attached.windows, err) : NULL;

	if (!slot) {
		free(window);
		(void)np_fail_nomem(err, "a window");
		return NULL;
	}
	*slot = window;
	return window;
}

static bool begin(struct np_backend *backend, const struct np_record *record,
		  const struct np_message *message, struct np_err *err)
{
	struct np_job *job = backend->job;
	struct np_msprof_line line;
	struct np_attach *window;
	char base[NP_RECORD_DIR];
	int level = take_dir_and_level(job, message->text, base, sizeof(base));
	bool steps = record->last_seen_step != NP_UNKNOWN;
	bool begun = false;

	if (np_msprof_attach_line(job, record->rank, (int)record->pid, base, level, &line, err) ==
		    NP_OK &&
	    (window = add_window(backend, err))) {
		window->rank = record->rank;
		window->input = -1;
		window->first = steps ? message->step : NP_UNKNOWN;
		window->end = message->value > 0 ? message->step + message->value : -1;
		window->last = NP_UNKNOWN;
		window->deadline = in_seconds(START_S);
		memcpy(window->dir, line.dir, sizeof(window->dir));
		begun = start_msprof(window, &line);
		if (begun) {
			type_words(window, "start\n");
		} else {
			(void)np_fail(err, NP_E_IO, "cannot start msprof: %s",
				      strerrordesc_np(errno));
			backend->attached.windows.count--;
			free(window);
		}
	}
	np_msprof_line_release(&line);
	return begun;
}

static void start(struct np_backend *backend, int32_t rank, const struct np_message *message)
{
	const struct np_record *record = np_job_record(backend->job, rank);
	const struct np_attach *window = find(backend, rank);
	struct np_err err = NP_ERR_INIT;

	if (!record)
		return;
	if (window)
		answer(backend, rank, NP_MSG_REFUSED, NP_UNKNOWN,
		       window->state == NP_ATTACH_OPEN ? "a window is open"
						       : "a window is planned already, or ending");
	else if (record->last_seen_step == NP_UNKNOWN && message->value > 0)
		answer(backend, rank, NP_MSG_REFUSED, NP_UNKNOWN,
		       "no step is known of it: use --steps -1 and 'npuprof ctl stop'");
	else if (record->last_seen_step != NP_UNKNOWN && message->step >= 0 &&
		 record->last_seen_step >= message->step)
		answer(backend, rank, NP_MSG_TOO_LATE, record->last_seen_step, "");
	else if (!begin(backend, record, message, &err))
		answer(backend, rank, NP_MSG_REFUSED, NP_UNKNOWN, err.text);
}

/* Told to stop: what was not wanted goes away when msprof has ended. */
static void stop(struct np_backend *backend, struct np_attach *window, int64_t last)
{
	if (window->state == NP_ATTACH_STOPPING)
		return;
	type_words(window, "stop\nquit\n");
	window->state = NP_ATTACH_STOPPING;
	window->last = last;
	window->deadline =
		in_seconds(backend->session.has_left(backend->session.self) ? HURRY_S : STOP_S);
}

/* The step that is going on is not complete. */
static void stop_now(struct np_backend *backend, struct np_attach *window)
{
	int64_t step = step_of(backend, window->rank);

	stop(backend, window, step == NP_UNKNOWN ? NP_UNKNOWN : step - 1);
}

static void halt(struct np_backend *backend, struct np_attach *window, int64_t step)
{
	if (step < 0 || window->first == NP_UNKNOWN || step <= window->first)
		stop_now(backend, window);
	else if (window->end < 0 || step < window->end)
		window->end = step;
}

static bool is_in(const struct np_attach *window, const char *base)
{
	size_t length = strlen(base);

	return strncmp(window->dir, base, length) == 0 && window->dir[length] == '/';
}

bool np_attach_send(struct np_backend *backend, int32_t rank, const struct np_message *message)
{
	struct np_attach *window = find(backend, rank);

	if (message->type == NP_MSG_START)
		start(backend, rank, message);
	else if (window && message->type == NP_MSG_STOP)
		halt(backend, window, message->step);
	else if (window && message->type == NP_MSG_CANCEL && is_in(window, message->text))
		stop_now(backend, window);
	return message->type == NP_MSG_START || window != NULL;
}

void np_attach_hear(struct np_backend *backend, const struct np_message *message)
{
	struct np_attach *window = find(backend, message->rank);
	struct np_attach_comm comm;

	if (np_attach_comm_take(message, &comm)) {
		struct np_attach_comm *slot = np_vec_add(&backend->attached.comms, NULL);

		if (slot)
			*slot = comm;
	} else if (window && message->type == NP_MSG_STEP) {
		struct np_attach_step *slot = np_vec_add(&window->steps, NULL);

		if (slot)
			*slot = (struct np_attach_step){ message->step, message->time };
	}
}

/* --- what becomes of it --------------------------------------------------- */

/* Steps come at most every 20 ms: some may have begun that nobody has reported. */
static bool is_in_time(struct np_backend *backend, const struct np_attach *window)
{
	int64_t step = step_of(backend, window->rank);
	int64_t rate = backend->session.step_rate(backend->session.self);
	int64_t hidden = rate > 0 ? rate / 20000 : 0;

	return window->first == NP_UNKNOWN || step == NP_UNKNOWN || step + hidden < window->first;
}

static void judge_start(struct np_backend *backend, struct np_attach *window)
{
	char text[NP_RECORD_DIR + 80];

	if (np_tree_has(window->dir, "PROF_")) {
		bool in_time = is_in_time(backend, window);

		window->answered = true;
		window->state = NP_ATTACH_RECORDING;
		say(backend, window, in_time ? NP_MSG_ACCEPTED : NP_MSG_TOO_LATE,
		    in_time ? window->first : step_of(backend, window->rank), NP_UNKNOWN, "");
		return;
	}
	if (!has_ended(window) && np_steady_ns() < window->deadline)
		return;
	(void)snprintf(text, sizeof(text),
		       "msprof did not start; what it says is in '%s/" LOG_NAME "'", window->dir);
	window->answered = true;
	say(backend, window, NP_MSG_REFUSED, NP_UNKNOWN, NP_UNKNOWN, text);
	kill_msprof(window);
}

static void report_bytes(struct np_backend *backend, struct np_attach *window)
{
	int64_t step = step_of(backend, window->rank);

	if (np_steady_ns() < window->bytes_due)
		return;
	window->bytes_due = in_seconds(BYTES_S);
	say(backend, window, NP_MSG_BYTES,
	    step == NP_UNKNOWN || window->first == NP_UNKNOWN ? 0 : step - window->first,
	    np_tree_bytes(window->dir), "");
}

static void advance(struct np_backend *backend, struct np_attach *window)
{
	int64_t step = step_of(backend, window->rank);

	if (window->state == NP_ATTACH_STARTING)
		judge_start(backend, window);
	if (window->state == NP_ATTACH_RECORDING &&
	    (window->first == NP_UNKNOWN || (step != NP_UNKNOWN && step >= window->first))) {
		window->state = NP_ATTACH_OPEN;
		window->opened = true;
		window->bytes_due = in_seconds(BYTES_S);
		say(backend, window, NP_MSG_WINDOW_OPEN, window->first, NP_UNKNOWN, window->dir);
	}
	if (window->state != NP_ATTACH_OPEN)
		return;
	report_bytes(backend, window);
	if (window->end >= 0 && step != NP_UNKNOWN && step >= window->end)
		stop(backend, window, window->end - 1);
	else if (has_ended(window))
		stop_now(backend, window); /* the application has ended, or msprof has failed */
}

static void write_note(struct np_backend *backend, const struct np_attach *window)
{
	const struct np_job *job = backend->job;
	struct np_err err = NP_ERR_INIT;
	const struct np_attach_note note = {
		.job = job->plan.job,
		.host = job->layout.hosts[job->layout.ranks[job->rank].host].name,
		.record = np_job_record(backend->job, window->rank),
		.first = window->first,
		.last = window->last,
		.steps = window->steps.item,
		.step_count = window->steps.count,
		.comms = backend->attached.comms.item,
		.comm_count = backend->attached.comms.count,
	};

	if (note.record && write_note_file(&note, window->dir, &err) < 0)
		np_job_warn("rank %d: %s", (int)window->rank, err.text);
}

/* msprof is gone: say what there is, or remove what nobody wants. */
static void conclude(struct np_backend *backend, struct np_attach *window)
{
	kill_msprof(window);
	if (window->input >= 0)
		(void)close(window->input);
	if (!window->opened) {
		/* Of a failed start the log stays. */
		if (np_tree_has(window->dir, "PROF_"))
			np_remove_tree(window->dir);
		return;
	}
	write_note(backend, window);
	if (np_tree_is_complete(window->dir))
		say(backend, window, NP_MSG_WINDOW_CLOSED,
		    window->last == NP_UNKNOWN || window->last < window->first ? NP_UNKNOWN
									       : window->last,
		    np_tree_bytes(window->dir), window->dir);
}

void np_attach_attend(struct np_backend *backend)
{
	struct np_attached *attached = &backend->attached;

	for (size_t i = 0; i < attached->windows.count;) {
		struct np_attach *window = attached->windows.item[i];

		advance(backend, window);
		if (!has_ended(window) &&
		    (window->state != NP_ATTACH_STOPPING || np_steady_ns() < window->deadline)) {
			i++;
			continue;
		}
		attached->windows.item[i] = attached->windows.item[--attached->windows.count];
		conclude(backend, window);
		np_vec_release(&window->steps);
		free(window);
	}
}

void np_attach_end(struct np_backend *backend)
{
	struct np_attached *attached = &backend->attached;

	for (size_t i = 0; i < attached->windows.count; i++)
		stop_now(backend, attached->windows.item[i]);
	while (attached->windows.count) {
		np_attach_attend(backend);
		(void)usleep(NAP_US);
	}
	np_vec_release(&attached->windows);
	np_vec_release(&attached->comms);
	/* An application that was killed has left its socket. */
	for (size_t i = 0; i < backend->job->records.count; i++) {
		char path[PATH_MAX];
		int64_t pid = backend->job->records.item[i].pid;

		if (pid != NP_UNKNOWN && kill((pid_t)pid, 0) < 0 && errno == ESRCH &&
		    np_msprof_socket((int)pid, path, sizeof(path)))
			(void)unlink(path);
	}
}
