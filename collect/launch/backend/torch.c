/* SPDX-License-Identifier: Apache-2.0 */
#include "torch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/output/tree.h"
#include "collect/launch/session/session_private.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"

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

/* Who writes for a host, where launchers do not know each other yet: mpirun tells who is first. */
static bool is_first_of_host(const struct np_job *job)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment */
	const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

	if (job->mode == NP_MODE_INAPP && local)
		return strcmp(local, "0") == 0;
	return job->finds_ranks || host_of(job)->leader == job->rank;
}

int np_torch_begin(struct np_session *session, struct np_env *env, struct np_err *err)
{
	struct np_torch *torch = &session->torch;
	const struct np_job *job = session->job;
	char parent[NP_PLAN_PATH + NP_PLAN_JOB + 16];

	*torch = (struct np_torch){ .is_writer = is_first_of_host(job),
				    .since = np_steady_ns(),
				    .started = time(NULL),
				    .text = NP_BUF_INIT,
				    .pace = { .step = NP_UNKNOWN } };
	(void)snprintf(parent, sizeof(parent), "%s/.torch", job->root);
	/* Launchers of nodes have no ranks in common, even if they are on one host. */
	(void)snprintf(torch->dir, sizeof(torch->dir), "%s/%.200s", parent, host_of(job)->name);
	if (job->finds_ranks)
		(void)snprintf(torch->dir + strlen(torch->dir),
			       sizeof(torch->dir) - strlen(torch->dir), ".%d", job->rank);
	if ((mkdir(parent, 0750) < 0 && errno != EEXIST) ||
	    (mkdir(torch->dir, 0750) < 0 && errno != EEXIST))
		return np_fail(err, NP_E_IO, "cannot make the directory '%.380s': %s", torch->dir,
			       strerrordesc_np(errno));
	return np_env_set(env, "PROF_CONFIG_PATH", torch->dir, err);
}

