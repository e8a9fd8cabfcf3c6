/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACL_PLAN_H
#define NP_ACL_PLAN_H

#include "acl_abi.h"
#include "collect/protocol.h"

/*
 * From what a user asks for to what AscendCL is given: the mask of data types, the
 * metric of the AI cores and the settings, the same as torch_npu would use for the
 * same level. Pure: what this CANN can do comes in as `features`.
 */
enum np_acl_features {
	NP_ACL_HAS_ATTR = 1 << 0,          /* "ATTR" */
	NP_ACL_HAS_MEMORY_ACCESS = 1 << 1, /* "MemoryAccess" */
	NP_ACL_HAS_AICORE_SHAPE = 1 << 2,  /* "AICORE_SHAPE" */
};

#define NP_ACL_SETTINGS_MAX 5

struct np_acl_setting {
	aclprofConfigType key;
	const char *name;
	char value[64];
};

struct np_acl_plan {
	uint64_t mask;
	aclprofAicoreMetrics metrics;
	const char *metrics_name; /* torch_npu's, "AiCoreNone" for none */
	struct np_acl_setting settings[NP_ACL_SETTINGS_MAX];
	size_t setting_count;
	/* what was asked for and cannot be had, for the list of warnings; "" if nothing */
	char dropped[160];
};

/* NP_E_USAGE for a metric nobody knows; the text lists those there are. */
int np_acl_plan(const struct np_prof_options *options, unsigned features, struct np_acl_plan *ret,
		struct np_err *err) NP_MUST_USE;

/* The name in profiler_info.json, "ACL_AICORE_PIPE_UTILIZATION". */
const char *np_acl_metrics_constant(aclprofAicoreMetrics metrics);

#endif /* NP_ACL_PLAN_H */
