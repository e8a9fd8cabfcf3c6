/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"
#include "session_private.h"

/*
 * Requests that come to another launcher than the first: "npuprof ctl" works on every host of a
 * job. The launcher there passes the request on, and the answer back.
 */

/* The launcher that was asked. */
void np_control_relay_attend(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_ctl_request request;
	struct np_event event = { .type = NP_EVENT_CTL, .rank = session->job->rank };

	if (control->guest >= 0 || control->listener < 0)
		return;
	control->guest = np_ctl_take(control->listener, &request);
	if (control->guest < 0)
		return;
	event.window = request.verb;
	event.value = request.steps;
	event.step = request.at;
	event.level = request.level;
	(void)snprintf(event.text, sizeof(event.text), "%s", request.ranks);
	np_buf_clear(&control->guest_text);
	np_session_tell_first(session, &event);
}

static void take_answer(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;

	np_buf_add(&control->guest_text, event->text);
	if (event->value & NP_ANSWER_MORE)
		return;
	np_ctl_answer(control->guest, (event->value & NP_ANSWER_FAILED) != 0,
		      control->guest_text.text ? control->guest_text.text : "");
	control->guest = -1;
}

/* Launcher 0: it waits until the present request is done. */
static void take_request(struct np_session *session, const struct np_event *event)
{
	struct np_control_relayed *slot = np_vec_add(&session->control.relayed, NULL);

	if (!slot)
		return;
	slot->from = event->rank;
	slot->request = (struct np_ctl_request){ .version = NP_CTL_VERSION,
						 .verb = event->window,
						 .steps = event->value,
						 .at = event->step,
						 .level = event->level };
	(void)snprintf(slot->request.ranks, sizeof(slot->request.ranks), "%s", event->text);
}

void np_control_relay_hear(struct np_session *session, const struct np_event *event)
{
	if (event->type == NP_EVENT_CTL)
		take_request(session, event);
	else
		take_answer(session, event);
}

void np_control_relay_answer(struct np_session *session, int to, bool failed, const char *text)
{
	struct np_event event = { .type = NP_EVENT_ANSWER };

	for (;;) {
		size_t length = strlen(text);
		bool more = length >= sizeof(event.text);

		length = more ? sizeof(event.text) - 1 : length;
		memcpy(event.text, text, length);
		event.text[length] = '\0';
		event.value = (failed ? NP_ANSWER_FAILED : 0) | (more ? NP_ANSWER_MORE : 0);
		np_coord_send(session->job->coord, to, &event);
		text += length;
		if (!more)
			return;
	}
}
