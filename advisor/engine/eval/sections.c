/* SPDX-License-Identifier: Apache-2.0 */
#include "advisor/engine/advise.h"

#include <string.h>

/*
 * Which sections of a rank's detail a rule reads, from the names of views in its
 * SQL. A name that stands there without being read costs time and nothing else.
 */
static const struct {
	const char *word;
	unsigned sections;
} words[] = {
	{ "kernel", NP_DETAIL_KERNELS },
	{ "aic_", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "aiv_", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "cube_utilization", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "busiest", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "moving_ns", NP_DETAIL_PMU | NP_DETAIL_KERNELS },
	{ "kernel_stack", NP_DETAIL_FRAMEWORK | NP_DETAIL_STACKS },
	{ "_task", NP_DETAIL_TASKS },
	{ "_free", NP_DETAIL_KERNELS },
	{ "comm_op", NP_DETAIL_OPS },
	{ "comm_task", NP_DETAIL_SUB_TASKS | NP_DETAIL_OPS },
	{ "host_api", NP_DETAIL_FRAMEWORK | NP_DETAIL_INPUTS | NP_DETAIL_DEPTH },
	{ "stack", NP_DETAIL_FRAMEWORK | NP_DETAIL_STACKS },
	{ "python", NP_DETAIL_FRAMEWORK | NP_DETAIL_PYTHON },
	{ "cann_api", NP_DETAIL_CALLS },
	{ "_mark", NP_DETAIL_MARKS },
	{ "_gc", NP_DETAIL_GC },
	{ "_freq", NP_DETAIL_FREQUENCY },
	{ "mem_op", NP_DETAIL_MEMORY_OPS },
	{ "mem_curve", NP_DETAIL_MEMORY_CURVE },
};

static unsigned sections_of(const char *text)
{
	unsigned sections = 0;

	for (size_t i = 0; text && i < NP_COUNT(words); i++) {
		if (strstr(text, words[i].word))
			sections |= words[i].sections;
	}
	/* "v_comm_task" is no v_task. */
	if (text && !strstr(text, "v_task") && !strstr(text, "base_task"))
		sections &= ~(unsigned)NP_DETAIL_TASKS;
	return sections;
}

unsigned rule_sections(const struct rule *rule)
{
	/* Cheap, and needed for parameters, `when` and texts. */
	unsigned sections = NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT;

	for (size_t i = 0; i < rule->with.count; i++)
		sections |= sections_of(rule->with.item[i].sql.text);
	for (size_t i = 0; i < rule->summary.count; i++)
		sections |= sections_of(rule->summary.item[i].sql.text);
	for (size_t i = 0; i < rule->needs.count; i++) {
		sections |= sections_of(rule->needs.item[i].view);
		for (size_t c = 0; c < rule->needs.item[i].columns.count; c++)
			sections |= sections_of(rule->needs.item[i].columns.item[c]);
	}
	return sections | sections_of(rule->query.text) | sections_of(rule->filter.text) |
	       sections_of(rule->focus.text);
}
