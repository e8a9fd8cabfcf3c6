/* SPDX-License-Identifier: Apache-2.0 */
/* Advances one rank through its program until it has to wait for others (rank.h). */
#include "rank.h"

#include <math.h>

#include "sim/synth/plan/plants.h"
#include "sim/synth/plan/rng.h"

#define HOST_SIGMA     0.15
#define KERNEL_HOST_NS 9000.0
#define COMM_HOST_NS   24000.0
#define KERNEL_CALL_NS 7000.0
#define COMM_CALL_NS   20000.0
#define DATA_NS        200000.0 /* the data loader, at the beginning of a step */
#define WAKE_NS        5000     /* from the end of a task to the host that waited for it */
#define LATENCY_NS     1500     /* from the launching call to the device */
#define GAP_NS         1000     /* between two tasks of a stream, or of two streams */
#define STAGGER_NS     20       /* streams do not wake up in the same instant */
#define QUEUE_NS       300
#define QUEUE_TASKS    2048 /* that may be launched and have not begun */

void syn_rank_init(struct syn_rank *rank, const struct syn_config *config, int32_t number)
{
	/* Processes do not start in the same microsecond. */
	struct syn_key key = { config->seed, SYN_FOR_HOST, (uint64_t)number, UINT64_MAX, 0 };
	np_ns begin = SYN_EPOCH_NS + (np_ns)llround(50000.0 * config->noise * syn_uniform(&key));

	*rank = (struct syn_rank){ .config = config, .rank = number };
	rank->host_ns = begin;
	rank->queue_ns = begin;
	for (int i = 0; i < SYN_STREAMS; i++)
		rank->tail_ns[i] = begin;
}

void syn_rank_release(struct syn_rank *rank)
{
	syn_program_release(&rank->program);
}

static np_ns jittered(const struct syn_rank *rank, enum syn_purpose purpose, uint32_t index,
		      double time)
{
	struct syn_key key = { rank->config->seed, purpose, (uint64_t)rank->rank,
			       (uint64_t)rank->program.step, index };
	double sigma = HOST_SIGMA * rank->config->noise;

	if (sigma > 0.0)
		time *= exp(sigma * syn_normal(&key));
	return (np_ns)llround(time) + 100;
}

static np_ns later(np_ns a, np_ns b)
{
	return a > b ? a : b;
}

/* The queue of the device is full until the task before so many has begun. */
static bool has_room(struct syn_rank *rank)
{
	const struct syn_item *items = rank->program.items.item;
	np_ns begun;

	if (rank->launched < QUEUE_TASKS)
		return true;
	begun = items[rank->launched - QUEUE_TASKS].start_ns;
	if (begun != NP_UNKNOWN)
		rank->queue_ns = later(rank->queue_ns, begun);
	return begun != NP_UNKNOWN;
}

/* The host launches until it has to wait for the device. */
static bool run_host(struct syn_rank *rank)
{
	struct syn_program *program = &rank->program;
	bool moved = false;

	for (; rank->launched < program->items.count && has_room(rank); rank->launched++) {
		uint32_t index = rank->launched;
		struct syn_item *item = &program->items.item[index];
		bool comm = item->kind == SYN_COMM;

		if (item->host_after != SYN_NO_ITEM) {
			np_ns end = program->items.item[item->host_after].end_ns;

			if (end == NP_UNKNOWN)
				break;
			rank->host_ns = later(later(rank->host_ns, rank->queue_ns), end) + WAKE_NS;
		}
		rank->host_ns += item->delay_ns;
		item->host_ns = rank->host_ns;
		rank->host_ns +=
			jittered(rank, SYN_FOR_HOST, index, comm ? COMM_HOST_NS : KERNEL_HOST_NS);
		item->torch_ns = rank->host_ns;
		item->launch_ns = later(rank->host_ns, rank->queue_ns) + QUEUE_NS;
		item->launched_ns =
			item->launch_ns +
			jittered(rank, SYN_FOR_LAUNCH, index, comm ? COMM_CALL_NS : KERNEL_CALL_NS);
		rank->queue_ns = item->launched_ns;
		moved = true;
	}
	return moved;
}

