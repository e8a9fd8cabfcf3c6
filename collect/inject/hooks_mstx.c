/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of mstx: marks and ranges that begin a step. */
#include "hooks.h"
#include "npuprof/pattern.h"
#include "npuprof/text.h"

#include "preload.h"

/*
 * mstx marks. The library of mstx, and every program that has its header compiled in,
 * asks the first InitInjectionMstx() in the process for its functions. Ours lets
 * CANN's fill in its own and then puts itself before those that carry a message; so
 * marks are seen even when nothing is being profiled.
 */
/* NOLINTBEGIN(readability-identifier-naming): names of CANN */
NP_HOOK int InitInjectionMstx(mstxGetModuleFuncTable get_table);
/* NOLINTEND(readability-identifier-naming) */

typedef void (*mark_fn)(const char *message, aclrtStream stream);
typedef mstxRangeId (*range_fn)(const char *message, aclrtStream stream);
typedef void (*domain_mark_fn)(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
typedef mstxRangeId (*domain_range_fn)(mstxDomainHandle_t domain, const char *message,
				       aclrtStream stream);

/* What stood in the slots before us; all programs in a process get the same. */
static struct {
	_Atomic(mstxFuncPointer) mark;
	_Atomic(mstxFuncPointer) range;
	_Atomic(mstxFuncPointer) domain_mark;
	_Atomic(mstxFuncPointer) domain_range;
} original;

/* A pattern is for one thread at a time, and marks come from many. */
static pthread_mutex_t matching = PTHREAD_MUTEX_INITIALIZER;
static struct np_pattern *pattern;

int np_preload_set_pattern(const char *text, struct np_err *err)
{
	return np_pattern_compile(text, strlen(text), 0, &pattern, NULL, err);
}

/* The step a message names, or NP_UNKNOWN if it matches without naming one. */
static bool match_message(const char *message, size_t length, int64_t *ret)
{
	struct np_capture part;
	bool found = false;
	int64_t number;

	if (np_pattern_match(pattern, message, length, 0, &found, NULL) < 0 || !found)
		return false;
	*ret = NP_UNKNOWN;
	if (np_pattern_groups(pattern) == 0)
		return true;
	if (!np_pattern_capture(pattern, 1, &part) ||
	    !np_text_to_int(message + part.begin, part.end - part.begin, &number))
		return false;
	*ret = number;
	return true;
}

static void see_message(const char *message)
{
	int64_t step;
	bool found;

	if (!(atomic_load_explicit(&np_inject.listening, memory_order_relaxed) &
	      1U << NP_STEP_MSTX) ||
	    !message || !pattern || !np_hook_active())
		return;
	(void)pthread_mutex_lock(&matching);
	found = match_message(message, strlen(message), &step);
	(void)pthread_mutex_unlock(&matching);
	if (found)
		np_inject_step(&np_inject, NP_STEP_MSTX, step, message);
}

static void mark(const char *message, aclrtStream stream)
{
	mark_fn next = (mark_fn)atomic_load(&original.mark);

	see_message(message);
	if (next)
		next(message, stream);
}

static mstxRangeId range_start(const char *message, aclrtStream stream)
{
	range_fn next = (range_fn)atomic_load(&original.range);

	see_message(message);
	return next ? next(message, stream) : 0;
}

static void domain_mark(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
	domain_mark_fn next = (domain_mark_fn)atomic_load(&original.domain_mark);

	see_message(message);
	if (next)
		next(domain, message, stream);
}

static mstxRangeId domain_range_start(mstxDomainHandle_t domain, const char *message,
				      aclrtStream stream)
{
	domain_range_fn next = (domain_range_fn)atomic_load(&original.domain_range);

	see_message(message);
	return next ? next(domain, message, stream) : 0;
}

struct range_slot {
	int module;
	unsigned index;
	_Atomic(mstxFuncPointer) *original;
	mstxFuncPointer ours;
};

static const struct range_slot slots[] = {
	{ MSTX_MODULE_CORE, MSTX_MARK_A, &original.mark, (mstxFuncPointer)mark },
	{ MSTX_MODULE_CORE, MSTX_RANGE_START_A, &original.range, (mstxFuncPointer)range_start },
	{ MSTX_MODULE_CORE_DOMAIN, MSTX_DOMAIN_MARK_A, &original.domain_mark,
	  (mstxFuncPointer)domain_mark },
	{ MSTX_MODULE_CORE_DOMAIN, MSTX_DOMAIN_RANGE_START_A, &original.domain_range,
	  (mstxFuncPointer)domain_range_start },
};

/* Where a function is kept, or NULL: CANN's tables have empty slots. */
static mstxFuncPointer *find_slot(mstxGetModuleFuncTable get_table, const struct range_slot *slot)
{
	mstxFuncTable table = NULL;
	unsigned size = 0;

	if (get_table(slot->module, &table, &size) != 0 || !table || slot->index > size)
		return NULL;
	return table[slot->index];
}

int InitInjectionMstx(mstxGetModuleFuncTable get_table)
{
	NP_REAL(NP_LIBRARY_MSTX, InitInjectionMstx);
	mstxFuncPointer *place[NP_COUNT(slots)];
	mstxFuncPointer before[NP_COUNT(slots)];

	if (!atomic_load(&np_inject.on) || !get_table)
		return real ? real(get_table) : 1;
	for (size_t i = 0; i < NP_COUNT(slots); i++) {
		place[i] = find_slot(get_table, &slots[i]);
		before[i] = place[i] ? *place[i] : NULL;
	}
	if (real)
		(void)real(get_table);
	for (size_t i = 0; i < NP_COUNT(slots); i++) {
		if (!place[i])
			continue;
		/* What nobody has changed is what called us, and would call us again. */
		if (*place[i] != before[i] && *place[i] != slots[i].ours)
			atomic_store(slots[i].original, *place[i]);
		*place[i] = slots[i].ours;
	}
	return 0;
}
