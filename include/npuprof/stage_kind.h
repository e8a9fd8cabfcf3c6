/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STAGE_KIND_H
#define NP_STAGE_KIND_H

#include "npuprof/err.h"

/*
 * Why a stage takes longer
 * ========================
 *
 * A stage that has more kernels than the others, or others, has been given more of the
 * model: it is unevenly split, and evening out moves the work to others. One whose same
 * kernels take longer is slow, and repairing it gains all of that.
 */
struct np_run;

enum np_stage_kind {
	NP_STAGE_UNKNOWN, /* kernels were not counted, or it does not take longer */
	NP_STAGE_SLOW,
	NP_STAGE_UNEVEN,
};

/* `stages` is the stage of each rank by its index in the run, -1 for none. */
enum np_stage_kind np_stage_kind(const struct np_run *run, const int32_t *stages, int32_t stage);

#endif /* NP_STAGE_KIND_H */
