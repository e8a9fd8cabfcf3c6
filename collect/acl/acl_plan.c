/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be recorded as the mask and the settings of AscendCL. */
#include "acl_plan.h"

#include <inttypes.h>

static const struct {
	const char *name;
	aclprofAicoreMetrics metrics;
	const char *constant;
} metrics_table[] = {
	{ "AiCoreNone", ACL_AICORE_NONE, "ACL_AICORE_NONE" },
	{ "PipeUtilization", ACL_AICORE_PIPE_UTILIZATION, "ACL_AICORE_PIPE_UTILIZATION" },
	{ "ArithmeticUtilization", ACL_AICORE_ARITHMETIC_UTILIZATION,
	  "ACL_AICORE_ARITHMETIC_UTILIZATION" },
	{ "Memory", ACL_AICORE_MEMORY_BANDWIDTH, "ACL_AICORE_MEMORY_BANDWIDTH" },
	{ "MemoryL0", ACL_AICORE_L0B_AND_WIDTH, "ACL_AICORE_L0B_AND_WIDTH" },
	{ "ResourceConflictRatio", ACL_AICORE_RESOURCE_CONFLICT_RATIO,
	  "ACL_AICORE_RESOURCE_CONFLICT_RATIO" },
	{ "MemoryUB", ACL_AICORE_MEMORY_UB, "ACL_AICORE_MEMORY_UB" },
	{ "L2Cache", ACL_AICORE_L2_CACHE, "ACL_AICORE_L2_CACHE" },
	{ "MemoryAccess", ACL_AICORE_MEMORY_ACCESS, "ACL_AICORE_MEMORY_ACCESS" },
};

#define LEVEL_0 (ACL_PROF_TASK_TIME_L0 | ACL_PROF_ACL_API)
#define LEVEL_1 \
	(ACL_PROF_TASK_TIME | ACL_PROF_ACL_API | ACL_PROF_HCCL_TRACE | ACL_PROF_AICORE_METRICS)
#define LEVEL_2 (LEVEL_1 | ACL_PROF_RUNTIME_API | ACL_PROF_AICPU)

static const uint64_t level_mask[] = {
	[NP_PROF_LEVEL_NONE] = ACL_PROF_MSPROFTX,
	[NP_PROF_LEVEL_0] = LEVEL_0,
	[NP_PROF_LEVEL_1] = LEVEL_1,
	[NP_PROF_LEVEL_2] = LEVEL_2,
};

const char *np_acl_metrics_constant(aclprofAicoreMetrics metrics)
{
	for (size_t i = 0; i < NP_COUNT(metrics_table); i++)
		if (metrics_table[i].metrics == metrics)
			return metrics_table[i].constant;
	return "ACL_AICORE_NONE";
}

static void drop(struct np_acl_plan *plan, const char *what)
{
	size_t used = strlen(plan->dropped);

	(void)snprintf(plan->dropped + used, sizeof(plan->dropped) - used, "%s%s",
		       used > 0 ? ", " : "", what);
}

static int unknown_metric(const char *name, struct np_err *err)
{
	char known[200] = "";

	for (size_t i = 0; i < NP_COUNT(metrics_table); i++) {
		size_t used = strlen(known);

		(void)snprintf(known + used, sizeof(known) - used, "%s%s", used > 0 ? ", " : "",
			       metrics_table[i].name);
	}
	return np_fail(err, NP_E_USAGE, "no AI core metric '%s'; there are %s", name, known);
}

/* Levels without task details have no metrics; the others have one unless another is given. */
static int choose_metrics(const struct np_prof_options *options, unsigned features,
			  struct np_acl_plan *plan, struct np_err *err)
{
	bool possible = options->level >= NP_PROF_LEVEL_1;
	const char *name = options->aic_metrics;
	size_t i = 0;

	if (!name[0])
		name = possible ? "PipeUtilization" : "AiCoreNone";
	while (i < NP_COUNT(metrics_table) && strcmp(metrics_table[i].name, name) != 0)
		i++;
	if (i == NP_COUNT(metrics_table))
		return unknown_metric(name, err);
	if (!possible && i > 0) {
		drop(plan, "aic_metrics (needs Level1)");
		i = 0;
	} else if (metrics_table[i].metrics == ACL_AICORE_MEMORY_ACCESS &&
		   !(features & NP_ACL_HAS_MEMORY_ACCESS)) {
		drop(plan, "MemoryAccess (this CANN has PipeUtilization instead)");
		i = 1;
	}
	plan->metrics = metrics_table[i].metrics;
	plan->metrics_name = metrics_table[i].name;
	if (plan->metrics != ACL_AICORE_NONE)
		plan->mask |= ACL_PROF_AICORE_METRICS;
	return NP_OK;
}

static void choose_bits(const struct np_prof_options *options, unsigned features,
			struct np_acl_plan *plan)
{
	if (options->l2_cache)
		plan->mask |= ACL_PROF_L2CACHE;
	if (options->mstx)
		plan->mask |= ACL_PROF_MSPROFTX;
	if (options->memory)
		plan->mask |= ACL_PROF_TASK_MEMORY;
	if (options->op_attr && (features & NP_ACL_HAS_ATTR))
		plan->mask |= ACL_PROF_OP_ATTR;
	else if (options->op_attr)
		drop(plan, "op_attr (this CANN has none)");
	/* From Level1 on the shapes come with the tasks. */
	if (options->record_shapes && options->level == NP_PROF_LEVEL_0) {
		if (features & NP_ACL_HAS_AICORE_SHAPE)
			plan->mask |= ACL_PROF_AICORE_SHAPE;
		else
			drop(plan, "record_shapes (this CANN has none at Level0)");
	}
}

static void add_setting(struct np_acl_plan *plan, aclprofConfigType key, const char *name,
			const char *value)
{
	struct np_acl_setting *setting = &plan->settings[plan->setting_count++];

	setting->key = key;
	setting->name = name;
	(void)snprintf(setting->value, sizeof(setting->value), "%s", value);
}

static void choose_settings(const struct np_prof_options *options, struct np_acl_plan *plan)
{
	char limit[64];

	if (options->memory)
		add_setting(plan, ACL_PROF_SYS_HARDWARE_MEM_FREQ, "SYS_HARDWARE_MEM_FREQ", "50");
	if (options->sys_io)
		add_setting(plan, ACL_PROF_SYS_IO_FREQ, "SYS_IO_FREQ", "100");
	if (options->sys_interconnection)
		add_setting(plan, ACL_PROF_SYS_INTERCONNECTION_FREQ, "SYS_INTERCONNECTION_FREQ",
			    "50");
	if (options->host_sys[0])
		add_setting(plan, ACL_PROF_HOST_SYS, "HOST_SYS", options->host_sys);
	if (options->storage_limit_mb > 0) {
		(void)snprintf(limit, sizeof(limit), "%" PRId64 "MB", options->storage_limit_mb);
		add_setting(plan, ACL_PROF_STORAGE_LIMIT, "STORAGE_LIMIT", limit);
	}
}

int np_acl_plan(const struct np_prof_options *options, unsigned features, struct np_acl_plan *ret,
		struct np_err *err)
{
	struct np_acl_plan plan = { .mask = level_mask[options->level] };
	int rc = choose_metrics(options, features, &plan, err);

	if (rc < 0)
		return rc;
	choose_bits(options, features, &plan);
	choose_settings(options, &plan);
	*ret = plan;
	return NP_OK;
}
