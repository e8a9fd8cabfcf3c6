/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/coord/mpi_address.h"
#include "session_private.h"

/*
 * Mode inapp: launchers get to know of each other from the library in the application, while it
 * runs. Each says where it is; when rank 0 has heard of all, clocks can be compared.
 */
enum {
	JOIN_S = 10,
};

static void tell_host(struct np_session *session)
{
	struct np_event event = { .type = NP_EVENT_HOST, .rank = session->job->rank };
	struct np_job_layout_word word;

	np_job_layout_describe(&word);
	(void)snprintf(event.text, sizeof(event.text), "%s\n%s", word.name, word.uid);
	np_session_tell_first(session, &event);
}

void np_session_join(struct np_session *session, const char *text)
{
	struct np_job *job = session->job;
	struct np_tcp_address address;
	struct np_err err = NP_ERR_INIT;

	if (job->mode != NP_MODE_INAPP || session->joined)
		return;
	session->joined = true;
	if (job->rank != 0) {
		if (!np_mpi_address_parse(text, &address))
			return;
		address.rank = job->rank;
		address.size = job->world;
		if (np_coord_tcp_join(job->coord, &address, JOIN_S, &err) < 0) {
			np_job_warn("rank %d: %s", job->rank, err.text);
			return;
		}
	}
	tell_host(session);
}

/* All have come: what was believed of hosts is replaced by what is so. */
static void meet(struct np_session *session)
{
	struct np_job *job = session->job;
	struct np_err err = NP_ERR_INIT;
	struct np_job_layout layout;
	struct np_timing timing;

	if (np_job_layout_number(&layout, session->words, job->world, &err) < 0)
		return;
	if (np_timing_init(&timing, layout.host_count, &err) < 0) {
		np_job_layout_release(&layout);
		return;
	}
	np_job_layout_release(&job->layout);
	np_timing_release(&job->timing);
	job->layout = layout;
	job->timing = timing;
	session->met = true;
	session->clock_due = true;
}

void np_session_hear_host(struct np_session *session, const struct np_event *event)
{
	const struct np_job *job = session->job;
	size_t length = strcspn(event->text, "\n");
	struct np_job_layout_word *word;

	if (!session->words)
		session->words = calloc((size_t)job->world, sizeof(*session->words));
	if (!session->words || event->rank < 0 || event->rank >= job->world || !event->text[length])
		return;
	word = &session->words[event->rank];
	(void)snprintf(word->name, sizeof(word->name), "%.*s", (int)length, event->text);
	(void)snprintf(word->uid, sizeof(word->uid), "%.*s", (int)sizeof(word->uid) - 1,
		       event->text + length + 1);
	if (++session->come == job->world)
		meet(session);
}
