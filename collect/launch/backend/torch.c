/* SPDX-License-Identifier: Apache-2.0 */
/* torch_npu's dynamic_profile as a back-end: who has come, which step it is, and its windows. */
#include "torch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "collect/launch/output/tree.h"
#include "collect/place.h"
#include "memory_history.h"
#include "npuprof/dirs.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"

/* --- its shared memory ----------------------------------------------------- */

#define MEMORY_NAME "DynamicProfileNpuShm"

static bool maps_memory(const char *pid)
{
	char path[64];
	char line[512];
	bool found = false;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "/" MEMORY_NAME) != NULL;
	if (file)
		(void)fclose(file);
	return found;
}

int np_torch_memory_user(void)
{
	const struct dirent *entry;
	DIR *stream = opendir("/proc");
	int64_t user = 0;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && user == 0 && (entry = readdir(stream))) {
		const char *name = entry->d_name;

		if (!np_text_to_int(name, strlen(name), &user) || !maps_memory(name))
			user = 0;
	}
	if (stream)
		(void)closedir(stream);
	return (int)user;
}

void np_torch_memory_clean(time_t started)
{
	const struct dirent *entry;
	DIR *stream = opendir("/dev/shm");

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		char path[NAME_MAX + 16];
		struct stat info;

		(void)snprintf(path, sizeof(path), "/dev/shm/%s", entry->d_name);
		if (strncmp(entry->d_name, MEMORY_NAME, sizeof(MEMORY_NAME) - 1) == 0 &&
		    lstat(path, &info) == 0 && info.st_uid == getuid() &&
		    info.st_ctime >= started && np_torch_memory_user() == 0)
			(void)unlink(path);
	}
	if (stream)
		(void)closedir(stream);
}

/* --- which step it is ------------------------------------------------------ */

enum {
	FRESH_S = 20, /* so long what was learnt may be extrapolated */
	PROBE_BEGINS_S =
		60, /* torch_npu looks at its file at least so often, unless steps are long */
	PROBE_ENDS_S = 600, /* two steps, and the profiler closing */
	PACE_LEAST_MS = 1,
};

static void probe_dir(const struct np_torch *torch, char *path, size_t size)
{
	(void)snprintf(path, size, "%.*s/probe", PATH_MAX - 16, torch->dir);
}

/* The step at this moment, NP_UNKNOWN if it is not known well enough. */
static int64_t step_now(const struct np_torch *torch)
{
	np_ns age = np_steady_ns() - torch->pace.at;

	if (torch->pace.step == NP_UNKNOWN || age > (np_ns)FRESH_S * 1000000000)
		return NP_UNKNOWN;
	return torch->pace.step + (int64_t)((double)age * (double)torch->pace.rate / 1e12);
}

/* A profile began or ended at this step now. */
static void learn(struct np_torch *torch, int64_t started, np_ns began, int64_t stopped)
{
	np_ns now = np_steady_ns();
	np_ns took = now - began;

	if (started == NP_UNKNOWN || began == NP_UNKNOWN || stopped <= started)
		return;
	if (took < (np_ns)PACE_LEAST_MS * 1000000)
		took = (np_ns)PACE_LEAST_MS * 1000000;
	torch->pace = (struct np_torch_pace){ .step = stopped,
					      .at = now,
					      .rate = (int64_t)((double)(stopped - started) * 1e12 /
								(double)took) };
}

static void answer_step(struct np_backend *backend, int64_t step)
{
	const struct np_torch *torch = &backend->torch;

	backend->session.send_first(
		backend->session.self,
		&(struct np_event){ .type = NP_EVENT_STEP,
				    .rank = backend->job->rank,
				    .window = torch->question,
				    .step = step == NP_UNKNOWN ? -1 : step,
				    .value = step == NP_UNKNOWN ? -1 : torch->pace.rate });
}

static void begin_probe(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	struct np_torch_rank *rank = &torch->ranks.item[0];
	const int64_t number = rank->rank;
	char dir[PATH_MAX];
	const struct np_torch_wish wish = {
		.start = -1,
		.count = NP_TORCH_PROBE_STEPS,
		.level = NP_LEVEL_0,
		.dir = dir,
		.ranks = &number,
		.rank_count = 1,
	};

	probe_dir(torch, dir, sizeof(dir));
	np_buf_clear(&torch->text);
	np_torch_format(&backend->job->plan, &wish, &torch->text);
	rank->log.started = NP_UNKNOWN;
	rank->log.stopped = NP_UNKNOWN;
	torch->probing = true;
	torch->probe_start = NP_UNKNOWN;
	torch->probe_end = np_steady_ns() + (np_ns)PROBE_BEGINS_S * 1000000000;
}

