/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INFO_LAYERS_H
#define NP_INFO_LAYERS_H

/* Layers of iterations that were found: which blocks of kernels repeat within them. */

#include "npuprof/jsonout.h"
#include "npuprof/page.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* A section of the page; none where no rank has any. */
int info_put_layers(struct np_page *page, const struct np_run *run, struct np_err *err) NP_MUST_USE;

/* "layers" of a rank; empty where none were found. */
void info_put_layers_json(struct np_jsonout *out, const struct np_rank *rank);

#endif /* NP_INFO_LAYERS_H */