int syn_rank_begin_step(struct syn_rank *rank, const struct syn_groups *groups, int64_t step,
			struct np_err *err)
{
	int rc = syn_program_build(&rank->program, rank->config, groups, rank->rank, step, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < SYN_STREAMS; i++)
		rank->cursor[i] = rank->program.first[i];
	rank->launched = 0;
	rank->complete = false;
	rank->step_begin_ns = rank->host_ns;
	rank->host_ns += jittered(rank, SYN_FOR_LAUNCH, UINT32_MAX, DATA_NS) +
			 syn_data_stall(rank->config, rank->rank, step);
	rank->data_ns = rank->host_ns;
	(void)run_host(rank);
	return NP_OK;
}

/* When the device can begin an item; NP_UNKNOWN while that depends on something unfinished. */
static np_ns ready_time(const struct syn_rank *rank, uint32_t index)
{
	const struct syn_program *program = &rank->program;
	const struct syn_item *item = &program->items.item[index];
	np_ns time = rank->tail_ns[item->stream] + GAP_NS;

	if (index >= rank->launched)
		return NP_UNKNOWN;
	time = later(time, item->launched_ns + LATENCY_NS);
	for (uint32_t i = 0; i < item->after_count; i++) {
		uint32_t other = program->after.item[item->after_first + i];
		np_ns end = program->items.item[other].end_ns;

		if (end == NP_UNKNOWN)
			return NP_UNKNOWN;
		time = later(time, end + GAP_NS + STAGGER_NS * (np_ns)item->stream);
	}
	return time;
}

static bool run_stream(struct syn_rank *rank, int stream, syn_end_of *end_of, void *context)
{
	bool moved = false;

	while (rank->cursor[stream] != SYN_NO_ITEM) {
		uint32_t index = rank->cursor[stream];
		struct syn_item *item = &rank->program.items.item[index];

		if (item->start_ns == NP_UNKNOWN) {
			np_ns start = ready_time(rank, index);

			if (start == NP_UNKNOWN)
				break;
			item->start_ns = start;
			if (item->kind != SYN_COMM)
				item->end_ns = start + item->duration_ns;
		}
		if (item->end_ns == NP_UNKNOWN && !end_of(context, rank, item))
			break;
		rank->tail_ns[stream] = item->end_ns;
		rank->cursor[stream] = item->next;
		moved = true;
	}
	return moved;
}

static bool is_complete(const struct syn_rank *rank)
{
	for (int i = 0; i < SYN_STREAMS; i++) {
		if (rank->cursor[i] != SYN_NO_ITEM)
			return false;
	}
	return rank->launched == rank->program.items.count;
}

/*
 * Planted: at the end of every step but the last the host waits for its device and does something
 * that nobody records, as a loop does that saves or prints what it has learnt.
 */
static void pause_host(struct syn_rank *rank)
{
	double between = syn_scalar(rank->config, SYN_BETWEEN, rank->rank, 0.0);

	if (between <= 0.0 || rank->program.step + 1 >= rank->config->steps)
		return;
	for (int i = 0; i < SYN_STREAMS; i++)
		rank->host_ns = later(rank->host_ns, rank->tail_ns[i]);
	rank->host_ns += WAKE_NS + (np_ns)llround(between * 1e3);
}

bool syn_rank_advance(struct syn_rank *rank, syn_end_of *end_of, void *context)
{
	bool moved = true;

	while (moved) {
		moved = run_host(rank);
		for (int i = 0; i < SYN_STREAMS; i++)
			moved = run_stream(rank, i, end_of, context) || moved;
	}
	if (rank->complete || !is_complete(rank))
		return false;
	rank->complete = true;
	/* The step is over for the host when its last launch is. */
	rank->host_ns = later(rank->host_ns, rank->queue_ns) + GAP_NS;
	pause_host(rank);
	rank->step_end_ns = rank->host_ns;
	rank->host_ns += GAP_NS;
	return true;
}