void np_torch_ask(struct np_backend *backend, const struct np_event *event)
{
	struct np_torch *torch = &backend->torch;
	int64_t step = step_now(torch);

	torch->question = event->window;
	/* Only who wants to begin something needs to know it, and one that knows is enough. */
	if (step != NP_UNKNOWN || backend->job->rank != 0 || event->value != NP_CTL_START ||
	    torch->ranks.count == 0 || torch->ranks.item[0].state != NP_TORCH_IDLE ||
	    !torch->is_writer)
		answer_step(backend, step);
	else if (!torch->probing)
		begin_probe(backend);
}

static void end_probe(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	char dir[PATH_MAX];

	torch->probing = false;
	probe_dir(torch, dir, sizeof(dir));
	np_remove_tree(dir);
	answer_step(backend, step_now(torch));
}

static void attend_probe(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	const struct np_torch_log *log;

	if (!torch->probing)
		return;
	log = &torch->ranks.item[0].log;
	if (log->started != NP_UNKNOWN && torch->probe_start == NP_UNKNOWN) {
		torch->probe_start = np_steady_ns();
		torch->probe_end = torch->probe_start + (np_ns)PROBE_ENDS_S * 1000000000;
	}
	if (log->stopped != NP_UNKNOWN)
		learn(torch, log->started, torch->probe_start, log->stopped);
	if (log->stopped != NP_UNKNOWN || np_steady_ns() >= torch->probe_end)
		end_probe(backend);
}

enum {
	/* A file of the second in which a worker began is not followed. */
	SETTLE_S = 2,
	/* Where nobody says how many ranks there are, no more come after so long. */
	QUIET_S = 4,
	MOST_RANKS = 4096,
	LOOK_MS = 500, /* for logs, while nothing is expected */
	SILENT_S = 3,  /* a directory whose log says nothing for so long counts */
	LATE_S = 6,    /* and so does a rank that has not begun so long after it should */
	FAR_S = 30,    /* who is asked for a step that is further away just believes it */
};

static np_ns seconds(int64_t count)
{
	return (np_ns)count * 1000000000;
}

static const struct np_job_layout_host *host_of(const struct np_job *job)
{
	return &job->layout.hosts[job->layout.ranks[job->rank].host];
}

/* Who writes for a host, where launchers do not know each other yet: mpirun says who is first. */
static bool is_first_of_host(const struct np_job *job)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
					     "SLURM_LOCALID" };

	for (size_t i = 0; job->mode == NP_MODE_INAPP && i < NP_COUNT(names); i++) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment */
		const char *local = getenv(names[i]);

		if (local)
			return strcmp(local, "0") == 0;
	}
	return job->finds_ranks || host_of(job)->leader == job->rank;
}

void np_torch_name_dir(const struct np_job *job, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/.torch/%.200s", job->root, host_of(job)->name);
	/* Launchers of nodes have no ranks in common, even if they are on one host. */
	if (job->finds_ranks)
		(void)snprintf(path + strlen(path), size - strlen(path), ".%d", job->rank);
}

int np_torch_begin(struct np_backend *backend, struct np_env *env, struct np_err *err)
{
	struct np_torch *torch = &backend->torch;
	const struct np_job *job = backend->job;
	char parent[NP_PLAN_PATH + NP_PLAN_JOB + 16];

	*torch = (struct np_torch){ .is_writer = is_first_of_host(job),
				    .since = np_steady_ns(),
				    .started = time(NULL),
				    .text = NP_BUF_INIT,
				    .pace = { .step = NP_UNKNOWN } };
	(void)snprintf(parent, sizeof(parent), "%s/.torch", job->root);
	np_torch_name_dir(job, torch->dir, sizeof(torch->dir));
	if (np_place_make(parent, err) < 0 || np_place_make(torch->dir, err) < 0)
		return NP_E_IO;
	if (np_memory_history_begin(job, torch->dir, env, err) < 0)
		return NP_E_IO;
	return np_env_set(env, "PROF_CONFIG_PATH", torch->dir, err);
}

/* Speak as a library in the rank would. */
static void say(struct np_backend *backend, int32_t rank, enum np_message_type type, int64_t step,
		int64_t value, const char *text)
{
	struct np_message message;

	np_message_init(&message, type, rank);
	message.step = step;
	message.value = value;
	(void)snprintf(message.text, sizeof(message.text), "%s", text);
	backend->session.take(backend->session.self, &message);
}

/* --- ranks that announce themselves ---------------------------------------- */

