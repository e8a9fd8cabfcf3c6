/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "session_private.h"

#include "npuprof/realtime.h"

/* How the applications of a job are ended: see session.h. */

static np_ns after_grace(const struct np_session *session)
{
	return np_steady_ns() + session->job->plan.grace * 1000000000;
}

void np_session_begin_ending(struct np_session *session)
{
	if (session->phase != NP_PHASE_SAVING)
		return;
	session->phase = NP_PHASE_ENDING;
	session->deadline = after_grace(session);
	np_child_signal(&session->child, SIGTERM);
	np_child_signal(&session->child, SIGCONT);
}

/* Rank 0: when the last has saved, all may end. */
void np_session_count_saved(struct np_session *session)
{
	const struct np_job *job = session->job;
	int lost = 0;

	for (int other = 1; other < job->world; other++)
		lost += np_coord_lost(job->coord, other) ? 1 : 0;
	if (session->saved_all + lost < job->world || !session->stopping)
		return;
	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_END });
}

void np_session_report_saved(struct np_session *session)
{
	if (session->saved)
		return;
	session->saved = true;
	np_session_tell_first(
		session, &(struct np_event){ .type = NP_EVENT_SAVED, .rank = session->job->rank });
}

/*
 * Close the profile first: an application that waits for a dead rank will not do it.
 * And wait for the others: the device of a rank whose peer has ended never becomes idle.
 */
void np_session_begin_saving(struct np_session *session)
{
	struct np_message stop;

	if (session->phase != NP_PHASE_RUNNING || session->child.ended)
		return;
	session->phase = NP_PHASE_SAVING;
	session->deadline = after_grace(session);
	np_message_init(&stop, NP_MSG_STOP, session->job->rank);
	stop.step = -1;
	np_backend_tell_all(session, &stop);
}

static bool is_anything_open(const struct np_job *job)
{
	for (size_t i = 0; i < job->records.count; i++) {
		if (np_record_is_open(&job->records.item[i]))
			return true;
	}
	return false;
}

void np_session_watch_phase(struct np_session *session)
{
	bool late = np_steady_ns() >= session->deadline;

	if (session->child.ended)
		return;
	if (session->phase == NP_PHASE_SAVING && !is_anything_open(session->job))
		np_session_report_saved(session);
	if (session->phase == NP_PHASE_SAVING && late) {
		np_session_begin_ending(session);
	} else if (session->phase == NP_PHASE_ENDING && late) {
		session->phase = NP_PHASE_KILLED;
		np_child_signal(&session->child, SIGKILL);
	}
}

static const char *who(const struct np_job *job)
{
	return job->finds_ranks ? "node" : "rank";
}

/* Rank 0: the first who fails decides for all. */
void np_session_stop_all(struct np_session *session, int rank, int status, int number)
{
	struct np_job *job = session->job;

	if (session->stopping)
		return;
	session->stopping = true;
	session->result = (struct np_session_result){ status, number ? -1 : rank, number };
	if (number)
		np_job_warn("ending the job: %s",
			    strsignal(number)); /* NOLINT(concurrency-mt-unsafe) */
	else if (np_coord_lost(job->coord, rank))
		np_job_warn("the connection to the launcher of %s %d is lost; ending the others",
			    who(job), rank);
	else
		np_job_warn("the application of %s %d ended with status %d; ending the others",
			    who(job), rank, status);
	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_STOP,
							 .rank = rank,
							 .value = number ? -number : status });
	np_session_count_saved(session);
}

void np_session_report_failure(struct np_session *session, int status, int number)
{
	const struct np_job *job = session->job;
	struct np_event event = { .type = number ? NP_EVENT_SIGNAL : NP_EVENT_FAILED,
				  .rank = job->rank,
				  .value = number ? number : status };

	if (session->told)
		return;
	session->told = true;
	np_session_tell_first(session, &event);
	/* Whoever is told to end need not wait for rank 0, who may be gone. */
	if (number)
		np_session_begin_saving(session);
}

/* A launcher is gone without a word, or the network between us is. */
void np_session_lost(struct np_session *session, int rank)
{
	struct np_job *job = session->job;

	if (job->rank == 0) {
		/* Of all that were lost in a job that ends there is nothing more to say. */
		np_session_stop_all(session, rank, NP_SESSION_STATUS_LOST, 0);
		np_session_count_saved(session);
		return;
	}
	if (session->phase == NP_PHASE_RUNNING && !session->left)
		np_job_warn("%s %d: the connection to launcher 0 is lost; ending the application",
			    who(job), job->rank);
	session->told = true;
	session->saved = true;
	if (session->result.status == 0)
		session->result = (struct np_session_result){ NP_SESSION_STATUS_LOST, 0, 0 };
	np_session_begin_saving(session);
}
