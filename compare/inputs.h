/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_INPUTS_H
#define COMPARE_INPUTS_H

#include "common.h"

#include "npuprof/analysis.h"

/*
 * Load and measure one side: a directory of a cluster or a rank, a database, or a
 * trace (.json, .json.gz). `common` gives threads and quietness, `ranks` and `steps`
 * the choice of this side. NP_E_USAGE for what is none of these.
 */
int inputs_load(const char *path, const struct np_common *common, struct np_analysis **ret,
		struct np_err *err) NP_MUST_USE;

#endif /* COMPARE_INPUTS_H */
