/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "collect/launch/output/tree.h"
#include "collect/launch/session/session_private.h"
#include "torch.h"

#include "npuprof/dirs.h"
#include "npuprof/realtime.h"

/* Learning which step it is: see torch.h. */
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

int64_t np_torch_step_now(const struct np_torch *torch)
{
	np_ns age = np_steady_ns() - torch->pace.at;

	if (torch->pace.step == NP_UNKNOWN || age > (np_ns)FRESH_S * 1000000000)
		return NP_UNKNOWN;
	return torch->pace.step + (int64_t)((double)age * (double)torch->pace.rate / 1e12);
}

void np_torch_learn(struct np_torch *torch, int64_t started, np_ns began, int64_t stopped)
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

static void answer(struct np_session *session, int64_t step)
{
	const struct np_torch *torch = &session->torch;

	np_session_tell_first(
		session, &(struct np_event){ .type = NP_EVENT_STEP,
					     .rank = session->job->rank,
					     .window = torch->question,
					     .step = step == NP_UNKNOWN ? -1 : step,
					     .value = step == NP_UNKNOWN ? -1 : torch->pace.rate });
}

static void begin_probe(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
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
	np_torch_format(&session->job->plan, &wish, &torch->text);
	rank->log.started = NP_UNKNOWN;
	rank->log.stopped = NP_UNKNOWN;
	torch->probing = true;
	torch->probe_start = NP_UNKNOWN;
	torch->probe_end = np_steady_ns() + (np_ns)PROBE_BEGINS_S * 1000000000;
}

void np_torch_ask(struct np_session *session, const struct np_event *event)
{
	struct np_torch *torch = &session->torch;
	int64_t step = np_torch_step_now(torch);

	torch->question = event->window;
	/* Only who wants to begin something needs to know it, and one that knows is enough. */
	if (step != NP_UNKNOWN || session->job->rank != 0 || event->value != NP_CTL_START ||
	    torch->ranks.count == 0 || torch->ranks.item[0].state != NP_TORCH_IDLE ||
	    !torch->is_writer)
		answer(session, step);
	else if (!torch->probing)
		begin_probe(session);
}

static void end_probe(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
	char dir[PATH_MAX];

	torch->probing = false;
	probe_dir(torch, dir, sizeof(dir));
	np_remove_tree(dir);
	answer(session, np_torch_step_now(torch));
}

void np_torch_probe_attend(struct np_session *session)
{
	struct np_torch *torch = &session->torch;
	const struct np_torch_log *log;

	if (!torch->probing)
		return;
	log = &torch->ranks.item[0].log;
	if (log->started != NP_UNKNOWN && torch->probe_start == NP_UNKNOWN) {
		torch->probe_start = np_steady_ns();
		torch->probe_end = torch->probe_start + (np_ns)PROBE_ENDS_S * 1000000000;
	}
	if (log->stopped != NP_UNKNOWN)
		np_torch_learn(torch, log->started, torch->probe_start, log->stopped);
	if (log->stopped != NP_UNKNOWN || np_steady_ns() >= torch->probe_end)
		end_probe(session);
}
