/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_INPUTS_H
#define COMPARE_INPUTS_H

#include "cli/command/common.h"

#include "npuprof/analysis.h"

/*
 * Load and measure one side: whatever np_discover() finds ranks in. `common` gives threads and
 * quietness, `ranks` and `steps` the choice of this side. NP_E_USAGE for what is not there.
 */
int inputs_load(const char *path, const struct np_common *common, struct np_analysis **ret,
		struct np_err *err) NP_MUST_USE;

#endif /* COMPARE_INPUTS_H */
