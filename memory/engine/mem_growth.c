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
	/* As requested: what blocks have besides is chance. */
	uint64_t live; /* of this stack, now */
	uint64_t kept; /* of survivors */
	struct mem_occasions occasions;
	size_t blocks;
	uint64_t bytes;
	uint64_t least; /* requested of one */
	uint64_t most;
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
	size_t started;    /* lives from before the record that end in it */
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

		/* Of a block that was already on its way nobody asked. */
		if (life->freed == MEM_NONE ||
		    (life->birth == MEM_NONE && history->start_blocks.item[i].pending))
			continue;
		job->freed[life->freed] = (uint32_t)i + 1;
		job->started += life->birth == MEM_NONE;
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

static size_t at_most(size_t value, size_t most)
{
	return value < most ? value : most;
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
	return birth - one->last >
		       at_most(history->count / MEM_OCCASION_PART + 1, MEM_APART_EVENTS) &&
	       job->frees - one->frees >
		       at_most(history->actions[SNAP_FREE_COMPLETED] / MEM_OCCASION_PART,
			       MEM_APART_FREES) &&
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
		mem_occasions_add(&one->occasions, one->live, one->kept);
	if (one->blocks == 0 || life->requested < one->least)
		one->least = life->requested;
	if (life->requested > one->most)
		one->most = life->requested;
	one->last = life->birth;
	one->pass = job->pass;
	one->backward_last = job->backward;
	one->frees = job->frees;
	one->bytes += life->size;
	one->kept += life->requested;
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
			job->all[life->stack].live += life->requested;
		} else if (job->freed[i] > 0) {
			const struct mem_life *life = &history->lives.item[job->freed[i] - 1];

			if (life->birth != MEM_NONE)
				job->all[life->stack].live -= life->requested;
		}
		job->frees += event->action == SNAP_FREE_COMPLETED;
	}
}

/*
 * State that an optimizer makes for a parameter when that has its first gradient: once for each,
 * however late, as for experts that are seldom chosen.
 */
static bool is_of_state(const struct snapshot *snapshot, uint32_t number)
{
	const struct snap_stack *stack = &snapshot->stacks.item[number];

	for (size_t i = 0; i < stack->count; i++) {
		const struct snap_frame *frame =
			&snapshot->frames.item[snapshot->stack_frames.item[stack->first + i]];

		if (strcmp(np_strtab_text(snapshot->texts, frame->name), "_init_group") == 0)
			return true;
	}
	return false;
}

static bool is_growth(const struct mem_history *history, const struct survivors *one)
{
	return mem_occasions_last(&one->occasions, one->first, one->last, 0,
				  (int64_t)history->count) &&
	       mem_occasions_grow(&one->occasions);
}

/* A stack whose survivors may take the place of what was there before the record. */
struct replacement {
	uint32_t stack;
	bool begun;
	unsigned in_a_row; /* the last ones that took somebody's place */
	uint64_t gone;     /* of their size, since the last of them was born */
	uint64_t replaced; /* of what they are together */
};

typedef NP_VEC(struct replacement) replacements;

/* A block from before the record goes: it may have been made where one of these is. */
static void see_gone(const struct growth_job *job, replacements *list, const struct mem_life *gone)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct survivors *one = &job->all[list->item[i].stack];

		if (gone->requested >= one->least && gone->requested <= one->most)
			list->item[i].gone += gone->size;
	}
}

static void see_born(struct replacement *one, const struct mem_life *life)
{
	if (one->begun)
		one->replaced += one->gone < life->size ? one->gone : life->size;
	one->in_a_row = one->begun && one->gone > life->size / 2 ? one->in_a_row + 1 : 0;
	one->begun = true;
	one->gone = 0;
}

/* Most of it, or, where the queue became full in the record, the last of it. */
static bool is_replacing(const struct replacement *one, uint64_t bytes)
{
	return one->replaced > bytes / 2 || one->in_a_row >= MEM_LEAK_OCCASIONS - 1;
}

/*
 * A queue that was full when recording began: what is put in was born in the record, what is taken
 * out was not, so that it seems to grow. Each birth is set off against what went of its size since
 * the one before; a burst, as at the end of the step in which recording began, pays for one.
 */
static int find_replaced(const struct growth_job *job, replacements *list, struct np_err *err)
{
	const struct mem_history *history = job->history;
	uint32_t *place = calloc(history->snapshot->stacks.count + 1, sizeof(*place));
	size_t next = history->start_blocks.count;

	if (!place)
		return np_fail_nomem(err, "survivors");
	for (size_t i = 0; i < list->count; i++)
		place[list->item[i].stack] = (uint32_t)i + 1;
	for (size_t i = 0; i < history->count; i++) {
		const uint32_t freed = job->freed[i];

		if (history->events[i].action == SNAP_ALLOC && next < history->lives.count) {
			const struct mem_life *life = &history->lives.item[next++];

			if (life->size > 0 && life->done == MEM_NONE && place[life->stack] > 0)
				see_born(&list->item[place[life->stack] - 1], life);
		} else if (freed > 0 && freed <= history->start_blocks.count) {
			see_gone(job, list, &history->lives.item[freed - 1]);
		}
	}
	free(place);
	return NP_OK;
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

static int add_growth(const struct growth_job *job, uint32_t stack, mem_growths *ret,
		      struct np_err *err)
{
	const struct survivors *one = &job->all[stack];
	struct mem_growth *growth = np_vec_add(ret, err);

	if (!growth)
		return NP_E_NOMEM;
	*growth = (struct mem_growth){ stack, one->occasions.count, one->blocks, one->bytes };
	return NP_OK;
}

/* Who has more each time, unless it takes the place of what was there before. */
static int find_growing(const struct growth_job *job, replacements *list, struct np_err *err)
{
	const size_t stacks = job->history->snapshot->stacks.count;

	for (uint32_t i = 0; i < stacks; i++) {
		struct replacement *one;

		if (!is_growth(job->history, &job->all[i]) ||
		    is_of_state(job->history->snapshot, i))
			continue;
		one = np_vec_add(list, err);
		if (!one)
			return NP_E_NOMEM;
		*one = (struct replacement){ .stack = i };
	}
	return list->count > 0 && job->started > 0 ? find_replaced(job, list, err) : NP_OK;
}

int mem_growth_find(const struct mem_history *history, mem_growths *ret, uint64_t *ret_forward,
		    struct np_err *err)
{
	struct growth_job job = { .history = history };
	replacements growing = { 0 };
	bool activations = false;
	uint64_t forward = 0;
	int rc = prepare(&job, err);

	if (rc == NP_OK) {
		see_all(&job);
		activations = holds_activations(&job, history->snapshot->stacks.count);
		rc = find_growing(&job, &growing, err);
	}
	for (size_t i = 0; rc == NP_OK && i < growing.count; i++) {
		const struct survivors *one = &job.all[growing.item[i].stack];

		if (is_replacing(&growing.item[i], one->bytes))
			continue;
		if (activations && may_be_activation(one))
			forward += job.pass_of[growing.item[i].stack] != 0 ? one->bytes : 0;
		else
			rc = add_growth(&job, growing.item[i].stack, ret, err);
	}
	np_vec_release(&growing);
	release(&job);
	*ret_forward = forward;
	return rc;
}
