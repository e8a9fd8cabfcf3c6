/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_INPUTS_H
#define COMPARE_INPUTS_H

#include "cli/command/common.h"

#include "npuprof/analysis.h"

/*
 * Load and measure one side: a directory of a cluster or a rank, a database, a trace
 * (.json, .json.gz) of an NPU or a GPU, or a directory with a GPU's trace per rank. `common` gives
 * threads and quietness, `ranks` and `steps` the choice of this side. NP_E_USAGE for what is none
 * of these.
 */
int inputs_load(const char *path, const struct np_common *common, struct np_analysis **ret,
		struct np_err *err) NP_MUST_USE;

#endif /* COMPARE_INPUTS_H */
