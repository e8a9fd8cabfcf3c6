/* SPDX-License-Identifier: Apache-2.0 */
/* Who allocates again and again and never gives it back. */
#include "mem_growth.h"

#include "npuprof/map.h"
#include "npuprof/text.h"

/* What is known of the survivors of one stack. */
struct survivors {
	uint32_t first;
	uint32_t last;
	uint32_t pass;           /* that the last was born in */
	uint32_t passes;         /* that any was */
	uint32_t frees;          /* of any stack, until the last was born */
	uint32_t backward_first; /* allocations on a way back, until the first and the last */
	uint32_t backward_last;
	uint64_t live; /* of this stack, now */
	struct mem_occasions occasions;
	size_t blocks;
	uint64_t bytes;
};

void mem_occasions_add(struct mem_occasions *occasions, uint64_t live, uint64_t kept)
{
	size_t place = occasions->count++ % MEM_LEAK_OCCASIONS;

	occasions->live[place] = live;
	occasions->kept[place] = kept;
}

bool mem_occasions_grow(const struct mem_occasions *occasions)
{
	size_t last = (occasions->count - 1) % MEM_LEAK_OCCASIONS;
	size_t first = occasions->count % MEM_LEAK_OCCASIONS;
	uint64_t kept = occasions->kept[last] - occasions->kept[first];

	return occasions->live[last] > occasions->live[first] &&
	       occasions->live[last] - occasions->live[first] > kept / 2;
}

bool mem_occasions_last(const struct mem_occasions *occasions, int64_t first, int64_t last,
			int64_t begin, int64_t end)
{
	int64_t part = (end - begin) / MEM_SPAN_PART;
	int64_t apart;

	if (occasions->count < MEM_LEAK_OCCASIONS || last - first < part)
		return false;
	apart = (last - first) / (int64_t)(occasions->count - 1);
	return end - last <= part || end - last <= 2 * apart;
}

struct growth_job {
	const struct mem_history *history;
	struct survivors *all; /* by stack */
	uint64_t *pass_of; /* likewise: what call of a model or of its making it is in; 0: none */
	uint32_t *freed;   /* by event: the life that ends, plus one */
	uint32_t frees;
	uint32_t backward; /* allocations on a way back */
	uint32_t pass;     /* grows with each other call */
	uint64_t pass_now; /* its `pass_of` */
};

/* What `pass_of` has in its low bits. */
#define PASS_IS       1U
#define PASS_BACKWARD 2U

/* So many stacks of a model that keep something without any way back are its activations. */
#define MANY_STACKS 4

static bool is_of_backward(const struct snapshot *snapshot, const struct snap_frame *frame)
{
	return strstr(np_strtab_text(snapshot->texts, frame->name), "autograd::Engine") != NULL;
}

static bool is_of_module(const struct snapshot *snapshot, const struct snap_frame *frame)
{
	static const char file[] = "nn/modules/module.py";
	const char *name = np_strtab_text(snapshot->texts, frame->name);

	return np_text_ends(np_strtab_text(snapshot->texts, frame->file), file) &&
	       (strcmp(name, "_call_impl") == 0 || strcmp(name, "_apply") == 0);
}

static bool is_of_making(const struct snapshot *snapshot, const struct snap_frame *frame)
{
	return strcmp(np_strtab_text(snapshot->texts, frame->name), "__init__") == 0;
}

/* The frames from the outermost call of a module outwards: of one pass they are all the same. */
static uint64_t find_pass(const struct snapshot *snapshot, const struct snap_stack *stack)
{
	const uint32_t *frames = stack->count ? &snapshot->stack_frames.item[stack->first] : NULL;
	uint64_t hash = 0;
	uint64_t making = 0;

	for (size_t i = stack->count; i > 0; i--) {
		const struct snap_frame *frame = &snapshot->frames.item[frames[i - 1]];

		hash = np_map_mix(hash, frames[i - 1]) & ~(uint64_t)(PASS_IS | PASS_BACKWARD);
		if (is_of_backward(snapshot, frame))
			return hash | PASS_IS | PASS_BACKWARD;
		if (is_of_module(snapshot, frame))
			return hash | PASS_IS;
		if (making == 0 && is_of_making(snapshot, frame))
			making = hash | PASS_IS;
	}
	return making;
}

static int prepare(struct growth_job *job, struct np_err *err)
{
	const struct mem_history *history = job->history;
	const struct snapshot *snapshot = history->snapshot;
	size_t stacks = snapshot->stacks.count;

	job->all = calloc(stacks, sizeof(*job->all));
	job->pass_of = calloc(stacks, sizeof(*job->pass_of));
	job->freed = calloc(history->count + 1, sizeof(*job->freed));
	if (!job->all || !job->pass_of || !job->freed)
		return np_fail_nomem(err, "survivors");
	for (size_t i = 0; i < stacks; i++)
		job->pass_of[i] = find_pass(snapshot, &snapshot->stacks.item[i]);
	for (size_t i = 0; i < history->lives.count; i++) {
		const struct mem_life *life = &history->lives.item[i];

		if (life->birth != MEM_NONE && life->freed != MEM_NONE)
			job->freed[life->freed] = (uint32_t)i + 1;
	}
	return NP_OK;
}

