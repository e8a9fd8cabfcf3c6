/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks of memory by component, and the most and least of each step. */
#include "memory_held.h"

/* A higher water mark; NP_UNKNOWN changes nothing. */
static void raise_mark(int64_t *mark, int64_t value)
{
	/* NP_UNKNOWN is less than any number of bytes. */
	if (value > *mark)
		*mark = value;
}

/* The component's entry, added if it is new; NULL when out of memory. */
static struct np_memory_peak *component_of(struct np_rank *rank, np_str component,
					   struct np_err *err)
{
	struct np_memory_peak *peak;

	for (size_t i = 0; i < rank->memory.count; i++) {
		if (rank->memory.item[i].component == component)
			return &rank->memory.item[i];
	}
	peak = np_vec_add(&rank->memory, err);
	if (peak)
		*peak = (struct np_memory_peak){ component, NP_UNKNOWN, NP_UNKNOWN };
	return peak;
}

/* The step that the host was in; NONE outside of all. */
static np_str host_step(const struct np_rank *rank, np_ns at)
{
	size_t low = 0;
	size_t high = rank->steps.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rank->steps.item[middle].host_begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	/* Without times of the host, or of a run without steps, nothing grows from step to step. */
	if (low == 0 || rank->steps.item[low - 1].host_begin == NP_UNKNOWN ||
	    at > rank->steps.item[low - 1].host_end)
		return NP_STR_NONE;
	return rank->steps.item[low - 1].id;
}

static int hold_in_step(struct np_rank *rank, np_str component, np_str step, int64_t bytes,
			struct np_err *err)
{
	struct np_memory_step *held;

	if (step == NP_STR_NONE || bytes == NP_UNKNOWN)
		return NP_OK;
	/* Records come in order of time: the entry is among the last ones. */
	for (size_t i = rank->memory_steps.count; i-- > 0;) {
		held = &rank->memory_steps.item[i];
		if (held->component != component || held->step != step)
			continue;
		held->most = bytes > held->most ? bytes : held->most;
		held->least = bytes < held->least ? bytes : held->least;
		return NP_OK;
	}
	held = np_vec_add(&rank->memory_steps, err);
	if (!held)
		return NP_E_NOMEM;
	*held = (struct np_memory_step){ component, step, bytes, bytes };
	return NP_OK;
}

static void forget_steps(struct np_rank *rank, np_str component)
{
	size_t kept = 0;

	for (size_t i = 0; i < rank->memory_steps.count; i++) {
		if (rank->memory_steps.item[i].component != component)
			rank->memory_steps.item[kept++] = rank->memory_steps.item[i];
	}
	rank->memory_steps.count = kept;
}

/* What is reserved counts for a component only if none of its records says what is allocated. */
int memory_hold(struct np_rank *rank, const struct memory_held *held, struct np_err *err)
{
	struct np_memory_peak *peak = component_of(rank, held->component, err);
	int64_t bytes = held->allocated;

	if (!peak)
		return NP_E_NOMEM;
	if (bytes != NP_UNKNOWN && peak->allocated == NP_UNKNOWN)
		forget_steps(rank, held->component);
	else if (bytes == NP_UNKNOWN && peak->allocated == NP_UNKNOWN)
		bytes = held->reserved;
	raise_mark(&peak->allocated, held->allocated);
	raise_mark(&peak->reserved, held->reserved);
	return hold_in_step(rank, held->component, host_step(rank, held->at), bytes, err);
}

bool memory_knows(const struct np_rank *rank, const struct np_strtab *strings, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < rank->memory.count; i++) {
		const char *known = np_strtab_text(strings, rank->memory.item[i].component);

		if (strncmp(known, name, length) == 0 &&
		    (known[length] == '\0' || name[length - 1] == '/'))
			return true;
	}
	return false;
}

const char *memory_component_of(const char *operator, size_t length)
{
	static const char prefix[] = "cann::";

	return length >= strlen(prefix) && memcmp(operator, prefix, strlen(prefix)) == 0
		       ? MEMORY_GE
		       : MEMORY_PTA;
}

static bool is_idle_module(const struct np_memory_peak *peak, const struct np_strtab *strings)
{
	return peak->reserved <= 0 && strncmp(np_strtab_text(strings, peak->component),
					      MEMORY_MODULE, strlen(MEMORY_MODULE)) == 0;
}

static bool has_peak(const struct np_rank *rank, np_str component)
{
	for (size_t i = 0; i < rank->memory.count; i++) {
		if (rank->memory.item[i].component == component)
			return true;
	}
	return false;
}

void memory_drop_idle_modules(struct np_rank *rank, const struct np_strtab *strings)
{
	size_t kept = 0;

	for (size_t i = 0; i < rank->memory.count; i++) {
		if (!is_idle_module(&rank->memory.item[i], strings))
			rank->memory.item[kept++] = rank->memory.item[i];
	}
	rank->memory.count = kept;
	kept = 0;
	for (size_t i = 0; i < rank->memory_steps.count; i++) {
		if (has_peak(rank, rank->memory_steps.item[i].component))
			rank->memory_steps.item[kept++] = rank->memory_steps.item[i];
	}
	rank->memory_steps.count = kept;
}

static int by_component(const void *left, const void *right, void *context)
{
	const struct np_memory_peak *a = left;
	const struct np_memory_peak *b = right;

	return strcmp(np_strtab_text(context, a->component), np_strtab_text(context, b->component));
}

void memory_sort(struct np_rank *rank, const struct np_strtab *strings)
{
	if (rank->memory.count)
		qsort_r(rank->memory.item, rank->memory.count, sizeof(rank->memory.item[0]),
			by_component, (void *)(uintptr_t)strings);
}
