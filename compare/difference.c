/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a run at hand with a base for another command (npuprof/difference.h). */
#include "npuprof/difference.h"

#include "compare/engine/cmp_class.h"
#include "compare/engine/cmp_comparison.h"
#include "compare/engine/cmp_gate.h"
#include "compare/present/compare_report.h"
#include "inputs.h"

#include "npuprof/workers.h"

struct np_difference {
	struct comparison *comparison;
	struct cmp_gate gate;
	bool gated;
	const char *input[CMP_SIDES];
};

bool np_difference_framework_op(const char *name)
{
	return cmp_is_cube_op(name);
}

int np_difference_check(const char *fail_on, struct np_err *err)
{
	NP_CLEANUP(cmp_gate_release) struct cmp_gate gate = { 0 };

	return cmp_gate_parse(fail_on, &gate, err);
}

void np_difference_free(struct np_difference *difference)
{
	if (!difference)
		return;
	comparison_free(difference->comparison);
	cmp_gate_release(&difference->gate);
	free(difference);
}

static int build(struct np_difference *difference, struct np_analysis *analysis,
		 const struct np_difference_options *options, struct np_err *err)
{
	const struct np_workers workers = { .threads = (size_t)options->common->jobs };
	const struct cmp_options how = { .min_ns = CMP_MIN_NS,
					 .min_share = CMP_MIN_SHARE,
					 .new_is_lent = true,
					 .workers = &workers };
	struct np_common common = *options->common;
	struct np_analysis *base = NULL;
	int rc = NP_OK;

	difference->gated = options->fail_on != NULL;
	if (difference->gated)
		rc = cmp_gate_parse(options->fail_on, &difference->gate, err);
	common.phase_times = NULL;
	common.phase_if_any = true;
	common.kernel_framework_op = cmp_is_cube_op;
	if (rc == NP_OK)
		rc = inputs_load(options->base, &common, &base, err);
	if (rc == NP_OK)
		rc = comparison_build(base, analysis, &how, &difference->comparison, err);
	if (rc == NP_OK && difference->gated)
		rc = cmp_gate_judge(&difference->gate, difference->comparison, err);
	return rc;
}

int np_difference_new(struct np_analysis *analysis, const struct np_difference_options *options,
		      struct np_difference **ret, struct np_err *err)
{
	struct np_difference *difference = calloc(1, sizeof(*difference));
	int rc = difference ? build(difference, analysis, options, err)
			    : np_fail_nomem(err, "the comparison");

	if (rc < 0) {
		np_difference_free(difference);
		return rc;
	}
	difference->input[CMP_BASE] = options->base;
	difference->input[CMP_NEW] = options->input;
	*ret = difference;
	return NP_OK;
}

const struct np_run *np_difference_base(const struct np_difference *difference)
{
	return difference->comparison->sides[CMP_BASE].analysis->run;
}

bool np_difference_trips(const struct np_difference *difference)
{
	return difference->gated && difference->gate.result == CMP_GATE_FAIL;
}

void np_difference_put(struct np_jsonout *out, const struct np_difference *difference)
{
	compare_put_difference(
		out, &(struct compare_report){ .comparison = difference->comparison,
					       .gate = difference->gated ? &difference->gate : NULL,
					       .input = { difference->input[CMP_BASE],
							  difference->input[CMP_NEW] } });
}
