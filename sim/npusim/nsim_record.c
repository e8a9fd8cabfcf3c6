/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of raw.h, as far as they are not the business of one library alone. */
#include <stdatomic.h>
#include <unistd.h>

#include "nsim.h"
#include "raw.h"

static int64_t task_ids;
static _Atomic uint32_t connections = 1;

uint32_t nsim_connection(void)
{
	return atomic_fetch_add(&connections, 1);
}

static size_t escape(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text && used + 3 < size; text++) {
		const char *found = strchr("\t\n\r\\", *text);

		if (found) {
			out[used++] = '\\';
			out[used++] = "tnr\\"[found - "\t\n\r\\"];
		} else {
			out[used++] = *text;
		}
	}
	out[used] = '\0';
	return used;
}

const char *nsim_text(const char *text)
{
	static _Thread_local char buffers[12][2048];
	static _Thread_local unsigned turn;
	char *buffer = buffers[turn++ % NP_COUNT(buffers)];

	if (!text)
		return NPUSIM_UNSET;
	if (strcmp(text, NPUSIM_UNSET) == 0)
		return "\\-";
	(void)escape(text, buffer, sizeof(buffers[0]));
	return buffer;
}

const char *nsim_allowed(bool allowed, const char *text)
{
	return allowed ? nsim_text(text ? text : "") : NPUSIM_UNSET;
}

void nsim_record_call(int type, np_ns start, uint32_t connection, const char *name)
{
	np_ns end = nsim_true_ns();
	uint64_t bit = type == NPUSIM_API_RUNTIME ? ACL_PROF_RUNTIME_API : ACL_PROF_ACL_API;

	nsim_lock();
	if (nsim_records(bit))
		nsim_record(-1, start, end, "API\t%lld\t%lld\t%d\t%d\t%u\t%s",
			    (long long)np_realtime_at(start), (long long)np_realtime_at(end), type,
			    gettid(), connection, nsim_text(name));
	nsim_unlock();
}

int64_t nsim_record_task(const struct nsim_task *task)
{
	int64_t id = task_ids++;

	nsim_record(task->device, task->whole_start, task->whole_end,
		    "TASK\t%lld\t%lld\t%lld\t%d\t%u\t%u\t%s\t%u\t%u", (long long)id,
		    (long long)np_realtime_at(task->start), (long long)np_realtime_at(task->end),
		    task->stream, task->task_id, task->connection, task->type, NPUSIM_NO_ID,
		    NPUSIM_NO_ID);
	return id;
}

struct counter {
	const char *name;
	double share; /* of the duration in µs, if it is a time; of the whole otherwise */
	bool is_time;
	bool is_cycles;
	bool vector; /* belongs to the vector cores */
};

/* What each metric counts. Shares are plausible, not measured. */
static const struct counter pipe_counters[] = {
	{ "aic_total_time", 0.97, true, false, false },
	{ "aic_total_cycles", 0.97, false, true, false },
	{ "aic_mac_ratio", 0.78, false, false, false },
	{ "aic_scalar_ratio", 0.08, false, false, false },
	{ "aic_mte1_ratio", 0.35, false, false, false },
	{ "aic_mte2_ratio", 0.55, false, false, false },
	{ "aic_fixpipe_ratio", 0.06, false, false, false },
	{ "aiv_total_time", 0.97, true, false, true },
	{ "aiv_total_cycles", 0.97, false, true, true },
	{ "aiv_vec_ratio", 0.31, false, false, true },
	{ "aiv_scalar_ratio", 0.07, false, false, true },
	{ "aiv_mte2_ratio", 0.62, false, false, true },
	{ "aiv_mte3_ratio", 0.28, false, false, true },
};

static const struct counter arithmetic_counters[] = {
	{ "aic_total_time", 0.97, true, false, false },
	{ "aic_total_cycles", 0.97, false, true, false },
	{ "aic_mac_fp16_ratio", 0.74, false, false, false },
	{ "aic_mac_int8_ratio", 0, false, false, false },
	{ "aiv_total_time", 0.97, true, false, true },
	{ "aiv_total_cycles", 0.97, false, true, true },
	{ "aiv_vec_fp32_ratio", 0.21, false, false, true },
	{ "aiv_vec_fp16_ratio", 0.1, false, false, true },
};

/* Of other metrics the simulator knows what all have in common. */
static const struct counter common_counters[] = {
	{ "aic_total_time", 0.97, true, false, false },
	{ "aic_total_cycles", 0.97, false, true, false },
	{ "aiv_total_time", 0.97, true, false, true },
	{ "aiv_total_cycles", 0.97, false, true, true },
};