/* Speak as a library in the rank would. */
static void say(struct np_session *session, int32_t rank, enum np_message_type type, int64_t step,
		int64_t value, const char *text)
{
	struct np_message message;

	np_message_init(&message, type, rank);
	message.step = step;
	message.value = value;
	(void)snprintf(message.text, sizeof(message.text), "%s", text);
	np_session_take(session, &message);
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

static void meet(struct np_session *session, int32_t rank)
{
	struct np_torch *torch = &session->torch;
	struct np_record *record = np_job_record(session->job, rank);
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

/* Tell launcher 0 when no more ranks are to be expected here. */
static void report_ready(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
	const struct np_job *job = session->job;
	np_ns quiet = np_steady_ns() - torch->since;
	bool complete = !job->finds_ranks && torch->announced >= host_of(job)->ranks;

	if (torch->ready || (torch->is_writer && (torch->announced == 0 ||
						  quiet < seconds(complete ? SETTLE_S : QUIET_S))))
		return;
	torch->ready = true;
	np_session_tell_first(session,
			      &(struct np_event){ .type = NP_EVENT_READY, .rank = job->rank });
}

static void look_for_ranks(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
	int64_t ranks[MOST_RANKS];
	int count = np_torch_list_announced(torch, ranks, MOST_RANKS);

	for (int i = 0; i < count; i++)
		meet(session, (int32_t)ranks[i]);
	if (count != torch->announced) {
		torch->announced = count;
		torch->since = np_steady_ns();
	}
	report_ready(session);
}

/* --- windows --------------------------------------------------------------- */

void np_torch_request(struct np_session *session, const struct np_event *event)
{
	struct np_torch *torch = &session->torch;
	const struct np_job *job = session->job;
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
	int count;

	if (!torch->is_writer)
		return;
	count = np_torch_list_announced(torch, announced, MOST_RANKS);
	for (int i = 0; i < count; i++) {
		if (np_control_concerns(job, (int32_t)announced[i], event->text))
			ranks[wish.rank_count++] = announced[i];
	}
	np_control_name_window(job, event->window, dir, sizeof(dir));
	(void)mkdir(dir, 0750);
	np_buf_clear(&torch->text);
	np_torch_format(&job->plan, &wish, &torch->text);
}

/* Nobody is to follow what may still be in the file. */
void np_torch_forget_request(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
	const struct np_torch_wish nothing = { .count = 1, .dir = torch->dir };

	if (!torch->is_writer)
		return;
	np_buf_clear(&torch->text);
	np_torch_format(&session->job->plan, &nothing, &torch->text);
}

static void start(struct np_session *session, struct np_torch_rank *rank,
		  const struct np_message *message)
{
	if (rank->state != NP_TORCH_IDLE) {
		say(session, rank->rank, NP_MSG_REFUSED, NP_UNKNOWN, NP_UNKNOWN,
		    rank->state == NP_TORCH_OPEN ? "a window is open"
						 : "a window is planned already");
		return;
	}
	rank->state = NP_TORCH_WANTED;
	rank->answered = false;
	rank->first = message->step;
	rank->due = np_steady_ns() + session->control.wait_ms * 1000000;
	rank->appeared = NP_UNKNOWN;
	rank->dir[0] = '\0';
	rank->log.started = NP_UNKNOWN;
	rank->log.stopped = NP_UNKNOWN;
	rank->log.refused = false;
	(void)snprintf(rank->base, sizeof(rank->base), "%.*s", (int)strcspn(message->text, "\n"),
		       message->text);
}

bool np_torch_tell(struct np_session *session, int32_t number, const struct np_message *message)
{
	struct np_torch_rank *rank = find(&session->torch, number);

	if (!rank)
		return false;
	if (message->type == NP_MSG_START)
		start(session, rank, message);
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

static void answer(struct np_session *session, struct np_torch_rank *rank,
		   enum np_message_type type, int64_t step)
{
	bool before = rank->answered;

	/* First: the answer may bring the next request. */
	rank->answered = true;
	if (!before)
		say(session, rank->rank, type, step, NP_UNKNOWN, "");
}

static void await_begin(struct np_session *session, struct np_torch_rank *rank)
{
	np_ns now = np_steady_ns();
	bool far = rank->due - now > seconds(FAR_S);

	if (rank->appeared == NP_UNKNOWN && find_dir(rank))
		rank->appeared = now;
	if (rank->appeared != NP_UNKNOWN &&
	    (rank->log.started != NP_UNKNOWN || now - rank->appeared >= seconds(SILENT_S))) {
		rank->state = NP_TORCH_OPEN;
		answer(session, rank, NP_MSG_ACCEPTED, rank->first);
		say(session, rank->rank, NP_MSG_WINDOW_OPEN, rank->log.started, NP_UNKNOWN,
		    rank->dir);
	} else if (rank->log.refused || now > rank->due + seconds(LATE_S)) {
		rank->state = NP_TORCH_IDLE;
		if (rank->answered)
			say(session, rank->rank, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN,
			    "torch_npu did not begin at the step it was asked for; see its log");
		answer(session, rank, NP_MSG_TOO_LATE, rank->first);
	} else if (far) {
		answer(session, rank, NP_MSG_ACCEPTED, rank->first);
	}
}

static void await_end(struct np_session *session, struct np_torch_rank *rank)
{
	bool told = rank->log.started != NP_UNKNOWN;

	if (told ? rank->log.stopped == NP_UNKNOWN : !np_tree_is_complete(rank->dir))
		return;
	rank->state = NP_TORCH_IDLE;
	np_torch_learn(&session->torch, rank->log.started, rank->appeared, rank->log.stopped);
	if (!np_tree_is_complete(rank->dir))
		say(session, rank->rank, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN,
		    "torch_npu ended its profile, but it is not complete: is the disk full?");
	else
		say(session, rank->rank, NP_MSG_WINDOW_CLOSED,
		    told ? rank->log.stopped - 1 : NP_UNKNOWN, np_tree_bytes(rank->dir), rank->dir);
}

static void attend_rank(struct np_session *session, struct np_torch_rank *rank)
{
	np_torch_log_read(&session->torch, &rank->log);
	if (rank->state == NP_TORCH_WANTED)
		await_begin(session, rank);
	if (rank->state == NP_TORCH_OPEN)
		await_end(session, rank);
}

void np_torch_attend(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
	np_ns now = np_steady_ns();
	bool busy = torch->probing;

	for (size_t i = 0; i < torch->ranks.count; i++)
		busy |= torch->ranks.item[i].state != NP_TORCH_IDLE;
	if (!torch->ready || now - torch->looked >= (np_ns)LOOK_MS * 1000000) {
		torch->looked = now;
		look_for_ranks(session);
	}
	if (busy) {
		/* A message may make the list longer: no pointers into it are kept. */
		for (size_t i = 0; i < torch->ranks.count; i++)
			attend_rank(session, &torch->ranks.item[i]);
		np_torch_probe_attend(session);
	}
	np_torch_write_due(torch);
}

void np_torch_end(struct np_session *session)
{
	struct np_torch *torch = &session->torch;

	/* Last words, which came after the last look. */
	for (size_t i = 0; i < torch->ranks.count; i++)
		attend_rank(session, &torch->ranks.item[i]);
	np_vec_release(&torch->ranks);
	np_buf_release(&torch->text);
}