static struct np_torch_rank *find(struct np_torch *torch, int32_t rank)
{
	for (size_t i = 0; i < torch->ranks.count; i++) {
		if (torch->ranks.item[i].rank == rank)
			return &torch->ranks.item[i];
	}
	return NULL;
}

static void meet(struct np_backend *backend, int32_t rank)
{
	struct np_torch *torch = &backend->torch;
	struct np_record *record = np_job_record(backend->job, rank);
	struct np_torch_rank *slot;

	if (!record || find(torch, rank) || !(slot = np_vec_add(&torch->ranks, NULL)))
		return;
	slot->rank = rank;
	if (!np_torch_log_find(torch, rank, &slot->log, &slot->pid)) {
		torch->ranks.count--;
		return;
	}
	record->loaded = record->attached = true;
	record->pid = slot->pid;
	record->source = NP_STEP_TORCH;
}

/* Report to launcher 0 when no more ranks are to be expected here. */
static void report_ready(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	const struct np_job *job = backend->job;
	np_ns quiet = np_steady_ns() - torch->since;
	bool complete = !job->finds_ranks && torch->announced >= host_of(job)->ranks;

	if (torch->ready || (torch->is_writer && (torch->announced == 0 ||
						  quiet < seconds(complete ? SETTLE_S : QUIET_S))))
		return;
	torch->ready = true;
	backend->session.send_first(
		backend->session.self,
		&(struct np_event){ .type = NP_EVENT_READY, .rank = job->rank });
}

static void look_for_ranks(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	int64_t ranks[MOST_RANKS];
	int count = np_torch_list_announced(torch, ranks, MOST_RANKS);

	for (int i = 0; i < count; i++)
		meet(backend, (int32_t)ranks[i]);
	if (count != torch->announced) {
		torch->announced = count;
		torch->since = np_steady_ns();
	}
	report_ready(backend);
}

/* --- windows --------------------------------------------------------------- */

void np_torch_request(struct np_backend *backend, const struct np_event *event)
{
	struct np_torch *torch = &backend->torch;
	const struct np_job *job = backend->job;
	int64_t announced[MOST_RANKS];
	int64_t ranks[MOST_RANKS];
	char dir[NP_RECORD_DIR];
	struct np_torch_wish wish = {
		.start = event->step,
		.count = event->value,
		.level = event->level >= 0 ? event->level : job->plan.level,
		.dir = dir,
		.ranks = ranks,
	};
	struct np_err err = NP_ERR_INIT;
	int count;

	torch->wait_ms = event->wait_ms;
	if (!torch->is_writer)
		return;
	count = np_torch_list_announced(torch, announced, MOST_RANKS);
	for (int i = 0; i < count; i++) {
		if (np_job_concerns(job, (int32_t)announced[i], event->text))
			ranks[wish.rank_count++] = announced[i];
	}
	np_job_name_window(job, event->window, dir, sizeof(dir));
	if (np_place_make(dir, &err) < 0)
		np_job_warn("%s", err.text);
	np_buf_clear(&torch->text);
	np_torch_format(&job->plan, &wish, &torch->text);
}

/* Nobody is to follow what may still be in the file. */
void np_torch_forget_request(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	const struct np_torch_wish nothing = { .count = 1, .dir = torch->dir };

	if (!torch->is_writer)
		return;
	np_buf_clear(&torch->text);
	np_torch_format(&backend->job->plan, &nothing, &torch->text);
}

static void start(struct np_backend *backend, struct np_torch_rank *rank,
		  const struct np_message *message)
{
	if (rank->state != NP_TORCH_IDLE) {
		say(backend, rank->rank, NP_MSG_REFUSED, NP_UNKNOWN, NP_UNKNOWN,
		    rank->state == NP_TORCH_OPEN ? "a window is open"
						 : "a window is planned already");
		return;
	}
	rank->state = NP_TORCH_WANTED;
	rank->answered = false;
	rank->first = message->step;
	rank->due = np_steady_ns() + backend->torch.wait_ms * 1000000;
	rank->appeared = NP_UNKNOWN;
	rank->dir[0] = '\0';
	rank->log.started = NP_UNKNOWN;
	rank->log.stopped = NP_UNKNOWN;
	rank->log.refused = false;
	(void)snprintf(rank->base, sizeof(rank->base), "%.*s", (int)strcspn(message->text, "\n"),
		       message->text);
}

bool np_torch_send(struct np_backend *backend, int32_t number, const struct np_message *message)
{
	struct np_torch_rank *rank = find(&backend->torch, number);

	if (!rank)
		return false;
	if (message->type == NP_MSG_START)
		start(backend, rank, message);
	else if (rank->state == NP_TORCH_WANTED &&
		 (message->type == NP_MSG_STOP || strcmp(rank->base, message->text) == 0))
		rank->state = NP_TORCH_IDLE;
	return true;
}