static size_t counters_of(int metric, const struct counter **ret)
{
	switch (metric) {
	case ACL_AICORE_PIPE_UTILIZATION:
		*ret = pipe_counters;
		return NP_COUNT(pipe_counters);
	case ACL_AICORE_ARITHMETIC_UTILIZATION:
		*ret = arithmetic_counters;
		return NP_COUNT(arithmetic_counters);
	case ACL_AICORE_NONE:
		return 0;
	default:
		*ret = common_counters;
		return NP_COUNT(common_counters);
	}
}

static double counter_value(const struct counter *counter, np_ns time, uint32_t blocks)
{
	if (counter->is_time)
		return (double)time * counter->share / 1000;
	if (counter->is_cycles)
		return (double)time * counter->share * 1.8 * blocks; /* 1800 MHz */
	return counter->share;
}

static void record_pmu(int64_t id, const struct nsim_task *task, const struct npusim_kernel *kernel,
		       uint32_t blocks)
{
	const struct counter *counters = NULL;
	size_t count =
		nsim_records(ACL_PROF_AICORE_METRICS) ? counters_of(nsim_metric(), &counters) : 0;
	bool cube = strcmp(kernel->core, "AI_VECTOR_CORE") != 0;
	bool vector = strcmp(kernel->core, "AI_CORE") != 0;

	for (size_t i = 0; i < count; i++) {
		bool used = counters[i].vector ? vector : cube;
		double value =
			used ? counter_value(&counters[i], task->end - task->start, blocks) : 0;

		nsim_record(task->device, task->whole_start, task->whole_end, "PMU\t%lld\t%s\t%.3f",
			    (long long)id, counters[i].name, value);
	}
}

void nsim_record_kernel(int64_t id, const struct nsim_task *task,
			const struct npusim_kernel *kernel, uint32_t blocks)
{
	bool types = nsim_records(ACL_PROF_TASK_TIME);
	bool shapes = types || nsim_records(ACL_PROF_AICORE_SHAPE);

	nsim_record(task->device, task->whole_start, task->whole_end,
		    "KERNEL\t%lld\t%s\t%s\t%s\t%u\t%u\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s",
		    (long long)id, nsim_text(kernel->name), nsim_allowed(types, kernel->op_type),
		    nsim_allowed(types, kernel->core), blocks, kernel->mix_blocks,
		    nsim_allowed(shapes, kernel->input_shapes),
		    nsim_allowed(shapes, kernel->input_types),
		    nsim_allowed(shapes, kernel->input_formats),
		    nsim_allowed(shapes, kernel->output_shapes),
		    nsim_allowed(shapes, kernel->output_types),
		    nsim_allowed(shapes, kernel->output_formats), nsim_allowed(types, "static"),
		    nsim_allowed(types, "NO"),
		    nsim_allowed(nsim_records(ACL_PROF_OP_ATTR), kernel->attributes));
	record_pmu(id, task, kernel, blocks);
}

void nsim_record_tx(const struct nsim_tx *tx)
{
	nsim_record(-1, tx->start, tx->end, "MSTX\t%lld\t%lld\t%d\t%llu\t%u\t%d\t%d\t%s\t%u\t%s",
		    (long long)np_realtime_at(tx->start), (long long)np_realtime_at(tx->end),
		    tx->type, (unsigned long long)tx->range, tx->category, tx->tid, tx->end_tid,
		    nsim_text(tx->domain), tx->connection, nsim_text(tx->message));
}

/* A marker: a task of 1 µs. */
struct marker {
	struct nsim_op op;
	uint32_t connection;
};

static void release_marker(struct nsim_op *op)
{
	free(op);
}

static enum nsim_progress run_marker(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				     np_ns *end)
{
	struct marker *marker = (struct marker *)op;

	*end = start + 1000;
	if (nsim_records(ACL_PROF_MSPROFTX))
		(void)nsim_record_task(&(struct nsim_task){
			.device = nsim_stream_device(stream),
			.stream = nsim_stream_id(stream),
			.task_id = nsim_stream_next_task(stream),
			.connection = marker->connection,
			.start = start,
			.end = *end,
			.type = "STARS_COMMON",
			.whole_start = start,
			.whole_end = *end,
		});
	return NSIM_DONE;
}

aclError nsim_marker_push(struct nsim_stream *stream, uint32_t connection)
{
	struct marker *marker = calloc(1, sizeof(*marker));

	if (!marker)
		return ACL_ERROR_BAD_ALLOC;
	marker->op = (struct nsim_op){ .launched = nsim_true_ns(),
				       .run = run_marker,
				       .release = release_marker };
	marker->connection = connection;
	return nsim_stream_push(stream, &marker->op);
}
