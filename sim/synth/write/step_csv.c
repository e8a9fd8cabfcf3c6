/* SPDX-License-Identifier: Apache-2.0 */
/* Writes step_trace_time.csv. */
#include "backend.h"
#include "sim/synth/account/overlap.h"
#include "sim/synth/out/out.h"

/*
 * step_trace_time.csv by torch_npu's rule for text, which is not the one for
 * databases: sums over the events of the overlap lane, each given to the first
 * step in whose window it begins, in doubles of microseconds since 1970. Hence a
 * gap behind the last kernel counts where the host is still in the step, and
 * Stage and Preparing come in quarters of a microsecond.
 */
struct window {
	int64_t id;
	np_ns host_ns;
	np_ns start_ns; /* of the first kernel or operator */
	np_ns end_ns;   /* of the last one, or of the host */
};

struct receive {
	np_ns start_ns;
	np_ns end_ns;
};

struct times {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	struct syn_overlap overlap;
	NP_VEC(struct window) windows;
	NP_VEC(struct receive) receives;
	np_ns start_ns; /* of the present step, so far */
	np_ns end_ns;
};

/* What is summed up for a step. */
struct step_csv_sums {
	double lanes[SYN_LANES];
	double bubble;
	double first; /* begin of anything that counts */
	double last;
	double first_task; /* of computing or communication */
	bool any;
	bool any_task;
	bool any_receive;
};

static void extend(struct times *times, np_ns start, np_ns end)
{
	if (start < times->start_ns)
		times->start_ns = start;
	if (end > times->end_ns)
		times->end_ns = end;
}

static void begin_step(struct times *times)
{
	times->start_ns = INT64_MAX;
	times->end_ns = INT64_MIN;
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct times *times = (struct times *)sink;

	if (task->kind == SYN_TASK_KERNEL)
		extend(times, task->start_ns, task->end_ns);
	return syn_overlap_task(&times->overlap, task, err);
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct times *times = (struct times *)sink;
	struct receive *receive;

	extend(times, comm->start_ns, comm->end_ns);
	if (comm->op == SYN_RECEIVE) {
		receive = np_vec_add(&times->receives, err);
		if (!receive)
			return NP_E_NOMEM;
		*receive = (struct receive){ comm->start_ns, comm->end_ns };
	}
	return syn_overlap_comm(&times->overlap, comm, err);
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct times *times = (struct times *)sink;
	struct window *window = np_vec_add(&times->windows, err);
	bool marked = step->id != NP_UNKNOWN;

	if (!window)
		return NP_E_NOMEM;
	*window = (struct window){ step->id, step->start_ns, times->start_ns, times->end_ns };
	if (marked && step->end_ns > window->end_ns)
		window->end_ns = step->end_ns;
	/* Without marks everything counts. */
	if (!marked) {
		window->start_ns = INT64_MIN;
		window->end_ns = INT64_MAX;
	}
	begin_step(times);
	return NP_OK;
}

static void count_span(struct step_csv_sums *sums, double *sum, np_ns start, np_ns end)
{
	double from = syn_us(start);
	double length = (double)(end - start) / 1e3;

	if (!sums->any || from < sums->first)
		sums->first = from;
	if (!sums->any || from + length > sums->last)
		sums->last = from + length;
	sums->any = true;
	*sum += length;
}

/* The first window with this time. Those before `past` have ended, and stay so while time grows. */
static size_t step_at(const struct times *times, np_ns at, size_t *past)
{
	const struct window *windows = times->windows.item;
	double time = syn_us(at);
	size_t i;

	while (*past < times->windows.count && syn_us(windows[*past].end_ns) <= time)
		(*past)++;
	i = *past;
	while (i < times->windows.count &&
	       (time < syn_us(windows[i].start_ns) || time >= syn_us(windows[i].end_ns)))
		i++;
	return i;
}

static void count_task(struct step_csv_sums *sums, np_ns start)
{
	if (!sums->any_task || syn_us(start) < sums->first_task)
		sums->first_task = syn_us(start);
	sums->any_task = true;
}

static int count_lane(struct times *times, enum syn_lane lane, struct step_csv_sums *sums,
		      struct np_err *err)
{
	struct syn_intervals part = { 0 };
	size_t past = 0;
	int rc = syn_overlap_lane(&times->overlap, times->config, lane, &part, err);