static void release(struct growth_job *job)
{
	free(job->all);
	free(job->pass_of);
	free(job->freed);
}

/*
 * A pass ends with an event from outside of it. A backward pass allocates without a stack; who
 * frees without one may be anywhere.
 */
static void see_pass(struct growth_job *job, const struct snap_event *event)
{
	uint64_t pass = job->pass_of[event->stack];

	if (event->stack == 0 && event->action != SNAP_ALLOC)
		return;
	job->backward += event->action == SNAP_ALLOC && (event->stack == 0 || pass & PASS_BACKWARD);
	job->pass += pass == 0 || pass != job->pass_now;
	job->pass_now = pass;
}

/*
 * Is this birth another occasion than the last one of its stack? Where no steps are known the
 * program must have done other work in between, which frees what it took: who builds a model
 * allocates one after the other. And it must have left the call of the model, which keeps what its
 * layers make until the way back.
 */
static bool is_apart(const struct growth_job *job, const struct survivors *one, uint32_t birth)
{
	const struct mem_history *history = job->history;

	if (history->steps.count >= MEM_LEAK_OCCASIONS)
		return history_step_at(history, one->last) != history_step_at(history, birth);
	return birth - one->last > history->count / MEM_OCCASION_PART + 1 &&
	       job->frees - one->frees >
		       history->actions[SNAP_FREE_COMPLETED] / MEM_OCCASION_PART &&
	       job->pass != one->pass;
}

static void see_survivor(struct growth_job *job, struct survivors *one, const struct mem_life *life)
{
	one->passes += one->passes == 0 || job->pass != one->pass;
	if (one->occasions.count == 0) {
		one->first = life->birth;
		one->backward_first = job->backward;
	}
	if (one->occasions.count == 0 || is_apart(job, one, life->birth))
		mem_occasions_add(&one->occasions, one->live, one->bytes);
	one->last = life->birth;
	one->pass = job->pass;
	one->backward_last = job->backward;
	one->frees = job->frees;
	one->bytes += life->size;
	one->blocks++;
}

/* Lives are in the order of their birth. */
static void see_all(struct growth_job *job)
{
	const struct mem_history *history = job->history;
	size_t next = history->start_blocks.count;

	for (uint32_t i = 0; i < history->count; i++) {
		const struct snap_event *event = &history->events[i];

		if (event->action > SNAP_FREE_COMPLETED)
			continue;
		see_pass(job, event);
		if (event->action == SNAP_ALLOC && next < history->lives.count) {
			const struct mem_life *life = &history->lives.item[next++];

			/* What contradicts other events was never given. */
			if (life->size > 0 && life->done == MEM_NONE)
				see_survivor(job, &job->all[life->stack], life);
			job->all[life->stack].live += life->size;
		} else if (job->freed[i] > 0) {
			const struct mem_life *life = &history->lives.item[job->freed[i] - 1];

			job->all[life->stack].live -= life->size;
		}
		job->frees += event->action == SNAP_FREE_COMPLETED;
	}
}

static bool is_growth(const struct mem_history *history, const struct survivors *one)
{
	return mem_occasions_last(&one->occasions, one->first, one->last, 0,
				  (int64_t)history->count) &&
	       mem_occasions_grow(&one->occasions);
}

/* Did nothing go its way back since the first of them was born? */
static bool may_be_activation(const struct survivors *one)
{
	return one->backward_first == one->backward_last;
}

/* A model that keeps something of each batch in many places will go back through it; with the
 * batches. */
static bool holds_activations(const struct growth_job *job, size_t stacks)
{
	size_t count = 0;

	for (size_t i = 0; i < stacks && job->history->steps.count == 0; i++)
		count += job->pass_of[i] != 0 && job->all[i].passes >= MEM_LEAK_OCCASIONS &&
			 may_be_activation(&job->all[i]);
	return count >= MANY_STACKS;
}

int mem_growth_find(const struct mem_history *history, mem_growths *ret, struct np_err *err)
{
	struct growth_job job = { .history = history };
	const size_t stacks = history->snapshot->stacks.count;
	bool activations = false;
	int rc = prepare(&job, err);

	if (rc == NP_OK) {
		see_all(&job);
		activations = holds_activations(&job, stacks);
	}
	for (uint32_t i = 0; rc == NP_OK && i < stacks; i++) {
		const struct survivors *one = &job.all[i];
		struct mem_growth *growth;

		if (!is_growth(history, one) || (activations && may_be_activation(one)))
			continue;
		growth = np_vec_add(ret, err);
		if (!growth) {
			rc = NP_E_NOMEM;
			break;
		}
		*growth = (struct mem_growth){ i, one->occasions.count, one->blocks, one->bytes };
	}
	release(&job);
	return rc;
}
