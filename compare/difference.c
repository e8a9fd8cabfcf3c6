/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two runs for another command, and writes where the difference comes from as JSON. */
#include "npuprof/difference.h"

#include "compare/engine/cmp_class.h"
#include "compare/engine/cmp_comparison.h"
#include "compare/present/compare_report.h"
#include "inputs.h"

#include "npuprof/workers.h"

int np_difference_put(struct np_jsonout *out, const char *base, const char *path,
		      const struct np_common *common, struct np_err *err)
{
	struct np_common side = *common;
	const struct np_workers workers = { .threads = (size_t)common->jobs };
	const struct cmp_options how = { .min_ns = CMP_MIN_NS,
					 .min_share = CMP_MIN_SHARE,
					 .workers = &workers };
	struct np_analysis *sides[CMP_SIDES] = { NULL, NULL };
	struct comparison *comparison = NULL;
	int rc;

	side.kernel_framework_op = cmp_is_cube_op;
	rc = inputs_load(base, &side, &sides[CMP_BASE], err);
	if (rc == NP_OK)
		rc = inputs_load(path, &side, &sides[CMP_NEW], err);
	if (rc < 0) {
		np_analysis_free(sides[CMP_BASE]);
		return rc;
	}
	rc = comparison_build(sides[CMP_BASE], sides[CMP_NEW], &how, &comparison, err);
	if (rc < 0)
		return rc;
	compare_put_difference(
		out, &(struct compare_report){ .comparison = comparison, .input = { base, path } });
	comparison_free(comparison);
	return NP_OK;
}