	for (size_t i = 0; i < part.all.count && rc == NP_OK; i++) {
		const struct syn_interval *one = &part.all.item[i];
		size_t step = step_at(times, one->start_ns, &past);

		if (step == times->windows.count)
			continue;
		count_span(&sums[step], &sums[step].lanes[lane], one->start_ns, one->end_ns);
		if (lane == SYN_LANE_COMPUTING || lane == SYN_LANE_COMMUNICATION)
			count_task(&sums[step], one->start_ns);
	}
	syn_intervals_release(&part);
	return rc;
}

static void count_receives(const struct times *times, struct step_csv_sums *sums)
{
	for (size_t i = 0; i < times->receives.count; i++) {
		const struct receive *receive = &times->receives.item[i];
		size_t past = 0;
		size_t step = step_at(times, receive->start_ns, &past);

		if (step == times->windows.count)
			continue;
		count_span(&sums[step], &sums[step].bubble, receive->start_ns, receive->end_ns);
		sums[step].any_receive = true;
	}
}

/* A sum of nothing is the integer it began with. */
static void put_sum(struct syn_out *out, double sum, bool any)
{
	SYN_PUT(out, ",");
	if (any)
		syn_put_real(out, sum);
	else
		SYN_PUT(out, "0");
}

static void put_row(const struct times *times, const struct window *window,
		    const struct step_csv_sums *sums, struct syn_out *out)
{
	double communication = sums->lanes[SYN_LANE_COMMUNICATION];
	double exposed = sums->lanes[SYN_LANE_EXPOSED];
	bool any_comm = communication > 0.0;

	if (times->config->schema) {
		syn_put_int(out, times->info->place.device);
		SYN_PUT(out, ",");
	}
	if (window->id != NP_UNKNOWN)
		syn_put_int(out, window->id);
	put_sum(out, sums->lanes[SYN_LANE_COMPUTING], sums->lanes[SYN_LANE_COMPUTING] > 0.0);
	put_sum(out, exposed, exposed > 0.0);
	put_sum(out, communication - exposed, any_comm);
	put_sum(out, communication, any_comm);
	put_sum(out, sums->lanes[SYN_LANE_FREE], sums->lanes[SYN_LANE_FREE] > 0.0);
	put_sum(out, sums->last - sums->first - sums->bubble, sums->any);
	put_sum(out, sums->bubble, sums->any_receive);
	put_sum(out, exposed - sums->bubble, exposed > 0.0 || sums->any_receive);
	put_sum(out, sums->first_task - syn_us(window->host_ns), sums->any_task);
	SYN_PUT(out, "\r\n");
}

static int write_table(struct times *times, const struct step_csv_sums *sums, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct syn_out out;
	int rc;

	syn_text_path(times->info, "step_trace_time", ".csv", &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&out, path.text, false, err);
	if (rc < 0)
		return rc;
	if (times->config->schema)
		SYN_PUT(&out, "Device_id,");
	SYN_PUT(&out, "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,"
		      "Stage,Bubble,Communication(Not Overlapped and Exclude Receive),"
		      "Preparing\r\n");
	for (size_t i = 0; i < times->windows.count; i++) {
		if (sums[i].any)
			put_row(times, &times->windows.item[i], &sums[i], &out);
	}
	return syn_out_close(&out, NP_OK, err);
}

static int finish(struct times *times, struct np_err *err)
{
	struct step_csv_sums *sums = calloc(times->windows.count + 1, sizeof(*sums));
	int rc = NP_OK;

	if (!sums)
		return np_fail_nomem(err, "step times");
	for (int lane = 0; lane < SYN_LANES && rc == NP_OK; lane++)
		rc = count_lane(times, (enum syn_lane)lane, sums, err);
	if (rc == NP_OK) {
		count_receives(times, sums);
		rc = write_table(times, sums, err);
	}
	free(sums);
	return rc;
}

static int open_times(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct times *times = calloc(1, sizeof(*times));

	if (!times)
		return np_fail_nomem(err, "step times");
	times->base = (struct syn_sink){ .task = on_task, .comm = on_comm, .step = on_step };
	times->info = info;
	times->config = info->config;
	syn_overlap_init(&times->overlap);
	begin_step(times);
	*ret = &times->base;
	return NP_OK;
}

static int close_times(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct times *times = (struct times *)sink;

	if (rc == NP_OK)
		rc = finish(times, err);
	syn_overlap_release(&times->overlap);
	np_vec_release(&times->windows);
	np_vec_release(&times->receives);
	free(times);
	return rc;
}

/* Steps are the framework's. */
static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->text && syn_has_framework(info->form);
}

const struct syn_backend syn_step_csv = {
	.name = "steps",
	.is_wanted = is_wanted,
	.open = open_times,
	.close = close_times,
};