/* "<host>_<pid>_<time>_ascend_pt" in the directory of the window. */
static bool find_dir(struct np_torch_rank *rank)
{
	const struct dirent *entry;
	DIR *stream = opendir(rank->base);
	char part[32];

	(void)snprintf(part, sizeof(part), "_%d_", rank->pid);
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && !rank->dir[0] && (entry = readdir(stream))) {
		if (strstr(entry->d_name, part) && strstr(entry->d_name, "_ascend_pt"))
			(void)snprintf(rank->dir, sizeof(rank->dir), "%.*s/%s", NP_RECORD_DIR - 300,
				       rank->base, entry->d_name);
	}
	if (stream)
		(void)closedir(stream);
	return rank->dir[0] != '\0';
}

static void answer(struct np_backend *backend, struct np_torch_rank *rank,
		   enum np_message_type type, int64_t step)
{
	bool before = rank->answered;

	/* First: the answer may bring the next request. */
	rank->answered = true;
	if (!before)
		say(backend, rank->rank, type, step, NP_UNKNOWN, "");
}

static void await_begin(struct np_backend *backend, struct np_torch_rank *rank)
{
	np_ns now = np_steady_ns();
	bool far = rank->due - now > seconds(FAR_S);

	if (rank->appeared == NP_UNKNOWN && find_dir(rank))
		rank->appeared = now;
	if (rank->appeared != NP_UNKNOWN &&
	    (rank->log.started != NP_UNKNOWN || now - rank->appeared >= seconds(SILENT_S))) {
		rank->state = NP_TORCH_OPEN;
		answer(backend, rank, NP_MSG_ACCEPTED, rank->first);
		say(backend, rank->rank, NP_MSG_WINDOW_OPEN, rank->log.started, NP_UNKNOWN,
		    rank->dir);
	} else if (rank->log.refused || now > rank->due + seconds(LATE_S)) {
		rank->state = NP_TORCH_IDLE;
		if (rank->answered)
			say(backend, rank->rank, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN,
			    "torch_npu did not begin at the step it was asked for; see its log");
		answer(backend, rank, NP_MSG_TOO_LATE, rank->first);
	} else if (far) {
		answer(backend, rank, NP_MSG_ACCEPTED, rank->first);
	}
}

static void await_end(struct np_backend *backend, struct np_torch_rank *rank)
{
	bool reported = rank->log.started != NP_UNKNOWN;

	if (reported ? rank->log.stopped == NP_UNKNOWN : !np_tree_is_complete(rank->dir))
		return;
	rank->state = NP_TORCH_IDLE;
	learn(&backend->torch, rank->log.started, rank->appeared, rank->log.stopped);
	if (!np_tree_is_complete(rank->dir))
		say(backend, rank->rank, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN,
		    "torch_npu ended its profile, but it is not complete: is the disk full?");
	else
		say(backend, rank->rank, NP_MSG_WINDOW_CLOSED,
		    reported ? rank->log.stopped - 1 : NP_UNKNOWN, np_tree_bytes(rank->dir),
		    rank->dir);
}

static void attend_rank(struct np_backend *backend, struct np_torch_rank *rank)
{
	np_torch_log_read(&backend->torch, &rank->log);
	if (rank->state == NP_TORCH_WANTED)
		await_begin(backend, rank);
	if (rank->state == NP_TORCH_OPEN)
		await_end(backend, rank);
}

void np_torch_attend(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;
	np_ns now = np_steady_ns();
	bool busy = torch->probing;

	for (size_t i = 0; i < torch->ranks.count; i++)
		busy |= torch->ranks.item[i].state != NP_TORCH_IDLE;
	if (!torch->ready || now - torch->looked >= (np_ns)LOOK_MS * 1000000) {
		torch->looked = now;
		look_for_ranks(backend);
	}
	if (busy) {
		/* A message may make the list longer: no pointers into it are kept. */
		for (size_t i = 0; i < torch->ranks.count; i++)
			attend_rank(backend, &torch->ranks.item[i]);
		attend_probe(backend);
	}
	np_torch_write_due(torch);
}

void np_torch_end(struct np_backend *backend)
{
	struct np_torch *torch = &backend->torch;

	/* Last words, which came after the last look. */
	for (size_t i = 0; i < torch->ranks.count; i++)
		attend_rank(backend, &torch->ranks.item[i]);
	np_vec_release(&torch->ranks);
	np_buf_release(&torch->text);
}
