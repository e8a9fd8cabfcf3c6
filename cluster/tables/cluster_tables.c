/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the tables of a merged run, and labels that several of them write. */
#include "npuprof/cluster_tables.h"

#include "npuprof/align.h"
#include "npuprof/text.h"

#include "tables.h"

#include <inttypes.h>

const struct np_relation *const np_cluster_relations[] = {
	&np_table_step_trace_time,
	&np_table_communication_time,
	&np_table_communication_bandwidth,
	&np_table_communication_matrix,
	&np_table_group_mapping,
	&np_table_base_info,
	&np_table_host_info,
	&np_table_rank_device_map,
	&np_table_step,
	&np_table_comm_step,
	&np_table_role_step,
	&np_table_partition,
	&np_table_coverage,
	&np_table_instance,
	&np_table_wait,
	&np_table_blame,
	&np_table_charge,
	&np_table_clock,
	&np_table_kernel_type,
	&np_table_call,
	&np_table_link,
	&np_table_pipeline,
	&np_table_expert,
	&np_table_memory,
	&np_table_memory_rank,
	&np_table_memory_group,
	&np_table_memory_component,
	&np_table_memory_curve,
	&np_table_memory_leak,
	&np_table_memory_whatif,
	&np_table_memory_mark,
	&np_table_memory_block,
	&np_table_whatif,
	&np_table_critical_path,
	&np_table_skipped,
	&np_table_run_info,
};

const size_t np_cluster_relation_count = NP_COUNT(np_cluster_relations);

bool np_cluster_relation_applies(const struct np_relation *relation,
				 const struct np_analysis *analysis)
{
	if (np_text_begins(relation->name, "np_memory_"))
		return analysis->memory != NULL;
	return relation != &np_table_base_info || np_cluster_has_base_info(analysis->cluster);
}

bool np_table_is_of_operators(const struct np_relation *relation)
{
	return relation == &np_table_instance || relation == &np_table_wait;
}

size_t np_cluster_operator_rows(const struct np_analysis *analysis)
{
	const struct np_align *align = analysis->align;
	size_t members = 0;

	for (size_t i = 0; align && i < align->instances.count; i++)
		members += align->instances.item[i].count;
	return members;
}

uint32_t np_vendor_step(const struct np_rank *rank, uint32_t step)
{
	return np_steps_are_ours(rank->steps_from) ? 0 : step;
}

np_str np_vendor_step_id(const struct np_rank *rank, uint32_t step)
{
	return np_steps_are_ours(rank->steps_from) ? NP_STR_NONE : rank->steps.item[step].id;
}

void np_step_label(const struct np_run *run, np_str id, char *ret, size_t size)
{
	const char *text = np_run_text(run, id);

	(void)snprintf(ret, size, "step%s", text ? text : "");
}

void np_group_label(uint64_t hash, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%" PRIu64, hash);
}

void np_rank_set(struct np_buf *buf, const int32_t *ranks, size_t count)
{
	np_buf_add_char(buf, '(');
	for (size_t i = 0; i < count; i++)
		np_buf_printf(buf, "%s%" PRId32, i ? "," : "", ranks[i]);
	np_buf_add_char(buf, ')');
}
