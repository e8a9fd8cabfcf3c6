/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the peak of each memory component on both sides (cmp_memory.h). */
#include "cmp_memory.h"

#include "npuprof/rank.h"

void cmp_memory_release(struct cmp_memory *memory)
{
	np_vec_release(&memory->list);
}

static struct cmp_memory_peak *find(struct cmp_memory *memory, const char *component,
				    struct np_err *err)
{
	struct cmp_memory_peak *peak;

	for (size_t i = 0; i < memory->list.count; i++) {
		if (strcmp(memory->list.item[i].component, component) == 0)
			return &memory->list.item[i];
	}
	peak = np_vec_add(&memory->list, err);
	if (peak)
		*peak = (struct cmp_memory_peak){ component,
						  { NP_UNKNOWN, NP_UNKNOWN },
						  { NP_NO_RANK, NP_NO_RANK } };
	return peak;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct cmp_memory_peak *)left)->component,
		      ((const struct cmp_memory_peak *)right)->component);
}

static int add_rank(struct cmp_memory *memory, const struct np_run *run, const struct np_rank *rank,
		    enum cmp_which which, struct np_err *err)
{
	for (size_t i = 0; i < rank->memory.count; i++) {
		const struct np_memory_peak *each = &rank->memory.item[i];
		int64_t bytes = each->reserved != NP_UNKNOWN ? each->reserved : each->allocated;
		struct cmp_memory_peak *peak;

		if (bytes == NP_UNKNOWN || each->component == NP_STR_NONE)
			continue;
		peak = find(memory, np_run_text(run, each->component), err);
		if (!peak)
			return NP_E_NOMEM;
		if (peak->bytes[which] == NP_UNKNOWN || bytes > peak->bytes[which]) {
			peak->bytes[which] = bytes;
			peak->rank[which] = rank->id;
		}
	}
	return NP_OK;
}

int cmp_memory_measure(const struct comparison *comparison, struct cmp_memory *ret,
		       struct np_err *err)
{
	struct cmp_memory memory = { 0 };
	int rc = NP_OK;

	for (int which = 0; which < CMP_SIDES; which++) {
		for (size_t i = 0; i < comparison->pairs.count && rc == NP_OK; i++)
			rc = add_rank(&memory, comparison->sides[which].analysis->run,
				      cmp_rank(comparison, &comparison->pairs.item[i],
					       (enum cmp_which)which),
				      (enum cmp_which)which, err);
	}
	if (memory.list.count)
		qsort(memory.list.item, memory.list.count, sizeof(struct cmp_memory_peak), by_name);
	*ret = memory;
	return rc;
}
